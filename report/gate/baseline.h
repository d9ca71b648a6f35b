/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines: a small JSON file, schema cudaspy.baseline/1, made to be committed. It holds the
 * figures of one or several recordings and what machine they come from; its lines keep their order,
 * so that a change of it reads well. For side and check.
 */
#ifndef REPORT_BASELINE_H
#define REPORT_BASELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/gate/figures.h"

/* Whether a file looks like one: its first character opens a JSON object. */
bool baseline_is(const char *path);
/* Adds its runs. -1 when one line was written. */
int baseline_load(struct run_set *s, const char *path);
/* Writes the runs, which there must be. */
void baseline_write(const struct run_set *s, FILE *to);

#endif
