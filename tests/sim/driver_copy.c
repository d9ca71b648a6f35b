/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy is, how long it takes, and when the host may go on. */
#include "shim/core/cuda/copies.h"
#include "tests/sim/driver_copy.h"
#include "tests/sim/driver_graph.h"

#define ROW_BYTES 70 /* what a row of several costs the bus at least: 1.3 ns (H200) */

static CUresult resolve_side(struct copy_side *s, size_t extent)
{
	struct memory_range r;

	if (!memory_find(s->p, &r)) {
		s->kind = MEMORY_NONE;
		s->device = NULL;
		s->data = (char *)s->p;
		return s->device_only || space_holds(s->p) ? CUDA_ERROR_INVALID_VALUE
		                                           : CUDA_SUCCESS;
	}
	if (s->host_only && memory_is_device(r.kind))
		return CUDA_ERROR_INVALID_VALUE;
	if (memory_is_device(r.kind) && s->p - r.start + extent > r.bytes)
		return CUDA_ERROR_INVALID_VALUE;
	s->kind = r.kind;
	s->device = r.device;
	s->data = r.data ? r.data + (s->p - r.start) : NULL;
	return CUDA_SUCCESS;
}

static bool on_host(const struct copy_side *s)
{
	return !memory_is_device(s->kind) && s->kind != MEMORY_MANAGED;
}

static size_t extent_of(const struct copy_side *s, size_t width, size_t height, size_t depth)
{
	return (depth - 1) * s->slice + (height - 1) * s->pitch + width;
}

CUresult copy_resolve(struct sim_copy *c)
{
	CUresult rc;
	bool from_host, to_host;

	if (!c->width || !c->height || !c->depth)
		return CUDA_SUCCESS;
	rc = resolve_side(&c->dst, extent_of(&c->dst, c->width, c->height, c->depth));
	if (rc == CUDA_SUCCESS)
		rc = resolve_side(&c->src, extent_of(&c->src, c->width, c->height, c->depth));
	if (rc != CUDA_SUCCESS)
		return rc;
	from_host = on_host(&c->src);
	to_host = on_host(&c->dst);
	if (from_host && to_host)
		c->direction = TRUTH_H2H;
	else if (from_host)
		c->direction = TRUTH_H2D;
	else if (to_host)
		c->direction = TRUTH_D2H;
	else
		c->direction = c->src.device == c->dst.device ? TRUTH_D2D : TRUTH_P2P;
	c->pageable = c->src.kind == MEMORY_NONE || c->dst.kind == MEMORY_NONE;
	return CUDA_SUCCESS;
}

CUresult set_resolve(struct sim_set *s)
{
	CUresult rc;

	if (!s->width || !s->height)
		return CUDA_SUCCESS;
	rc = resolve_side(&s->dst, extent_of(&s->dst, s->width, s->height, 1));
	if (rc == CUDA_SUCCESS && s->dst.kind == MEMORY_NONE)
		return CUDA_ERROR_INVALID_VALUE;
	return rc;
}

uint64_t copy_bytes(const struct sim_copy *c)
{
	return (uint64_t)c->width * c->height * c->depth;
}

static uint64_t gpu_ns(uint64_t bytes, double rate)
{
	uint64_t ns = (uint64_t)((double)bytes / rate);

	return ns > sim_config.copy_floor_ns ? ns : sim_config.copy_floor_ns;
}

/* Bytes that a copy to or from the host is worth: narrow rows go one by one. */
static uint64_t bus_bytes(const struct sim_copy *c)
{
	uint64_t rows = (uint64_t)c->height * c->depth;

	return rows > 1 && c->width < ROW_BYTES ? rows * ROW_BYTES : copy_bytes(c);
}

/* What a copy takes on its engine beside its bytes. */
static uint64_t engine_ns(const struct sim_copy *c)
{
	switch (copy_engine(c)) {
	case TL_H2D:
		return sim_config.to_device_ns;
	case TL_D2H:
		return sim_config.from_device_ns;
	default:
		return 0;
	}
}

uint64_t copy_piece_ns(const struct sim_copy *c, uint64_t bytes)
{
	double whole = (double)bus_bytes(c) / (double)copy_bytes(c);
	uint64_t ns = (uint64_t)((double)bytes * whole / sim_config.pcie) + engine_ns(c);

	return ns > sim_config.copy_floor_ns ? ns : sim_config.copy_floor_ns;
}

uint64_t copy_gpu_ns(const struct sim_copy *c)
{
	switch (c->direction) {
	case TRUTH_D2D:
		return gpu_ns(copy_bytes(c), sim_config.device);
	case TRUTH_P2P:
		return gpu_ns(copy_bytes(c), sim_config.peer);
	default:
		return copy_bytes(c) ? copy_piece_ns(c, copy_bytes(c)) : 0;
	}
}

uint64_t set_gpu_ns(const struct sim_set *s)
{
	return gpu_ns((uint64_t)s->width * s->height, sim_config.device);
}

enum sim_tl_engine copy_engine(const struct sim_copy *c)
{
	if (c->direction == TRUTH_H2D)
		return c->pageable ? copy_bytes(c) <= CUDA_COPY_INLINE_BYTES ? TL_COMPUTE : TL_H2D
		       : copy_bytes(c) <= CUDA_COPY_FRONT_BYTES ? TL_COMPUTE
		                                                : TL_H2D;
	return c->direction == TRUTH_D2H || c->direction == TRUTH_P2P ? TL_D2H : TL_COMPUTE;
}

void copy_data(const struct sim_copy *c)
{
	struct data_move m = {
	        .dst_pitch = c->dst.pitch,
	        .src_pitch = c->src.pitch,
	        .width = c->width,
	        .height = c->height,
	};

	if (!c->dst.data || !c->src.data)
		return;
	for (size_t z = 0; z < c->depth; z++) {
		m.dst = c->dst.data + z * c->dst.slice;
		m.src = c->src.data + z * c->src.slice;
		data_submit(&m);
	}
}

void set_data(const struct sim_set *s)
{
	struct data_move m = {
	        .dst = s->dst.data,
	        .dst_pitch = s->dst.pitch,
	        .width = s->width,
	        .height = s->height,
	        .value = s->value,
	        .value_bytes = s->value_bytes,
	};

	data_submit(&m);
}

void copy_count(const struct sim_copy *c)
{
	struct truth_totals *total = sim_total();

	total->copies[c->direction]++;
	total->copy_bytes[c->direction] += copy_bytes(c);
	total->pageable_copies += c->pageable;
}

static void wait_stream(struct sim_stream *s)
{
	sim_wait(stream_tail(s), atomic_load(&s->host_sent), false);
}

/* A small copy is staged at once, whatever the stream does, and travels with the command. */
static void with_command(struct sim_stream *s, struct sim_copy *c, struct sim_work *w)
{
	uint64_t staged_ns = sim_tl_now() + (uint64_t)((double)copy_bytes(c) / sim_config.stage);

	copy_data(c);
	data_settle();
	w->not_before_ns = staged_ns > w->gpu_ns ? staged_ns - w->gpu_ns : 0;
	stream_submit(s, w);
	sim_tl_spin_until(staged_ns);
}

static bool is_staged(const struct sim_copy *c)
{
	return c->pageable &&
	       (c->direction == TRUTH_D2H ||
	        (c->direction == TRUTH_H2D && copy_bytes(c) > CUDA_COPY_INLINE_BYTES));
}

static bool is_managed(const struct sim_copy *c)
{
	return c->src.kind == MEMORY_MANAGED || c->dst.kind == MEMORY_MANAGED;
}

static void host_to_host(struct sim_stream *s, struct sim_copy *c)
{
	wait_stream(s);
	copy_data(c);
	data_settle();
	sim_cost((uint64_t)((double)copy_bytes(c) / sim_config.stage));
}

CUresult copy_on(CUstream stream, struct sim_copy *c, bool async)
{
	uint64_t from = sim_tl_now();
	struct sim_work w = {.kind = TL_COPY};
	struct sim_stream *s;
	CUresult rc = stream_use(stream, &s);

	if (rc == CUDA_SUCCESS)
		rc = copy_resolve(c);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return async ? capture_copy(s, c)
		             : capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!async)
		rc = capture_unsafe();
	if (rc != CUDA_SUCCESS)
		return rc;
	w.gpu_ns = copy_gpu_ns(c);
	w.bytes = copy_bytes(c);
	w.engine = copy_engine(c);
	w.device = c->direction == TRUTH_H2D ? c->dst.device : c->src.device;
	if (!copy_bytes(c)) {
		/* nothing goes to the device */
	} else if (c->direction == TRUTH_H2H) {
		host_to_host(s, c);
	} else if (is_staged(c)) {
		stage_on(s, c, &w, async);
	} else if (c->direction == TRUTH_H2D && c->pageable) {
		if (!async)
			wait_stream(s);
		with_command(s, c, &w);
	} else {
		stream_submit(s, &w);
		copy_data(c);
		if (!async && (c->direction != TRUTH_D2D || is_managed(c)))
			sim_wait(w.end_ns, atomic_load(&s->host_sent), false);
	}
	sim_cost_since(from, sim_config.copy_ns);
	copy_count(c);
	return CUDA_SUCCESS;
}

/* A set is asynchronous unless it writes host memory. */
CUresult set_on(CUstream stream, struct sim_set *set, bool async)
{
	uint64_t from = sim_tl_now();
	struct sim_work w = {.kind = TL_SET, .engine = TL_COMPUTE};
	struct sim_stream *s;
	CUresult rc = stream_use(stream, &s);

	if (rc == CUDA_SUCCESS)
		rc = set_resolve(set);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return async ? capture_set(s, set)
		             : capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!async)
		rc = capture_unsafe();
	if (rc != CUDA_SUCCESS)
		return rc;
	if (set->width && set->height) {
		w.gpu_ns = set_gpu_ns(set);
		w.bytes = (uint64_t)set->width * set->height;
		w.device = set->dst.device;
		stream_submit(s, &w);
		set_data(set);
		if (!async && !memory_is_device(set->dst.kind))
			sim_wait(w.end_ns, 0, false);
	}
	sim_cost_since(from, sim_config.copy_ns);
	sim_total()->sets++;
	sim_total()->set_bytes += (uint64_t)set->width * set->height;
	return CUDA_SUCCESS;
}
