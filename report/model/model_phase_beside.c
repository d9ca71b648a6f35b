/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of other threads in a loop's steps. A loop is told by one thread's calls, but others may
 * give most of each step's work: that which starts a backward pass, where the loop found is of the
 * thread that runs it. Then the loop's time stands for their work as well.
 */
#include "report/model/model_phase_loops.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"

#define STEPS_SEEN  8u   /* of a loop, in the recent calls: fewer tell nothing */
#define AS_MUCH_OFF 0.1  /* of the usual step's work: a step with as much as the others */
#define AS_MUCH     0.75 /* of the steps: else another thread's work goes on beside the loop */

/* Pieces of work that any thread gave during this step; NaN: its calls are not all there. */
static double pieces_in(const struct call_log *h, const struct model_step *s)
{
	double end = s->start + s->duration, sum = 0;

	if (!(s->start >= h->from && end < h->until))
		return NAN;
	for (size_t i = call_log_at(h, s->start); i < h->count && h->call_events[i].start < end;
	     i++)
		sum += h->call_events[i].work != CALL_LOG_NONE;
	return sum;
}

double phase_loops_work(const struct model *m, uint32_t process, const struct phase_candidate *c)
{
	const struct call_log *h = &m->processes[process].call_log;
	double *pieces = alloc_zeroed(m->step_row_count + 1, sizeof(*pieces)), usual, like = 0;
	size_t n = 0;

	for (size_t i = 0; c->found && h->count && i < m->step_row_count; i++) {
		const struct model_step *s = &m->step_rows[i];
		if (!s->found || s->source != c->source || s->process != process)
			continue;
		double seen = pieces_in(h, s);
		if (!isnan(seen))
			pieces[n++] = seen;
	}
	stats_sort(pieces, n);
	usual = n ? stats_quantile(pieces, n, 0.5) : 0;
	for (size_t i = 0; i < n; i++)
		like += fabs(pieces[i] - usual) <= AS_MUCH_OFF * usual;
	free(pieces);
	return n >= STEPS_SEEN && like >= AS_MUCH * (double)n ? usual * c->steps : 0;
}
