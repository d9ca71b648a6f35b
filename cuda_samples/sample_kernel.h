/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels defined and launched alike by nvcc and by a plain C++ compiler, which can run them only
 * on the simulated CUDA.  Included by sample.h, and by programs that are no samples.
 *
 * Without nvcc a kernel is a host function that nobody calls: its address is the kernel's identity,
 * and a constructor registers it, as nvcc's does, with an image that tells the simulation its name
 * and cost. */
#pragma once
#include <cuda_runtime_api.h>
#include <type_traits>

/* Launched with its parameters' own types, whatever the arguments' are; as the API call names
 * itself. */
template <typename T> struct sample_same {
	typedef T type;
};

template <typename... P>
static cudaError_t sample_launch_call(void (*kernel)(P...), dim3 grid, dim3 block,
                                      size_t shared_bytes, cudaStream_t stream,
                                      typename sample_same<P>::type... params)
{
	void *args[] = {(void *)&params..., nullptr};

	return cudaLaunchKernel((const void *)kernel, grid, block, args, shared_bytes, stream);
}

template <typename... P>
static cudaError_t sample_launch_ex(void (*kernel)(P...), dim3 grid, dim3 block,
                                    size_t shared_bytes, cudaStream_t stream,
                                    typename sample_same<P>::type... params)
{
	void *args[] = {(void *)&params..., nullptr};
	cudaLaunchConfig_t config = {};

	config.gridDim = grid;
	config.blockDim = block;
	config.dynamicSmemBytes = shared_bytes;
	config.stream = stream;
	return cudaLaunchKernelExC(&config, (const void *)kernel, args);
}

#ifdef __CUDACC__

#define KERNEL(kernel, cost, params) __global__ void kernel params

#define SAMPLE_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                              \
	(kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__), cudaGetLastError())

#else /* a plain compiler, the simulated CUDA */

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <typeinfo>

static const uint3 threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0};
static const dim3 blockDim(1, 1, 1), gridDim(1, 1, 1);

/* What nvcc's own header declares for the code it generates. */
extern "C" {
void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp_size);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared_bytes, cudaStream_t stream);
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

/* The program's one image.  It is read when a kernel is first used, so kernels may still be added.
 */
struct sample_image {
	struct {
		int magic, version;
		const void *data;
		void *unused;
	} wrapper;
	char text[8192];
	size_t used;
	void **handle;

	sample_image() : wrapper{0x466243b1, 1, text, nullptr}, used(0)
	{
		used = snprintf(text, sizeof(text), "simcuda 1\n");
		handle = __cudaRegisterFatBinary(&wrapper);
	}

	static sample_image &get()
	{
		static sample_image *image;

		if (!image) {
			image = new sample_image;
			__cudaRegisterFatBinaryEnd(image->handle);
			atexit([] { __cudaUnregisterFatBinary(get().handle); });
		}
		return *image;
	}
};

/* `type` is the mangled function type, F v <parameters> E: between them stands all that the mangled
 * name of the kernel needs, so reports see C++ names as nvcc makes them. */
struct sample_registration {
	sample_registration(const char *name, const char *cost, const void *host, const char *type)
	{
		sample_image &image = sample_image::get();
		std::string params(type + 2, strlen(type) - 3);
		std::string *mangled =
		        new std::string("_Z" + std::to_string(strlen(name)) + name + params);

		image.used += snprintf(image.text + image.used, sizeof(image.text) - image.used,
		                       "kernel %s %s\n", mangled->c_str(), cost);
		if (image.used >= sizeof(image.text))
			abort();
		__cudaRegisterFunction(image.handle, (const char *)host, (char *)mangled->c_str(),
		                       mangled->c_str(), -1, nullptr, nullptr, nullptr, nullptr,
		                       nullptr);
	}
};

#define KERNEL(kernel, cost, params)                                                               \
	void kernel params;                                                                        \
	[[maybe_unused]] static sample_registration kernel##_registration(                         \
	        #kernel, cost, (const void *)kernel, typeid(kernel).name());                       \
	void kernel params

#if defined(SIM_CUDART) && SIM_CUDART < 12
#define SAMPLE_LAUNCH(kernel, ...) sample_launch_call(kernel, __VA_ARGS__)
#else
/* What nvcc 13 makes of <<<>>>: the configuration pushed, the kernel looked up once, launched by
 * handle. */
template <typename... P>
static cudaError_t sample_launch_brackets(cudaKernel_t handle, void (*)(P...), dim3 grid,
                                          dim3 block, size_t shared_bytes, cudaStream_t stream,
                                          typename sample_same<P>::type... params)
{
	void *args[] = {(void *)&params..., nullptr};
	cudaError_t rc;

	if (__cudaPushCallConfiguration(grid, block, shared_bytes, stream))
		return cudaGetLastError();
	rc = __cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream);
	return rc != cudaSuccess
	               ? rc
	               : __cudaLaunchKernel(handle, grid, block, args, shared_bytes, stream);
}

static inline cudaKernel_t sample_kernel_handle(const void *host)
{
	cudaKernel_t kernel = nullptr;

	__cudaGetKernel(&kernel, host);
	return kernel;
}

#define SAMPLE_LAUNCH(kernel, ...)                                                                 \
	[&]() {                                                                                    \
		static const cudaKernel_t handle = sample_kernel_handle((const void *)kernel);     \
		return sample_launch_brackets(handle, kernel, __VA_ARGS__);                        \
	}()
#endif
#endif
