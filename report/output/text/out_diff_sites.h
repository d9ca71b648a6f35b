/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the program whose calls changed. For the page of diff.
 */
#ifndef REPORT_OUT_DIFF_SITES_H
#define REPORT_OUT_DIFF_SITES_H

#include "report/output/out_diff.h"
#include "report/base/text_table.h"

void out_diff_sites(const struct compare_result *c, const struct out_options *o,
                    struct text_layout *page);

#endif
