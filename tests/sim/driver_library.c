/* SPDX-License-Identifier: Apache-2.0 */
/* cuLibrary* and cuKernel*: code without a context, whose kernels run in any. */
#include <string.h>
#include "tests/sim/driver_module.h"

static struct sim_image *library_get(CUlibrary h)
{
	struct sim_image *m = image_get(h);

	return m && m->is_library ? m : NULL;
}

CUresult do_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                              void **jitOptionsValues, unsigned int numJitOptions,
                              CUlibraryOption *libraryOptions, void **libraryOptionValues,
                              unsigned int numLibraryOptions)
{
	struct sim_image *m;
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	m = image_load(code, NULL);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->is_library = true;
	*library = (CUlibrary)m;
	return CUDA_SUCCESS;
}

CUresult do_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                  CUjit_option *jitOptions, void **jitOptionsValues,
                                  unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                  void **libraryOptionValues, unsigned int numLibraryOptions)
{
	struct sim_image *m;
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!library || !fileName)
		return CUDA_ERROR_INVALID_VALUE;
	rc = image_load_file(fileName, NULL, &m);
	if (rc != CUDA_SUCCESS)
		return rc;
	m->is_library = true;
	*library = (CUlibrary)m;
	return CUDA_SUCCESS;
}

CUresult do_cuLibraryUnload(CUlibrary library)
{
	struct sim_image *m = library_get(library);
	uint64_t host = 0, tail;
	CUresult rc = capture_unsafe();

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (rc != CUDA_SUCCESS)
		return rc;
	for (int i = 0; i < sim_config.devices; i++) {
		tail = device_tail(&sim_device[i], &host);
		sim_wait(tail, host, false);
	}
	image_unload(m);
	return CUDA_SUCCESS;
}

CUresult do_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct sim_image *m = library_get(library);
	struct sim_func *f;
	CUresult rc;

	if (!pKernel || !name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = image_func(m, name, NULL, &f);
	if (rc == CUDA_SUCCESS)
		*pKernel = (CUkernel)f;
	return rc;
}

CUresult do_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	struct sim_image *m = library_get(lib);

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	*count = m->kernel_count;
	return CUDA_SUCCESS;
}

CUresult do_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	struct sim_image *m = library_get(lib);

	if (!kernels || !numKernels)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	image_funcs(m, NULL, (void **)kernels, numKernels);
	return CUDA_SUCCESS;
}

/* The library seen as a module of the current context. */
CUresult do_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	struct sim_image *m = library_get(library);

	if (!pMod)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ctx_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*pMod = (CUmodule)m;
	return CUDA_SUCCESS;
}

CUresult do_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                               const char *name)
{
	struct sim_image *m = library_get(library);
	struct sim_ctx *ctx = ctx_current();

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	return image_global(m, name, ctx, dptr, bytes);
}

CUresult do_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                const char *name)
{
	return library_get(library) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
	return library_get(library) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct sim_ctx *ctx = ctx_current();
	struct sim_func *k, *f;
	CUresult rc = func_get((CUfunction)kernel, &k);

	if (!pFunc)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	rc = image_function_of_kernel(k, ctx, &f);
	*pFunc = (CUfunction)f;
	return rc;
}

CUresult do_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	struct sim_func *k;
	CUresult rc = func_get((CUfunction)kernel, &k);

	if (!pLib)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*pLib = (CUlibrary)k->image;
	return rc;
}

CUresult do_cuKernelGetName(const char **name, CUkernel hfunc)
{
	return do_cuFuncGetName(name, (CUfunction)hfunc);
}

CUresult do_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                 CUdevice dev)
{
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return func_attribute(pi, attrib, (CUfunction)kernel);
}

CUresult do_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                 CUdevice dev)
{
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return do_cuFuncSetAttribute((CUfunction)kernel, attrib, val);
}

CUresult do_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	return do_cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult do_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                 size_t *paramSize)
{
	return do_cuFuncGetParamInfo((CUfunction)kernel, paramIndex, paramOffset, paramSize);
}
