/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/analysis.h"

#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/progress.h"

/* The phase that is judged has its verdict already. */
static void judge_phase(struct analysis *a, const struct model *m, size_t phase)
{
	struct verdict *v = &a->phases[phase];

	if (phase == a->phase) {
		*v = a->verdict;
		v->reason = alloc_string(a->verdict.reason);
		return;
	}
	*v = (struct verdict){.cls = VERDICT_NONE, .first = VERDICT_NONE, .second = VERDICT_NONE};
	if (m->phases.rows[phase].kind == PHASE_END)
		return;
	struct model *view = model_view(m, phase);
	struct whatifs *whatifs = whatif_start(view);
	verdict_make(v, view, whatifs);
	whatif_end(whatifs);
	model_view_free(view);
}

void analysis_make(struct analysis *a, const struct model *m, size_t phase)
{
	*a = (struct analysis){.phase = phase < m->phases.count ? phase : PHASE_NONE, .of = m};
	if (a->phase != PHASE_NONE)
		a->of = a->view = model_view(m, a->phase);
	a->whatifs = whatif_start(a->of);
	progress_part_begin(0, 3, 4); /* it has most of the recent calls */
	verdict_make(&a->verdict, a->of, a->whatifs);
	findings_make(&a->findings, a->of, &a->verdict, a->whatifs);
	progress_part_end();
	a->phase_count = m->phases.count;
	a->phases = alloc_zeroed(m->phases.count + 1, sizeof(*a->phases));
	progress_part_begin(3, 4, 4);
	for (size_t i = 0; i < m->phases.count; i++) {
		progress_part_begin(i, i + 1, m->phases.count);
		judge_phase(a, m, i);
		progress_part_end();
	}
	progress_part_end();
}

void analysis_free(struct analysis *a)
{
	findings_free(&a->findings);
	free(a->verdict.reason);
	for (size_t i = 0; i < a->phase_count; i++)
		free(a->phases[i].reason);
	free(a->phases);
	whatif_end(a->whatifs);
	model_view_free(a->view);
	*a = (struct analysis){0};
}
