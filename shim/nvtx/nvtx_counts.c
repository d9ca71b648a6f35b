/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvtx/nvtx.h"

#include "shim/base/gate.h"
#include "shim/record/span.h"

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

static inline void read_counts(const struct tf_thread *th, struct tf_counts *c)
{
	c->launches = th->launches + th->items[SPY_CLASS_LAUNCH];
	c->graph_launches = th->items[SPY_CLASS_GRAPH_LAUNCH];
	c->syncs = th->syncs;
	c->copies = th->items[SPY_CLASS_COPY];
	c->pageable_copies = th->pageable_copies;
	c->sets = th->items[SPY_CLASS_SET];
	c->allocs = th->allocs;
	c->copy_bytes = th->copy_bytes;
	c->launch_ticks = c->launches | c->graph_launches ? launch_ticks(th) : 0;
}

/* Counters of another thread are read while it writes them: each is whole, and none goes back. */
static void add_counts(struct tf_counts *to, const struct tf_thread *th)
{
	struct tf_counts c;

	read_counts(th, &c);
	to->launches += c.launches;
	to->graph_launches += c.graph_launches;
	to->syncs += c.syncs;
	to->copies += c.copies;
	to->pageable_copies += c.pageable_copies;
	to->sets += c.sets;
	to->allocs += c.allocs;
	to->copy_bytes += c.copy_bytes;
	to->launch_ticks += c.launch_ticks;
}

/* Whether a thread other than the caller may be a helper. */
static inline bool helped(void)
{
	uint32_t n = tf_count(&tf_header(&spy_map)->threads);

	return n > 1 && n <= HELPERS_MOST;
}

/* Of all threads that never opened a range. */
static void __attribute__((noinline))
read_helpers(const struct tf_thread *self, struct tf_counts *to)
{
	const struct tf_header *h = tf_header(&spy_map);
	uint32_t n = tf_count(&h->threads);

	*to = (struct tf_counts){0};
	for (uint32_t i = 0; i < n && i < HELPERS_MOST; i++) {
		const uint64_t *offset = tf_entry(&spy_map, &h->threads, i, sizeof(*offset));
		const struct tf_thread *th =
		        offset ? tf_at(&spy_map, *offset, h->thread_bytes) : NULL;
		if (th && th != self && !__atomic_load_n(&th->ranges, __ATOMIC_RELAXED))
			add_counts(to, th);
	}
}

void nvtx_counts(struct tf_thread *self, struct nvtx_counts *to)
{
	if (unlikely(!self->ranges))
		__atomic_store_n(&self->ranges, 1, __ATOMIC_RELAXED);
	read_counts(self, &to->own);
	to->helped = helped();
	if (to->helped)
		read_helpers(self, &to->helpers);
}

/* ---- the difference, as a record has it ---- */

static inline uint32_t limited(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static inline uint64_t limited48(uint64_t v)
{
	return v < 1ull << 48 ? v : (1ull << 48) - 1;
}

/* A helper that opened its first range meanwhile takes all of its counts away: never below 0. */
static inline uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void add_helpers(struct tf_counts *now, const struct tf_thread *self,
                        const struct nvtx_counts *before)
{
	static const struct tf_counts none;
	const struct tf_counts *then = before->helped ? &before->helpers : &none;
	struct tf_counts helpers;

	read_helpers(self, &helpers);
	now->launches += since(helpers.launches, then->launches);
	now->graph_launches += since(helpers.graph_launches, then->graph_launches);
	now->syncs += since(helpers.syncs, then->syncs);
	now->copies += since(helpers.copies, then->copies);
	now->pageable_copies += since(helpers.pageable_copies, then->pageable_copies);
	now->sets += since(helpers.sets, then->sets);
	now->allocs += since(helpers.allocs, then->allocs);
	now->copy_bytes += since(helpers.copy_bytes, then->copy_bytes);
	now->launch_ticks += since(helpers.launch_ticks, then->launch_ticks);
}

void nvtx_fill_counts(struct tf_record *r, const struct tf_thread *self,
                      const struct nvtx_counts *before)
{
	const struct tf_counts *own = &before->own;
	struct tf_counts now;

	read_counts(self, &now);
	if (helped())
		add_helpers(&now, self, before);
	uint64_t bytes = limited48(now.copy_bytes - own->copy_bytes);
	r->stream = limited48(now.launch_ticks - own->launch_ticks) | bytes >> 32 << 48;
	r->range.bytes_low = (uint32_t)bytes;
	r->range.launches = limited(now.launches - own->launches);
	r->range.graph_launches = limited(now.graph_launches - own->graph_launches);
	r->range.syncs = limited(now.syncs - own->syncs);
	r->range.copies = limited(now.copies - own->copies);
	r->range.pageable_copies = limited(now.pageable_copies - own->pageable_copies);
	r->range.sets = limited(now.sets - own->sets);
	r->range.allocs = limited(now.allocs - own->allocs);
}
