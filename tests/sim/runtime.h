/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the simulated libcudart: how its parts reach the driver, the calling thread's state and
 * each other.  Only the runtime_*.c files include it; SIM_CUDART (11, 12, 13) is the major it
 * plays. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#ifndef SIM_CUDART
#error "SIM_CUDART says which libcudart this is"
#endif

/* In the static library nothing is visible outside the program it is linked to, as in the real one.
 */
#ifdef SIM_STATIC
#define SIM_API
#else
#define SIM_API __attribute__((visibility("default")))
#endif

#define RT_DEVICES 64
#define RT_CONFIGS 16

/* runtime_driver.c: the driver's addresses */

enum rt_slot_index {
#define SLOT(elf, base, version, flags, first, last) SLOT_##elf,
#include "tests/sim/runtime_slots.h"
#undef SLOT
	RT_SLOTS,
};

/* Set once under pthread_once, then only read.  What the driver lacks leads to a function that
 * answers "not supported". */
extern void *rt_slot[RT_SLOTS];

/* DRV(cuMemAlloc)(...) calls what the header calls cuMemAlloc, so cuMemAlloc_v2, and in a file
 * compiled for the per-thread default stream DRV(cuLaunchKernel) is cuLaunchKernel_ptsz. DRV_AS
 * names the ELF symbol itself and the declaration whose type it shares. */
#define DRV_AS(elf, type_of) ((__typeof__(type_of) *)rt_slot[SLOT_##elf])
#define DRV_NAMED(elf)       DRV_AS(elf, elf)
#define DRV(fn)              DRV_NAMED(fn)

cudaError_t rt_driver_load(void);
CUresult rt_driver_find(const char *name, void **address, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status);

/* runtime_init.c: first use, devices, the thread's context */

struct rt_config {
	dim3 grid;
	dim3 block;
	size_t shared_bytes;
	cudaStream_t stream;
};

struct rt_thread {
	cudaError_t last_error;
	int device;
	unsigned bound; /* equals rt_generation() while the thread's context is known to be set */
	unsigned configs;
	struct rt_config config[RT_CONFIGS];
};

extern __thread struct rt_thread rt_self;

cudaError_t rt_init(void);            /* driver loaded and initialised */
cudaError_t rt_enter(void);           /* and a context current in this thread */
cudaError_t rt_leave(cudaError_t rc); /* remembers a failure as the thread's last error */
cudaError_t rt_set_device(int device);
cudaError_t rt_reset_device(void);
cudaError_t rt_context_of(int device, CUcontext *context);
int rt_device_count(void);
CUdevice rt_device(int device);
CUcontext rt_current(void);

/* Most runtime calls are one driver call; error numbers are the same in both. */
#define RT_FORWARD(fn, ...) rt_leave(rt_enter() ?: (cudaError_t)DRV(fn)(__VA_ARGS__))

/* runtime_registry.c: what the program's constructors registered, by the host's address */

cudaError_t rt_kernel(const void *host, CUfunction *kernel);
cudaError_t rt_variable(const void *host, CUdeviceptr *address, size_t *bytes);
void rt_forget_modules(int device);

/* runtime_convert.c: runtime structures as the driver wants them */

#define RT_PTR(p) ((CUdeviceptr)(uintptr_t)(p))

CUDA_MEMCPY2D rt_copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out);
bool rt_kind_valid(enum cudaMemcpyKind kind);
