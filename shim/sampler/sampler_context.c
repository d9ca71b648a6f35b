/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_context.h"

#include <string.h>
#include "shim/base/gate.h"
#include "shim/sampler/sampler_ahead.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_image.h"
#include "shim/sampler/sampler_section.h"
#include "shim/record/span.h"
#include "shim/base/sys.h"

#define CONTEXTS 64
/*
 * Pairs of each kind before a context's first launch, so that short programs have some. Few: the
 * GPU's clocks are low then, pairs cost up to 0.5 us more, and samples come later.
 */
#define CALIBRATIONS  1
#define AWAIT_MOST_NS 2000000000u

static struct sampler_context contexts[CONTEXTS];
static uint32_t numbers; /* under the shim's lock */

/* ---- which ---- */

struct sampler_context *sampler_context_find(uint64_t handle)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		/* Acquire: pairs with claim(). */
		if (__atomic_load_n(&contexts[i].handle, __ATOMIC_ACQUIRE) == handle)
			return &contexts[i];
	return NULL;
}

/*
 * A context's place, taken now if it has none (`mine`): in state MAKING. NULL where all places are
 * taken. Places are given out in turn, so that the place of a context that is gone stays as it is
 * for long: a thread may still hold it.
 */
static struct sampler_context *claim(uint64_t handle, bool *mine)
{
	spy_lock();
	struct sampler_context *c = sampler_context_find(handle);
	*mine = !c;
	for (unsigned i = 0; !c && i < CONTEXTS; i++)
		if (!contexts[(numbers + i) % CONTEXTS].handle)
			c = &contexts[(numbers + i) % CONTEXTS];
	if (c && *mine) {
		memset(c, 0, sizeof(*c));
		c->number = ++numbers;
		c->state = SAMPLER_MAKING;
		__atomic_store_n(&c->handle, handle, __ATOMIC_RELEASE);
	}
	spy_unlock();
	if (!c)
		spy_count_anomaly(SPY_ANOMALY_SAMPLING_OFF);
	return c;
}

static bool change(struct sampler_context *c, uint32_t from, uint32_t to)
{
	/* Release: whoever finds it on finds it filled. Pairs with sampler_context_on(). */
	return __atomic_compare_exchange_n(&c->state, &from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

/* Counted once a context. */
static void give_up(struct sampler_context *c)
{
	if (change(c, SAMPLER_ON, SAMPLER_OFF) || change(c, SAMPLER_MAKING, SAMPLER_OFF))
		spy_count_anomaly(SPY_ANOMALY_SAMPLING_OFF);
}

bool sampler_accepted(struct sampler_context *c, CUresult rc)
{
	if (sampler_driver_refused(rc))
		give_up(c);
	return rc == CUDA_SUCCESS;
}

/* ---- made ready ---- */

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

uint32_t sampler_warps_per_sm(CUdevice device)
{
	int threads = 0;

	if (sampler_cu.device_attribute(&threads,
	                                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
	                                device) != CUDA_SUCCESS)
		return 0;
	return (uint32_t)threads / 32;
}

static void learn_device(struct sampler_context *c)
{
	CUdevice device = 0;

	if (sampler_cu.get_device(&device) != CUDA_SUCCESS)
		return;
	c->device = (uint32_t)device;
	c->warps_per_sm = sampler_warps_per_sm(device);
}

/* Whatever of it the driver loads late is loaded now. */
static bool first_work(struct sampler_context *c, const struct sampler_spot *spot)
{
	struct sampler_pair *first = sampler_pair_take(c);
	bool ok = first;

	for (unsigned us = 0; ok && us < 2; us++)
		ok = sampler_make_ahead(c, first, spot, us) &&
		     sampler_put_ahead(c, first, spot, us);
	if (first)
		sampler_pair_give_up(
		        c, first, ok && sampler_put_event(c, first->b, spot->stream, spot->ptds));
	for (int i = 0; ok && i < CALIBRATIONS; i++)
		ok = sampler_calibrate(c, spot, TF_WORK_EMPTY, STALL_FIRST_US) &&
		     sampler_calibrate(c, spot, TF_WORK_NULL, STALL_FIRST_US) &&
		     sampler_calibrate(c, spot, TF_WORK_NULL, 0);
	return ok;
}

struct sampler_context *sampler_context_make(uint64_t handle, const struct sampler_spot *spot)
{
	CUstreamCaptureMode mode;
	bool mine;
	struct sampler_context *c = claim(handle, &mine);

	if (!c)
		return NULL;
	if (!mine) { /* another thread was faster */
		sampler_context_await(c);
		return c;
	}
	bool ok = false;
	if (section_enter(&mode)) {
		learn_device(c);
		ok = load_kernels(c) && sampler_pairs_make(c) && first_work(c, spot);
		section_leave(&mode);
	}
	if (!ok || !change(c, SAMPLER_MAKING, SAMPLER_ON))
		give_up(c);
	return c;
}

void sampler_context_refuse(uint64_t handle)
{
	bool mine;
	struct sampler_context *c = claim(handle, &mine);

	if (c && mine)
		give_up(c);
	else if (c)
		sampler_context_await(c);
}

/* Loading code may have to wait for what runs in the context: nothing that runs for long must come
 * in between. */
void sampler_context_await(struct sampler_context *c)
{
	uint64_t until = clock_monotonic_ns() + AWAIT_MOST_NS;

	while (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == SAMPLER_MAKING) {
		if (clock_monotonic_ns() > until)
			give_up(c);
		else
			sys_sleep(50000);
	}
}

/* ---- its end ---- */

void sampler_context_shut(struct sampler_context *c)
{
	__atomic_store_n(&c->state, SAMPLER_OFF, __ATOMIC_SEQ_CST);
	section_wait();
}

void sampler_context_forget(struct sampler_context *c)
{
	__atomic_store_n(&c->number, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->handle, 0, __ATOMIC_RELEASE);
}

void sampler_contexts_each(void (*f)(struct sampler_context *c))
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (sampler_context_on(&contexts[i]))
			f(&contexts[i]);
}

void sampler_contexts_after_fork(void)
{
	memset(contexts, 0, sizeof(contexts));
}
