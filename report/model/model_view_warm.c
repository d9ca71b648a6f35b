/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_view_warm.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/model_internal.h"
#include "report/model/phases.h"

/* Of a loop's time, what its warming up may take at most; without first steps that take
 * WARM_FAR_LONGER: those may take as long as they like. */
#define WARM_MOST       0.5
#define WARM_STEPS_MOST 0.25 /* and of its steps */
/* Its first steps, of each thread, load code, choose algorithms and fill pools: those that take so
 * many times a usual one belong to that. */
#define WARM_STEPS  8u
#define WARM_LONGER 3.0
#define WARM_LEAST  8u /* steps of a loop: of fewer none are told from usual ones */

/*
 * A later step so many times a usual one is part of it where it takes longer than all since then:
 * what is done every so many steps for the first time has its code made then.
 */
#define WARM_FAR_LONGER 10.0
#define WARM_FEW        4u /* and among the first of so many parts of the steps */
/* Clocks go up, caches fill and libraries make their plans: steps are usual ones from where half of
 * WARM_STEPS in a row are no longer than so many times such a one. */
#define WARM_SETTLED 1.25

static int by_start(const void *a, const void *b)
{
	const struct model_step *x = *(const struct model_step *const *)a,
	                        *y = *(const struct model_step *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The steps of a loop in one process. */
static const struct model_step **rows_of(const struct model *m, const struct model_phase *p,
                                         uint32_t process, size_t *count)
{
	const struct model_step **rows = NULL;
	bool *loops = model_phase_loops(m, p);

	*count = 0;
	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *row = &m->step_rows[i];
		if (row->process != process || !model_phase_has(p, loops, row))
			continue;
		ALLOC_ROOM(rows, *count);
		rows[(*count)++] = row;
	}
	free(loops);
	if (*count)
		qsort(rows, *count, sizeof(*rows), by_start);
	return rows;
}

/* Its first steps that may be of its warming up. */
static size_t first_few(const struct model_phase *p, size_t count)
{
	size_t few = WARM_STEPS * (p->threads > 1 ? p->threads : 1);

	return few < count / WARM_FEW ? few : count / WARM_FEW;
}

/* The end of the last step that takes longer than the loop has run until then, from `from` on; each
 * such step puts that off. */
static double until_longest(const struct model_phase *p, const struct model_step *const *rows,
                            size_t count, double from)
{
	for (size_t i = 0; i < count / WARM_FEW; i++) {
		double far = fmax(WARM_FAR_LONGER * p->p50, rows[i]->start - from);
		if (rows[i]->start >= from && rows[i]->duration > far)
			from = rows[i]->start + rows[i]->duration;
	}
	return from;
}

/* Whether steps become shorter in their second half still, as those of batches sorted by length:
 * that is no warming up. Where they are of two kinds both are in it, and a median is one or the
 * other. */
static bool still_shortens(const struct model_step *const *rows, size_t count)
{
	size_t first = count / 2, n = count - first, as_long = 0;
	double *ns = alloc_zeroed(count + 1, sizeof(*ns));

	for (size_t i = 0; i < count; i++)
		ns[i] = rows[i]->duration;
	double all = count ? stats_select(ns, count, 0.5) : 0;
	for (size_t i = 0; i < n; i++) {
		ns[i] = rows[first + i]->duration;
		as_long += ns[i] >= all;
	}
	double median = n ? stats_select(ns, n, 0.5) : 0;
	free(ns);
	return all > WARM_SETTLED * median && WARM_FEW * as_long < n;
}

/* The start of the first step that is among usual ones, in the first part of them; `from` where
 * none is, or all are. */
static double until_usual(const struct model_phase *p, const struct model_step *const *rows,
                          size_t count, size_t in_row, double from)
{
	if (still_shortens(rows, count))
		return from;
	for (size_t i = 0; i < count / WARM_FEW && i + in_row <= count; i++) {
		size_t usual = 0;
		for (size_t k = i; k < i + in_row; k++)
			usual += rows[k]->duration <= WARM_SETTLED * p->p50;
		if (2 * usual >= in_row)
			return fmax(from, rows[i]->start);
	}
	return from;
}

/* Whether so many of a loop's steps begin before `until` that they are its usual ones: each of them
 * allocates or loads code, and then the host waits. */
static bool usual_until(const struct model *m, const struct model_phase *p, uint32_t process,
                        double until)
{
	size_t count, first = 0;
	const struct model_step **rows = rows_of(m, p, process, &count);

	for (; first < count && rows[first]->start < until; first++)
		;
	free(rows);
	return (double)first > WARM_STEPS_MOST * (double)count;
}

/* Until when a loop's first steps take far longer than its others, but no longer than `most`. */
static double warm_until(const struct model *m, const struct model_phase *p, uint32_t process,
                         double from, double most)
{
	size_t count;
	const struct model_step **rows = rows_of(m, p, process, &count);
	size_t few = first_few(p, count);

	for (size_t i = 0; i < few && rows[i]->start < most; i++) {
		double end = rows[i]->start + rows[i]->duration;
		if (rows[i]->duration > WARM_LONGER * p->p50 && end <= most)
			from = fmax(from, end);
	}
	double settled = until_usual(p, rows, count, few, from);
	from = until_longest(p, rows, count, settled <= most ? settled : from);
	free(rows);
	return from;
}

/* The end of the last of a loop's first steps that is no usual one by far: what is loaded and made
 * but once may take longer than the rest of a short run. */
static double first_steps(const struct model *m, const struct model_phase *p, uint32_t process,
                          double from)
{
	size_t count;
	const struct model_step **rows = rows_of(m, p, process, &count);
	size_t few = first_few(p, count);

	for (size_t i = 0; i < few; i++)
		if (rows[i]->duration > WARM_FAR_LONGER * p->p50)
			from = fmax(from, rows[i]->start + rows[i]->duration);
	free(rows);
	return from;
}

/* Whether enough steps are there to tell first ones from usual ones. Of few none may be as long
 * later on: what is done every so many steps is no warming up. */
static bool has_first_ones(const struct model *m, const struct model_phase *p, uint32_t process)
{
	size_t count;

	if (p->kind != PHASE_LOOP || !(p->p50 > 0) || p->steps < WARM_LEAST)
		return false;
	if (p->steps >= 4 * WARM_STEPS)
		return true;
	const struct model_step **rows = rows_of(m, p, process, &count);
	bool again = false;
	for (size_t i = first_few(p, count); i < count; i++)
		again |= rows[i]->duration > WARM_LONGER * p->p50;
	free(rows);
	return !again;
}

/* Where half of a part's time behind `from` is over. */
static double half_of(const struct model_phase_part *part, double from)
{
	double half = from, left = 0;

	for (size_t i = 0; i < part->stretch_count; i++)
		left += fmax(0, part->stretches[i].end - fmax(from, part->stretches[i].start));
	left *= WARM_MOST;
	for (size_t i = 0; i < part->stretch_count && left > 0; i++) {
		const struct model_stretch *s = &part->stretches[i];
		double start = fmax(from, s->start), length = fmax(0, s->end - start);
		half = length > 0 ? start + fmin(left, length) : half;
		left -= length;
	}
	return half;
}

/* Steps of a loop in one process that begin before `until`. */
static double steps_before(const struct model *m, const struct model_phase *p, uint32_t process,
                           double until)
{
	size_t count, before = 0;
	const struct model_step **rows = rows_of(m, p, process, &count);

	while (before < count && rows[before]->start < until)
		before++;
	free(rows);
	return (double)before;
}

struct model_stretch *view_settled(const struct model *m, const struct model_phase *p,
                                   const struct model_phase_part *part, size_t *count, double *warm)
{
	const struct overview *o = &m->processes[part->process].overview;
	struct model_stretch *to = alloc_zeroed(part->stretch_count, sizeof(*to));
	bool many = has_first_ones(m, p, part->process);
	double start = many ? first_steps(m, p, part->process, part->start) : part->start,
	       half = half_of(part, start), from = start;

	if (p->kind == PHASE_LOOP && o->count)
		from = phases_settled(o, o->window + start, o->window + half) - o->window;
	if (from > start && usual_until(m, p, part->process, from))
		from = start;
	if (many)
		from = warm_until(m, p, part->process, from, half);
	/* Less than a nanosecond is what sums are rounded by. */
	*warm = from > part->start + 1 ? steps_before(m, p, part->process, from) : 0;
	*count = 0;
	for (size_t i = 0; i < part->stretch_count; i++) {
		struct model_stretch s = part->stretches[i];
		double whole = s.end - s.start;
		s.start = fmax(s.start, from);
		if (!(s.end > s.start))
			continue;
		s.steps *= (s.end - s.start) / whole;
		to[(*count)++] = s;
	}
	return to;
}
