#include "shim/nvtx.h"

#include "shim/calls.h"
#include "shim/lifecycle.h"
#include "shim/span.h"

/* Threads of which one may work for another; with more of them a range has its own thread's alone.
 */
#define HELPERS_MOST 64u

/*
 * API time of its launches, graph launches too. A sum over calls that a range can wait for, where a
 * sum of its own would be one more store for each launch.
 */
static uint64_t launch_ticks(const struct tf_thread *th)
{
	static const uint16_t launches[] = {SPY_LAUNCH_CALLS};
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		sum += th->calls[launches[i]].sum_ticks;
	return sum;
}

/* Counters of another thread are read while it writes them: each is whole, and none goes back. */
static void add_counts(const struct tf_thread *th, struct tf_counts *c)
{
	uint64_t kernels = th->launches + th->items[SPY_CLASS_LAUNCH];
	uint64_t graphs = th->items[SPY_CLASS_GRAPH_LAUNCH];

	c->launches += kernels;
	c->graph_launches += graphs;
	c->syncs += th->syncs;
	c->copies += th->items[SPY_CLASS_COPY];
	c->pageable_copies += th->pageable_copies;
	c->sets += th->items[SPY_CLASS_SET];
	c->allocs += th->allocs;
	c->copy_bytes += th->copy_bytes;
	if (kernels | graphs)
		c->launch_ticks += launch_ticks(th);
}

/* Of all threads that never opened a range. */
static void add_helpers(const struct tf_thread *self, struct tf_counts *c)
{
	const struct tf_header *h = tf_header(&spy_map);
	uint32_t n = tf_count(&h->threads);

	if (n < 2 || n > HELPERS_MOST)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *offset = tf_entry(&spy_map, &h->threads, i, sizeof(*offset));
		const struct tf_thread *th =
		        offset ? tf_at(&spy_map, *offset, h->thread_bytes) : NULL;
		if (th && th != self && !__atomic_load_n(&th->ranges, __ATOMIC_RELAXED))
			add_counts(th, c);
	}
}

void nvtx_counts(struct tf_thread *self, struct nvtx_counts *to)
{
	*to = (struct nvtx_counts){0};
	__atomic_store_n(&self->ranges, 1, __ATOMIC_RELAXED);
	add_counts(self, &to->own);
	add_helpers(self, &to->helpers);
}

/* ---- the difference, as a record has it ---- */

/* A helper that opened its first range meanwhile takes all of its counts away: never below 0. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static uint32_t limited(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static uint64_t limited48(uint64_t v)
{
	return v < 1ull << 48 ? v : (1ull << 48) - 1;
}

#define DIFFERENCE(field)                                                                          \
	(now.own.field - before->own.field + since(now.helpers.field, before->helpers.field))

void nvtx_fill_counts(struct tf_record *r, struct tf_thread *self, const struct nvtx_counts *before)
{
	struct nvtx_counts now;

	nvtx_counts(self, &now);
	uint64_t bytes = limited48(DIFFERENCE(copy_bytes));
	r->stream = limited48(DIFFERENCE(launch_ticks)) | bytes >> 32 << 48;
	r->range.bytes_low = (uint32_t)bytes;
	r->range.launches = limited(DIFFERENCE(launches));
	r->range.graph_launches = limited(DIFFERENCE(graph_launches));
	r->range.syncs = limited(DIFFERENCE(syncs));
	r->range.copies = limited(DIFFERENCE(copies));
	r->range.pageable_copies = limited(DIFFERENCE(pageable_copies));
	r->range.sets = limited(DIFFERENCE(sets));
	r->range.allocs = limited(DIFFERENCE(allocs));
}
