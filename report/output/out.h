/*
 * The outputs: each writes one model in one format. For the commands; the model is only read.
 */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include <stdio.h>

#include "report/gate/expect.h"
#include "report/model/model.h"
#include "report/analysis/whatif/whatif.h"

enum out_table { TABLE_APIS, TABLE_KERNELS, TABLE_COPIES, TABLE_THREADS, TABLE_WHATIF };
extern const char *const out_table_names[]; /* ends with NULL */

struct out_options {
	FILE *to;
	size_t limit; /* rows of a table; SIZE_MAX = all */
	bool limit_given;
	bool full_names;
	bool all_threads;
	bool colour;
	size_t width;
	enum out_table table; /* of csv */
	double unit_per_step; /* 0 = not asked for */
	const struct expectation *expectations;
	size_t expectation_count;
	const struct whatif_question *whatifs;
	size_t whatif_count;
};

void out_text(const struct model *m, const struct out_options *o);
void out_markdown(const struct model *m, const struct out_options *o);
void out_json(const struct model *m, const struct out_options *o);
void out_csv(const struct model *m, const struct out_options *o);

/* Names of what stands in the model as numbers. */
extern const char *const out_class_names[], *const out_direction_names[], *const out_memory_names[];
const char *out_gap_name(uint32_t kind);
const char *out_gpu_mode_name(uint32_t mode); /* NULL = unknown */
/* Why a CUDASPY_RANGE that never opened left nothing to report (free it). */
char *out_never_opened(uint32_t range_mode);
const char *out_work_name(uint32_t kind);  /* of enum tf_work_kind */
extern const char *const out_idle_names[]; /* by enum tf_idle: keys of JSON's idle_by */
const char *out_stream_kind(uint32_t flags);
/* Launch overhead of kernels and graphs over their GPU time. */
double out_launch_per_gpu(const struct model_gpu *gpu);
/* "13.0" of 13000 (OUT_VERSION_BYTES); "unknown" of 0. */
#define OUT_VERSION_BYTES 24
char *out_version(char *to, uint32_t version);
/* "CUDA_ERROR_OUT_OF_MEMORY" or the code (free it). */
char *out_error(uint8_t level, int32_t code);
/* "level" of an API. */
const char *out_level_name(uint8_t level);

#endif
