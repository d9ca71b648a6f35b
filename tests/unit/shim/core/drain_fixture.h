/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording with one thread in it, its rings and records as a test wants them, and a drain over
 * it. Included by the tests of the drain alone.
 */
#ifndef TESTS_UNIT_DRAIN_FIXTURE_H
#define TESTS_UNIT_DRAIN_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "shim/core/drain/drain.h"
#include "shim/core/format/histogram.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define ROOM (4u << 20)

static struct made made;
static struct drain drain = {.map = &made.map};
static struct tf_thread *thread;
static uint16_t launch, graph_launch, sync, alloc, instantiate;
static bool no_room;
static uint64_t (*real_alloc)(struct tf_map *map, uint64_t bytes);

static inline uint64_t alloc_or_not(struct tf_map *map, uint64_t bytes)
{
	return no_room ? 0 : real_alloc(map, bytes);
}

static inline int start(void **state)
{
	made_start(&made, ROOM, 8, MADE_AREAS);
	real_alloc = made.map.alloc;
	made.map.alloc = alloc_or_not;
	no_room = false;
	launch = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	graph_launch = made_call(&made, "cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_DRIVER);
	sync = made_call(&made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	alloc = made_call(&made, "cuMemAlloc_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	instantiate = made_call(&made, "cuGraphInstantiate", SPY_CLASS_GRAPH, SPY_LEVEL_DRIVER);
	made_kernel(&made, "(unknown)");
	thread = made_thread(&made, 100, "one", 64);
	return 0;
}

static inline int end(void **state)
{
	drain_end(&drain);
	made_free(&made);
	return 0;
}

static inline struct tf_ring *ring_at(uint64_t offset)
{
	return tf_at(&made.map, offset, sizeof(struct tf_ring));
}

static inline uint64_t new_ring(uint64_t records)
{
	uint64_t offset =
	        real_alloc(&made.map, sizeof(struct tf_ring) + records * sizeof(struct tf_record));

	ring_at(offset)->capacity = records;
	return offset;
}

static inline void push(struct tf_ring *ring, struct tf_record r)
{
	ring->slots[ring->head++ & (ring->capacity - 1)] = r;
}

static inline struct tf_record a_sync(uint64_t begin, uint64_t ticks)
{
	return (struct tf_record){.start = begin, .end = begin + ticks, .call = sync};
}

static inline uint64_t hist_count(uint16_t call)
{
	struct tf_call *c = tf_entry(&made.map, &made_header(&made)->calls, call, sizeof(*c));
	struct tf_hist *h = tf_at(&made.map, c->hist, sizeof(*h));
	uint64_t sum = 0;

	for (uint32_t i = 0; h && i < TF_HIST_BUCKETS; i++)
		sum += h->buckets[i];
	assert_int_equal(sum, h ? h->count : 0);
	return sum;
}

static inline struct tf_store *kept(void)
{
	return tf_at(&made.map, made_header(&made)->keep, sizeof(struct tf_store));
}

static inline struct tf_record *stored(const struct tf_store *s, uint64_t n)
{
	n %= s->page_records * s->pages_max;
	return tf_at(&made.map, s->pages[n / s->page_records] + n % s->page_records * 64, 64);
}

static inline struct tf_slices *slices(void)
{
	return tf_at(&made.map, made_header(&made)->slices, sizeof(struct tf_slices));
}

static inline uint64_t sum_calls(unsigned cls)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TF_SLICES; i++)
		sum += slices()->slice[i].calls[cls];
	return sum;
}

static inline uint64_t sum_ticks(unsigned cls)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TF_SLICES; i++)
		sum += slices()->slice[i].self_ticks[cls];
	return sum;
}

static inline void feed(struct tf_record r)
{
	struct tf_ring *ring = ring_at(thread->ring_first);

	push(ring, r);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 1);
	assert_int_equal(ring->tail, ring->head);
}

static inline struct tf_record a_launch(uint32_t kernel, uint32_t grid)
{
	struct tf_record r = {.start = 2000, .end = 2100, .call = launch};

	r.launch.kernel = kernel;
	r.launch.grid_x = grid;
	r.launch.grid_y = r.launch.grid_z = r.launch.block_y = r.launch.block_z = 1;
	r.launch.block_x = 128;
	r.launch.items = 1;
	return r;
}

static inline struct tf_kernel *kernel_at(uint32_t kernel)
{
	return tf_entry(&made.map, &made_header(&made)->kernels, kernel, sizeof(struct tf_kernel));
}

static inline const struct tf_work *shape(uint32_t kernel, uint32_t grid)
{
	const struct tf_work *all = tf_at(&made.map, made_header(&made)->works,
	                                  TF_WORKS * sizeof(*all)),
	                     *found = NULL;

	for (unsigned i = 0; i < TF_WORKS; i++)
		if (all[i].kind == TF_WORK_KERNEL && all[i].id == kernel && all[i].grid_x == grid) {
			assert_null(found); /* one place for each */
			found = &all[i];
		}
	return found;
}

#endif
