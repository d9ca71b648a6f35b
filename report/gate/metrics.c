/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/figures.h"
#include "report/gate/metrics.h"
#include "report/base/units.h"

/* One function for each figure: how it is taken from the model. */
#define COUNT_OF(field)                                                                            \
	static double field##_of(const struct model *m)                                            \
	{                                                                                          \
		return model_count(m, m->totals.field);                                            \
	}
COUNT_OF(launches)
COUNT_OF(graph_launches)
COUNT_OF(syncs)
COUNT_OF(copies)
COUNT_OF(pageable_copies)
COUNT_OF(copy_bytes)
COUNT_OF(sets)
COUNT_OF(allocs)
COUNT_OF(failed)
COUNT_OF(calls)
#undef COUNT_OF

static double window_of(const struct model *m)
{
	return m->window;
}

static double loop_steps_of(const struct model *m)
{
	return m->steps.source != STEPS_NONE ? (double)m->steps.count : NAN;
}

static double step_p50_of(const struct model *m)
{
	return m->steps.judged ? m->steps.duration.p50 : NAN;
}

static double step_period_of(const struct model *m)
{
	double low, high;

	return figure_step_period(m, &low, &high);
}

static double launch_p50_of(const struct model *m)
{
	return m->gpu.launch_p50;
}

static double launch_overhead_of(const struct model *m)
{
	return m->gpu.overhead;
}

static double sync_wasted_of(const struct model *m)
{
	return m->has_host ? m->host.sync_wasted : NAN;
}

static double gpu_busy_of(const struct model *m)
{
	const struct model_gpu_busy *b = &m->gpu.busy;

	return m->gpu.has_busy && b->window > 0 ? b->busy / b->window : NAN;
}

const struct metric metrics[METRICS] = {
        [METRIC_LAUNCHES] = {"launches", METRIC_COUNT, METRIC_GATED | METRIC_KERNELS, launches_of,
                             PARTS_KERNELS, 0,
                             "kernels launched, without those captured into graphs"},
        [METRIC_GRAPH_LAUNCHES] = {"graph_launches", METRIC_COUNT, METRIC_GATED, graph_launches_of,
                                   PARTS_APIS, SPY_CLASS_GRAPH_LAUNCH,
                                   "graphs launched; each is one call, whatever it holds"},
        [METRIC_SYNCS] = {"syncs", METRIC_COUNT, METRIC_GATED, syncs_of, PARTS_APIS, SPY_CLASS_SYNC,
                          "calls whose purpose is to wait: for a stream, an event, a device"},
        [METRIC_COPIES] = {"copies", METRIC_COUNT, METRIC_GATED, copies_of, PARTS_COPIES, 0,
                           "copies of memory, those of a batch call each"},
        [METRIC_PAGEABLE_COPIES] = {"pageable_copies", METRIC_COUNT, METRIC_GATED,
                                    pageable_copies_of, PARTS_COPIES, 0,
                                    "copies from or to host memory that is not pinned"},
        [METRIC_COPY_BYTES] = {"copy_bytes", METRIC_BYTES, METRIC_GATED, copy_bytes_of,
                               PARTS_COPIES, 0, "bytes copied"},
        [METRIC_SETS] = {"sets", METRIC_COUNT, METRIC_GATED, sets_of, PARTS_APIS, SPY_CLASS_SET,
                         "memory set to a value"},
        [METRIC_ALLOC_CALLS] = {"alloc_calls", METRIC_COUNT, METRIC_GATED, allocs_of, PARTS_APIS,
                                SPY_CLASS_ALLOC,
                                "allocations and frees: device, host, pools, registrations"},
        [METRIC_FAILED_CALLS] = {"failed_calls", METRIC_COUNT, METRIC_GATED, failed_of,
                                 PARTS_FAILED, 0, "CUDA calls that returned an error"},
        /* Not gated: programs that poll (cudaStreamQuery) call more or less often. */
        [METRIC_CALLS] = {"calls", METRIC_COUNT, 0, calls_of, PARTS_NONE, 0,
                          "CUDA calls of any kind"},
        [METRIC_WINDOW_NS] = {"window_ns", METRIC_TIME, 0, window_of, PARTS_NONE, 0,
                              "from the end of the first CUDA call to the return of the last"},
        [METRIC_LOOP_STEPS] = {"loop_steps", METRIC_COUNT, METRIC_RECORDS | METRIC_STEPS,
                               loop_steps_of, PARTS_NONE, 0,
                               "steps of the loop that holds most time"},
        [METRIC_STEP_P50_NS] = {"step_p50_ns", METRIC_TIME, METRIC_RECORDS | METRIC_STEPS,
                                step_p50_of, PARTS_NONE, 0,
                                "time of a step: the median of those judged"},
        [METRIC_STEP_PERIOD_NS] = {"step_period_ns", METRIC_TIME, METRIC_RECORDS | METRIC_STEPS,
                                   step_period_of, PARTS_NONE, 0,
                                   "time from a step to the next: the loop in ten pieces, of "
                                   "their means the middle one"},
        [METRIC_LAUNCH_P50_NS] = {"launch_p50_ns", METRIC_TIME, METRIC_RECORDS, launch_p50_of,
                                  PARTS_NONE, 0,
                                  "time in a kernel launch call, entry to return: the median of "
                                  "all launches"},
        [METRIC_LAUNCH_OVERHEAD_NS] =
                {"launch_overhead_ns", METRIC_TIME, METRIC_GPU | METRIC_RECORDS, launch_overhead_of,
                 PARTS_NONE, 0,
                 "time in launch calls, without first launches and waiting for "
                 "a full queue or another thread"},
        [METRIC_SYNC_WASTED_NS] = {"sync_wasted_ns", METRIC_TIME, METRIC_GPU | METRIC_RECORDS,
                                   sync_wasted_of, PARTS_NONE, 0,
                                   "time in waiting calls while the GPU had nothing to do"},
        [METRIC_GPU_BUSY_SHARE] = {"gpu_busy_share", METRIC_SHARE, METRIC_GPU | METRIC_RECORDS,
                                   gpu_busy_of, PARTS_NONE, 0,
                                   "share of the window in which the GPU worked"},
        [METRIC_VERDICT] = {"verdict", METRIC_WORD, 0, NULL, PARTS_NONE, 0,
                            "why the program is slow, in one word"},
};

char *metric_number(char *to, double v, bool sign)
{
	bool whole = fabs(v) < 1e15 && v == rint(v);

	snprintf(to, METRIC_NUMBER_BYTES,
	         sign    ? whole ? "%+.0f" : "%+.6g"
	         : whole ? "%.0f"
	                 : "%.6g",
	         v);
	return to;
}

static char *value_text(enum metric_kind kind, double v)
{
	char text[UNIT_BYTES];

	if (!isfinite(v))
		return alloc_format("n/a");
	switch (kind) {
	case METRIC_TIME:
		return alloc_format("%s", unit_time(text, v));
	case METRIC_SHARE:
		return alloc_format("%.1f %%", 100 * v);
	case METRIC_BYTES:
		return alloc_format("%s B", metric_number(text, v, false));
	default:
		return alloc_format("%s", metric_number(text, v, false));
	}
}

char *metric_text(enum metric_kind kind, double low, double high)
{
	char *text = value_text(kind, low);

	if (low == high || !isfinite(low))
		return text;
	char *other = value_text(kind, high);
	if (!strcmp(text, other)) {
		free(other);
		return text;
	}
	char *both = alloc_format("%s..%s", text, other);
	free(text);
	free(other);
	return both;
}

int metric_work(const struct metric *m)
{
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		if (metric_is_count(m) && !strcmp(model_work_figure_names[i], m->name))
			return (int)i;
	return -1;
}

/*
 * Of the figures that need GPU time, launch overhead comes from the launches' own times: a launch
 * that took longer than is typical is cut to that, whichever made it wait. Wasted waiting ends
 * where the GPU's work ends: by how much that may be off, so may the waiting.
 */
void metric_interval(const struct metric *metric, const struct model *m, double *low, double *high)
{
	const struct model_gpu_busy *b = &m->gpu.busy;
	const struct model_split *h = &m->host;

	*low = *high = metric->of ? metric->of(m) : NAN;
	if (!m->gpu.estimated || !m->gpu.has_busy || !isfinite(*low) || !isfinite(b->low + b->high))
		return;
	if (metric - metrics == METRIC_GPU_BUSY_SHARE) {
		*low = fmin(*low, b->low / b->window);
		*high = fmax(*high, fmin(1, b->high / b->window));
	} else if (metric - metrics == METRIC_SYNC_WASTED_NS) {
		*low = fmax(0, *low - fmax(0, b->high - b->busy));
		*high = fmax(*high, fmin(h->sync_useful + h->sync_wasted,
		                         *high + fmax(0, b->busy - b->low)));
	}
}

const struct metric *metric_find(const char *name, size_t bytes)
{
	for (size_t i = 0; i < METRICS; i++)
		if (strlen(metrics[i].name) == bytes && !memcmp(metrics[i].name, name, bytes))
			return &metrics[i];
	return NULL;
}

const struct metric *metric_of_loop(const char *name, size_t bytes, bool *per_step)
{
	static const struct {
		const char *name;
		enum metric_id id;
	} others[] = {{"steps", METRIC_LOOP_STEPS},
	              {"step_ns", METRIC_STEP_P50_NS},
	              {"allocs", METRIC_ALLOC_CALLS}};
	const struct metric *m = metric_find(name, bytes);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !m; i++)
		if (strlen(others[i].name) == bytes && !memcmp(others[i].name, name, bytes))
			m = &metrics[others[i].id];
	*per_step = m && metric_work(m) >= 0;
	return m && (*per_step || m->flags & METRIC_STEPS) ? m : NULL;
}

const char *const *metric_names(void)
{
	static const char *names[METRICS + 1];

	for (size_t i = 0; i < METRICS; i++)
		names[i] = metrics[i].name;
	return names;
}
