/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of tables that set two sides beside each other. For the pages of diff and bench.
 */
#ifndef REPORT_OUT_DIFF_CELLS_H
#define REPORT_OUT_DIFF_CELLS_H

#include "report/base/text_table.h"
#include "report/gate/compare.h"

/* Not judged, a time of a call that changed by so much is told without --all. */
#define OUT_DIFF_CHANGE_TOLD 0.25

/* A row that is 1 whatever happens: steps per step. */
static inline bool out_diff_says_nothing(const struct compare_total *row)
{
	return row->per_step && row->metric->flags & METRIC_STEPS;
}

/* "40..60", of the recordings of a side; the middle of them alone. */
void out_diff_range(struct text_layout_table *t, enum metric_kind kind,
                    const struct compare_span *s);
void out_diff_middle(struct text_layout_table *t, enum metric_kind kind,
                     const struct compare_span *s);
/* "+100, +5.0 %", "=", "varies" */
void out_diff_difference(struct text_layout_table *t, enum metric_kind kind,
                         const struct compare_span *before, const struct compare_span *after);
/* "+10.1 %", with a mark where it is more than noise. */
void out_diff_change(struct text_layout_table *t, const struct compare_timing *time, bool ratio);
/* In %, or as factors where the upper one is beyond them. */
void out_diff_bounds(struct text_layout_table *t, const struct compare_timing *time, bool ratio);
/* The table, where it has rows. */
void out_diff_table(struct text_layout_table *t, struct text_layout *page);

#endif
