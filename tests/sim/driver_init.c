/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, the version, the devices and what they say of themselves. */
#include <stdio.h>
#include <string.h>
#include <dlfcn.h>
#include "tests/sim/driver.h"

struct sim_device sim_device[SIM_MAX_DEVICES];

static pthread_once_t devices_once = PTHREAD_ONCE_INIT;

static void make_devices(void)
{
	for (int i = 0; i < SIM_MAX_DEVICES; i++) {
		sim_device[i].ordinal = i;
		pthread_mutex_init(&sim_device[i].lock, NULL);
		sim_tl_device_init(&sim_device[i].timeline, truth_device(i));
	}
}

/* Some drivers look their own entries up by name when they start. */
static void look_up_self(void)
{
	static const char *const names[] = {"cuInit", "cuDriverGetVersion", "cuGetProcAddress"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)dlsym(RTLD_DEFAULT, names[i]);
}

CUresult do_cuInit(unsigned int Flags)
{
	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_config.devices < 1)
		return CUDA_ERROR_NO_DEVICE;
	if (sim_config.driver_dlsym)
		look_up_self();
	if (atomic_load(&sim_life->phase) == SIM_NOT_READY)
		sim_cost(sim_config.init_ns);
	pthread_once(&devices_once, make_devices);
	sim_set_ready();
	return CUDA_SUCCESS;
}

CUresult do_cuDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = sim_config.driver_version;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetCount(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sim_config.devices;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)len, "Simulated GPU %d", dev);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, "simulated-gpu-00", 16);
	uuid->bytes[15] = (char)('0' + dev);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult do_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = sim_config.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	if (!pciBusId || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)dev + 1);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	unsigned domain, bus, slot;

	if (!dev || !pciBusId)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3 || !device_valid((int)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = (int)bus - 1;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*prop = (CUdevprop){
	        .maxThreadsPerBlock = 1024,
	        .maxThreadsDim = {1024, 1024, 64},
	        .maxGridSize = {2147483647, 65535, 65535},
	        .sharedMemPerBlock = 49152,
	        .totalConstantMemory = 65536,
	        .SIMDWidth = 32,
	        .memPitch = 2147483647,
	        .regsPerBlock = 65536,
	        .clockRate = 1980000,
	        .textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
                                               unsigned numChannels, CUdevice dev)
{
	if (!maxWidthInElements)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*maxWidthInElements = 268435456;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = 0;
	return device_valid(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Private tables cannot be simulated; who asks must do without. */
CUresult do_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

CUresult do_cuProfilerStart(void)
{
	return ctx_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuProfilerStop(void)
{
	return ctx_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
