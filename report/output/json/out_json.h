/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON report, schema cudaspy.report/1, and its pieces. For the JSON output, the exports
 * and the page that take their tables from it.
 */
#ifndef REPORT_OUT_JSON_H
#define REPORT_OUT_JSON_H

#include "report/base/json.h"
#include "report/output/out.h"

/* All of it (json_decref() it). */
json_t *out_json_report(const struct model *m, const struct analysis *a,
                        const struct out_options *o);

struct compare_result;
struct headline;
/* All of a comparison, schema cudaspy.diff/1. */
json_t *out_json_diff(const struct compare_result *c, const struct headline *h,
                      const struct out_options *o);

/* An exact count of the run; null = not known. */
json_t *out_json_count(const struct model *m, uint64_t count);
json_t *out_json_processes(const struct model *m);
json_t *out_json_run(const struct model *m);
json_t *out_json_ranks(const struct model *m, const struct analysis *a);
json_t *out_json_host(const struct model *m);
json_t *out_json_gpu(const struct model *m);
json_t *out_json_streams(const struct model *m);
json_t *out_json_works(const struct model *m);
/* The keys gpu_total_ns, gpu_mean_ns, gpu_low_ns, gpu_high_ns, gpu_known_share, samples. */
void out_json_put_gpu_time(json_t *object, const struct model_gpu_time *t);
json_t *out_json_apis(const struct model *m, size_t limit);
json_t *out_json_kernels(const struct model *m, size_t limit);
json_t *out_json_copies(const struct model *m);
json_t *out_json_graphs(const struct model *m);
json_t *out_json_environment(const struct model *m);
json_t *out_json_expect(const struct model *m, const struct out_options *o);
json_t *out_json_gaps(const struct model *m);
/* The line that a site of a thread without Python comes after; null = not known. */
json_t *out_json_line(const struct model_frame *f);
json_t *out_json_sites(const struct model *m, size_t limit);
json_t *out_json_steps(const struct model *m, const struct out_options *o);
/* Which one is judged, and all of them. */
json_t *out_json_phase(const struct model *m, const struct analysis *a);
/* Of the host's time by slices, by enum tf_host. */
extern const char *const out_json_host_names[];
json_t *out_json_phases(const struct model *m, const struct analysis *a);
json_t *out_json_verdict(const struct verdict *v);
json_t *out_json_ranges(const struct model *m);
json_t *out_json_findings(const struct findings *f);
/* The line of code that a finding is about; null = not known. */
json_t *out_json_place(const struct finding *f);
json_t *out_json_whatif(struct whatifs *w, const struct out_options *o);

#endif
