/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

struct api_key {
	char name[sizeof(((struct tf_call *)0)->name)];
	uint8_t level;
};

struct api_entry {
	struct api_key key;
	uint32_t index;
	UT_hash_handle hh;
};

/* The model's index of a call, made when it is new. */
static uint32_t api_index(struct model *m, const struct tf_call *call)
{
	struct api_key key = {.level = call->level};
	struct api_entry *entry;

	memcpy(key.name, call->name, strnlen(call->name, sizeof(key.name) - 1));
	HASH_FIND(hh, m->scratch->apis_by_name, &key, sizeof(key), entry);
	if (entry)
		return entry->index;
	entry = alloc_zeroed(1, sizeof(*entry));
	entry->key = key;
	entry->index = (uint32_t)m->api_count;
	HASH_ADD(hh, m->scratch->apis_by_name, key, sizeof(key), entry);
	ALLOC_ROOM(m->apis, m->api_count);
	ALLOC_ROOM(m->scratch->api_spreads, m->api_count);
	m->scratch->api_spreads[m->api_count] = (struct model_spread){0};
	m->apis[m->api_count++] = (struct model_api){
	        .name = alloc_string(key.name),
	        .level = call->level,
	        .cls = call->cls < SPY_CLASS_COUNT ? call->cls : SPY_CLASS_OTHER,
	};
	return entry->index;
}

/* When it was first seen. */
static double first_of(const struct model_part *p, const struct tf_failure *f)
{
	return p->window_start && f->first_tick >= p->window_start
	               ? clock_between(&p->clock, p->window_start, f->first_tick)
	               : NAN;
}

static void add_failure(struct model_part *p, uint32_t api, const struct tf_failure *f)
{
	struct model *m = p->model;

	for (size_t i = 0; i < m->failure_count; i++) {
		struct model_failure *have = &m->failures[i];
		if (have->api == api && have->result == f->result) {
			CLAMP_ADD(have->count, f->count);
			have->first = fmin(have->first, first_of(p, f)); /* NaN is none */
			return;
		}
	}
	if (m->failure_count >= 4096)
		return;
	ALLOC_ROOM(m->failures, m->failure_count);
	m->failures[m->failure_count++] = (struct model_failure){
	        .api = api, .result = f->result, .count = f->count, .first = first_of(p, f)};
}

static void add_thread(struct model_part *p, const struct tf_thread *t)
{
	const struct recording *r = p->recording;

	for (uint32_t i = 0; i < r->thread_calls; i++) {
		const struct tf_call_stat *s = &t->calls[i];
		if (!s->calls || p->api_of[i] == UINT32_MAX)
			continue;
		struct model_api *api = &p->model->apis[p->api_of[i]];
		CLAMP_ADD(api->calls, s->calls);
		CLAMP_ADD(api->failed, s->failed);
		api->total += clock_ns(&p->clock, s->sum_ticks);
		api->max = fmax(api->max, clock_ns(&p->clock, s->max_ticks));
	}
	for (uint32_t i = 0; i < TF_FAILURES; i++) {
		const struct tf_failure *f = &t->failures[i];
		if (f->count && f->call < r->calls && p->api_of[f->call] != UINT32_MAX)
			add_failure(p, p->api_of[f->call], f);
	}
}

/* The window starts at the return of the first call: what that one took is no part of it. */
static void add_before_window(struct model_part *p)
{
	uint64_t call = p->header->first_call; /* + 1 */

	if (call && call <= p->recording->calls && p->api_of[call - 1] != UINT32_MAX &&
	    p->header->window_start)
		p->model->apis[p->api_of[call - 1]].before_window +=
		        clock_ns(&p->clock, p->header->first_call_ticks);
}

void model_add_apis(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model *m = p->model;

	for (uint32_t i = 0; i < r->calls; i++) {
		const struct tf_call *call = tf_entry(&r->map, &p->header->calls, i, sizeof(*call));
		p->api_of[i] = call && call->name[0] ? api_index(m, call) : UINT32_MAX;
		if (!call || !call->hist || p->api_of[i] == UINT32_MAX)
			continue;
		const struct tf_hist *hist = tf_at(&r->map, call->hist, sizeof(*hist));
		if (hist)
			spread_add(&m->scratch->api_spreads[p->api_of[i]], hist,
			           p->clock.ns_per_tick);
	}
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (t)
			add_thread(p, t);
	}
	add_before_window(p);
}

/* Takes out what was never called; the failures' indexes follow. */
static void drop_uncalled(struct model *m)
{
	uint32_t *moved = alloc_zeroed(m->api_count, sizeof(*moved));
	size_t kept = 0;

	for (size_t i = 0; i < m->api_count; i++) {
		moved[i] = m->apis[i].calls ? (uint32_t)kept : UINT32_MAX;
		free(m->scratch->api_spreads[i].hist);
		if (m->apis[i].calls)
			m->apis[kept++] = m->apis[i];
		else
			free(m->apis[i].name);
	}
	size_t failures = 0;
	for (size_t i = 0; i < m->failure_count; i++) {
		struct model_failure f = m->failures[i];
		f.api = moved[f.api];
		if (f.api != UINT32_MAX)
			m->failures[failures++] = f;
	}
	m->failure_count = failures;
	m->api_count = kept;
	free(moved);
}

void model_finish_apis(struct model *m)
{
	struct api_entry *entry, *next;

	if (!m->scratch)
		return;
	for (size_t i = 0; i < m->api_count; i++) {
		struct model_api *api = &m->apis[i];
		api->mean = api->calls ? api->total / (double)api->calls : NAN;
		api->q = spread_quantiles(&m->scratch->api_spreads[i], api->max);
		if (api->before_window > api->total)
			api->before_window = api->total;
		m->class_ns[api->cls] += api->total - api->before_window;
	}
	drop_uncalled(m);
	HASH_ITER(hh, m->scratch->apis_by_name, entry, next)
	{
		HASH_DELETE(hh, m->scratch->apis_by_name, entry);
		free(entry);
	}
	free(m->scratch->api_spreads);
	m->scratch->api_spreads = NULL;
}
