/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of pageable memory, which the driver takes through buffers of its own, piece by piece:
 * the host fills or empties one buffer while the GPU copies another. Pieces and buffers are those
 * that show on an H200, driver 580. One piece of work to the truth and to observers, from the first
 * piece's start to the last one's end, as CUPTI tells it. */
#include "shim/core/cuda/copies.h"
#include "tests/sim/driver_copy.h"

#define IN_PIECE    CUDA_STAGING_BYTES
#define IN_BUFFERS  CUDA_STAGING_BUFFERS
#define OUT_PIECE   (256u << 10)
#define OUT_BUFFERS 6
/* From one piece to the next whose buffer is free, less than a copy's start; back to the host: a
 * copy of 4 bytes takes its call 9 us. */
#define OUT_NEXT_LESS_NS 300
#define OUT_BACK_NS      3000

/* When what happens, ns. */
struct staging {
	uint64_t first; /* the first piece starts on the GPU */
	uint64_t last;  /* the last one ends there */
	uint64_t host;  /* the host is done with its part */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t host_ns(uint64_t bytes)
{
	return (uint64_t)((double)bytes / sim_config.stage);
}

/* From when the host begins to fill the first buffer. */
static struct staging stage_in(const struct sim_copy *c)
{
	struct staging t = {0};
	uint64_t bytes = copy_bytes(c), sent[IN_BUFFERS] = {0};

	for (uint64_t at = 0, i = 0; at < bytes; at += IN_PIECE, i++) {
		uint64_t piece = bytes - at < IN_PIECE ? bytes - at : IN_PIECE;
		uint64_t *buffer = &sent[i % IN_BUFFERS];

		t.host = later(t.host, *buffer) + host_ns(piece);
		uint64_t start = later(t.host + sim_config.latency_ns, t.last);
		if (!i)
			t.first = start;
		*buffer = t.last = start + copy_piece_ns(c, piece);
	}
	return t;
}

/* From when the GPU begins to fill the first buffer. */
static struct staging stage_out(const struct sim_copy *c)
{
	struct staging t = {0};
	uint64_t bytes = copy_bytes(c), emptied[OUT_BUFFERS] = {0};

	for (uint64_t at = 0, i = 0; at < bytes; at += OUT_PIECE, i++) {
		uint64_t piece = bytes - at < OUT_PIECE ? bytes - at : OUT_PIECE;
		uint64_t *buffer = &emptied[i % OUT_BUFFERS], start = 0;

		if (i)
			start = t.last - OUT_NEXT_LESS_NS;
		if (i >= OUT_BUFFERS)
			start = later(start, *buffer + sim_config.latency_ns);
		t.last = start + copy_piece_ns(c, piece);
		*buffer = t.host = later(t.host, t.last) + host_ns(piece);
	}
	t.host += OUT_BACK_NS;
	return t;
}

/* When so many buffers are free. */
static uint64_t buffers_free(struct sim_ctx *ctx, unsigned buffers)
{
	pthread_mutex_lock(&ctx->lock);
	uint64_t when = ctx->staged_ns[IN_BUFFERS - buffers];
	pthread_mutex_unlock(&ctx->lock);
	return when;
}

static void take_buffers(struct sim_ctx *ctx, unsigned buffers, uint64_t until_ns)
{
	pthread_mutex_lock(&ctx->lock);
	for (; buffers; buffers--) {
		ctx->staged_ns[1] = ctx->staged_ns[0];
		ctx->staged_ns[0] = until_ns;
	}
	pthread_mutex_unlock(&ctx->lock);
}

/* The bus alone, where all of it is staged before its turn comes. */
static uint64_t pieces_ns(const struct sim_copy *c)
{
	uint64_t bytes = copy_bytes(c), ns = 0;

	for (uint64_t at = 0; at < bytes; at += IN_PIECE)
		ns += copy_piece_ns(c, bytes - at < IN_PIECE ? bytes - at : IN_PIECE);
	return ns;
}

/* Waits for the work ahead, and fills the first buffer meanwhile. Returns from when on it would
 * have been filled without that work. */
static uint64_t wait_and_stage(struct sim_stream *s, const struct sim_copy *c)
{
	uint64_t bytes = copy_bytes(c), from = sim_tl_now(), ahead = stream_tail(s);
	uint64_t first = bytes > IN_PIECE ? host_ns(IN_PIECE) : 0;

	if (ahead > from && first) {
		first = ahead - from < first ? ahead - from : first;
		sim_tl_wait_until(from + first);
	} else {
		first = 0;
	}
	sim_wait(ahead, atomic_load(&s->host_sent), false);
	return sim_tl_now() - first;
}

/*
 * The call returns when the last buffer is filled: the GPU still has it to copy then. It waits for
 * the buffers alone, unless it is a blocking one or needs more than there are.
 */
static void to_device(struct sim_stream *s, struct sim_copy *c, struct sim_work *w, bool async)
{
	struct staging t = stage_in(c);
	uint64_t pieces = (copy_bytes(c) + IN_PIECE - 1) / IN_PIECE;
	unsigned buffers = pieces < IN_BUFFERS ? (unsigned)pieces : IN_BUFFERS;
	bool holds = !async || pieces > IN_BUFFERS;

	uint64_t from;

	if (holds) {
		from = wait_and_stage(s, c);
	} else {
		sim_wait(buffers_free(s->ctx, buffers), 0, false);
		from = sim_tl_now();
	}
	copy_data(c);
	if (holds)
		data_settle();
	w->not_before_ns = from + t.first;
	w->gpu_ns = stream_tail(s) > w->not_before_ns ? pieces_ns(c) : t.last - t.first;
	stream_submit(s, w);
	take_buffers(s->ctx, buffers, w->end_ns);
	sim_tl_wait_until((holds ? w->start_ns - t.first : from) + t.host);
}

static void to_host(struct sim_stream *s, struct sim_copy *c, struct sim_work *w)
{
	struct staging t = stage_out(c);
	uint64_t ahead = stream_tail(s);

	w->gpu_ns = t.last;
	stream_submit(s, w);
	copy_data(c);
	sim_wait(ahead, atomic_load(&s->host_sent), false);
	sim_tl_wait_until(w->start_ns + t.host);
	data_settle();
}

void stage_on(struct sim_stream *s, struct sim_copy *c, struct sim_work *w, bool async)
{
	if (c->direction == TRUTH_H2D)
		to_device(s, c, w, async);
	else
		to_host(s, c, w);
}
