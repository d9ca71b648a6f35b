/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

/* Records that a thread offered to its rings, lost ones too. */
static uint64_t records_of(const struct model_part *p, const struct tf_thread *t)
{
	uint64_t records = t->lost, at = t->ring_first;

	for (unsigned rings = 0; rings < TF_RINGS_MOST && at; rings++) {
		const struct tf_ring *ring = tf_at(&p->recording->map, at, sizeof(*ring));
		if (!ring)
			break;
		CLAMP_ADD(records, ring->head);
		at = ring->next;
	}
	return records;
}

/* What a thread's calls come to, by their class. */
struct class_sums {
	uint64_t ok[SPY_CLASS_COUNT]; /* calls that did not fail */
	double ticks[SPY_CLASS_COUNT];
	uint64_t launches;
};

static struct class_sums sums_of(const struct model_part *p, const struct tf_thread *t)
{
	struct class_sums s = {.launches = t->launches};

	CLAMP_ADD(s.launches, t->items[SPY_CLASS_LAUNCH]);
	for (uint32_t i = 0; i < p->recording->thread_calls; i++) {
		const struct tf_call_stat *stat = &t->calls[i];
		const struct tf_call *call =
		        stat->calls
		                ? tf_entry(&p->recording->map, &p->header->calls, i, sizeof(*call))
		                : NULL;
		if (!call || call->cls >= SPY_CLASS_COUNT)
			continue;
		s.ticks[call->cls] += (double)stat->sum_ticks;
		if (stat->calls > stat->failed)
			CLAMP_ADD(s.ok[call->cls], stat->calls - stat->failed);
	}
	return s;
}

static uint64_t sum_classes(const uint64_t v[SPY_CLASS_COUNT])
{
	uint64_t sum = 0;

	for (int c = 0; c < SPY_CLASS_COUNT; c++)
		CLAMP_ADD(sum, v[c]);
	return sum;
}

/* Allocations and frees in graphs are no work of the GPU's. */
static uint64_t captured_work(const struct tf_thread *t)
{
	uint64_t work[SPY_CLASS_COUNT];

	memcpy(work, t->captured, sizeof(work));
	work[SPY_CLASS_ALLOC] = 0;
	return sum_classes(work);
}

static void add_totals(struct model_totals *to, const struct tf_thread *t,
                       const struct model_thread *thread, const struct class_sums *sums)
{
	CLAMP_ADD(to->calls, thread->calls);
	CLAMP_ADD(to->failed, thread->failed);
	CLAMP_ADD(to->launches, sums->launches);
	CLAMP_ADD(to->graph_launches, t->items[SPY_CLASS_GRAPH_LAUNCH]);
	CLAMP_ADD(to->captured, captured_work(t));
	CLAMP_ADD(to->copies, t->items[SPY_CLASS_COPY]);
	CLAMP_ADD(to->sets, t->items[SPY_CLASS_SET]);
	CLAMP_ADD(to->syncs, sums->ok[SPY_CLASS_SYNC]);
	uint64_t in_graphs = t->captured[SPY_CLASS_ALLOC], allocs = sums->ok[SPY_CLASS_ALLOC];
	CLAMP_ADD(to->allocs, allocs > in_graphs ? allocs - in_graphs : 0);
	CLAMP_ADD(to->implicit_syncs, t->implicit_syncs);
	CLAMP_ADD(to->allocated_bytes, t->allocated_bytes);
	CLAMP_ADD(to->freed_bytes, t->freed_bytes);
}

struct model_copy *model_copy(struct model *m, uint32_t kind)
{
	uint8_t direction = (uint8_t)(kind / 2 / SPY_MEM_COUNT),
	        memory = (uint8_t)(kind / 2 % SPY_MEM_COUNT);

	for (size_t i = 0; i < m->copy_count; i++)
		if (m->copies[i].direction == direction && m->copies[i].memory == memory &&
		    m->copies[i].async == (kind & 1))
			return &m->copies[i];
	ALLOC_ROOM(m->copies, m->copy_count);
	m->copies[m->copy_count] =
	        (struct model_copy){.direction = direction, .memory = memory, .async = kind & 1};
	return &m->copies[m->copy_count++];
}

static void add_copies(struct model_part *p, const struct tf_thread *t)
{
	struct model_totals *totals = &p->model->totals;

	for (uint32_t kind = 0; kind < TF_COPY_KINDS; kind++) {
		const struct tf_copy_stat *s = &t->copies[kind];
		if (!s->count)
			continue;
		struct model_copy *row = model_copy(p->model, kind);
		CLAMP_ADD(row->count, s->count);
		CLAMP_ADD(row->bytes, s->bytes);
		row->total += clock_ns(&p->clock, s->sum_ticks);
		row->max = fmax(row->max, clock_ns(&p->clock, s->max_ticks));
		CLAMP_ADD(totals->copy_bytes, s->bytes);
		if (row->memory == SPY_MEM_PAGEABLE)
			CLAMP_ADD(totals->pageable_copies, s->count);
	}
}

static void add_thread(struct model_part *p, const struct tf_thread *t)
{
	struct model *m = p->model;
	struct model_process *process = p->process;
	const struct class_sums sums = sums_of(p, t);
	uint64_t records = records_of(p, t);
	struct model_thread thread = {
	        .process = p->process_index,
	        .tid = t->tid,
	        .alive = !t->death,
	        .lost = t->lost,
	        .adopted = t->adopted,
	        .launches = sums.launches,
	        .window = process->window,
	        .cpu_wait = t->cpu_tick ? (double)t->cpu_wait_ns : NAN,
	        .cpu_cores = t->cpu_tick && t->cpu_cores ? (double)t->cpu_cores : NAN,
	        .issues = sums.launches || t->items[SPY_CLASS_GRAPH_LAUNCH] ||
	                  t->items[SPY_CLASS_COPY] || t->items[SPY_CLASS_SET] || captured_work(t),
	};

	for (uint32_t i = 0; i < p->recording->thread_calls; i++) {
		CLAMP_ADD(thread.calls, t->calls[i].calls);
		CLAMP_ADD(thread.failed, t->calls[i].failed);
		thread.api += clock_ns(&p->clock, t->calls[i].sum_ticks);
	}
	CLAMP_ADD(process->lost, t->lost);
	CLAMP_ADD(process->samples, t->samples);
	uint64_t graphs = t->graph_ticks < t->sample_ticks ? t->graph_ticks : t->sample_ticks;
	process->samples_cost += clock_ns(&p->clock, t->sample_ticks - graphs);
	process->graphs_cost += clock_ns(&p->clock, graphs);
	double stacks = clock_ns(&p->clock, t->site_ticks);
	process->sites_cost += stacks;
	double own = process->per_call * (double)thread.calls +
	             clock_ns(&p->clock, t->sample_ticks) + stacks;
	thread.own = own > process->wall ? process->wall : own;
	thread.stacks = fmin(stacks, thread.own);
	CLAMP_ADD(process->written, records);
	if (!thread.calls && !thread.issues && !t->in_call)
		return; /* a slot that nobody used */
	thread.name = model_text(t->name, sizeof(t->name));
	thread.split = model_split(p, t, sums.ticks);
	add_totals(&m->totals, t, &thread, &sums);
	add_copies(p, t);
	CLAMP_ADD(process->calls, thread.calls);
	CLAMP_ADD(process->failed, thread.failed);
	CLAMP_ADD(process->launches, thread.launches);
	process->threads++;
	ALLOC_ROOM(m->threads, m->thread_count);
	m->threads[m->thread_count++] = thread;
}

void model_add_threads(struct model_part *p)
{
	/* Whether a call waited for the GPU is known where work's times are. */
	p->model->totals.implicit_known |= p->timed && p->header->timeline_upto;
	for (uint32_t i = 0; i < p->recording->threads; i++) {
		const struct tf_thread *t = recording_thread(p->recording, i);
		if (t)
			add_thread(p, t);
	}
}

static int by_api(const void *a, const void *b)
{
	const struct model_thread *x = a, *y = b;

	if (x->issues != y->issues)
		return x->issues ? -1 : 1;
	if (x->api != y->api)
		return x->api > y->api ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int by_bytes(const void *a, const void *b)
{
	const struct model_copy *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction - y->direction;
	return x->memory != y->memory ? x->memory - y->memory : x->async - y->async;
}

void model_finish_threads(struct model *m)
{
	if (m->thread_count)
		qsort(m->threads, m->thread_count, sizeof(*m->threads), by_api);
	if (m->copy_count)
		qsort(m->copies, m->copy_count, sizeof(*m->copies), by_bytes);
}
