/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps the recent calls of a process are of: pieces of steps count too, the odd ones, and
 * those of threads side by side, each by itself.
 */
#ifndef REPORT_MODEL_STEPS_WITHIN_H
#define REPORT_MODEL_STEPS_WITHIN_H

#include "report/model/model.h"

/* Of those calls that begin at `from` or later, ns since the window began; NaN = not known. */
double model_steps_within(const struct model *m, size_t process, double from);

#endif
