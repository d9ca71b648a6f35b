/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the simulated libcudart's test share: the libraries under test, opened
 * side by side, and an image registered with each.  Included by the selftest_runtime*.c files
 * alone. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>

/* What the tests call, each in the library under test. */
#define FUNCTIONS(X)                                                                               \
	X(cudaDeviceReset)                                                                         \
	X(cudaDeviceSynchronize)                                                                   \
	X(cudaEventCreate)                                                                         \
	X(cudaEventElapsedTime)                                                                    \
	X(cudaEventRecord)                                                                         \
	X(cudaEventSynchronize)                                                                    \
	X(cudaFree)                                                                                \
	X(cudaFuncGetAttributes)                                                                   \
	X(cudaGetDeviceCount)                                                                      \
	X(cudaGetDeviceProperties)                                                                 \
	X(cudaGetErrorName)                                                                        \
	X(cudaGetErrorString)                                                                      \
	X(cudaGetLastError)                                                                        \
	X(cudaGetSymbolAddress)                                                                    \
	X(cudaGetSymbolSize)                                                                       \
	X(cudaGraphAddEmptyNode)                                                                   \
	X(cudaGraphAddKernelNode)                                                                  \
	X(cudaGraphAddMemcpyNode1D)                                                                \
	X(cudaGraphAddMemsetNode)                                                                  \
	X(cudaGraphCreate)                                                                         \
	X(cudaGraphDestroy)                                                                        \
	X(cudaGraphExecDestroy)                                                                    \
	X(cudaGraphGetNodes)                                                                       \
	X(cudaGraphInstantiateWithFlags)                                                           \
	X(cudaGraphLaunch)                                                                         \
	X(cudaLaunchCooperativeKernel)                                                             \
	X(cudaLaunchKernel)                                                                        \
	X(cudaLaunchKernelExC)                                                                     \
	X(cudaMalloc)                                                                              \
	X(cudaMallocHost)                                                                          \
	X(cudaFreeHost)                                                                            \
	X(cudaMallocPitch)                                                                         \
	X(cudaMemcpy)                                                                              \
	X(cudaMemcpy2D)                                                                            \
	X(cudaMemcpy3D)                                                                            \
	X(cudaMemcpyFromSymbol)                                                                    \
	X(cudaMemcpyToSymbol)                                                                      \
	X(cudaMemset)                                                                              \
	X(cudaPeekAtLastError)                                                                     \
	X(cudaPointerGetAttributes)                                                                \
	X(cudaRuntimeGetVersion)                                                                   \
	X(cudaSetDevice)                                                                           \
	X(cudaStreamBeginCapture)                                                                  \
	X(cudaStreamCreate)                                                                        \
	X(cudaStreamDestroy)                                                                       \
	X(cudaStreamEndCapture)                                                                    \
	X(cudaStreamIsCapturing)                                                                   \
	X(cudaStreamSynchronize)

struct runtime {
	int major;
	const char *soname;
	void *lib;
#define POINTER(fn) __typeof__(fn) *fn;
	FUNCTIONS(POINTER)
#undef POINTER
};

/* Majors 11, 12 and 13. */
extern struct runtime runtimes[];
#define RUNTIMES 3
#define EACH(rt) (struct runtime *rt = runtimes; rt < runtimes + RUNTIMES; rt++)

/* Their addresses are the host's names of two kernels, of one the image lacks, and of 64 bytes. */
extern char first, second, absent, table;

/* An export of this library, which must be there. */
void *function(struct runtime *rt, const char *name);

/* selftest_runtime_work.c */
void memory_keeps_what_is_copied_to_it(void **state);
void pitched_copies_keep_their_rows(void **state);
void variables_are_found_by_their_host_address(void **state);
void graphs_are_built_updated_and_launched(void **state);
void capture_makes_a_graph_and_runs_nothing(void **state);
void events_measure_kernels(void **state);
