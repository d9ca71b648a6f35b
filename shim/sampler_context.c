#include "shim/sampler_context.h"

#include <stdbool.h>
#include "shim/lifecycle.h"
#include "shim/real.h"
#include "shim/sampler_image.h"
#include "shim/span.h"

#define CONTEXTS     64
#define STALL_US     8 /* long enough to queue two events and a launch behind it: some 6 us */
#define CALIBRATIONS 6 /* pairs of each kind before a context's first launch */

struct sampler_driver sampler_cu;
static struct sampler_context contexts[CONTEXTS];
static uint32_t numbers;

/* ---- the driver ---- */

bool sampler_driver_find(void)
{
	struct sampler_driver *cu = &sampler_cu;
	const struct {
		void *slot;
		const char *name, *older;
	} wanted[] = {
	        {&cu->launch[0], "cuLaunchKernel", NULL},
	        {&cu->launch[1], "cuLaunchKernel_ptsz", NULL},
	        {&cu->record[0], "cuEventRecord", NULL},
	        {&cu->record[1], "cuEventRecord_ptsz", NULL},
	        {&cu->stream_query[0], "cuStreamQuery", NULL},
	        {&cu->stream_query[1], "cuStreamQuery_ptsz", NULL},
	        {&cu->is_capturing[0], "cuStreamIsCapturing", NULL},
	        {&cu->is_capturing[1], "cuStreamIsCapturing_ptsz", NULL},
	        {&cu->exchange_mode, "cuThreadExchangeStreamCaptureMode", NULL},
	        {&cu->get_current, "cuCtxGetCurrent", NULL},
	        {&cu->get_device, "cuCtxGetDevice", NULL},
	        {&cu->device_attribute, "cuDeviceGetAttribute", NULL},
	        {&cu->stream_context, "cuStreamGetCtx", NULL},
	        {&cu->module_load, "cuModuleLoadDataEx", NULL},
	        {&cu->module_function, "cuModuleGetFunction", NULL},
	        {&cu->event_create, "cuEventCreate", NULL},
	        {&cu->event_query, "cuEventQuery", NULL},
	        {&cu->elapsed, "cuEventElapsedTime", "cuEventElapsedTime_v2"},
	        {&cu->occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL},
	        {&cu->function_attribute, "cuFuncGetAttribute", NULL},
	};

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *f = spy_driver_symbol(wanted[i].name);
		if (!f && wanted[i].older)
			f = spy_driver_symbol(wanted[i].older);
		if (!f)
			return false;
		memcpy(wanted[i].slot, &f, sizeof(f));
	}
	return true;
}

/* ---- contexts ---- */

struct sampler_context *sampler_context_find(uint64_t handle)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		/* Acquire: pairs with publish(). */
		if (__atomic_load_n(&contexts[i].handle, __ATOMIC_ACQUIRE) == handle)
			return contexts[i].on ? &contexts[i] : NULL;
	return NULL;
}

static bool is_known(uint64_t handle)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].handle, __ATOMIC_ACQUIRE) == handle)
			return true;
	return false;
}

/* Takes a place for a context that has none yet; NULL where another thread was faster, or all
 * places are taken. It is found from now on, switched off until it is ready. */
static struct sampler_context *claim(uint64_t handle)
{
	struct sampler_context *c = NULL;

	spy_lock();
	for (unsigned i = 0; !is_known(handle) && i < CONTEXTS && !c; i++)
		if (!contexts[i].handle)
			c = &contexts[i];
	if (c) {
		memset(c, 0, sizeof(*c));
		c->number = ++numbers;
		__atomic_store_n(&c->handle, handle, __ATOMIC_RELEASE);
	}
	spy_unlock();
	return c;
}

static bool load_kernels(struct sampler_context *c)
{
	/* No entry in the user's cache of translated code for this. */
	CUjit_option options[] = {CU_JIT_CACHE_MODE};
	void *values[] = {(void *)(uintptr_t)CU_JIT_CACHE_OPTION_NONE};
	CUmodule module;

	if ((!sampler_code_bytes ||
	     sampler_cu.module_load(&module, sampler_code, 0, NULL, NULL) != CUDA_SUCCESS) &&
	    sampler_cu.module_load(&module, sampler_ptx, 1, options, values) != CUDA_SUCCESS)
		return false;
	return sampler_cu.module_function(&c->stall, module, "cudaspy_stall") == CUDA_SUCCESS &&
	       sampler_cu.module_function(&c->null, module, "cudaspy_null") == CUDA_SUCCESS;
}

static bool make_events(struct sampler_context *c)
{
	for (unsigned i = 0; i < SAMPLER_PAIRS; i++) {
		struct sampler_pair *p = &c->pairs[i];
		if (sampler_cu.event_create(&p->a, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
		    sampler_cu.event_create(&p->b, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
			return false;
	}
	c->free = ~0ull;
	return true;
}

static void learn_device(struct sampler_context *c)
{
	CUdevice device = 0;
	int threads = 0;

	if (sampler_cu.get_device(&device) != CUDA_SUCCESS)
		return;
	c->device = (uint32_t)device;
	if (sampler_cu.device_attribute(&threads,
	                                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
	                                device) == CUDA_SUCCESS)
		c->warps_per_sm = (uint32_t)threads / 32;
}

struct sampler_context *sampler_context_make(uint64_t handle, CUstream stream, int ptds)
{
	struct sampler_context *c = claim(handle);

	if (!c)
		return NULL;
	learn_device(c);
	bool ok = load_kernels(c) && make_events(c) && sampler_ahead(c, stream, ptds, 1) &&
	          sampler_ahead(c, stream, ptds, 0);
	for (int i = 0; ok && i < CALIBRATIONS; i++)
		ok = sampler_calibrate(c, stream, ptds, TF_WORK_EMPTY, false) &&
		     sampler_calibrate(c, stream, ptds, TF_WORK_NULL, false) &&
		     sampler_calibrate(c, stream, ptds, TF_WORK_NULL, true);
	if (!ok)
		spy_count_trouble(SPY_TROUBLE_SAMPLING_OFF);
	/* Release: whoever finds it on finds it filled. */
	__atomic_store_n(&c->on, ok, __ATOMIC_RELEASE);
	return ok ? c : NULL;
}

void sampler_context_refuse(uint64_t handle)
{
	claim(handle);
}

void sampler_context_give_up(struct sampler_context *c)
{
	if (__atomic_exchange_n(&c->on, 0, __ATOMIC_ACQ_REL))
		spy_count_trouble(SPY_TROUBLE_SAMPLING_OFF);
}

void sampler_context_forget(uint64_t handle)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle == handle) {
			__atomic_store_n(&contexts[i].on, 0, __ATOMIC_RELEASE);
			__atomic_store_n(&contexts[i].handle, 0, __ATOMIC_RELEASE);
		}
}

void sampler_contexts_after_fork(void)
{
	memset(contexts, 0, sizeof(contexts));
}

void sampler_contexts_each(void (*f)(struct sampler_context *c))
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle && contexts[i].on)
			f(&contexts[i]);
}

/* ---- pairs ---- */

/* Nobody waits here: a thread that finds the pool taken goes on without. */
static bool try_lock(struct sampler_context *c)
{
	return !__atomic_exchange_n(&c->lock.taken, 1, __ATOMIC_ACQUIRE);
}

struct sampler_pair *sampler_pair_take(struct sampler_context *c)
{
	struct sampler_pair *p = NULL;

	if (!try_lock(c))
		return NULL;
	if (c->free) {
		int at = __builtin_ctzll(c->free);
		c->free &= c->free - 1;
		p = &c->pairs[at];
	}
	spin_unlock(&c->lock);
	return p;
}

void sampler_pair_return(struct sampler_context *c, struct sampler_pair *p)
{
	spin_lock(&c->lock);
	c->free |= 1ull << (p - c->pairs);
	spin_unlock(&c->lock);
}

void sampler_pair_commit(struct sampler_context *c, struct sampler_pair *p)
{
	spin_lock(&c->lock);
	c->waiting[(c->first + c->count++) % SAMPLER_PAIRS] = (uint8_t)(p - c->pairs);
	spin_unlock(&c->lock);
}

/* The oldest pair that waits, taken out of the line if the GPU is done with it. */
static struct sampler_pair *finished(struct sampler_context *c)
{
	struct sampler_pair *p = NULL;

	if (!try_lock(c))
		return NULL;
	if (c->count) {
		p = &c->pairs[c->waiting[c->first]];
		CUresult rc = sampler_cu.event_query(p->b);
		if (rc == CUDA_SUCCESS) {
			c->first = (c->first + 1) % SAMPLER_PAIRS;
			c->count--;
		} else {
			p = NULL;
			if (rc != CUDA_ERROR_NOT_READY)
				sampler_context_give_up(c);
		}
	}
	spin_unlock(&c->lock);
	return p;
}

void sampler_harvest(struct sampler_context *c, unsigned most)
{
	struct sampler_pair *p;
	float ms;

	while (c->on && most-- && (p = finished(c))) {
		/* Milliseconds, of a resolution of some 32 ns: see cuEventElapsedTime(). */
		if (sampler_cu.elapsed(&ms, p->a, p->b) == CUDA_SUCCESS && ms >= 0) {
			p->record.end = (uint64_t)((double)ms * 1e6 + 0.5);
			span_push_aside(&p->record);
		} else {
			spy_count_trouble(SPY_TROUBLE_SAMPLES_DROPPED);
		}
		sampler_pair_return(c, p);
	}
}

/* ---- our own work ---- */

static bool launch_null(struct sampler_context *c, CUstream stream, int ptds)
{
	return sampler_cu.launch[ptds](c->null, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) ==
	       CUDA_SUCCESS;
}

bool sampler_ahead(struct sampler_context *c, CUstream stream, int ptds, unsigned us)
{
	unsigned long long nanoseconds = us * 1000ull;
	void *arguments[] = {&nanoseconds};

	if (!us)
		return launch_null(c, stream, ptds);
	return sampler_cu.launch[ptds](c->stall, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) ==
	       CUDA_SUCCESS;
}

bool sampler_calibrate(struct sampler_context *c, CUstream stream, int ptds, enum tf_work_kind kind,
                       bool busy)
{
	struct sampler_pair *p = sampler_pair_take(c);

	if (!p)
		return true;
	bool ok = sampler_ahead(c, stream, ptds, busy ? 0 : STALL_US);
	ok = ok && sampler_cu.record[ptds](p->a, stream) == CUDA_SUCCESS;
	if (ok && kind == TF_WORK_NULL)
		ok = launch_null(c, stream, ptds);
	ok = ok && sampler_cu.record[ptds](p->b, stream) == CUDA_SUCCESS;
	if (!ok || sampler_cu.event_query(p->a) != CUDA_ERROR_NOT_READY) {
		/* Refused; or the first event had passed before all was queued. */
		sampler_pair_return(c, p);
		return ok;
	}
	p->record = (struct tf_record){
	        .start = spy_clock(),
	        .call = TF_CALL_SAMPLE,
	        .thread = (uint16_t)kind,
	        .result = busy ? TF_PAIR_BUSY : TF_PAIR_IDLE,
	        .stream = (uintptr_t)stream,
	        .launch.kernel = c->device,
	};
	sampler_pair_commit(c, p);
	return true;
}
