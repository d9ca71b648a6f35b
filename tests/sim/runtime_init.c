/* SPDX-License-Identifier: Apache-2.0 */
/* First use, and which context a thread works in: one pthread_once for the process, then the
 * primary context of the thread's device unless the program made another one current. */
#include <pthread.h>
#include <stdatomic.h>
#include "tests/sim/runtime.h"

struct device {
	CUdevice handle;
	CUcontext primary;
};

__thread struct rt_thread rt_self;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t init_result;
static int device_count;
static struct device devices[RT_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of devices[].primary */

/* Counts device resets, so that each thread finds its context anew after one; 0 is never current.
 */
static atomic_uint generation = 1;

static cudaError_t find_devices(void)
{
	CUresult rc = DRV(cuInit)(0);

	if (rc == CUDA_SUCCESS)
		rc = DRV(cuDeviceGetCount)(&device_count);
	if (rc != CUDA_SUCCESS)
		return (cudaError_t)rc;
	if (device_count == 0)
		return cudaErrorNoDevice;
	if (device_count > RT_DEVICES)
		device_count = RT_DEVICES;
	for (int i = 0; i < device_count && rc == CUDA_SUCCESS; i++)
		rc = DRV(cuDeviceGet)(&devices[i].handle, i);
	return (cudaError_t)rc;
}

static void init(void)
{
	init_result = rt_driver_load() ?: find_devices();
}

cudaError_t rt_init(void)
{
	pthread_once(&once, init);
	return init_result;
}

int rt_device_count(void)
{
	return device_count;
}

CUdevice rt_device(int device)
{
	return devices[device].handle;
}

CUcontext rt_current(void)
{
	CUcontext context = NULL;

	return DRV(cuCtxGetCurrent)(&context) == CUDA_SUCCESS ? context : NULL;
}

cudaError_t rt_context_of(int device, CUcontext *context)
{
	struct device *d = &devices[device];
	CUresult rc = CUDA_SUCCESS;

	if (device < 0 || device >= device_count)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&lock);
	if (!d->primary)
		rc = DRV(cuDevicePrimaryCtxRetain)(&d->primary, d->handle);
	*context = d->primary;
	pthread_mutex_unlock(&lock);
	return (cudaError_t)rc;
}

static cudaError_t make_current(int device)
{
	CUcontext context;
	cudaError_t rc = rt_context_of(device, &context);

	if (rc == cudaSuccess)
		rc = (cudaError_t)DRV(cuCtxSetCurrent)(context);
	return rc;
}

static int ordinal_of(CUdevice handle)
{
	for (int i = 0; i < device_count; i++)
		if (devices[i].handle == handle)
			return i;
	return 0;
}

/* A context that the program made current itself is kept: the runtime works in it. */
static cudaError_t bind(unsigned now)
{
	cudaError_t rc = cudaSuccess;
	CUdevice handle;

	if (!rt_current())
		rc = make_current(rt_self.device);
	else if (DRV_AS(cuCtxGetDevice, CUresult(CUdevice *))(&handle) == CUDA_SUCCESS)
		rt_self.device = ordinal_of(handle);
	if (rc == cudaSuccess)
		rt_self.bound = now;
	return rc;
}

cudaError_t rt_enter(void)
{
	cudaError_t rc = rt_init();
	/* Acquire: a thread that sees a reset does not use the context from before it. */
	unsigned now = atomic_load_explicit(&generation, memory_order_acquire);

	if (rc != cudaSuccess || rt_self.bound == now)
		return rc;
	return bind(now);
}

cudaError_t rt_leave(cudaError_t rc)
{
	if (rc != cudaSuccess)
		rt_self.last_error = rc;
	return rc;
}

/* Since 12 choosing a device makes its context at once; before, the first use did. */
cudaError_t rt_set_device(int device)
{
	cudaError_t rc = rt_init();
	CUcontext context;

	if (rc != cudaSuccess)
		return rc;
	if (device < 0 || device >= device_count)
		return cudaErrorInvalidDevice;
	rt_self.device = device;
	rt_self.bound = 0;
	if (SIM_CUDART < 12)
		return (cudaError_t)DRV(cuCtxSetCurrent)(NULL);
	rc = rt_context_of(device, &context);
	if (rc == cudaSuccess)
		rc = (cudaError_t)DRV(cuCtxSetCurrent)(context);
	if (rc == cudaSuccess)
		rt_self.bound = atomic_load_explicit(&generation, memory_order_acquire);
	return rc;
}

/* libcudart asks for the first forms of these. */
typedef CUresult by_device(CUdevice);

cudaError_t rt_reset_device(void)
{
	cudaError_t rc = rt_init();
	struct device *d = &devices[rt_self.device];

	if (rc != cudaSuccess)
		return rc;
	pthread_mutex_lock(&lock);
	rt_forget_modules(rt_self.device);
	if (d->primary) {
		DRV(cuCtxSetCurrent)(NULL);
		rc = (cudaError_t)DRV_AS(cuDevicePrimaryCtxRelease, by_device)(d->handle);
		rc = rc ?: (cudaError_t)DRV_AS(cuDevicePrimaryCtxReset, by_device)(d->handle);
		d->primary = NULL;
	}
	/* Release: pairs with the acquire in rt_enter(). */
	atomic_fetch_add_explicit(&generation, 1, memory_order_release);
	pthread_mutex_unlock(&lock);
	return rc;
}
