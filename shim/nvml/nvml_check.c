/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what nvml_api.h says agrees with NVIDIA's header, where the build has it. */
#include "shim/nvml/nvml_api.h"

#if defined(__has_include)
#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS /* names are the symbols */
#include <nvml.h>
#define HAVE_NVML 1
#endif
#endif

#ifdef HAVE_NVML
#include <stddef.h>

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a " is " #b)
SAME(NV_OK, NVML_SUCCESS);
SAME(NV_CLOCK_SM, NVML_CLOCK_SM);
SAME(NV_CLOCK_MEMORY, NVML_CLOCK_MEM);
SAME(NV_SENSOR_GPU, NVML_TEMPERATURE_GPU);
SAME(NV_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(NV_ECC_VOLATILE, NVML_VOLATILE_ECC);
SAME(NV_POLICY_POWER, NVML_PERF_POLICY_POWER);
SAME(NV_POLICY_THERMAL, NVML_PERF_POLICY_THERMAL);
SAME(SPY_THROTTLE_IDLE, nvmlClocksThrottleReasonGpuIdle);
SAME(SPY_THROTTLE_CLOCKS_SET, nvmlClocksThrottleReasonApplicationsClocksSetting);
SAME(SPY_THROTTLE_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap);
SAME(SPY_THROTTLE_HARDWARE, nvmlClocksThrottleReasonHwSlowdown);
SAME(SPY_THROTTLE_SYNC_BOOST, nvmlClocksThrottleReasonSyncBoost);
SAME(SPY_THROTTLE_THERMAL, nvmlClocksThrottleReasonSwThermalSlowdown);
SAME(SPY_THROTTLE_HARDWARE_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(SPY_THROTTLE_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME(SPY_THROTTLE_DISPLAY, nvmlClocksThrottleReasonDisplayClockSetting);
SAME(sizeof(struct nv_utilization), sizeof(nvmlUtilization_t));
SAME(sizeof(struct nv_violation), sizeof(nvmlViolationTime_t));
SAME(offsetof(struct nv_violation, violation_ns), offsetof(nvmlViolationTime_t, violationTime));
SAME(sizeof(struct nv_process_v1), sizeof(nvmlProcessInfo_v1_t));
SAME(sizeof(struct nv_process), sizeof(nvmlProcessInfo_v2_t));
SAME(offsetof(struct nv_process, bytes), offsetof(nvmlProcessInfo_v2_t, usedGpuMemory));
SAME(offsetof(struct nv_process, gpu_instance), offsetof(nvmlProcessInfo_v2_t, gpuInstanceId));
_Static_assert(NV_UUID_BYTES >= NVML_DEVICE_UUID_V2_BUFFER_SIZE, "room for a UUID");
_Static_assert(NV_VERSION_BYTES >= NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE, "room for a version");
#undef SAME
#endif
