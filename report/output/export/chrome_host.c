/* SPDX-License-Identifier: Apache-2.0 */
/* What the host did: calls, NVTX ranges, steps, and calls that never returned. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/error_names.h"
#include "report/output/export/chrome.h"

/* ---- threads ---- */

static void name_thread(struct chrome *c, uint64_t tid, const char *name, uint64_t sort)
{
	char order[24];
	char *quoted = chrome_quoted(name, strlen(name));

	chrome_meta(c->out, "thread_name", "name", c->pid, tid, quoted);
	snprintf(order, sizeof(order), "%llu", (unsigned long long)sort);
	chrome_meta(c->out, "thread_sort_index", "sort_index", c->pid, tid, order);
	free(quoted);
}

/* The first one of an id is named after it. */
uint64_t chrome_tid(struct chrome *c, uint32_t thread)
{
	struct chrome_thread *t = &c->threads[thread];

	if (t->named)
		return t->tid;
	const struct events_thread from = events_thread(c->events, thread);
	t->named = true;
	t->tid = from.id < CHROME_TID_STEPS ? from.id : thread;
	for (uint32_t i = 0; i < events_threads(c->events); i++)
		if (i != thread && c->threads[i].named && c->threads[i].tid == t->tid)
			return t->tid;
	char *name = alloc_format("thread %llu (%.*s)", (unsigned long long)t->tid, (int)from.bytes,
	                          from.name);
	name_thread(c, t->tid, name, t->tid);
	free(name);
	return t->tid;
}

/*
 * Slices of a thread lie in one another or apart, and come by their ends, inner ones before their
 * caller. What a damaged recording has otherwise is cut.
 */
static void fit(struct chrome_thread *t, bool nested, uint64_t *start, uint64_t *end)
{
	if (*start < t->floor)
		*start = t->floor;
	if (*end < *start)
		*end = *start;
	for (uint32_t i = 0; i < t->nested; i++)
		if (*end < t->inner[i].end)
			*end = t->inner[i].end;
	/* All that begin behind it are in it; the one before them may not reach into it. */
	while (t->nested && t->inner[t->nested - 1].start >= *start)
		t->nested--;
	if (t->nested && t->inner[t->nested - 1].end > *start) {
		if (nested)
			*start = t->inner[t->nested - 1].end;
		else
			*start = t->inner[0].start;
	}
	if (!nested) {
		t->nested = 0;
		t->floor = *end;
		return;
	}
	if (t->nested == CHROME_NESTED) {
		t->inner[CHROME_NESTED - 2].end = t->inner[CHROME_NESTED - 1].end;
		t->nested--;
	}
	t->inner[t->nested++] = (struct chrome_slice){*start, *end};
}

/* ---- calls ---- */

/* Where it was called, of those whose stack was taken. */
static void put_site(struct chrome *c, uint32_t site)
{
	const char *head =
	        site && site <= c->process->site_count ? c->process->site_heads[site - 1] : NULL;

	if (!head)
		return;
	if (!c->site_texts[site - 1])
		c->site_texts[site - 1] = chrome_quoted(head, strlen(head));
	chrome_text(c->out, ",\"site\":");
	chrome_text(c->out, c->site_texts[site - 1]);
}

static void call_details(struct chrome *c, const struct events_call *call)
{
	struct chrome_out *o = c->out;

	if (call->result) {
		const char *name = error_name(call->level, call->result);
		if (name)
			chrome_format(o, ",\"result\":\"%s\"", name);
		else
			chrome_format(o, ",\"result\":%d", call->result);
	}
	if (call->captured)
		chrome_text(o, ",\"captured\":true");
	if (call->part)
		chrome_text(o, ",\"nested\":true");
	put_site(c, call->site);
	if (call->bytes) {
		chrome_text(o, ",\"bytes\":");
		chrome_number(o, call->bytes);
	}
}

void chrome_call(struct chrome *c, const struct events_call *call)
{
	uint64_t start = chrome_ns(c, call->start), end = chrome_ns(c, call->end);
	const uint64_t tid = chrome_tid(c, call->thread);
	struct chrome_out *o = c->out;

	fit(&c->threads[call->thread], call->nested, &start, &end);
	chrome_begin(o);
	chrome_text(o, chrome_call_head(c, call));
	chrome_number(o, tid);
	chrome_span(o, start, end);
	chrome_text(o, ",\"args\":{\"External id\":");
	chrome_number(o, call->number);
	chrome_text(o, ",\"correlation\":");
	chrome_number(o, call->number);
	call_details(c, call);
	chrome_put(o, "}}", 2);
	c->totals.calls++;
	if (c->has_gpu)
		chrome_sync(c, call);
}

/* Of a process that was killed, or runs: to its last sign of life. */
void chrome_flights(struct chrome *c)
{
	struct events_flight f;

	if (c->process->state == PROCESS_COMPLETE)
		return;
	for (uint32_t i = 0; i < events_threads(c->events); i++) {
		if (!events_flight(c->events, i, &f))
			continue;
		size_t bytes;
		const char *api = events_call_name(c->events, f.name, &bytes);
		char *name = chrome_quoted(api, bytes);
		uint64_t start = chrome_ns(c, f.start), end = chrome_ns(c, c->clock.last_seen);
		const uint64_t tid = chrome_tid(c, i);
		fit(&c->threads[i], false, &start, &end);
		chrome_begin(c->out);
		chrome_format(c->out,
		              "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%llu,\"tid\":%llu",
		              f.level == SPY_LEVEL_RUNTIME ? "cuda_runtime" : "cuda_driver", name,
		              (unsigned long long)c->pid, (unsigned long long)tid);
		chrome_span(c->out, start, end);
		chrome_text(c->out, ",\"args\":{\"in flight\":true}}");
		c->totals.calls++;
		free(name);
	}
}

/* ---- ranges and steps ---- */

static void annotation(struct chrome *c, const char *name, uint64_t tid, uint64_t start,
                       uint64_t end)
{
	chrome_begin(c->out);
	chrome_text(c->out, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":");
	chrome_text(c->out, name);
	chrome_format(c->out, ",\"pid\":%llu,\"tid\":%llu", (unsigned long long)c->pid,
	              (unsigned long long)tid);
	chrome_span(c->out, start, end);
	chrome_text(c->out, ",\"args\":{");
}

/* Those of one thread, pushed and popped, lie in one another and around its calls. */
void chrome_range(struct chrome *c, const struct events_range *r)
{
	uint64_t start = chrome_ns(c, r->start), end = chrome_ns(c, r->end), tid;
	size_t bytes;
	const char *text = events_range_name(c->events, r->name, &bytes);
	char *name = text ? chrome_quoted(text, bytes) : alloc_string("\"(other ranges)\"");

	/* In a damaged recording they may lie anywhere. */
	if (r->thread != EVENTS_NONE && !r->started && !c->process->damage) {
		tid = chrome_tid(c, r->thread);
	} else {
		uint32_t lane = chrome_lane(&c->range_lanes, &start, &end);
		tid = CHROME_TID_RANGES + lane;
		if (lane >= c->range_named) {
			c->range_named = lane + 1;
			name_thread(c, tid, "NVTX ranges", tid);
		}
	}
	annotation(c, name, tid, start, end);
	chrome_text(c->out, "}}");
	c->totals.ranges++;
	free(name);
}

/* Whether these rows are the steps of a loop of the run; its name. */
static const struct model_phase *phase_of(const struct model *m, const struct model_step *s,
                                          const struct model_process *process)
{
	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		if (p->kind != PHASE_LOOP || p->found != s->found)
			continue;
		for (size_t k = 0; k < p->part_count; k++)
			if (&m->processes[p->parts[k].process] == process &&
			    p->parts[k].source == s->source)
				return p;
	}
	return NULL;
}

void chrome_steps(struct chrome *c)
{
	const struct model *m = c->job->model;
	const double window = (double)chrome_ns(c, c->clock.window);
	uint64_t number = 0;

	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *s = &m->step_rows[i];
		const struct model_phase *p =
		        &m->processes[s->process] == c->process ? phase_of(m, s, c->process) : NULL;
		if (!p ||
		    !(s->start > -window && s->duration >= 0 && s->start + s->duration < 1e17))
			continue;
		uint64_t start = (uint64_t)(window + s->start),
		         end = (uint64_t)(window + s->start + s->duration);
		uint32_t lane = chrome_lane(&c->step_lanes, &start, &end);
		if (lane >= c->step_named) {
			c->step_named = lane + 1;
			name_thread(c, CHROME_TID_STEPS + lane, "steps", 0);
		}
		char name[48];
		snprintf(name, sizeof(name), "\"ProfilerStep#%llu\"", (unsigned long long)number++);
		annotation(c, name, CHROME_TID_STEPS + lane, start, end);
		chrome_format(c->out, "\"loop\":%u,\"odd\":%s}}", p->number,
		              s->odd ? "true" : "false");
		c->totals.steps++;
	}
}
