/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a loop has warmed up. For the view alone.
 */
#ifndef REPORT_MODEL_VIEW_WARM_H
#define REPORT_MODEL_VIEW_WARM_H

#include "report/model/model.h"

/* A phase's stretches in one process, a loop's without its warming up (free it), and the steps that
 * this took. */
struct model_stretch *view_settled(const struct model *m, const struct model_phase *p,
                                   const struct model_phase_part *part, size_t *count,
                                   double *warm);

#endif
