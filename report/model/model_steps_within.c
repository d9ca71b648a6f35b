/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/model_steps_within.h"

static double overlap(const struct model_step *row, double from, double until)
{
	double ns = fmin(row->start + row->duration, until) - fmax(row->start, from);

	return ns > 0 ? ns / row->duration : 0;
}

static double in_log(const struct model_step *row, const struct call_log *h, double from)
{
	double sum = 0;

	if (!(row->duration > 0))
		return 0;
	for (size_t i = 0; i < h->joined_count; i++)
		sum += overlap(row, h->joined[i].start, h->joined[i].end);
	return h->joined_count ? sum : overlap(row, from, h->until);
}

double model_steps_within(const struct model *m, size_t process, double from)
{
	const struct model_steps_figures *s = &m->steps;
	const struct model_phase *of =
	        s->phase < m->phases.count ? &m->phases.rows[s->phase] : NULL;
	const struct call_log *h = &m->processes[process].call_log;
	double sum = 0;

	if (!s->judged)
		return NAN;
	bool *loops = of ? model_phase_loops(m, of) : NULL;
	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *row = &m->step_rows[i];
		if (row->process == process &&
		    (of ? model_phase_has(of, loops, row)
		        : row->found == s->rows[0].found && row->source == s->rows[0].source))
			sum += in_log(row, h, from) * (double)s->stride;
	}
	free(loops);
	return sum > 0 ? sum : NAN;
}
