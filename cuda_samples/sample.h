/* SPDX-License-Identifier: Apache-2.0 */
/* What the samples share: calls checked and counted as they are made, for programs that use the
 * runtime. Each sample includes it once; it builds with nvcc for a GPU and without it for the
 * simulated CUDA. */
#pragma once
#include "cuda_samples/sample_counts.h"
#include "cuda_samples/sample_kernel.h"

/* Calls that are not counted: they must succeed. */
#define CHECK(call) sample_check(#call, (call))

static inline void sample_check(const char *what, cudaError_t rc)
{
	if (rc != cudaSuccess)
		sample_die(what, cudaGetErrorName(rc));
}

/* A call meant to fail, and the error it is meant to fail with. */
#define FAILS(call) sample_fails(#call, (call))

static inline void sample_fails(const char *what, cudaError_t rc)
{
	if (rc == cudaSuccess)
		sample_die(what, "succeeded");
	if (cudaGetLastError() != rc)
		sample_die(what, "is not the last error");
	sample_counted.failed++;
}

/* The stream being captured; a sample captures one at a time. */
static cudaStream_t sample_capturing;

/* Begins a sample: is this a real GPU?  Returns the number of iterations. */
static inline unsigned sample_start(int argc, char **argv, unsigned iterations)
{
	cudaDeviceProp properties;

	CHECK(cudaSetDevice(0));
	CHECK(cudaGetDeviceProperties(&properties, 0));
	sample_device_name(properties.name);
	return sample_argument(argc, argv, 1, iterations);
}

/* Kernels */

static inline void sample_launched(const char *kernel, cudaError_t rc, cudaStream_t stream)
{
	sample_check(kernel, rc);
	if (stream && stream == sample_capturing)
		sample_counted.captured++;
	else
		sample_count_launch(kernel);
}

/* kernel<<<grid, block, shared_bytes, stream>>>(...) */
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                     \
	sample_launched(#kernel,                                                                   \
	                SAMPLE_LAUNCH(kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__),   \
	                stream)

/* The same by cudaLaunchKernel, and by cudaLaunchKernelExC. */
#define LAUNCH_CALL(kernel, grid, block, shared_bytes, stream, ...)                                \
	sample_launched(                                                                           \
	        #kernel,                                                                           \
	        sample_launch_call(kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__),      \
	        stream)
#define LAUNCH_EX(kernel, grid, block, shared_bytes, stream, ...)                                  \
	sample_launched(                                                                           \
	        #kernel,                                                                           \
	        sample_launch_ex(kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__),        \
	        stream)

/* Memory */

template <typename T> static T *sample_malloc(size_t count)
{
	void *ptr;

	CHECK(cudaMalloc(&ptr, count * sizeof(T)));
	sample_counted.allocs++;
	return (T *)ptr;
}

template <typename T> static T *sample_malloc_pinned(size_t count)
{
	void *ptr;

	CHECK(cudaMallocHost(&ptr, count * sizeof(T)));
	sample_counted.allocs++;
	return (T *)ptr;
}

static inline void sample_free(void *ptr)
{
	CHECK(cudaFree(ptr));
	sample_counted.allocs++;
}

static inline void sample_free_pinned(void *ptr)
{
	CHECK(cudaFreeHost(ptr));
	sample_counted.allocs++;
}

/* Copies; `memory` says what the host side is. */

static inline cudaMemcpyKind sample_kind(sample_direction direction)
{
	return direction == HTOD   ? cudaMemcpyHostToDevice
	       : direction == DTOH ? cudaMemcpyDeviceToHost
	                           : cudaMemcpyDeviceToDevice;
}

static inline void sample_copy(void *dst, const void *src, size_t bytes, sample_direction direction,
                               sample_memory memory)
{
	CHECK(cudaMemcpy(dst, src, bytes, sample_kind(direction)));
	sample_count_copy(direction, memory, bytes);
}

static inline void sample_copy_async(void *dst, const void *src, size_t bytes,
                                     sample_direction direction, sample_memory memory,
                                     cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(dst, src, bytes, sample_kind(direction), stream));
	if (stream && stream == sample_capturing)
		sample_counted.captured++;
	else
		sample_count_copy(direction, memory, bytes);
}

static inline void sample_set(void *ptr, int value, size_t bytes)
{
	CHECK(cudaMemset(ptr, value, bytes));
	sample_counted.sets++;
}

static inline void sample_set_async(void *ptr, int value, size_t bytes, cudaStream_t stream)
{
	CHECK(cudaMemsetAsync(ptr, value, bytes, stream));
	if (stream && stream == sample_capturing)
		sample_counted.captured++;
	else
		sample_counted.sets++;
}

/* Waiting */

static inline void sample_sync_device(void)
{
	CHECK(cudaDeviceSynchronize());
	sample_counted.syncs++;
}

static inline void sample_sync_stream(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
	sample_counted.syncs++;
}

static inline void sample_sync_event(cudaEvent_t event)
{
	CHECK(cudaEventSynchronize(event));
	sample_counted.syncs++;
}

/* Graphs */

static inline void sample_capture_begin(cudaStream_t stream)
{
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	sample_capturing = stream;
}

static inline cudaGraph_t sample_capture_end(cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(cudaStreamEndCapture(stream, &graph));
	sample_capturing = nullptr;
	return graph;
}

static inline void sample_graph_launch(cudaGraphExec_t exec, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(exec, stream));
	sample_counted.graph_launches++;
}
