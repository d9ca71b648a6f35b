/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/output/html/html_page.h"
#include "report/output/json/out_json.h"
#include "report/output/summary.h"

#define MOST_STEPS     1600u /* points of the steps over time: two for each column of pixels */
#define MOST_SLICES    128u  /* of a process' strip */
#define MOST_PROCESSES 64u

/* ---- what is judged: a loop, where the JSON has the figures of the run ---- */

static json_t *judged(const struct analysis *a)
{
	json_t *o = json_object(), *host = out_json_host(a->of), *gpu = out_json_gpu(a->of);

	json_object_del(host, "threads");
	json_object_del(gpu, "untimed");
	json_object_del(gpu, "devices");
	json_put(o, "host", host);
	json_put(o, "gpu", gpu);
	json_put(o, "busy_share", json_share(a->verdict.busy));
	json_put(o, "busy_low", json_share(a->verdict.busy_low));
	json_put(o, "busy_high", json_share(a->verdict.busy_high));
	return o;
}

/* ---- steps over time ---- */

static json_t *step_row(const struct model_step *s, bool outlier)
{
	json_t *row = json_array();

	json_push(row, json_count(s->process));
	json_push(row, json_ns(s->start));
	json_push(row, json_ns(s->duration));
	json_push(row, json_ns(s->work.gpu_ns));
	json_push(row, json_ns(s->work.launch_ns));
	json_push(row, json_ns(s->work.launches));
	json_push(row, json_ns(s->work.syncs));
	json_push(row, json_integer(outlier));
	return row;
}

static bool is_outlier(const struct model_steps_figures *f, const struct model_step *s)
{
	for (size_t i = 0; i < f->outlier_count; i++)
		if (f->outliers[i].process == s->process && f->outliers[i].start == s->start &&
		    f->outliers[i].tid == s->tid)
			return true;
	return false;
}

/*
 * All of them, or of each group of neighbours the shortest and the longest: what stands out stays.
 * The rows are by process and start, so that a group is of one time.
 */
static json_t *steps(const struct model *m)
{
	const struct model_steps_figures *f = &m->steps;
	json_t *o = json_object(), *rows = json_array();
	size_t group = f->judged > MOST_STEPS ? 2 * f->judged / MOST_STEPS + 1 : 1;

	for (size_t i = 0; i < f->judged; i += group) {
		size_t least = i, most = i, end = i + group < f->judged ? i + group : f->judged;
		for (size_t k = i; k < end; k++) {
			least = f->rows[k].duration < f->rows[least].duration ? k : least;
			most = f->rows[k].duration > f->rows[most].duration ? k : most;
		}
		size_t first = least < most ? least : most, last = least < most ? most : least;
		json_push(rows, step_row(&f->rows[first], is_outlier(f, &f->rows[first])));
		if (last != first)
			json_push(rows, step_row(&f->rows[last], is_outlier(f, &f->rows[last])));
	}
	json_put(o, "rows", rows);
	json_put(o, "of", json_count(f->judged));
	return o;
}

/* ---- the run as time slices, and what each process did in all of it ---- */

/* Share in which a device, or the mean of several, was busy in some slices; NaN: not known. */
static double busy_share(const struct overview *p, size_t from, size_t until)
{
	double busy = 0, width = 0;

	for (size_t d = 0; d < p->device_count; d++)
		for (size_t i = from; i < until; i++) {
			busy += fmin(p->devices[d].busy[i], p->width);
			width += p->devices[d].covered[i] > 0 ? p->width : 0;
		}
	return width > 0 ? busy / width : NAN;
}

static json_t *slices(const struct overview *p)
{
	json_t *list = json_array();
	size_t group = p->count > MOST_SLICES ? (p->count + MOST_SLICES - 1) / MOST_SLICES : 1;

	for (size_t i = 0; i < p->count; i += group) {
		size_t end = i + group < p->count ? i + group : p->count;
		double share = busy_share(p, i, end);
		json_push(list, isfinite(share) ? json_real(rint(1e4 * share) / 1e4) : json_null());
	}
	return list;
}

/* Of the slices within the window. */
static void put_sums(json_t *o, const struct overview *p, const struct model_gpu *gpu)
{
	json_t *host = json_object();
	size_t first = 0;

	while (first < p->count && p->origin + (double)(first + 1) * p->width <= p->window)
		first++;
	for (int k = 0; p->host && k < TF_HOSTS; k++) {
		double sum = 0;
		for (size_t i = first; i < p->count; i++)
			sum += p->host[i][k];
		/* The page draws it as it draws `host`, which has this one name otherwise. */
		json_put(host, k == TF_HOST_OTHER ? "other_cuda_ns" : out_json_host_names[k],
		         json_ns(sum));
	}
	double busy = busy_share(p, first, p->count);
	json_put(o, "busy_share", json_share(busy));
	/* As a device's: the interval of all GPU time, relative to it. */
	if (gpu->estimated && gpu->busy.busy > 0) {
		json_put(o, "busy_low", json_share(busy * gpu->busy.low / gpu->busy.busy));
		json_put(o, "busy_high",
		         json_share(fmin(1, busy * gpu->busy.high / gpu->busy.busy)));
	}
	if (p->host)
		json_put(o, "host", host);
	else
		json_decref(host);
}

/* How long its steps take at the median; NaN: it has none. */
static double step_of(const struct model *m, size_t process, size_t *count)
{
	double *all = alloc_zeroed(m->steps.judged + 1, sizeof(*all));

	*count = 0;
	for (size_t i = 0; i < m->steps.judged; i++)
		if (m->steps.rows[i].process == process)
			all[(*count)++] = m->steps.rows[i].duration;
	stats_sort(all, *count);
	double median = stats_median(all, *count);
	free(all);
	return median;
}

static json_t *processes(const struct model *m, const struct model *view)
{
	json_t *list = json_array();
	double first = INFINITY;

	for (size_t i = 0; i < m->process_count; i++)
		first = fmin(first, m->processes[i].window_start_realtime);
	for (size_t i = 0; i < m->process_count && i < MOST_PROCESSES; i++) {
		const struct model_process *p = &m->processes[i];
		const struct overview *all = &p->overview;
		double late = m->process_count > 1 ? p->window_start_realtime - first : 0;
		size_t group =
		        all->count > MOST_SLICES ? (all->count + MOST_SLICES - 1) / MOST_SLICES : 1;
		json_t *o = json_object();
		size_t count;
		double step = step_of(view, i, &count);
		json_put(o, "pid", json_count(p->pid));
		json_put(o, "rank", json_text(p->rank));
		json_put(o, "late_ns", json_ns(late));
		json_put(o, "slices_from_ns", json_ns(late + all->origin - all->window));
		json_put(o, "slice_ns", json_ns(all->width * (double)group));
		json_put(o, "busy", slices(all));
		json_put(o, "step_p50_ns", json_ns(step));
		json_put(o, "steps", json_count(count));
		put_sums(o, all, &m->gpu);
		json_push(list, o);
	}
	return list;
}

/* As tables call them, by the order of the report's kernels. */
static json_t *briefs(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->kernel_count; i++)
		json_push(list, json_text(m->kernels[i].brief));
	return list;
}

/* What the verdict alone says that would help, as the terminal lists it: no finding tells its gain.
 */
static json_t *verdict_changes(const struct summary *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->change_count; i++) {
		const struct summary_change *c = &s->changes[i];
		if (!c->of_verdict)
			continue;
		json_t *o = json_object();
		json_put(o, "finding", json_text(c->finding ? c->finding->id : NULL));
		json_put(o, "what", json_text(c->what));
		json_put(o, "saved", json_share(c->mean));
		json_put(o, "saved_low", json_share(c->low));
		json_put(o, "saved_high", json_share(c->high));
		json_put(o, "site", c->line ? out_json_place(c->line) : json_null());
		json_push(list, o);
	}
	return list;
}

/* What a step of each phase takes, as the terminal has it; null: it is no loop. */
static json_t *phase_steps(const struct model *m, const struct analysis *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		json_push(list, json_ns(p->kind == PHASE_LOOP ? summary_step_judged(a, p) : NAN));
	}
	return list;
}

json_t *html_judged(const struct model *m, const struct analysis *a)
{
	struct summary summary;
	json_t *o = json_object();

	summary_make(&summary, m, a);
	json_put(o, "simulated", json_boolean(m->simulated));
	json_put(o, "judged", judged(a));
	json_put(o, "sentence", json_text(summary.sentence));
	json_put(o, "verdict_changes", verdict_changes(&summary));
	json_put(o, "phase_steps", phase_steps(m, a));
	json_put(o, "kernel_briefs", briefs(m));
	summary_free(&summary);
	return o;
}

json_t *html_extra(const struct model *m, const struct analysis *a)
{
	json_t *o = html_judged(m, a);

	json_put(o, "steps", steps(a->of));
	json_put(o, "processes", processes(m, a->of));
	html_put_timelines(o, m, a);
	return o;
}
