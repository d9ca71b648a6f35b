/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_place.h"

#include "shim/sampler/sampler.h"
#include "shim/sampler/sampler_ahead.h"
#include "shim/sampler/sampler_beside.h"

#define LAUNCHED 1024u /* places, by key */

static uint64_t launched[LAUNCHED]; /* key and place of the last class there */

static struct { /* a cache line of its own: written now and then */
	uint32_t no_new_contexts;
	char rest[60];
} shared __attribute__((aligned(64)));

void sampler_no_new_contexts(void)
{
	__atomic_store_n(&shared.no_new_contexts, 1, __ATOMIC_RELAXED);
}

bool place_goes_to_gpu(const struct spy_span *s, CUstream stream, CUresult *rc)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	*rc = sampler_cu.is_capturing[!!(s->flags & TF_PTDS)](stream, &status);
	return *rc == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE;
}

void place_enter(struct sampler *m, const struct spy_span *s, CUstream stream)
{
	CUcontext current = NULL;
	CUresult rc;

	if (sampler_cu.get_current(&current) != CUDA_SUCCESS || !current)
		return; /* asked again at the next launch */
	/* Else the call is not recorded, and the thread may have no index. */
	if (m)
		beside_begins(spy_tls.index, stream, !!(s->flags & TF_PTDS));
	struct sampler_context *c = sampler_context_find((uintptr_t)current);
	if (c) {
		sampler_context_await(c);
	} else if (__atomic_load_n(&shared.no_new_contexts, __ATOMIC_RELAXED)) {
		sampler_context_refuse((uintptr_t)current);
	} else if (place_goes_to_gpu(s, stream, &rc)) {
		struct sampler_spot spot = sampler_spot_of(s, stream, false);
		c = sampler_context_make((uintptr_t)current, &spot);
	} else if (rc == CUDA_SUCCESS) {
		return; /* goes into a graph */
	} else {
		sampler_context_refuse((uintptr_t)current);
	}
	if (!m)
		return;
	m->context = c;
	m->number = c ? c->number : 0;
	beside_entered(spy_tls.index, m->number);
	spy_tls.sampled = m->classes;
}

bool place_usable(const struct sampler *m)
{
	return m->context && m->context->number == m->number && sampler_context_on(m->context);
}

bool place_holds(const struct sampler_context *c, CUstream stream)
{
	CUcontext current = NULL, owner = NULL;

	if (sampler_cu.get_current(&current) != CUDA_SUCCESS || (uintptr_t)current != c->handle) {
		sampler_context_changed();
		return false;
	}
	if ((uintptr_t)stream <= 2)
		return true;
	return sampler_cu.stream_context(stream, &owner) == CUDA_SUCCESS && owner == current;
}

/* The numbers of contexts and of unloads only grow, so that a change shows in their sum. */
uint16_t place_seen(const struct sampler *m)
{
	return (m->number * 257 + registry_code_unloads()) & SAMPLER_SEEN;
}

static uint64_t mark_of(const struct sampler *m, uint64_t key)
{
	return (key ^ key >> 32) * 0x9e3779b97f4a7c15u + place_seen(m);
}

void place_launched(const struct sampler *m, uint64_t key)
{
	uint64_t *at = &launched[(key >> 20) % LAUNCHED], mark = mark_of(m, key);

	if (m->context->number == m->number &&
	    !__atomic_load_n(&m->context->graphs, __ATOMIC_RELAXED))
		__atomic_store_n(&m->context->graphs, 1, __ATOMIC_RELAXED);
	/* Relaxed: the launch itself went to the driver before. Mostly the mark is there already:
	 * not writing it leaves the cache line shared by all threads. */
	if (__atomic_load_n(at, __ATOMIC_RELAXED) != mark)
		__atomic_store_n(at, mark, __ATOMIC_RELAXED);
}

bool place_was_launched(const struct sampler *m, uint64_t key)
{
	return __atomic_load_n(&launched[(key >> 20) % LAUNCHED], __ATOMIC_RELAXED) ==
	       mark_of(m, key);
}
