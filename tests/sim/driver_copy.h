/* SPDX-License-Identifier: Apache-2.0 */
/* A copy or set as the driver understands it, whatever call asked for it.
 * Included by the sources that make, capture or replay copies and sets. */
#pragma once
#include "tests/sim/driver_memory.h"

struct copy_side {
	uintptr_t p;         /* first byte */
	size_t pitch, slice; /* bytes between rows, between layers */
	char *data;          /* where its contents are, or NULL */
	enum memory_kind kind;
	struct sim_device *device;
	bool host_only, device_only; /* what the call says this side must be */
};

struct sim_copy {
	struct copy_side dst, src;
	size_t width, height, depth; /* bytes, rows, layers */
	enum truth_direction direction;
	bool pageable;
};

struct sim_set {
	struct copy_side dst;
	unsigned value, value_bytes;
	size_t width, height; /* bytes, rows */
};

struct sim_array {
	struct sim_handle handle;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	size_t pitch;
	CUdeviceptr memory;
	struct sim_ctx *ctx;
};

struct sim_array *array_get(CUarray h);

/* Fills kinds, contents and direction; an error where the memory is not the caller's to touch. */
CUresult copy_resolve(struct sim_copy *c);
CUresult set_resolve(struct sim_set *s);
uint64_t copy_bytes(const struct sim_copy *c);
uint64_t copy_gpu_ns(const struct sim_copy *c);
/* Of `bytes` of it that go at once. */
uint64_t copy_piece_ns(const struct sim_copy *c, uint64_t bytes);
uint64_t set_gpu_ns(const struct sim_set *s);
enum sim_tl_engine copy_engine(const struct sim_copy *c);
void copy_data(const struct sim_copy *c);
void set_data(const struct sim_set *s);
void copy_count(const struct sim_copy *c);

/* Does it on a stream as the API describes; `async` is what the call's name promises. */
CUresult copy_on(CUstream stream, struct sim_copy *c, bool async);
CUresult set_on(CUstream stream, struct sim_set *s, bool async);

/* driver_stage.c: a copy of pageable memory through the driver's buffers; returns when the host has
 * done its part. */
void stage_on(struct sim_stream *s, struct sim_copy *c, struct sim_work *w, bool async);

CUresult copy_from_3d(struct sim_copy *c, const CUDA_MEMCPY3D *p);
