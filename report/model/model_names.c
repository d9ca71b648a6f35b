/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/error_names.h"
#include "report/model/model_names.h"

#define XX(id, name) name,
const char *const model_class_names[] = {SPY_CLASS_MAP(XX)};
const char *const model_direction_names[] = {SPY_DIRECTION_MAP(XX)};
const char *const model_memory_names[] = {SPY_MEMORY_MAP(XX)};
#undef XX

const char *model_gap_name(uint32_t kind)
{
	switch (kind) {
	case TF_GAP_NEW_ENTRY:
		return "new_entry";
	case TF_GAP_DEEPBIND:
		return "deepbind";
	case TF_GAP_DLMOPEN:
		return "dlmopen";
	case TF_GAP_UNSEEN_DRIVER:
		return "unseen_driver";
	}
	return "unknown";
}

const char *model_gpu_mode_name(uint32_t mode)
{
	switch (mode) {
	case TF_GPU_OFF:
		return "off";
	case TF_GPU_SAMPLE:
		return "sample";
	case TF_GPU_CUPTI:
		return "cupti";
	}
	return NULL;
}

char *model_never_opened(uint32_t range_mode)
{
	return alloc_format("its range never opened, nothing was recorded: %s",
	                    range_mode == TF_RANGE_PROFILER
	                            ? "CUDASPY_RANGE=profiler, and cuProfilerStart was not called"
	                            : "CUDASPY_RANGE is by time, and the process was there too "
	                              "short");
}

const char *model_work_name(uint32_t kind)
{
	static const char *const names[TF_WORK_KINDS] = {
	        [TF_WORK_KERNEL] = "kernel",
	        [TF_WORK_GRAPH] = "graph",
	        [TF_WORK_COPY] = "copy",
	        [TF_WORK_SET] = "set",
	};

	return kind < TF_WORK_KINDS && names[kind] ? names[kind] : "unknown";
}

const char *const model_idle_names[] = {
        [TF_IDLE_LAUNCH] = "launch",
        [TF_IDLE_SYNC] = "sync",
        [TF_IDLE_COPY] = "copy",
        [TF_IDLE_ALLOC] = "alloc",
        [TF_IDLE_MODULE] = "module",
        [TF_IDLE_OUTSIDE] = "outside",
        [TF_IDLE_DEPENDENCY] = "dependency",
        [TF_IDLE_UNKNOWN] = "unknown",
        [TF_IDLE_OWN] = "sampling",
};

const char *model_stream_kind(uint32_t flags)
{
	if (flags & TF_STREAM_LEGACY)
		return "legacy";
	if (flags & TF_STREAM_PER_THREAD)
		return "per_thread";
	if (flags & TF_STREAM_UNSEEN)
		return "unknown";
	return flags & 1 ? "non_blocking" : "blocking"; /* CU_STREAM_NON_BLOCKING */
}

double model_launch_per_gpu(const struct model_gpu *gpu)
{
	return gpu->overhead / gpu->launched.total;
}

char *model_version(char *to, uint32_t version)
{
	if (!version)
		return strcpy(to, "unknown");
	snprintf(to, MODEL_VERSION_BYTES, "%u.%u", version / 1000, version % 1000 / 10);
	return to;
}

char *model_error(uint8_t level, int32_t code)
{
	const char *name = error_name(level, code);

	return name ? alloc_string(name) : alloc_format("code %d", code);
}

const char *model_level_name(uint8_t level)
{
	return level == SPY_LEVEL_RUNTIME ? "runtime" : "driver";
}
