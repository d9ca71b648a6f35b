/* SPDX-License-Identifier: Apache-2.0 */
/* What changed from run to run, name by name: kernels, calls, kinds of copies. */
#ifndef REPORT_OUT_DIFF_PAIRS_H
#define REPORT_OUT_DIFF_PAIRS_H

#include "report/gate/compare.h"
#include "report/output/out_diff.h"
#include "report/base/text_layout.h"

void out_diff_kernels(const struct compare_result *c, const struct out_options *o,
                      struct text_layout *page);
void out_diff_apis(const struct compare_result *c, const struct out_options *o,
                   struct text_layout *page);
void out_diff_copies(const struct compare_result *c, const struct out_options *o,
                     struct text_layout *page);

#endif
