/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/chrome.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"

#define PIDS_APART 10000000u /* pids of the operating system are below */

struct trace {
	const struct export_job *job;
	struct chrome_out out;
	double base;          /* CLOCK_REALTIME, ns, of ts 0 */
	uint32_t number;      /* of the last call */
	struct chrome_ended { /* of each process, for the end of the file */
		struct chrome_totals totals;
		struct events_figures reach;
		double from, until;          /* us */
		double busy[EVENTS_DEVICES]; /* ns drawn; NaN = nothing */
	} * ended;
};

/* ---- what stands ahead ---- */

static void put_text(struct chrome_out *o, const char *text)
{
	char *quoted = text ? chrome_quoted(text, strlen(text)) : alloc_string("null");

	chrome_text(o, quoted);
	free(quoted);
}

static void put_ns(struct chrome_out *o, const char *key, double ns)
{
	if (isnan(ns))
		chrome_format(o, ", \"%s\": null", key);
	else
		chrome_format(o, ", \"%s\": %.0f", key, ns);
}

static void devices(struct trace *t)
{
	const struct model *m = t->job->model;
	uint32_t seen[EVENTS_DEVICES] = {0}, count = 0;

	chrome_text(&t->out, "  \"deviceProperties\": [");
	for (size_t i = 0; i < m->process_count; i++)
		for (size_t k = 0; k < m->processes[i].device_count; k++) {
			const struct model_device *d = &m->processes[i].devices[k];
			if (d->index >= EVENTS_DEVICES || seen[d->index]++)
				continue;
			chrome_format(&t->out,
			              "%s\n    {\"id\": %u, \"name\": ", count++ ? "," : "",
			              d->index);
			put_text(&t->out, d->name);
			chrome_format(&t->out,
			              ", \"totalGlobalMem\": %" PRIu64 ", \"simulated\": %s}",
			              d->memory_bytes, d->simulated ? "true" : "false");
		}
	chrome_text(&t->out, "\n  ],\n");
}

/* Readers look for `"rank": ` and a number, on a line of its own. */
static void ranks(struct trace *t)
{
	const struct model *m = t->job->model;
	const char *rank = m->process_count == 1 ? m->processes[0].rank : NULL;
	char *end;

	if (!rank)
		return;
	unsigned long number = strtoul(rank, &end, 10);
	if (*rank < '0' || *rank > '9' || *end || number > 1000000)
		return;
	chrome_format(&t->out, "  \"distributedInfo\": {\n    \"rank\": %lu\n  },\n", number);
}

static const char *const mode_names[] = {"off", "sample", "cupti"};
static const char *const mode_words[] = {
        "not recorded (CUDASPY_GPU=off): there are no rows of the GPU",
        "estimated: where args have `estimated`, a piece is as long as the mean of work like it; "
        "where it stands follows from the order of streams, from events and from what waits told",
        "as CUPTI recorded it, but for pieces whose args have `estimated`"};

/* What there is of a GPU's time in the report, to compare with. */
static void busy(struct trace *t)
{
	const struct model_gpu *gpu = &t->job->model->gpu;

	chrome_text(&t->out, "    \"gpu busy\": [");
	for (size_t i = 0; i < gpu->device_count; i++) {
		const struct model_gpu_device *d = &gpu->devices[i];
		chrome_format(&t->out, "%s\n      {\"device\": %u", i ? "," : "", d->index);
		put_ns(&t->out, "busy_ns", d->known ? d->time.busy : NAN);
		put_ns(&t->out, "busy_low_ns", d->known ? d->time.low : NAN);
		put_ns(&t->out, "busy_high_ns", d->known ? d->time.high : NAN);
		chrome_text(&t->out, "}");
	}
	chrome_text(&t->out, "\n    ],\n");
}

static void put_count(struct trace *t, const struct model_process *p, const char *key,
                      uint64_t count)
{
	if (model_process_is_known(p))
		chrome_format(&t->out, ", \"%s\": %" PRIu64, key, count);
	else
		chrome_format(&t->out, ", \"%s\": null", key);
}

static void begin(struct trace *t)
{
	const struct model *m = t->job->model;
	const uint32_t mode = m->processes[0].gpu_mode < 3 ? m->processes[0].gpu_mode : 0;

	chrome_text(&t->out, "{\n  \"schemaVersion\": 1,\n");
	devices(t);
	ranks(t);
	chrome_format(&t->out,
	              "  \"cudaspy\": {\n    \"version\": \"%s\",\n    \"gpu mode\": \"%s\",\n",
	              CUDASPY_VERSION, mode_names[mode]);
	chrome_format(&t->out, "    \"gpu times\": \"%s\",\n", mode_words[mode]);
	busy(t);
	chrome_text(&t->out, "    \"processes\": [");
	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		chrome_format(&t->out, "%s\n      {\"pid\": %" PRIu64 ", \"rank\": ", i ? "," : "",
		              p->pid);
		put_text(&t->out, p->rank);
		chrome_text(&t->out, ", \"host\": ");
		put_text(&t->out, p->host);
		chrome_format(&t->out, ", \"state\": \"%s\"", process_state_names[p->state]);
		put_count(t, p, "calls", p->calls);
		put_count(t, p, "lost records", p->lost);
		put_count(t, p, "lost calls", p->lost_calls);
		chrome_text(&t->out, ", \"damage\": ");
		put_text(&t->out, p->damage);
		chrome_text(&t->out, "}");
	}
	chrome_text(&t->out, "\n    ]\n  },\n");
	chrome_format(&t->out, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %.0f,\n",
	              t->base);
	chrome_text(&t->out, "  \"traceEvents\": [");
}

/* ---- one process ---- */

static uint64_t free_pid(const struct model *m, size_t process)
{
	for (size_t i = 0; i < process; i++)
		if (m->processes[i].pid == m->processes[process].pid)
			return PIDS_APART + process;
	return m->processes[process].pid;
}

/* Device ordinals, as Kineto has it, where one process alone is there and its pid is none. */
static uint64_t gpu_pid(const struct model *m, size_t process)
{
	if (m->process_count == 1 && m->processes[0].pid >= EVENTS_DEVICES)
		return 0;
	return 2 * PIDS_APART + 1000 * process;
}

static void name_process(struct chrome *c, size_t index)
{
	const struct model_process *p = c->process;
	char order[24];
	char *text = p->rank ? alloc_format("rank %s: %s", p->rank, p->command ? p->command : "")
	                     : alloc_string(p->command ? p->command : "process");
	char *quoted = chrome_quoted(text, strnlen(text, 200));

	chrome_meta(c->out, "process_name", "name", c->pid, 0, quoted);
	chrome_meta(c->out, "process_labels", "labels", c->pid, 0, "\"CPU\"");
	snprintf(order, sizeof(order), "%zu", index);
	chrome_meta(c->out, "process_sort_index", "sort_index", c->pid, 0, order);
	free(quoted);
	free(text);
}

static void to_call(void *to, const struct events_call *call)
{
	chrome_call(to, call);
}

static void to_work(void *to, const struct events_work *w)
{
	chrome_work(to, w);
}

static void to_range(void *to, const struct events_range *r)
{
	chrome_range(to, r);
}

static void free_each(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static void draw(struct trace *t, struct chrome *c, size_t index)
{
	static const struct events_to to = {NULL, to_call, to_work, to_range};
	struct events_to told = to;
	struct chrome_ended *ended = &t->ended[index];
	const uint32_t calls = events_calls(c->events);

	told.to = c;
	c->threads = alloc_zeroed((size_t)events_threads(c->events) + 1, sizeof(*c->threads));
	c->call_heads = alloc_zeroed((size_t)calls + 1, sizeof(*c->call_heads));
	c->kernel_names = alloc_zeroed(EVENTS_KERNELS, sizeof(*c->kernel_names));
	c->class_tails = alloc_zeroed(EVENTS_CLASSES, sizeof(*c->class_tails));
	c->site_texts = alloc_zeroed((size_t)c->process->site_count + 1, sizeof(*c->site_texts));
	c->streams = alloc_zeroed(EVENTS_STREAMS, sizeof(*c->streams));
	c->records = alloc_zeroed(CHROME_RECORDS, sizeof(*c->records));
	c->classes = events_classes(c->events);
	name_process(c, index);
	chrome_steps(c);
	events_tell(c->events, &told, &ended->reach);
	for (uint32_t i = 0; i < EVENTS_STREAMS; i++) {
		chrome_waits_until(c, &c->streams[i], UINT64_MAX);
		free(c->streams[i].wait);
	}
	chrome_flights(c);
	t->number = events_last(c->events);
	c->totals.unplaced = ended->reach.unplaced;
	c->totals.left_out = ended->reach.left_out;
	ended->totals = c->totals;
	ended->from = (double)chrome_ns(c, ended->reach.from) / 1000;
	ended->until = (double)chrome_ns(c, ended->reach.until) / 1000;
	for (uint32_t i = 0; i < EVENTS_DEVICES; i++)
		ended->busy[i] = c->devices[i].pieces ? (double)c->devices[i].busy : NAN;
	free(c->threads);
	free_each(c->call_heads, calls);
	free_each(c->kernel_names, EVENTS_KERNELS);
	free_each(c->class_tails, EVENTS_CLASSES);
	free_each(c->site_texts, c->process->site_count);
	free(c->streams);
	free(c->records);
}

/* -1 when one line was written. */
static int process(struct trace *t, size_t index)
{
	const struct model_process *p = &t->job->model->processes[index];
	struct events *events = events_open(p->path, t->number);

	if (!events)
		return -1;
	struct chrome *c = alloc_zeroed(1, sizeof(*c));
	*c = (struct chrome){.out = &t->out, .job = t->job, .process = p, .events = events};
	c->clock = events_clock(events);
	c->base = fmax(0, p->start_realtime - t->base);
	c->pid = free_pid(t->job->model, index);
	c->gpu_pid = gpu_pid(t->job->model, index);
	c->has_gpu = p->gpu_mode != TF_GPU_OFF;
	if (!isnan(c->clock.ns_per_tick) && isfinite(c->base))
		draw(t, c, index);
	free(c);
	return events_close(events);
}

/* ---- what stands behind ---- */

static void ended(struct trace *t, size_t index)
{
	const struct chrome_ended *e = &t->ended[index];
	const struct chrome_totals *s = &e->totals;
	struct chrome_out *o = &t->out;

	chrome_format(o,
	              "%s\n    {\"pid\": %" PRIu64 ", \"whole\": %s, \"from_us\": %.3f, "
	              "\"until_us\": %.3f, \"calls\": %" PRIu64 ", \"gpu work\": %" PRIu64
	              ", \"estimated\": %" PRIu64 ", \"flows\": %" PRIu64 ", \"syncs\": %" PRIu64
	              ", \"ranges\": %" PRIu64 ", \"steps\": %" PRIu64,
	              index ? "," : "", t->job->model->processes[index].pid,
	              e->reach.whole ? "true" : "false", e->from, e->until, s->calls, s->works,
	              s->estimated, s->flows, s->syncs, s->ranges, s->steps);
	chrome_format(o,
	              ", \"unplaced\": %" PRIu64 ", \"moved\": %" PRIu64
	              ", \"waits without their record\": %" PRIu64 ", \"left out\": %" PRIu64
	              ", \"drawn busy\": [",
	              s->unplaced, s->moved, s->without_record, s->left_out);
	bool first = true;
	for (uint32_t i = 0; i < EVENTS_DEVICES; i++)
		if (!isnan(e->busy[i])) {
			chrome_format(o, "%s{\"device\": %u, \"busy_ns\": %.0f}", first ? "" : ", ",
			              i, e->busy[i]);
			first = false;
		}
	chrome_text(o, "]}");
}

static void finish(struct trace *t)
{
	chrome_format(&t->out,
	              "\n  ],\n  \"cudaspyDrawn\": {\n    \"events\": %" PRIu64
	              ",\n    \"processes\": [",
	              t->out.events);
	for (size_t i = 0; i < t->job->model->process_count; i++)
		ended(t, i);
	chrome_text(&t->out, "\n    ]\n  },\n  \"traceName\": \"cudaspy\"\n}\n");
}

int export_chrome(const struct export_job *job)
{
	const struct model *m = job->model;
	struct trace t = {.job = job, .base = INFINITY};
	int rc = 0;

	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].start_realtime < t.base)
			t.base = floor(m->processes[i].start_realtime);
	if (!isfinite(t.base)) {
		complain("export: no times are known of this run: the rate of its clock is not");
		return -1;
	}
	t.ended = alloc_zeroed(m->process_count, sizeof(*t.ended));
	chrome_out_start(&t.out, job->to);
	begin(&t);
	for (size_t i = 0; i < m->process_count && !rc; i++) {
		export_progress(job, i);
		rc = process(&t, i);
	}
	finish(&t);
	chrome_out_end(&t.out);
	free(t.ended);
	return rc;
}
