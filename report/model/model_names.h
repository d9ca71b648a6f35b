/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of what stands in the model as numbers, and the words that go with them. For the gate and
 * the outputs.
 */
#ifndef REPORT_MODEL_NAMES_H
#define REPORT_MODEL_NAMES_H

#include "report/model/model.h"

extern const char *const model_class_names[], *const model_direction_names[],
                                                      *const model_memory_names[];
const char *model_gap_name(uint32_t kind);
const char *model_gpu_mode_name(uint32_t mode); /* NULL = unknown */
/* Why a CUDASPY_RANGE that never opened left nothing to report (free it). */
char *model_never_opened(uint32_t range_mode);
const char *model_work_name(uint32_t kind);  /* of enum tf_work_kind */
extern const char *const model_idle_names[]; /* by enum tf_idle: keys of JSON's idle_by */
const char *model_stream_kind(uint32_t flags);
/* Launch overhead of kernels and graphs over their GPU time. */
double model_launch_per_gpu(const struct model_gpu *gpu);
/* "13.0" of 13000 (MODEL_VERSION_BYTES); "unknown" of 0. */
#define MODEL_VERSION_BYTES 24
char *model_version(char *to, uint32_t version);
/* "CUDA_ERROR_OUT_OF_MEMORY" or the code (free it). */
char *model_error(uint8_t level, int32_t code);
/* "level" of an API. */
const char *model_level_name(uint8_t level);

#endif
