/* SPDX-License-Identifier: Apache-2.0 */
/* What nvcc's constructors register: images, kernels and variables, known by host addresses.
 * An image is loaded when the first of its kernels or variables is used, and each of those looked
 * up then. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "tests/sim/runtime.h"

#define FATBIN_MAGIC 0x466243b1
#define BUCKETS      1024

/* What the compiler lays down and hands to __cudaRegisterFatBinary. */
struct fatbin_wrapper {
	int magic;
	int version;
	const void *data;
	void *filename;
};

struct image {
	const void *data;
	CUlibrary library;           /* 12 and later: one for all contexts */
	CUmodule module[RT_DEVICES]; /* 11: one a device, in its primary context */
	struct image *next;
};

struct symbol {
	_Atomic(const void *) host; /* NULL: its image was unregistered */
	const char *name;
	struct image *image;
	void **managed; /* where the program reads a managed variable's address */
	size_t bytes;   /* 0 for a kernel */
	_Atomic(void *) handle[RT_DEVICES];
	struct symbol *next; /* set before the symbol can be seen, never changed */
};

/* Symbols are only ever added, so that launches look up without a lock; `lock` is for everything
 * else. */
static _Atomic(struct symbol *) buckets[BUCKETS];
static struct image *images;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned bucket_of(const void *host)
{
	return (uintptr_t)host * 0x9e3779b97f4a7c15ull >> 54;
}

static struct symbol *find(const void *host)
{
	/* Acquire: whoever sees the symbol sees it complete.  Pairs with add(). */
	struct symbol *s = atomic_load_explicit(&buckets[bucket_of(host)], memory_order_acquire);

	while (s && atomic_load_explicit(&s->host, memory_order_relaxed) != host)
		s = s->next;
	return host ? s : NULL;
}

static void add(void **image, const void *host, const char *name, size_t bytes, void **managed)
{
	_Atomic(struct symbol *) *bucket = &buckets[bucket_of(host)];
	struct symbol *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->name = name;
	s->image = (struct image *)image;
	s->bytes = bytes;
	s->managed = managed;
	atomic_init(&s->host, host);
	pthread_mutex_lock(&lock);
	s->next = atomic_load_explicit(bucket, memory_order_relaxed);
	/* Release: pairs with find(). */
	atomic_store_explicit(bucket, s, memory_order_release);
	pthread_mutex_unlock(&lock);
}

/* A library's kernels are the same in every context; a module's, and all variables, belong to one.
 */
static bool shared(const struct symbol *s)
{
	return SIM_CUDART >= 12 && !s->bytes;
}

static CUresult load(struct image *image)
{
	CUmodule *module = &image->module[rt_self.device];

	if (SIM_CUDART < 12)
		return *module ? CUDA_SUCCESS : DRV(cuModuleLoadData)(module, image->data);
	return image->library ? CUDA_SUCCESS
	                      : DRV(cuLibraryLoadData)(&image->library, image->data, NULL, NULL, 0,
	                                               NULL, NULL, 0);
}

static CUresult look_up_kernel(struct symbol *s, void **handle)
{
	if (SIM_CUDART < 12)
		return DRV(cuModuleGetFunction)((CUfunction *)handle,
		                                s->image->module[rt_self.device], s->name);
	return DRV(cuLibraryGetKernel)((CUkernel *)handle, s->image->library, s->name);
}

static CUresult look_up_variable(struct symbol *s, void **handle)
{
	CUdeviceptr address = 0;
	size_t bytes;
	CUresult rc;

	if (SIM_CUDART < 12)
		rc = DRV(cuModuleGetGlobal)(&address, &bytes, s->image->module[rt_self.device],
		                            s->name);
	else if (s->managed)
		rc = DRV(cuLibraryGetManaged)(&address, &bytes, s->image->library, s->name);
	else
		rc = DRV(cuLibraryGetGlobal)(&address, &bytes, s->image->library, s->name);
	*handle = (void *)(uintptr_t)address;
	if (rc == CUDA_SUCCESS && s->managed)
		*s->managed = *handle;
	return rc;
}

/* Lazy loading must work in the middle of a capture too, where loading code is forbidden. */
static CUresult load_and_look_up(struct symbol *s, void **handle)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult rc;

	DRV(cuThreadExchangeStreamCaptureMode)(&mode);
	rc = load(s->image);
	if (rc == CUDA_SUCCESS)
		rc = s->bytes ? look_up_variable(s, handle) : look_up_kernel(s, handle);
	DRV(cuThreadExchangeStreamCaptureMode)(&mode);
	return rc;
}

/* The lock is held across the driver's loading, as in the real runtime: other first uses wait. */
static CUresult resolve(struct symbol *s, void **handle)
{
	_Atomic(void *) *cached = &s->handle[shared(s) ? 0 : rt_self.device];
	CUresult rc = CUDA_SUCCESS;

	/* Acquire: pairs with the release below, made by whichever thread resolved it. */
	*handle = atomic_load_explicit(cached, memory_order_acquire);
	if (*handle)
		return rc;
	pthread_mutex_lock(&lock);
	*handle = atomic_load_explicit(cached, memory_order_relaxed);
	if (!*handle) {
		rc = load_and_look_up(s, handle);
		if (rc == CUDA_SUCCESS)
			atomic_store_explicit(cached, *handle, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

cudaError_t rt_kernel(const void *host, CUfunction *kernel)
{
	struct symbol *s = find(host);
	void *handle;
	CUresult rc;

	if (!s || s->bytes)
		return cudaErrorInvalidDeviceFunction;
	rc = resolve(s, &handle);
	*kernel = handle;
	return rc == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)rc;
}

cudaError_t rt_variable(const void *host, CUdeviceptr *address, size_t *bytes)
{
	struct symbol *s = find(host);
	void *handle;
	CUresult rc;

	if (!s || !s->bytes)
		return cudaErrorInvalidSymbol;
	rc = resolve(s, &handle);
	*address = RT_PTR(handle);
	*bytes = s->bytes;
	return rc == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)rc;
}

/* A reset device has lost its modules, and with them what was looked up in them; libraries stay. */
void rt_forget_modules(int device)
{
	pthread_mutex_lock(&lock);
	for (struct image *i = images; i; i = i->next)
		i->module[device] = NULL;
	for (int b = 0; b < BUCKETS; b++)
		for (struct symbol *s = atomic_load_explicit(&buckets[b], memory_order_relaxed); s;
		     s = s->next)
			if (!shared(s))
				atomic_store_explicit(&s->handle[device], NULL,
				                      memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

/* Runs from the program's atexit handlers too, when the driver has ended and has nothing to unload.
 */
static void unload(struct image *image)
{
	CUcontext context;

	if (!rt_slot[SLOT_cuCtxGetCurrent] || DRV(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		return;
	if (image->library)
		DRV(cuLibraryUnload)(image->library);
	for (int d = 0; d < RT_DEVICES; d++)
		if (image->module[d])
			DRV(cuModuleUnload)(image->module[d]);
}

/* The exports.  Their types are those the compiler's own header declares. */

SIM_API void **__cudaRegisterFatBinary(void *fatbin);
SIM_API void __cudaRegisterFatBinaryEnd(void **handle);
SIM_API void __cudaUnregisterFatBinary(void **handle);
SIM_API char __cudaInitModule(void **handle);
SIM_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
                                    dim3 *grid, int *warp_size);
SIM_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                               size_t bytes, int constant, int global);
SIM_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                      int ext, size_t bytes, int constant, int global);

SIM_API void **__cudaRegisterFatBinary(void *fatbin)
{
	const struct fatbin_wrapper *wrapper = fatbin;
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		abort();
	image->data = wrapper->magic == FATBIN_MAGIC ? wrapper->data : fatbin;
	pthread_mutex_lock(&lock);
	image->next = images;
	images = image;
	pthread_mutex_unlock(&lock);
	return (void **)image;
}

SIM_API void __cudaRegisterFatBinaryEnd(void **handle)
{
}

SIM_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
                                    dim3 *grid, int *warp_size)
{
	add(handle, host, name, 0, NULL);
}

SIM_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                               size_t bytes, int constant, int global)
{
	add(handle, host, name, bytes, NULL);
}

SIM_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                      int ext, size_t bytes, int constant, int global)
{
	add(handle, host, name, bytes, host);
}

/* The compiler calls this before a managed variable is touched: its address must be in place then.
 */
SIM_API char __cudaInitModule(void **handle)
{
	void *address;

	if (rt_enter() != cudaSuccess)
		return 0;
	for (int b = 0; b < BUCKETS; b++)
		for (struct symbol *s = atomic_load_explicit(&buckets[b], memory_order_acquire); s;
		     s = s->next)
			if (s->image == (struct image *)handle && s->managed &&
			    resolve(s, &address) != CUDA_SUCCESS)
				return 0;
	return 1;
}

/* The image itself stays: symbols that nobody can find any more still point to it. */
SIM_API void __cudaUnregisterFatBinary(void **handle)
{
	struct image *image = (struct image *)handle;
	struct image **link = &images;

	pthread_mutex_lock(&lock);
	while (*link && *link != image)
		link = &(*link)->next;
	if (*link)
		*link = image->next;
	for (int b = 0; b < BUCKETS; b++)
		for (struct symbol *s = atomic_load_explicit(&buckets[b], memory_order_relaxed); s;
		     s = s->next)
			if (s->image == image)
				atomic_store_explicit(&s->host, NULL, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	unload(image);
}
