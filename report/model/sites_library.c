/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a native frame is code that the program's author did not write: of CUDA, of a framework,
 * of the C and C++ runtimes, or what the compiler made for a launch.
 */
#include <string.h>

#include "report/base/file.h"
#include "report/model/sites_internal.h"

static bool begins_with_any(const char *text, const char *const *all)
{
	for (; text && *all; all++)
		if (!strncmp(text, *all, strlen(*all)))
			return true;
	return false;
}

static bool has_any(const char *text, const char *const *all)
{
	for (; text && *all; all++)
		if (strstr(text, *all))
			return true;
	return false;
}

bool sites_is_c_runtime(const struct model_frame *f)
{
	static const char *const names[] = {"libc.so",    "libc-2",    "libpthread", "libstdc++",
	                                    "libgcc_s",   "ld-linux",  "ld-musl",    "libc++",
	                                    "libgomp.so", "libomp.so", NULL};

	return !f->python && f->module && begins_with_any(file_base_name(f->module), names);
}

/* What the CUDA compiler puts between `kernel<<<...>>>()` and the runtime's call. */
static bool is_launch_stub(const struct model_frame *f)
{
	static const char *const functions[] = {"__device_stub_", "__wrapper__device_stub_", NULL};

	return begins_with_any(f->function, functions);
}

static bool is_library(const struct model_frame *f)
{
	/* "libcuda": the driver, the runtime and the shim. */
	static const char *const modules[] = {
	        "libffi",        "_ctypes",        "libcuda",         "libnvrtc",     "libpython",
	        "libcublas",     "libcudnn",       "libcufft",        "libcurand",    "libcusolver",
	        "libcusparse",   "libcutensor",    "libnccl",         "libnvJitLink", "libnvjpeg",
	        "libnpp",        "libnvinfer",     "libnvshmem",      "libtorch",     "libc10",
	        "libtensorflow", "libonnxruntime", "xla_cuda_plugin", "libpaddle",    NULL};
	static const char *const folders[] = {"/site-packages/", "/dist-packages/", NULL};
	/* Of the runtime linked in, and of its header. */
	static const char *const functions[] = {"__cudaLaunchKernel", "libcudart_static_",
	                                        "__cudart", NULL};
	static const char *const files[] = {
	        "/usr/include/",      "/include/c++/",   "/include/thrust/",
	        "/include/cub/",      "/include/cccl/",  "/include/cuda/",
	        "/cuda/include/",     "-linux/include/", "cuda_runtime.h",
	        "device_functions.h", ".cudafe1.stub.c", "/include/ATen/",
	        "/include/torch/",    "/include/c10/",   NULL};

	return begins_with_any(f->module ? file_base_name(f->module) : NULL, modules) ||
	       has_any(f->module, folders) || begins_with_any(f->function, functions) ||
	       has_any(f->file, files) || sites_is_c_runtime(f);
}

void sites_judge_native(struct model_frame *f)
{
	f->stub = is_launch_stub(f);
	f->foreign = f->stub || is_library(f);
}

void sites_mark_stubs(struct model_frame *frames, size_t count)
{
	bool stub = false;

	for (size_t i = 0; i < count; i++) {
		struct model_frame *f = &frames[i];
		if (f->python || !f->module)
			continue;
		f->foreign |= stub;
		stub = f->stub;
	}
}
