/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that somebody truncates while the collector is at work: at every access that a round
 * of the drain makes to it, and in the rounds after that.
 */
#include "shim/core/drain/drain.h"

#include <stdlib.h>
#include <string.h>

#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"
#include "tests/unit/cut.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define ROOM  (3u << 20)
#define RING  256u
#define STEPS 6u /* enough for a loop to be found */

enum { LAUNCH, COPY, SYNC, GRAPH, ALLOC, RECORD, CALLS };

static struct made image; /* as it is before the round */
static struct made live;  /* the same, where it is cut */
static struct drain drain;

static void return_of(struct tf_thread *t, struct tf_record r)
{
	static uint64_t now = 2010000;

	r.start = now;
	r.end = now + 2000;
	now += 2500;
	made_record(&image, t, r);
}

static struct tf_record a_launch(uint32_t kernel)
{
	struct tf_record r = {.call = LAUNCH, .flags = TF_SAMPLED | TF_SITE};

	r.launch.kernel = kernel;
	r.launch.grid_x = r.launch.grid_y = r.launch.grid_z = r.launch.items = 1;
	r.launch.block_x = r.launch.block_y = r.launch.block_z = 1;
	tf_set_site(&r, 1);
	return r;
}

/* Each kind of record that there is; the last call ends then. */
static void fill(struct tf_thread *t, uint64_t last)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		struct tf_record copy = {.call = COPY}, graph = {.call = GRAPH},
		                 event = {.call = RECORD};
		copy.copy.bytes = 4096;
		copy.copy.direction = SPY_DIR_HTOD;
		copy.copy.memory = SPY_MEM_PAGEABLE;
		copy.copy.items = 1;
		return_of(t, copy);
		return_of(t, a_launch(1));
		return_of(t, a_launch(2));
		graph.graph.content = graph.graph.nodes = 1;
		graph.graph.handle = 0x1000;
		return_of(t, graph);
		event.event.event = 0x77;
		return_of(t, event);
		return_of(t, (struct tf_record){.call = SYNC});
	}
	struct tf_record sample = a_launch(1), facts = a_launch(2), range = {.call = TF_CALL_RANGE};
	sample.call = TF_CALL_SAMPLE;
	sample.thread = TF_WORK_KERNEL;
	sample.result = TF_PAIR_IDLE;
	sample.stream = TF_NTH(1, 1);
	sample.start = 2010000;
	sample.end = 7000;
	made_record(&image, t, sample);
	sample.stream = TF_NTH(1, 2);
	made_record(&image, t, sample);
	facts.call = TF_CALL_FACTS;
	facts.start = 40 | 6ull << 16 | 64ull << 32;
	facts.end = 0;
	made_record(&image, t, facts);
	range.start = 2010000;
	range.end = 2040000;
	made_record(&image, t, range);
	made_own(&image, t, 2010000, 2011000);
	struct tf_record r = {.call = ALLOC, .start = 2000000, .end = last};
	made_record(&image, t, r);
}

static void activities(void)
{
	struct tf_record r = {.start = 2010000,
	                      .end = 2020000,
	                      .call = TF_CALL_ACTIVITY,
	                      .thread = TF_WORK_KERNEL};
	uint64_t offset = image.map.alloc(&image.map, sizeof(struct tf_ring) + 8 * sizeof(r));
	struct tf_ring *ring = tf_at(&image.map, offset, sizeof(*ring));

	ring->capacity = 8;
	made_header(&image)->activity_ring = offset;
	r.activity.kernel = 1;
	for (int i = 0; i < 2; i++)
		ring->slots[ring->head++] = r;
}

static void sites(void)
{
	struct tf_header *h = made_header(&image);

	h->sites = image.map.alloc(&image.map, sizeof(struct tf_sites));
	struct tf_sites *area = tf_at(&image.map, h->sites, sizeof(*area));
	area->mode = TF_SITES_ON;
	area->sites = (struct tf_table){
	        .entry_bytes = sizeof(struct tf_site), .page_entries = 4, .max = 64};
	assert_non_null(tf_append(&image.map, &area->sites));
	tf_publish(&area->sites);
}

static void make_image(enum tf_gpu_mode mode, bool trace, uint64_t last)
{
	static const struct {
		const char *name;
		enum spy_class cls;
	} calls[CALLS] = {
	        [LAUNCH] = {"cuLaunchKernel", SPY_CLASS_LAUNCH},
	        [COPY] = {"cuMemcpyHtoDAsync_v2", SPY_CLASS_COPY},
	        [SYNC] = {"cuCtxSynchronize", SPY_CLASS_SYNC},
	        [GRAPH] = {"cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH},
	        [ALLOC] = {"cuMemAlloc_v2", SPY_CLASS_ALLOC},
	        [RECORD] = {"cuEventRecord", SPY_CLASS_EVENT},
	};
	struct tf_graph_nodes nodes = {.launches = 3};

	made_start(&image, ROOM, CALLS, MADE_AREAS);
	struct tf_header *h = made_header(&image);
	h->gpu_mode = mode;
	h->clock_kind = TF_CLOCK_MONOTONIC;
	for (unsigned i = 0; i < CALLS; i++)
		made_call(&image, calls[i].name, calls[i].cls, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 4; i++)
		made_kernel(&image, "kernel");
	made_graph(&image, 0x1000, 100);
	made_graph_nodes(&image, nodes);
	made_range(&image, 0, "step", 1, (struct tf_counts){0});
	made_device_time(&image, 0);
	made_stream(&image, 0, 0);
	sites();
	if (trace) {
		h->store = image.map.alloc(&image.map, sizeof(struct tf_store));
		struct tf_store *all = tf_at(&image.map, h->store, sizeof(*all));
		all->page_records = 16;
		all->pages_max = 2;
	}
	fill(made_thread(&image, 100, "one", RING), last);
	fill(made_thread(&image, 101, "two", RING), last);
	if (mode == TF_GPU_CUPTI)
		activities();
}

/* No room is an answer; so is an area that lies somewhere among the zeros. */
static uint64_t alloc_live(struct tf_map *map, uint64_t bytes)
{
	uint64_t *end = &tf_header(map)->alloc_end, offset = (*end + 63) / 64 * 64;

	if (offset + bytes > ROOM)
		return 0;
	*end = offset + bytes;
	if (map->size < *end)
		map->size = offset + bytes;
	return offset;
}

/* What the collector does: a round, and another one; then the last of a program that ends. */
static void rounds(void *argument)
{
	drain_all(&drain, UINT64_MAX);
	timeline_advance(drain.timeline, 3000000);
	drain_all(&drain, UINT64_MAX);
	timeline_finish(drain.timeline);
	steps_finish(drain.steps, &live.map);
}

/* Each access: CUT_STRIDE=1; else one in so many, with the same cuts in every run. */
static uint64_t stride(void)
{
	const char *asked = getenv("CUT_STRIDE");

	return asked && atoi(asked) > 0 ? (uint64_t)atoi(asked) : 29;
}

static void cut_everywhere(enum tf_gpu_mode mode, bool trace, uint64_t last, uint64_t least)
{
	struct cut cut = {.base = cut_memory(ROOM), .bytes = ROOM, .stride = stride() * least};

	assert_non_null(cut.base);
	make_image(mode, trace, last);
	/* Nothing; the header's page; the older half. */
	cut.kept[1] = 4096;
	cut.kept[2] = made_bytes(&image) / 8192 * 4096;
	memcpy(cut.base, image.map.base, ROOM);
	live = image;
	live.map.base = cut.base;
	live.map.alloc = alloc_live;
	drain = (struct drain){
	        .map = &live.map, .timeline = timeline_new(&live.map), .steps = steps_new()};
	assert_non_null(drain.timeline);
	assert_non_null(drain.steps);
	timeline_is_first(drain.timeline);
	cut_run(&cut, rounds, NULL);
	if (cut.failure)
		fail_msg("at access %llu, %llu bytes kept: %s", (unsigned long long)cut.failed_at,
		         (unsigned long long)cut.failed_kept, cut.failure);
	assert_true(cut.accesses > 1000 && cut.cuts >= cut.accesses / cut.stride);
	timeline_free(drain.timeline);
	steps_free(drain.steps);
	drain_end(&drain);
	cut_free(cut.base, ROOM);
	made_free(&image);
}

static void test_sampled(void **state)
{
	cut_everywhere(TF_GPU_SAMPLE, false, 4000000, 1);
}

static void test_exact_and_traced(void **state)
{
	cut_everywhere(TF_GPU_CUPTI, true, 4000000, 1);
}

/* A call so long that the slices are merged for it: thousands of accesses that are all alike. */
static void test_merged_slices(void **state)
{
	cut_everywhere(TF_GPU_OFF, false, 300000000, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sampled),
	        cmocka_unit_test(test_exact_and_traced),
	        cmocka_unit_test(test_merged_slices),
	};

	return cmocka_run_group_tests_name("drain_cut", tests, NULL, NULL);
}
