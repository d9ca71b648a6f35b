/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/events/events.h"
#include "report/output/export/interned.h"

#define PARTS_MOST (1u << 18) /* beyond them, neither phase nor stream is told */

struct key {
	uint32_t stack, process, phase, stream, device;
};

struct span { /* of the process' window, ns */
	double start, end;
	uint32_t phase;
};

struct tally { /* of one process */
	struct export_parts *to;
	struct interned *keys;
	const struct model_process *process;
	struct events *events;
	struct events_clock clock;
	struct span *spans; /* by time */
	size_t span_count, at;
	uint32_t *stack_of; /* by call id: of those without a site; PARTS_NONE = there is none */
	uint32_t gpu_rest, index;
	struct key last;
	size_t last_part;
};

/* ---- phases ---- */

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void find_spans(struct tally *t, const struct model *m)
{
	for (size_t i = 0; i < m->phases.count; i++)
		for (size_t k = 0; k < m->phases.rows[i].part_count; k++) {
			const struct model_phase_part *p = &m->phases.rows[i].parts[k];
			for (size_t n = 0; p->process == t->index && n < p->stretch_count; n++) {
				ALLOC_ROOM(t->spans, t->span_count);
				t->spans[t->span_count++] = (struct span){
				        p->stretches[n].start, p->stretches[n].end, (uint32_t)i};
			}
		}
	if (t->span_count)
		qsort(t->spans, t->span_count, sizeof(*t->spans), by_start);
}

/* Records come nearly in the order of time. */
static uint32_t phase_at(struct tally *t, uint64_t tick)
{
	double ns = tick > t->clock.window ? (double)(tick - t->clock.window) * t->clock.ns_per_tick
	                                   : 0;

	while (t->at && t->spans[t->at].start > ns)
		t->at--;
	while (t->at + 1 < t->span_count && t->spans[t->at + 1].start <= ns)
		t->at++;
	if (t->at >= t->span_count || ns < t->spans[t->at].start || ns > t->spans[t->at].end)
		return PARTS_NONE;
	return t->spans[t->at].phase;
}

/* ---- records ---- */

static struct export_part *part_of(struct tally *t, struct key key)
{
	struct export_parts *to = t->to;
	bool new;

	if (t->last_part && !memcmp(&key, &t->last, sizeof(key)))
		return &to->items[t->last_part - 1];
	t->last = key;
	if (to->count >= PARTS_MOST)
		key.phase = key.stream = PARTS_NONE;
	t->last_part = interned_number(t->keys, &key, sizeof(key), &new);
	if (new) {
		ALLOC_ROOM(to->items, to->count);
		to->items[to->count++] = (struct export_part){.stack = key.stack,
		                                              .process = key.process,
		                                              .phase = key.phase,
		                                              .stream = key.stream,
		                                              .device = key.device};
	}
	return &to->items[t->last_part - 1];
}

/* The stack of its site, or that of all others of its function. */
static uint32_t stack_of(const struct tally *t, uint32_t site)
{
	return site && site <= t->process->site_count ? t->process->site_of[site - 1] : PARTS_NONE;
}

static uint32_t stream_number(const struct tally *t, uint32_t stream)
{
	if (stream == EVENTS_NONE)
		return PARTS_NONE;
	return (uint32_t)events_stream_number(t->events, stream);
}

static void take_call(void *to, const struct events_call *c)
{
	struct tally *t = to;
	uint32_t stack = stack_of(t, c->site);

	if (stack == PARTS_NONE)
		stack = t->stack_of[c->name];
	if (stack == PARTS_NONE)
		return;
	struct export_part *p = part_of(t, (struct key){stack, t->index, phase_at(t, c->start),
	                                                stream_number(t, c->stream), c->device});
	double ns = (double)(c->end - c->start) * t->clock.ns_per_tick;
	p->weight[STACK_CALLS]++;
	p->weight[STACK_API] += ns;
	p->weight[STACK_WASTED] += ns;
	p->weight[STACK_BYTES] += (double)c->bytes;
}

static void take_work(void *to, const struct events_work *w)
{
	struct tally *t = to;
	uint32_t stack = w->known ? stack_of(t, w->site) : PARTS_NONE;

	if (stack == PARTS_NONE)
		stack = t->gpu_rest;
	if (stack == PARTS_NONE)
		return;
	const struct key key = {stack, t->index, phase_at(t, w->known ? w->given : w->start),
	                        w->known ? stream_number(t, w->stream) : PARTS_NONE, w->device};
	part_of(t, key)->weight[STACK_GPU] += (double)(w->end - w->start) * t->clock.ns_per_tick;
}

/* ---- all of them ---- */

static void find_stacks(struct tally *t, const struct export_stacks *stacks)
{
	const uint32_t calls = events_calls(t->events);
	size_t bytes;

	t->stack_of = alloc_zeroed((size_t)calls + 1, sizeof(*t->stack_of));
	for (uint32_t i = 0; i < calls; i++) {
		const char *name = events_call_name(t->events, i, &bytes);
		t->stack_of[i] = PARTS_NONE;
		for (size_t k = stacks->sites; name && k < stacks->count; k++)
			if (strlen(stacks->items[k].api) == bytes &&
			    !memcmp(name, stacks->items[k].api, bytes))
				t->stack_of[i] = (uint32_t)k;
	}
	t->gpu_rest = PARTS_NONE;
	if (stacks->count && !strcmp(stacks->items[stacks->count - 1].api, STACK_GPU_REST))
		t->gpu_rest = (uint32_t)stacks->count - 1;
}

static int add_process(struct tally *t, const struct model *m, const struct export_stacks *stacks)
{
	const struct events_to to = {t, take_call, take_work, NULL};
	struct events_figures figures;

	t->events = events_open(t->process->path, 0);
	if (!t->events)
		return -1;
	t->clock = events_clock(t->events);
	find_spans(t, m);
	find_stacks(t, stacks);
	if (isfinite(t->clock.ns_per_tick)) {
		events_tell(t->events, &to, &figures);
		t->to->whole &= figures.whole && !figures.left_out && !t->process->lost;
	}
	free(t->stack_of);
	free(t->spans);
	return events_close(t->events);
}

static int by_stack(const void *a, const void *b)
{
	const struct export_part *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

int export_parts_make(struct export_parts *to, const struct export_job *job,
                      const struct export_stacks *stacks)
{
	const struct model *m = job->model;
	struct interned keys = {0};
	int rc = 0;

	*to = (struct export_parts){.whole = true};
	for (size_t i = 0; i < m->process_count && !rc; i++) {
		struct tally t = {
		        .to = to, .keys = &keys, .process = &m->processes[i], .index = (uint32_t)i};
		export_progress(job, i);
		rc = add_process(&t, m, stacks);
	}
	interned_free(&keys);
	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), by_stack);
	to->first = alloc_zeroed(stacks->count + 1, sizeof(*to->first));
	for (size_t i = 0, at = 0; i <= stacks->count; i++) {
		while (at < to->count && to->items[at].stack < i)
			at++;
		to->first[i] = at;
	}
	return rc;
}

void export_parts_free(struct export_parts *p)
{
	free(p->items);
	free(p->first);
	*p = (struct export_parts){0};
}
