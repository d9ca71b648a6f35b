/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bench measured, in each form it can be written. For bench.
 */
#ifndef REPORT_OUT_BENCH_H
#define REPORT_OUT_BENCH_H

#include "report/gate/bench.h"
#include "report/output/out.h"

void out_bench_text(const struct bench *b, const struct out_options *o);
void out_bench_markdown(const struct bench *b, const struct out_options *o);
void out_bench_json(const struct bench *b, const struct out_options *o); /* cudaspy.bench/1 */
void out_bench_csv(const struct bench *b, const struct out_options *o);

#endif
