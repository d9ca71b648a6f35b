/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/output/export/export.h"

/*
 * What both OpenMetrics and the older text format of Prometheus take, which node_exporter's
 * textfile collector reads: gauges alone, since counters are named differently in the two. They are
 * what one run came to; the next one starts anew.
 */

#define KERNELS_MOST 20u /* a series each: the ones that take most GPU time */

/* A family of samples: its head is written with the first of them. */
struct family {
	FILE *to;
	const char *name, *unit, *help; /* name: without "cudaspy_" and the unit */
	bool begun;
};

static void begin(struct family *f)
{
	const char *joint = *f->unit ? "_" : "";

	if (f->begun)
		return;
	f->begun = true;
	fprintf(f->to, "# TYPE cudaspy_%s%s%s gauge\n", f->name, joint, f->unit);
	if (*f->unit)
		fprintf(f->to, "# UNIT cudaspy_%s_%s %s\n", f->name, f->unit, f->unit);
	fprintf(f->to, "# HELP cudaspy_%s%s%s %s\n", f->name, joint, f->unit, f->help);
}

static void put_label(FILE *to, const char *text)
{
	char *safe = text_safe(text ? text : "", text ? strlen(text) : 0);

	putc('"', to);
	for (const char *s = safe; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', to);
		putc(*s, to);
	}
	putc('"', to);
	free(safe);
}

/* One sample, with labels: name, value, ..., NULL. Nothing where it is not known. */
static void __attribute__((sentinel)) sample(struct family *f, double value, ...)
{
	const char *label;
	bool any = false;
	va_list labels;

	if (!isfinite(value))
		return;
	begin(f);
	fprintf(f->to, "cudaspy_%s%s%s", f->name, *f->unit ? "_" : "", f->unit);
	va_start(labels, value);
	while ((label = va_arg(labels, const char *))) {
		fprintf(f->to, "%s%s=", any ? "," : "{", label);
		put_label(f->to, va_arg(labels, const char *));
		any = true;
	}
	va_end(labels);
	fprintf(f->to, "%s %.15g\n", any ? "}" : "", value);
}

static void one(FILE *to, const char *name, const char *unit, const char *help, double value)
{
	struct family f = {to, name, unit, help, false};

	sample(&f, value, NULL);
}

static const double SECOND = 1e9;

/* An estimate and what it lies between; of what is exact these are all the same. */
static void bounds(struct family *f, double value, double low, double high, const char *label,
                   const char *what)
{
	sample(f, value, label, what, "bound", "estimate", NULL);
	if (isfinite(value)) {
		sample(f, low, label, what, "bound", "low", NULL);
		sample(f, high, label, what, "bound", "high", NULL);
	}
}

static void write_run(FILE *to, const struct model *m)
{
	struct family info = {to, "run_info", "", "The run that these figures are of; 1.", false};
	const struct model_process *p = m->process_count ? &m->processes[0] : NULL;
	size_t damaged = 0;

	for (size_t i = 0; i < m->process_count; i++)
		damaged += m->processes[i].damage != NULL;
	if (p)
		sample(&info, 1, "run_id", p->run_id, "command", p->command, "version",
		       p->cudaspy_version, "gpu_mode", model_gpu_mode_name(m->gpu.mode), NULL);
	one(to, "run_processes", "", "Processes that used CUDA.", (double)m->process_count);
	one(to, "run_damaged", "", "Its recordings that are damaged: then no count is known.",
	    (double)damaged);
	one(to, "run_start_timestamp", "seconds", "When the first of them was started.",
	    m->start_realtime / SECOND);
	one(to, "wall", "seconds", "From the first load of cudaspy to the last sign of life.",
	    m->wall / SECOND);
	one(to, "window", "seconds",
	    "From the end of the first CUDA call to the return of the last.", m->window / SECOND);
	one(to, "startup", "seconds", "From the load of cudaspy to the start of the window.",
	    m->startup / SECOND);
}

static void write_totals(FILE *to, const struct model *m)
{
	const struct model_totals *t = &m->totals;

	one(to, "calls", "", "CUDA calls that the program made.", model_count(m, t->calls));
	one(to, "failed_calls", "", "CUDA calls that returned an error.",
	    model_count(m, t->failed));
	one(to, "launches", "", "Kernels launched.", model_count(m, t->launches));
	one(to, "graph_launches", "", "Graphs launched.", model_count(m, t->graph_launches));
	one(to, "captured", "", "Pieces of work put into graphs.", model_count(m, t->captured));
	one(to, "copies", "", "Copies of memory.", model_count(m, t->copies));
	one(to, "pageable_copies", "", "Copies from or to host memory that is not pinned.",
	    model_count(m, t->pageable_copies));
	one(to, "copied", "bytes", "Bytes copied.", model_count(m, t->copy_bytes));
	one(to, "sets", "", "Memory set to a value.", model_count(m, t->sets));
	one(to, "syncs", "", "Calls whose purpose is to wait.", model_count(m, t->syncs));
	one(to, "implicit_syncs", "", "Copies, frees and other calls that waited for the GPU.",
	    t->implicit_known ? model_count(m, t->implicit_syncs) : NAN);
	one(to, "allocs", "", "Allocations and frees.", model_count(m, t->allocs));
	one(to, "lost_records", "",
	    "Records that found a ring full; counts have them all the same.",
	    model_count(m, m->lost));
	one(to, "lost_calls", "", "Calls that are in no figure.", model_count(m, m->lost_calls));
	one(to, "overhead", "ratio",
	    "What cudaspy cost, of the wall time of all threads that made calls.",
	    m->overhead_share);
}

static void write_host(FILE *to, const struct model *m)
{
	struct family f = {to, "host", "seconds",
	                   "What the thread did that gives the GPU its next work; the states of a "
	                   "run sum to its window.",
	                   false};
	const struct model_split *s = &m->host;

	if (!m->has_host)
		return;
	if (isfinite(s->launch)) {
		sample(&f, s->launch / SECOND, "state", "launch", NULL);
		sample(&f, s->back_pressure / SECOND, "state", "back_pressure", NULL);
		sample(&f, s->contention / SECOND, "state", "contention", NULL);
		sample(&f, s->sync_useful / SECOND, "state", "sync_useful", NULL);
		sample(&f, s->sync_wasted / SECOND, "state", "sync_wasted", NULL);
	} else {
		sample(&f, s->launch_api / SECOND, "state", "launch_api", NULL);
		sample(&f, s->sync / SECOND, "state", "sync", NULL);
	}
	sample(&f, s->copy / SECOND, "state", "copy", NULL);
	sample(&f, s->alloc / SECOND, "state", "alloc", NULL);
	sample(&f, s->module / SECOND, "state", "module", NULL);
	sample(&f, s->other / SECOND, "state", "other_cuda", NULL);
	sample(&f, s->outside / SECOND, "state", "outside", NULL);
	sample(&f, s->sampling / SECOND, "state", "sampling", NULL);
}

/* "0", or "node7:0" where the run has several machines (free it). */
static char *device_name(const struct model *m, const struct model_gpu_device *d)
{
	for (size_t i = 0; i < m->gpu.device_count; i++) {
		const char *host = m->gpu.devices[i].host;
		if (host && d->host && strcmp(host, d->host) != 0)
			return alloc_format("%s:%u", d->host, d->index);
	}
	return alloc_format("%u", d->index);
}

static void write_devices(FILE *to, const struct model *m)
{
	struct family busy = {to, "gpu_busy", "ratio",
	                      "Share of the window in which the GPU worked; bound: what it lies "
	                      "between with 95 %.",
	                      false},
	              idle = {to, "gpu_idle", "seconds",
	                      "Time in which the GPU did not work, by what was done meanwhile.",
	                      false};

	for (size_t i = 0; i < m->gpu.device_count; i++) {
		const struct model_gpu_device *d = &m->gpu.devices[i];
		double window = d->known ? d->time.window : NAN;
		char *name = device_name(m, d);
		bounds(&busy, d->time.busy / window, d->time.low / window,
		       fmin(1, d->time.high / window), "device", name);
		free(name);
	}
	for (size_t i = 0; i < m->gpu.device_count; i++) {
		const struct model_gpu_device *d = &m->gpu.devices[i];
		char *name = device_name(m, d);
		for (int k = 0; d->known && k < TF_IDLES; k++)
			sample(&idle, d->time.by[k] / SECOND, "device", name, "cause",
			       model_idle_names[k], NULL);
		free(name);
	}
}

static void write_work(FILE *to, const struct model *m)
{
	const struct {
		const char *kind;
		const struct model_gpu_time *time;
	} rows[] = {{"kernel", &m->gpu.kernels},
	            {"graph", &m->gpu.graphs},
	            {"copy", &m->gpu.copies},
	            {"set", &m->gpu.sets}};
	struct family f = {to, "gpu_work", "seconds",
	                   "GPU time of pieces of work, overlap counted twice; bound: what it lies "
	                   "between with 95 %.",
	                   false};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct model_gpu_time *t = rows[i].time;
		bounds(&f, t->total / SECOND, t->low / SECOND, t->high / SECOND, "kind",
		       rows[i].kind);
	}
}

static int by_gpu_time(const void *a, const void *b)
{
	const struct model_kernel *x = *(const struct model_kernel *const *)a,
	                          *y = *(const struct model_kernel *const *)b;
	double t = isfinite(x->gpu.total) ? x->gpu.total : -1,
	       u = isfinite(y->gpu.total) ? y->gpu.total : -1;

	if (t != u)
		return t > u ? -1 : 1;
	if (x->launches != y->launches)
		return x->launches > y->launches ? -1 : 1;
	return strcmp(x->brief, y->brief);
}

static void write_kernels(FILE *to, const struct model *m)
{
	struct family gpu = {to, "kernel_gpu", "seconds",
	                     "GPU time of a kernel, of the twenty that take most; bound: what it "
	                     "lies between with 95 %.",
	                     false},
	              launches = {to, "kernel_launches", "", "Launches of the same kernels.",
	                          false};
	const struct model_kernel **rows = alloc_zeroed(m->kernel_count + 1, sizeof(*rows));
	size_t n = m->kernel_count < KERNELS_MOST ? m->kernel_count : KERNELS_MOST;

	for (size_t i = 0; i < m->kernel_count; i++)
		rows[i] = &m->kernels[i];
	qsort(rows, m->kernel_count, sizeof(*rows), by_gpu_time);
	for (size_t i = 0; i < n; i++)
		bounds(&gpu, rows[i]->gpu.total / SECOND, rows[i]->gpu.low / SECOND,
		       rows[i]->gpu.high / SECOND, "kernel", rows[i]->brief);
	for (size_t i = 0; i < n; i++)
		sample(&launches, model_count(m, rows[i]->launches), "kernel", rows[i]->brief,
		       NULL);
	free(rows);
}

static void write_apis(FILE *to, const struct model *m)
{
	struct family calls = {to, "api_calls", "", "Calls of a function.", false},
	              time = {to, "api", "seconds", "Time in calls of a function, entry to return.",
	                      false};

	for (size_t i = 0; i < m->api_count; i++)
		sample(&calls, model_count(m, m->apis[i].calls), "api", m->apis[i].name, "level",
		       model_level_name(m->apis[i].level), NULL);
	for (size_t i = 0; i < m->api_count; i++)
		sample(&time, m->apis[i].total / SECOND, "api", m->apis[i].name, "level",
		       model_level_name(m->apis[i].level), NULL);
}

static void write_loops(FILE *to, const struct model *m)
{
	struct family steps = {to, "loop_steps", "", "Steps of a loop.", false},
	              time = {to, "loop_step", "seconds", "Time of a step.", false};
	char number[16];

	for (size_t i = 0; i < m->phases.count; i++)
		if (m->phases.rows[i].kind == PHASE_LOOP) {
			snprintf(number, sizeof(number), "%u", m->phases.rows[i].number);
			sample(&steps, (double)m->phases.rows[i].steps, "loop", number, NULL);
		}
	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		if (p->kind != PHASE_LOOP)
			continue;
		snprintf(number, sizeof(number), "%u", p->number);
		sample(&time, p->mean / SECOND, "loop", number, "statistic", "mean", NULL);
		sample(&time, p->p50 / SECOND, "loop", number, "statistic", "p50", NULL);
		sample(&time, p->p99 / SECOND, "loop", number, "statistic", "p99", NULL);
	}
}

static void write_analysis(FILE *to, const struct analysis *a)
{
	struct family verdict = {to, "verdict_info", "",
	                         "Why the program is slow, of its main loop; 1.", false},
	              gain = {to, "finding_speedup", "ratio",
	                      "Time before over time after the change that a finding asks for; "
	                      "bound: what it lies between.",
	                      false},
	              share = {to, "finding_share", "ratio",
	                       "Share of the steady window that a finding concerns.", false};
	const struct findings *f = &a->findings;

	sample(&verdict, 1, "class", verdict_names[a->verdict.cls], "confidence",
	       verdict_confidences[a->verdict.confidence], NULL);
	for (size_t i = 0; i < f->count; i++)
		sample(&share, f->items[i].share, "finding", f->items[i].id, "severity",
		       finding_severities[f->items[i].severity], NULL);
	for (size_t i = 0; i < f->count; i++)
		bounds(&gain, f->items[i].speedup, f->items[i].speedup_low,
		       f->items[i].speedup_high, "finding", f->items[i].id);
}

int export_openmetrics(const struct export_job *job)
{
	const struct model *m = job->model;
	FILE *to = job->to;

	write_run(to, m);
	write_totals(to, m);
	write_host(to, m);
	write_devices(to, m);
	write_work(to, m);
	write_kernels(to, m);
	write_apis(to, m);
	write_loops(to, m);
	write_analysis(to, job->analysis);
	fputs("# EOF\n", to);
	return 0;
}
