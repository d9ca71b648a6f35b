/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/model_internal.h"

#define STEPS_LEAST     3u  /* ranges of one name that are steps */
#define OUTER_FEW       20u /* an outer range that occurs less often may be an epoch of steps */
#define INNER_MANY      10u /* ... if one inside it occurs so many times as often */
#define INNER_COVERS    0.8 /* ... and takes so much of its time */
#define PART_MOST       0.5 /* of the work that repeats: less, and a library's ranges are no steps */
#define OUTLIER_LEAST   1.25 /* times the median; and further off it than 5 quarter ranges */
#define OUTLIER_QUARTER 5
#define APART_LEAST     1.1 /* a loop that takes so many times its steps: more lies between them */

const char *const model_steps_source_names[] = {
        [STEPS_NONE] = "none", [STEPS_NVTX] = "nvtx", [STEPS_FOUND] = "found"};
const char *const model_work_figure_names[WORK_FIGURES] = {
        "launches", "graph_launches", "syncs",       "copies",    "pageable_copies",
        "sets",     "copy_bytes",     "alloc_calls", "launch_ns", "gpu_ns"};
_Static_assert(sizeof(struct model_work_done) == WORK_FIGURES * sizeof(double), "struct work_done");

double model_work_figure(const struct model_work_done *w, unsigned i)
{
	double v[WORK_FIGURES];

	memcpy(v, w, sizeof(v));
	return v[i];
}

/* ---- one recording ---- */

static void add_row(struct model_part *p, const struct tf_step *s, size_t source)
{
	struct model *m = p->model;
	const struct tf_counts *c = &s->counts;
	const struct tf_thread *thread = recording_thread(p->recording, s->thread);

	ALLOC_ROOM(m->step_rows, m->step_row_count);
	m->step_rows[m->step_row_count++] = (struct model_step){
	        .source = source,
	        .found = s->flags & TF_STEP_FOUND,
	        .odd = s->flags & TF_STEP_ODD,
	        .counted = !(s->flags & TF_STEP_NO_COUNTS),
	        .process = p->process_index,
	        .tid = thread ? thread->tid : 0,
	        .start = clock_between(&p->clock, p->window_start, s->start),
	        .end = clock_between(&p->clock, p->window_start, s->end),
	        .duration = clock_ns(&p->clock, s->end - s->start),
	        .work = {(double)c->launches, (double)c->graph_launches, (double)c->syncs,
	                 (double)c->copies, (double)c->pageable_copies, (double)c->sets,
	                 (double)c->copy_bytes, (double)c->allocs,
	                 clock_ns(&p->clock, c->launch_ticks), NAN},
	};
}

void model_add_steps(struct model_part *p, const size_t *range_of)
{
	const struct recording *r = p->recording;
	size_t first_loop = p->model->loop_count, first_row = p->model->step_row_count;

	for (uint32_t i = 0; i < r->loops; i++) {
		const struct tf_loop *from = tf_entry(&r->map, &p->header->loops, i, sizeof(*from));
		if (!from)
			break;
		model_add_loop(p, from);
	}
	for (uint32_t i = 0; i < r->steps; i++) {
		const struct tf_step *s = tf_entry(&r->map, &p->header->steps, i, sizeof(*s));
		if (!s || s->end < s->start)
			continue;
		if (s->flags & TF_STEP_FOUND) {
			if (s->source < p->model->loop_count - first_loop)
				add_row(p, s, first_loop + s->source);
		} else if (s->source < r->ranges && range_of[s->source] != RANGE_NONE) {
			add_row(p, s, range_of[s->source]);
		}
	}
	model_add_steps_gpu(p, first_row);
}

double model_work_pieces(const struct model_work_done *w)
{
	return w->launches + w->graph_launches + w->copies + w->sets;
}

/* ---- which ranges are the steps ---- */

static bool gives_work(const struct model_range *r)
{
	return model_work_pieces(&r->work) > 0;
}

/* How far the 90th percentile is off the median, in medians. */
static double unevenness(const struct model_range *r)
{
	return r->q.p50 > 0 ? (r->q.p90 - r->q.p50) / r->q.p50 : INFINITY;
}

/*
 * Libraries name what they do in domains of their own: CUB each reduction, XLA each execution.
 * Where the work that was found to repeat is more than twice what lies in such ranges, they are
 * parts of the steps, or what comes some times in each.
 */
static bool is_library_part(const struct model *m, const struct model_range *r)
{
	double most = 0;

	for (size_t i = 0; i < m->loop_count && r->domain; i++)
		most = fmax(most, model_work_pieces(&m->loops[i].work));
	return model_work_pieces(&r->work) < PART_MOST * most;
}

/* Of the ranges at one level that repeat and give work: the one that takes most time, the more
 * even ones first. */
static size_t best_at_level(const struct model *m, unsigned level, size_t parent)
{
	size_t best = RANGE_NONE;
	double best_score = 0;

	for (size_t i = 0; i < m->range_count; i++) {
		const struct model_range *r = &m->ranges[i];
		if (r->level != level || (parent != RANGE_NONE && r->parent != parent) ||
		    r->count < STEPS_LEAST || !r->rows || !gives_work(r) || is_library_part(m, r))
			continue;
		double score = r->total / (1 + unevenness(r));
		if (score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static size_t choose_range(const struct model *m)
{
	size_t chosen = RANGE_NONE;

	for (unsigned level = 0; level < TF_STEP_LEVELS && chosen == RANGE_NONE; level++)
		chosen = best_at_level(m, level, RANGE_NONE);
	while (chosen != RANGE_NONE && m->ranges[chosen].count < OUTER_FEW) {
		const struct model_range *outer = &m->ranges[chosen];
		size_t inner = best_at_level(m, outer->level + 1, chosen);
		if (inner == RANGE_NONE || m->ranges[inner].count < INNER_MANY * outer->count ||
		    m->ranges[inner].total < INNER_COVERS * outer->total)
			break;
		chosen = inner;
	}
	return chosen;
}

/* The ranges of the name asked for: the outermost ones, of these the ones that take most time. */
static size_t named_range(const struct model *m)
{
	size_t best = RANGE_NONE;

	for (size_t i = 0; i < m->range_count; i++) {
		const struct model_range *r = &m->ranges[i],
		                         *b = best == RANGE_NONE ? NULL : &m->ranges[best];
		if (!r->rows || strcmp(r->name, m->steps_from) != 0)
			continue;
		if (!b || r->level < b->level || (r->level == b->level && r->total > b->total))
			best = i;
	}
	return best;
}

/* The loop that most work belongs to. */
static size_t choose_loop(const struct model *m)
{
	size_t best = RANGE_NONE;
	double most = 0;

	for (size_t i = 0; i < m->loop_count; i++) {
		const struct model_loop *p = &m->loops[i];
		if (p->steps >= STEPS_LEAST && p->events * (double)p->steps > most) {
			most = p->events * (double)p->steps;
			best = i;
		}
	}
	return best;
}

size_t model_steps_range(const struct model *m)
{
	return m->steps_from ? named_range(m) : choose_range(m);
}

/* ---- figures ---- */

/* Sorts the values. */
static struct model_spread_of spread_of(double *v, size_t n)
{
	double sum = 0;

	if (!n)
		return (struct model_spread_of){NAN, NAN, NAN, NAN, NAN};
	for (size_t i = 0; i < n; i++) {
		if (isnan(v[i]))
			return (struct model_spread_of){NAN, NAN, NAN, NAN, NAN};
		sum += v[i];
	}
	stats_sort(v, n);
	return (struct model_spread_of){sum / (double)n, v[0], stats_quantile(v, n, 0.5),
	                                stats_quantile(v, n, 0.99), v[n - 1]};
}

static int by_start(const void *a, const void *b)
{
	const struct model_step *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_duration(const void *a, const void *b)
{
	const struct model_step *x = a, *y = b;

	return x->duration > y->duration ? -1 : x->duration < y->duration;
}

/* Takes the rows of the steps, without those left out; how many these are. */
static size_t judged_rows(struct model *m, size_t phase, bool found, size_t source)
{
	struct model_steps_figures *s = &m->steps;
	size_t n = 0, kept = 0;
	uint64_t skipped = 0;

	const struct model_phase *of = phase != PHASE_NONE ? &m->phases.rows[phase] : NULL;
	bool *loops = of ? model_phase_loops(m, of) : NULL;
	s->rows = alloc_zeroed(m->step_row_count + 1, sizeof(*s->rows));
	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *row = &m->step_rows[i];
		if (of ? model_phase_has(of, loops, row)
		       : row->found == found && row->source == source)
			s->rows[n++] = *row;
	}
	free(loops);
	if (n)
		qsort(s->rows, n, sizeof(*s->rows), by_start);
	for (size_t i = 0; i < n; i++) {
		const struct model_step *row = &s->rows[i];
		if (!i || row->process != s->rows[i - 1].process)
			skipped = 0;
		if (skipped < m->skip_steps) {
			skipped += s->stride;
			s->skipped += s->stride;
		} else if (row->odd) {
			s->odd++;
		} else {
			s->rows[kept++] = *row;
		}
	}
	return kept;
}

static void find_outliers(struct model_steps_figures *s, const struct model_step *rows, size_t n,
                          const double *durations)
{
	double quarter = stats_quantile(durations, n, 0.75) - stats_quantile(durations, n, 0.25);
	double limit =
	        fmax(s->duration.p50 * OUTLIER_LEAST, s->duration.p50 + OUTLIER_QUARTER * quarter);

	for (size_t i = 0; i < n; i++) {
		if (!(rows[i].duration > limit))
			continue;
		ALLOC_ROOM(s->outliers, s->outlier_count);
		s->outliers[s->outlier_count++] = rows[i];
	}
	if (s->outlier_count)
		qsort(s->outliers, s->outlier_count, sizeof(*s->outliers), by_duration);
}

static void fill_figures(struct model_steps_figures *s, size_t n)
{
	double *v = alloc_zeroed(n + 1, sizeof(*v));

	s->judged = n;
	for (unsigned f = 0; f < WORK_FIGURES; f++) {
		size_t known = 0;
		for (size_t i = 0; i < n; i++)
			if (s->rows[i].counted && !isnan(model_work_figure(&s->rows[i].work, f)))
				v[known++] = model_work_figure(&s->rows[i].work, f);
		s->work[f] = spread_of(v, known);
		s->timed = known; /* of the last figure: GPU time */
	}
	for (size_t i = 0; i < n; i++)
		v[i] = s->rows[i].duration;
	s->duration = spread_of(v, n);
	s->per_s = s->duration.mean > 0 ? 1e9 / s->duration.mean : NAN;
	if (n)
		find_outliers(s, s->rows, n, v);
	free(v);
}

static const char *confidence_of(const struct model_steps_figures *s)
{
	if (s->source == STEPS_NVTX)
		return "high"; /* the program said so */
	return s->alike >= 0.95 && s->judged >= 10 ? "high" : s->alike >= 0.85 ? "medium" : "low";
}

/* Side by side steps come as often as all threads together make them; and where the host gives them
 * far ahead and then waits, or works between ranges, one takes more than from its start to its end.
 */
static bool takes_longer(const struct model *m, const struct model_phase *of, double step)
{
	if (m->process_count != 1 || !(of->time > 0) || !of->steps)
		return false;
	return of->threads > 1 || of->time > APART_LEAST * step * (double)of->steps;
}

/* Of a loop's phase, or, where there are no phases, of the loop or range that has most work. */
static void fill_steps(struct model *m, size_t phase)
{
	struct model_steps_figures *s = &m->steps;
	const struct model_phase *of = phase != PHASE_NONE ? &m->phases.rows[phase] : NULL;
	size_t range = of ? (of->found ? RANGE_NONE : of->source) : model_steps_range(m);
	size_t loop = of              ? (of->found ? of->source : RANGE_NONE)
	              : m->steps_from ? RANGE_NONE
	                              : choose_loop(m);
	const char *name = NULL, *domain = NULL;

	*s = (struct model_steps_figures){.stride = 1, .alike = NAN, .phase = phase};
	if (range != RANGE_NONE) {
		const struct model_range *r = &m->ranges[range];
		s->source = STEPS_NVTX;
		s->count = r->count;
		s->stride = r->stride ? r->stride : 1;
		name = r->name;
		domain = r->domain;
	} else if (loop != RANGE_NONE) {
		const struct model_loop *p = &m->loops[loop];
		s->source = STEPS_FOUND;
		s->count = of ? of->steps : p->steps;
		s->stride = p->stride ? p->stride : 1;
		s->alike = p->alike;
		name = p->marker;
	}
	s->name = alloc_string(name);
	s->domain = alloc_string(domain);
	fill_figures(s, s->source == STEPS_NONE
	                        ? 0
	                        : judged_rows(m, phase, s->source == STEPS_FOUND,
	                                      s->source == STEPS_FOUND ? loop : range));
	s->apart = of && takes_longer(m, of, s->duration.mean);
	if (s->apart)
		s->per_s = (double)of->steps / of->time * 1e9;
	s->judged_per_s = s->per_s;
	if (s->source != STEPS_NONE)
		s->confidence = confidence_of(s);
}

void model_finish_steps(struct model *m)
{
	fill_steps(m, m->phases.main);
}

void model_steps_of(struct model *m, size_t phase)
{
	if (m->phases.rows[phase].kind == PHASE_LOOP)
		fill_steps(m, phase);
	else
		m->steps = (struct model_steps_figures){.stride = 1, .alike = NAN, .phase = phase};
}

void model_free_steps_figures(struct model_steps_figures *s)
{
	free(s->name);
	free(s->domain);
	free(s->outliers);
	free(s->rows);
}

void model_free_steps(struct model *m)
{
	for (size_t i = 0; i < m->range_count; i++) {
		free(m->ranges[i].name);
		free(m->ranges[i].domain);
	}
	model_free_loops(m);
	free(m->ranges);
	free(m->step_rows);
	model_free_steps_figures(&m->steps);
}
