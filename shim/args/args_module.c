/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/handles/contexts.h"
#include "shim/base/gate.h"
#include "shim/handles/memory_map.h"
#include "shim/real/real.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"

typedef CUresult (*func_get_name_t)(const char **, CUfunction);
typedef CUresult (*kernel_get_name_t)(const char **, CUkernel);

/*
 * Kernels are named when their handle is made. Where a handle comes up that was never seen being
 * made (enumerated, or made through a path that is not hooked), the driver is asked, on the calling
 * thread, whose handle is then valid.
 */
uint32_t spy_learn_function(CUfunction f)
{
	func_get_name_t func_name = (func_get_name_t)spy_driver_symbol("cuFuncGetName");
	kernel_get_name_t kernel_name = (kernel_get_name_t)spy_driver_symbol("cuKernelGetName");
	const char *name = NULL;
	uint32_t kernel = TF_KERNEL_UNKNOWN;

	/* cuFuncGetName() takes a CUkernel in a CUfunction's clothes as cuLaunchKernel() does; both
	 * since CUDA 12.3. */
	if ((!func_name || func_name(&name, f) != CUDA_SUCCESS || !name) && kernel_name &&
	    kernel_name(&name, (CUkernel)f) != CUDA_SUCCESS)
		name = NULL;
	if (name)
		kernel = registry_kernel(name);
	registry_put(HANDLE_FUNCTION, (uintptr_t)f, kernel, 0, contexts_current());
	return kernel;
}

/* A handle of a module that is loaded stands for one name: a program may ask for it again. */
static void learn(const void *handle, const char *name, const void *owner, uint64_t context)
{
	if (spy_map.base &&
	    !registry_knows(HANDLE_FUNCTION, (uintptr_t)handle, (uintptr_t)owner, context))
		registry_put(HANDLE_FUNCTION, (uintptr_t)handle, registry_kernel(name),
		             (uintptr_t)owner, context);
}

void args_module_function(struct spy_span *s, CUresult rc, CUfunction *f, CUmodule module,
                          const char *name)
{
	if (rc == CUDA_SUCCESS && f && *f && name)
		learn(*f, name, module, contexts_current());
}

/* Whatever these handles stood for before, they stand for something else now: asked for at the
 * first launch. */
void args_module_enumerate(struct spy_span *s, CUresult rc, CUfunction *list, unsigned count,
                           CUmodule module)
{
	for (unsigned i = 0; rc == CUDA_SUCCESS && list && i < count; i++)
		registry_drop(HANDLE_FUNCTION, (uintptr_t)list[i]);
}

/* Identities are dropped before the real call: from its return on the same handle may mean another
 * kernel. */
void before_module_unload(struct spy_span *s, CUmodule module)
{
	registry_code_unloaded();
	registry_drop_owned((uintptr_t)module);
	registry_drop(HANDLE_MODULE, (uintptr_t)module);
}

void args_module_unload(struct spy_span *s, CUresult rc, CUmodule module)
{
}

void args_library_kernel(struct spy_span *s, CUresult rc, CUkernel *kernel, CUlibrary library,
                         const char *name)
{
	if (rc == CUDA_SUCCESS && kernel && *kernel && name)
		learn(*kernel, name, library, 0);
}

void args_library_enumerate(struct spy_span *s, CUresult rc, CUkernel *list, unsigned count,
                            CUlibrary library)
{
	for (unsigned i = 0; rc == CUDA_SUCCESS && list && i < count; i++)
		registry_drop(HANDLE_FUNCTION, (uintptr_t)list[i]);
}

/* The library's module in the current context: its functions die with the library. */
void args_library_module(struct spy_span *s, CUresult rc, CUmodule *module, CUlibrary library)
{
	if (rc == CUDA_SUCCESS && module && *module)
		registry_put(HANDLE_MODULE, (uintptr_t)*module, 0, (uintptr_t)library,
		             contexts_current());
}

void before_library_unload(struct spy_span *s, CUlibrary library)
{
	registry_code_unloaded();
	registry_drop_owned((uintptr_t)library);
}

void args_library_unload(struct spy_span *s, CUresult rc, CUlibrary library)
{
}

/* The same kernel as a function of the current context. */
void args_kernel_function(struct spy_span *s, CUresult rc, CUfunction *f, CUkernel kernel)
{
	uint32_t index;

	if (rc == CUDA_SUCCESS && f && *f &&
	    registry_get(HANDLE_FUNCTION, (uintptr_t)kernel, &index))
		registry_put(HANDLE_FUNCTION, (uintptr_t)*f, index, (uintptr_t)kernel,
		             contexts_current());
}

/* ---- variables: device memory that nobody allocated ---- */

static void variable(CUresult rc, const CUdeviceptr *p, const size_t *n, enum spy_memory memory)
{
	if (rc != CUDA_SUCCESS || !p || !n || !*p)
		return;
	const struct memory_range range = {*p, *p + *n, contexts_current(), memory, true};
	if (memory_map_find(*p) != memory)
		memory_map_add(&range);
}

void args_module_global(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t *n, CUmodule module,
                        const char *name)
{
	variable(rc, p, n, SPY_MEM_DEVICE);
}

void args_library_global(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t *n,
                         CUlibrary library, const char *name)
{
	variable(rc, p, n, SPY_MEM_DEVICE);
}

void args_library_managed(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t *n,
                          CUlibrary library, const char *name)
{
	variable(rc, p, n, SPY_MEM_MANAGED);
}
