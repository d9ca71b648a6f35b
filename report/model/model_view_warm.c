/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_view_warm.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/phases.h"

/* Of a loop's time, what its warming up may take at most. */
#define WARM_MOST 0.5
/* Its first steps, of each thread, load code, choose algorithms and fill pools: those that take so
 * many times a usual one belong to that. */
#define WARM_STEPS  8u
#define WARM_LONGER 3.0

struct first_steps { /* by their starts */
	double start[64], end[64];
	size_t count, most;
};

static void keep_first(struct first_steps *of, double start, double end)
{
	size_t at = of->count;

	if (at == of->most && start >= of->start[at - 1])
		return;
	if (at < of->most)
		of->count++;
	else
		at--;
	for (; at && of->start[at - 1] > start; at--) {
		of->start[at] = of->start[at - 1];
		of->end[at] = of->end[at - 1];
	}
	of->start[at] = start;
	of->end[at] = end;
}

/* Until when a loop's first steps take far longer than its others, but no longer than `most`. */
static double warm_until(const struct model *m, const struct model_phase *p, uint32_t process,
                         double from, double most)
{
	struct first_steps first = {.most = WARM_STEPS};
	bool *loops = model_phase_loops(m, p);

	if (p->threads > 1)
		first.most = p->threads < 64 / WARM_STEPS ? WARM_STEPS * p->threads : 64;
	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *row = &m->step_rows[i];
		if (row->process == process && model_phase_has(p, loops, row))
			keep_first(&first, row->start, row->start + row->duration);
	}
	free(loops);
	for (size_t i = 0; i < first.count && first.start[i] < most; i++)
		if (first.end[i] - first.start[i] > WARM_LONGER * p->p50 && first.end[i] <= most)
			from = fmax(from, first.end[i]);
	return from;
}

struct model_stretch *view_settled(const struct model *m, const struct model_phase *p,
                                   const struct model_phase_part *part, size_t *count)
{
	const struct overview *o = &m->processes[part->process].overview;
	struct model_stretch *to = alloc_zeroed(part->stretch_count, sizeof(*to));
	double from = part->start, half = part->start, left = WARM_MOST * part->time;

	for (size_t i = 0; i < part->stretch_count && left > 0; i++) {
		const struct model_stretch *s = &part->stretches[i];
		half = s->start + fmin(left, s->end - s->start);
		left -= s->end - s->start;
	}
	if (p->kind == PHASE_LOOP && o->count)
		from = phases_settled(o, o->window + part->start, o->window + half) - o->window;
	if (p->kind == PHASE_LOOP && p->p50 > 0 && p->steps >= 4 * WARM_STEPS)
		from = warm_until(m, p, part->process, from, half);
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
