/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons as JSON values. For the JSON of diff and bench.
 */
#ifndef REPORT_OUT_COMPARE_JSON_H
#define REPORT_OUT_COMPARE_JSON_H

#include "report/base/json.h"
#include "report/gate/headline.h"

/* Least, median, most; null = not known. */
json_t *out_compare_span(const struct compare_span *s);
/* before, after, difference, changed */
void out_compare_put_counts(json_t *o, const struct compare_span *before,
                            const struct compare_span *after);
json_t *out_compare_timing(const struct compare_timing *t, bool ratio);
/* One key for each metric: counts, or times and shares. */
json_t *out_compare_totals(const struct compare_result *c, bool counts);
json_t *out_compare_headline(const struct headline *h);
/* What is missing of which recording; null = nothing. */
json_t *out_compare_missing(const struct run_set *s);

#endif
