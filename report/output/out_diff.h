/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What diff found, in each form it can be written. For diff.
 */
#ifndef REPORT_OUT_DIFF_H
#define REPORT_OUT_DIFF_H

#include "report/gate/headline.h"
#include "report/output/out.h"

void out_diff_text(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o);
void out_diff_markdown(const struct compare_result *c, const struct headline *h,
                       const struct out_options *o);
void out_diff_json(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o); /* cudaspy.diff/1 */
/* A page of one file for a browser. `before`, `after`: what out_html_side() has of one recording of
 * each side; NULL = that side is a baseline. */
void out_diff_html(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o, const char *before, const char *after);

#endif
