/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the baseline's files work together: one writes, one reads, two do both for steps and NVTX
 * ranges. For these alone.
 */
#ifndef REPORT_BASELINE_INTERNAL_H
#define REPORT_BASELINE_INTERNAL_H

#include "report/gate/baseline.h"
#include "report/base/json.h"

/* One value where all recordings agree, else one for each. */
typedef double (*baseline_value_fn)(const struct figures *f, const void *what);
json_t *baseline_values(const struct run_set *s, baseline_value_fn of, const void *what);
/* The value of recording `index` of `count`; NaN where there is none. False where it is no number
 * from 0 on. */
bool baseline_number(const json_t *value, size_t index, size_t count, double *to);

/* A text that was written by json_text() (free it); NULL where there is none. */
char *baseline_text(const json_t *value);

void baseline_put_steps(json_t *root, const struct run_set *s);
void baseline_put_ranges(json_t *root, const struct run_set *s);
void baseline_put_sites(json_t *root, const struct run_set *s);
/* What of it cannot be read is left out: sites only say where to look. */
void baseline_read_sites(struct figures_sites *to, const json_t *root);
/* NULL, or the key whose value is wrong. */
const char *baseline_read_steps(struct figures_step_set *to, const json_t *root, size_t index,
                                size_t count);
const char *baseline_read_ranges(struct figures_ranges *to, const json_t *root, size_t index,
                                 size_t count);

#endif
