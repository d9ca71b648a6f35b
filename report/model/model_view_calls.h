/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent calls of one process, cut to a phase. For the view alone.
 */
#ifndef REPORT_MODEL_VIEW_CALLS_H
#define REPORT_MODEL_VIEW_CALLS_H

#include "report/model/model.h"

struct view_slices { /* of the phase, by the time slices, ns: what threads waited for a CPU, of how
	                much that is known; each device's busy time, of how much */
	double wait, known, busy[TF_DEVICES_TIMED], in;
};

double view_length(const struct model_stretch *s, size_t count);
/* Of a stretch: the time of which all calls are there. */
double view_held(const struct call_log *h, const struct model_stretch *s);
/* True where its events are a copy now, to be freed. */
bool view_cut_calls(struct call_log *h, const struct model_stretch *s, size_t count,
                    const struct view_slices *sum);
/*
 * Kernels, copies and APIs of a view, by what its recent calls stand for; `graphs`: of all graph
 * launches, those in the phase, a share. True where these tables are copies now, to be freed; false
 * where the calls of a process are not there: they stay those of the whole run.
 */
bool view_cut_tables(struct model *m, double graphs);

#endif
