/* SPDX-License-Identifier: Apache-2.0 */
/* cuModule* and cuLink*. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_module.h"

struct sim_link {
	struct sim_handle handle;
	char *text; /* the first input that is ours */
};

/* Waits for the context, as unloading code does. */
static void drain(struct sim_ctx *ctx)
{
	uint64_t host = 0, tail = ctx_tail(ctx, &host);

	sim_wait(tail, host, false);
}

static CUresult ready(struct sim_ctx **ctx)
{
	CUresult rc = capture_unsafe();

	*ctx = ctx_current();
	if (rc == CUDA_SUCCESS && !*ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	return rc;
}

CUresult do_cuModuleLoadData(CUmodule *module, const void *image)
{
	struct sim_ctx *ctx;
	CUresult rc = ready(&ctx);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&ctx->load_lock);
	*module = (CUmodule)image_load(image, ctx);
	pthread_mutex_unlock(&ctx->load_lock);
	return *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                               CUjit_option *options, void **optionValues)
{
	return do_cuModuleLoadData(module, image);
}

CUresult do_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return do_cuModuleLoadData(module, fatCubin);
}

CUresult do_cuModuleLoad(CUmodule *module, const char *fname)
{
	struct sim_ctx *ctx;
	struct sim_image *m;
	CUresult rc = ready(&ctx);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&ctx->load_lock);
	rc = image_load_file(fname, ctx, &m);
	pthread_mutex_unlock(&ctx->load_lock);
	if (rc == CUDA_SUCCESS)
		*module = (CUmodule)m;
	return rc;
}

CUresult do_cuModuleUnload(CUmodule hmod)
{
	struct sim_image *m = image_get(hmod);
	CUresult rc = capture_unsafe();

	if (!m || m->is_library)
		return CUDA_ERROR_INVALID_HANDLE;
	if (rc != CUDA_SUCCESS)
		return rc;
	drain(m->ctx);
	image_unload(m);
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	struct sim_image *m = image_get(hmod);
	struct sim_func *f;
	CUresult rc;

	if (!hfunc || !name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = image_func(m, name, m->ctx, &f);
	if (rc == CUDA_SUCCESS)
		*hfunc = (CUfunction)f;
	return rc;
}

CUresult do_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	struct sim_image *m = image_get(mod);

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	*count = m->kernel_count;
	return CUDA_SUCCESS;
}

CUresult do_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                       CUmodule mod)
{
	struct sim_image *m = image_get(mod);

	if (!functions || !numFunctions)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	image_funcs(m, m->ctx, (void **)functions, numFunctions);
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	struct sim_image *m = image_get(hmod);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	return image_global(m, name, m->ctx, dptr, bytes);
}

CUresult do_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                            CUlinkState *stateOut)
{
	struct sim_link *l;

	if (!stateOut)
		return CUDA_ERROR_INVALID_VALUE;
	l = handle_new(HANDLE_LINK);
	*stateOut = (CUlinkState)l;
	return l ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                             const char *name, unsigned int numOptions, CUjit_option *options,
                             void **optionValues)
{
	struct sim_link *l = (struct sim_link *)state;

	if (!handle_live(HANDLE_LINK, l))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!l->text && size >= 7 && !memcmp(data, "simcuda", 7))
		l->text = strndup(data, size);
	return CUDA_SUCCESS;
}

CUresult do_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                             unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	if (!handle_live(HANDLE_LINK, state))
		return CUDA_ERROR_INVALID_HANDLE;
	return path ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	static char foreign[] = "linked code";
	struct sim_link *l = (struct sim_link *)state;

	if (!handle_live(HANDLE_LINK, l))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!cubinOut)
		return CUDA_ERROR_INVALID_VALUE;
	sim_cost(sim_config.module_ns);
	*cubinOut = l->text ? l->text : foreign;
	if (sizeOut)
		*sizeOut = strlen(*cubinOut) + 1;
	return CUDA_SUCCESS;
}

CUresult do_cuLinkDestroy(CUlinkState state)
{
	struct sim_link *l = (struct sim_link *)state;

	if (!handle_live(HANDLE_LINK, l))
		return CUDA_ERROR_INVALID_HANDLE;
	free(l->text);
	handle_free(HANDLE_LINK, l);
	return CUDA_SUCCESS;
}
