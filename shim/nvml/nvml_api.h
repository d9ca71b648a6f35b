/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cudaspy uses of NVML, declared by ourselves: libnvidia-ml is opened at run time, and its
 * header need not be there at build. Where it is, nvml_check.c compares. Nothing here changes a
 * setting. For shim/environment*.c.
 */
#ifndef SPY_NVML_API_H
#define SPY_NVML_API_H

#include <stdint.h>

/* nvmlReturn_t */
#define NV_OK 0

/* nvmlClockType_t */
#define NV_CLOCK_SM     1
#define NV_CLOCK_MEMORY 2

#define NV_SENSOR_GPU       0 /* nvmlTemperatureSensors_t */
#define NV_ECC_UNCORRECTED  1 /* nvmlMemoryErrorType_t */
#define NV_ECC_VOLATILE     0 /* nvmlEccCounterType_t: since the driver was loaded */
#define NV_POLICY_POWER     0 /* nvmlPerfPolicyType_t */
#define NV_POLICY_THERMAL   1
#define NV_UUID_BYTES       96
#define NV_VERSION_BYTES    80
#define NV_MEMORY_NOT_KNOWN UINT64_MAX

struct nv_utilization {
	uint32_t gpu, memory; /* per cent */
};

struct nv_violation {
	uint64_t reference_us;
	uint64_t violation_ns;
};

struct nv_process { /* of the calls ..._v2 and ..._v3 */
	uint32_t pid;
	uint64_t bytes;
	uint32_t gpu_instance, compute_instance;
};

struct nv_process_v1 {
	uint32_t pid;
	uint64_t bytes;
};

/* XX(member, symbol, parameters); all return a nvmlReturn_t. Only the first two must be there. */
#define NV_FUNCTION_MAP(XX)                                                                        \
	XX(init, nvmlInit_v2, (void))                                                              \
	XX(by_bus_id, nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))                   \
	XX(driver_version, nvmlSystemGetDriverVersion, (char *, unsigned))                         \
	XX(uuid, nvmlDeviceGetUUID, (void *, char *, unsigned))                                    \
	XX(clock, nvmlDeviceGetClockInfo, (void *, int, unsigned *))                               \
	XX(clock_max, nvmlDeviceGetMaxClockInfo, (void *, int, unsigned *))                        \
	XX(reasons, nvmlDeviceGetCurrentClocksEventReasons, (void *, uint64_t *))                  \
	XX(reasons_older, nvmlDeviceGetCurrentClocksThrottleReasons, (void *, uint64_t *))         \
	XX(power, nvmlDeviceGetPowerUsage, (void *, unsigned *))                                   \
	XX(power_limit, nvmlDeviceGetEnforcedPowerLimit, (void *, unsigned *))                     \
	XX(power_default, nvmlDeviceGetPowerManagementDefaultLimit, (void *, unsigned *))          \
	XX(energy, nvmlDeviceGetTotalEnergyConsumption, (void *, uint64_t *))                      \
	XX(temperature, nvmlDeviceGetTemperature, (void *, int, unsigned *))                       \
	XX(ecc_errors, nvmlDeviceGetTotalEccErrors, (void *, int, int, uint64_t *))                \
	XX(pcie_gen, nvmlDeviceGetCurrPcieLinkGeneration, (void *, unsigned *))                    \
	XX(pcie_gen_max, nvmlDeviceGetMaxPcieLinkGeneration, (void *, unsigned *))                 \
	XX(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (void *, unsigned *))                       \
	XX(pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth, (void *, unsigned *))                    \
	XX(utilization, nvmlDeviceGetUtilizationRates, (void *, struct nv_utilization *))          \
	XX(persistence, nvmlDeviceGetPersistenceMode, (void *, int *))                             \
	XX(compute_mode, nvmlDeviceGetComputeMode, (void *, int *))                                \
	XX(mig, nvmlDeviceGetMigMode, (void *, unsigned *, unsigned *))                            \
	XX(violation, nvmlDeviceGetViolationStatus, (void *, int, struct nv_violation *))          \
	XX(processes_v2, nvmlDeviceGetComputeRunningProcesses_v2,                                  \
	   (void *, unsigned *, struct nv_process *))                                              \
	XX(processes_v3, nvmlDeviceGetComputeRunningProcesses_v3,                                  \
	   (void *, unsigned *, struct nv_process *))                                              \
	XX(processes_v1, nvmlDeviceGetComputeRunningProcesses,                                     \
	   (void *, unsigned *, struct nv_process_v1 *))

struct nv_functions {
#define XX(member, symbol, parameters) int(*member) parameters;
	NV_FUNCTION_MAP(XX)
#undef XX
};

#endif
