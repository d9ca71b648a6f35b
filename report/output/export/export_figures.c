/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export_figures.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/gate/metrics.h"

/* What metrics are called here. Less is good of all but what the GPU is busy. */
static const struct {
	enum metric_id id;
	const char *measure, *unit;
	bool more_is_good;
} of_run[] = {
        {METRIC_WINDOW_NS, "window", "ns", false},
        {METRIC_CALLS, "calls", "", false},
        {METRIC_LAUNCHES, "launches", "", false},
        {METRIC_GRAPH_LAUNCHES, "graph-launches", "", false},
        {METRIC_SYNCS, "syncs", "", false},
        {METRIC_COPIES, "copies", "", false},
        {METRIC_PAGEABLE_COPIES, "pageable-copies", "", false},
        {METRIC_COPY_BYTES, "copy-bytes", "B", false},
        {METRIC_SETS, "sets", "", false},
        {METRIC_ALLOC_CALLS, "alloc-calls", "", false},
        {METRIC_FAILED_CALLS, "failed-calls", "", false},
        {METRIC_LAUNCH_OVERHEAD_NS, "launch-overhead", "ns", false},
        {METRIC_SYNC_WASTED_NS, "sync-wasted", "ns", false},
        {METRIC_GPU_BUSY_SHARE, "gpu-busy", "%", true},
};

static void add(struct export_figures *to, struct export_figure f)
{
	if (!isfinite(f.value)) {
		free(f.benchmark);
		return;
	}
	if (!isfinite(f.low) || !isfinite(f.high))
		f.low = f.high = NAN;
	ALLOC_ROOM(to->items, to->count);
	to->items[to->count++] = f;
}

static void add_run(struct export_figures *to, const struct model *m)
{
	for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++) {
		const struct metric *metric = &metrics[of_run[i].id];
		double low, high, scale = metric->kind == METRIC_SHARE ? 100 : 1;
		metric_interval(metric, m, &low, &high);
		bool exact = !(high > low);
		add(to, (struct export_figure){
		                .benchmark = alloc_string("run"),
		                .measure = of_run[i].measure,
		                .unit = of_run[i].unit,
		                .about = metric->about,
		                .value = metric->of(m) * scale,
		                .low = exact ? NAN : low * scale,
		                .high = exact ? NAN : high * scale,
		                .more_is_good = of_run[i].more_is_good,
		        });
	}
}

/* The median of the steps judged, and between which of them it lies with 95 %: so many steps, each
 * above or below it with even chances. */
static void find_median(const struct model_steps_figures *s, double *low, double *high)
{
	double *ns = alloc_zeroed(s->judged + 1, sizeof(*ns));
	size_t n = 0;

	for (size_t i = 0; i < s->judged; i++)
		if (isfinite(s->rows[i].duration))
			ns[n++] = s->rows[i].duration;
	stats_sort(ns, n);
	double half = 1.96 * sqrt((double)n) / 2, middle = ((double)n - 1) / 2;
	*low = *high = NAN;
	if (middle - half >= 0) {
		*low = ns[(size_t)floor(middle - half)];
		*high = ns[(size_t)ceil(middle + half)];
	}
	free(ns);
}

static void add_step_time(struct export_figures *to, const struct export_job *job, size_t phase,
                          const char *name)
{
	const struct model *m = job->model;
	const struct model_steps_figures *s = &job->analysis->of->steps;
	struct export_figure f = {
	        .benchmark = alloc_string(name),
	        .measure = "step-time",
	        .unit = "ns",
	        .about = "time of a step: the median",
	        .value = m->phases.rows[phase].p50,
	        .low = NAN,
	        .high = NAN,
	};

	if (s->phase == phase && s->judged) {
		f.value = s->duration.p50;
		find_median(s, &f.low, &f.high);
	}
	add(to, f);
}

static void add_loop(struct export_figures *to, const struct export_job *job, size_t phase)
{
	static const char *const measures[] = {
	        "launches-per-step",   "graph-launches-per-step",  "syncs-per-step",
	        "copies-per-step",     "pageable-copies-per-step", "sets-per-step",
	        "copy-bytes-per-step", "alloc-calls-per-step",     "launch-time-per-step"};
	const struct model_phase *p = &job->model->phases.rows[phase];
	const struct verdict *v = &job->analysis->phases[phase];
	char *name = alloc_format("loop %u", p->number);

	add_step_time(to, job, phase, name);
	for (unsigned i = 0; i < sizeof(measures) / sizeof(measures[0]) && p->steps; i++)
		add(to, (struct export_figure){
		                .benchmark = alloc_string(name),
		                .measure = measures[i],
		                .unit = i == 6   ? "B"
		                        : i == 8 ? "ns"
		                                 : "",
		                .about = "of a step, on average",
		                .value = model_work_figure(&p->work, i) / (double)p->steps,
		                .low = NAN,
		                .high = NAN,
		        });
	bool known = v->reason && isfinite(v->busy);
	add(to, (struct export_figure){
	                .benchmark = name,
	                .measure = "gpu-busy",
	                .unit = "%",
	                .about = metrics[METRIC_GPU_BUSY_SHARE].about,
	                .value = known ? 100 * v->busy : NAN,
	                .low = known && v->busy_high > v->busy_low ? 100 * v->busy_low : NAN,
	                .high = known && v->busy_high > v->busy_low ? 100 * v->busy_high : NAN,
	                .more_is_good = true,
	        });
}

void export_figures_make(struct export_figures *to, const struct export_job *job)
{
	*to = (struct export_figures){0};
	add_run(to, job->model);
	for (size_t i = 0; i < job->model->phases.count; i++)
		if (job->model->phases.rows[i].kind == PHASE_LOOP)
			add_loop(to, job, i);
}

void export_figures_free(struct export_figures *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].benchmark);
	free(f->items);
	*f = (struct export_figures){0};
}
