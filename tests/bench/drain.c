/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the drain costs a record, alone in one process: no other thread, no waking up.
 *
 *	drain [SCENARIO [ROUNDS]]     off, sample (one kernel on one stream), steps (a loop of
 *eleven kernels, a copy and a wait), threads (four threads), each +nosteps without finding steps.
 *Default: all of them.
 *
 * Prints the least and the median time a record over the rounds, of bursts of 800 records and a
 * pause of 2 ms. For valgrind --tool=callgrind: --toggle-collect=drain_all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/core/drain/drain.h"
#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"
#include "tests/unit/recording.h"

#define BURST   800u
#define PAUSE   4000000u /* ticks of half a nanosecond */
#define RING    8192u
#define THREADS 4u

struct scenario {
	const char *name;
	enum tf_gpu_mode mode;
	unsigned threads;
	bool loop;
};

static const struct scenario scenarios[] = {
        {"off", TF_GPU_OFF, 1, false},        {"sample", TF_GPU_SAMPLE, 1, false},
        {"off-loop", TF_GPU_OFF, 1, true},    {"sample-loop", TF_GPU_SAMPLE, 1, true},
        {"off-threads", TF_GPU_OFF, 4, true}, {"sample-threads", TF_GPU_SAMPLE, 4, true},
};

struct bench_drain {
	struct made made;
	struct drain drain;
	struct tf_thread *threads[THREADS];
	uint16_t launch, copy, sync;
	uint64_t tick;
	uint32_t call;
};

static void make(struct bench_drain *b, const struct scenario *s, bool steps)
{
	made_start(&b->made, 256ull << 20, 8, MADE_AREAS);
	struct tf_header *h = made_header(&b->made);
	struct tf_slices *slices = tf_at(&b->made.map, h->slices, sizeof(*slices));
	struct tf_store *keep = tf_at(&b->made.map, h->keep, sizeof(*keep));
	h->gpu_mode = s->mode;
	slices->width = 1ull << 20;
	keep->page_records = 8192;
	keep->pages_max = 64; /* 32 MiB */
	h->steps.page_entries = 4096;
	h->steps.max = 65536;
	made_clock(&b->made, 0, 1000000000, 1755767727123000000);
	made_clock(&b->made, 400000000, 1200000000, 1755767727323000000);
	b->launch = made_call(&b->made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	b->copy = made_call(&b->made, "cuMemcpyHtoDAsync", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	b->sync = made_call(&b->made, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	for (uint32_t i = 0; i < 12; i++) {
		char name[32];
		snprintf(name, sizeof(name), "kernel_%u", i);
		made_kernel(&b->made, name);
	}
	for (unsigned i = 0; i < s->threads; i++)
		b->threads[i] = made_thread(&b->made, 4711 + i, "worker", RING);
	b->tick = h->window_start;
	b->drain.map = &b->made.map;
	b->drain.timeline = timeline_new(&b->made.map);
	b->drain.steps = steps ? steps_new() : NULL;
}

static void free_all(struct bench_drain *b)
{
	timeline_free(b->drain.timeline);
	steps_free(b->drain.steps);
	drain_end(&b->drain);
	made_free(&b->made);
	*b = (struct bench_drain){0};
}

/* The record as it is: made_record() would say whose it is. */
static void push(struct bench_drain *b, struct tf_thread *t, const struct tf_record *r)
{
	struct tf_ring *ring = tf_at(&b->made.map, t->ring_first, sizeof(*ring));

	ring->slots[ring->head++ & (ring->capacity - 1)] = *r;
}

/* One launch in 256 has a pair of events around it. */
static void sample(struct bench_drain *b, struct tf_thread *t, const struct tf_record *launch)
{
	struct tf_record r = *launch;

	r.call = TF_CALL_SAMPLE;
	r.thread = TF_WORK_KERNEL;
	r.end = 2200 + b->call % 7;
	r.flags = 0;
	r.result = TF_PAIR_IDLE;
	push(b, t, &r);
}

/* What the empty pairs cost: else no class's time is known. */
static void calibrate(struct bench_drain *b)
{
	struct tf_record r = {.start = b->tick, .call = TF_CALL_SAMPLE, .thread = TF_WORK_EMPTY};

	for (unsigned i = 0; i < 32; i++) {
		r.result = i % 2 ? TF_PAIR_BUSY : TF_PAIR_IDLE;
		r.thread = i % 4 < 2 ? TF_WORK_EMPTY : TF_WORK_NULL;
		r.end = 1500 + i % 5;
		push(b, b->threads[0], &r);
	}
}

static void one_call(struct bench_drain *b, const struct scenario *s, struct tf_thread *t)
{
	uint32_t in_loop = s->loop ? b->call / s->threads % 13 : 0;
	struct tf_record r = {.start = b->tick + 100 + b->call * 7 % 31, .stream = 0x5000};

	r.end = r.start + 160 + b->call * 11 % 61;
	if (s->threads > 1)
		r.stream += (uint64_t)(b->call % s->threads) * 64;
	if (in_loop < 11) {
		r.call = b->launch;
		r.launch.kernel = 1 + in_loop;
		r.launch.grid_x = 64 + in_loop;
		r.launch.grid_y = r.launch.grid_z = r.launch.block_y = 1;
		r.launch.block_x = 256;
		r.launch.block_z = r.launch.cluster_x = r.launch.cluster_y = r.launch.cluster_z = 1;
		r.launch.items = 1;
		if (s->mode == TF_GPU_SAMPLE && b->call % 256 == 0)
			sample(b, t, &r);
	} else if (in_loop == 11) {
		r.call = b->copy;
		r.copy.bytes = 4096;
		r.copy.direction = SPY_DIR_HTOD;
		r.copy.memory = SPY_MEM_PINNED;
		r.copy.async = 1;
		r.copy.items = 1;
	} else {
		r.call = b->sync;
		r.end += 30000;
	}
	push(b, t, &r);
	b->tick = r.end;
	b->call++;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run(const struct scenario *s, bool steps, unsigned rounds)
{
	static struct bench_drain b;
	double *ns = calloc(rounds, sizeof(*ns));

	make(&b, s, steps);
	calibrate(&b);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned k = 0; k < BURST; k++)
			one_call(&b, s, b.threads[b.call % s->threads]);
		b.tick += PAUSE;
		uint64_t start = clock_monotonic_ns();
		uint64_t taken = drain_all(&b.drain, b.tick);
		timeline_advance(b.drain.timeline, b.tick);
		ns[i] = (double)(clock_monotonic_ns() - start) / (double)(taken ? taken : 1);
	}
	qsort(ns, rounds, sizeof(*ns), by_value);
	printf("%-16s %-8s least %6.1f  a tenth %6.1f  median %6.1f ns a record\n", s->name,
	       steps ? "" : "nosteps", ns[0], ns[rounds / 10], ns[rounds / 2]);
	free(ns);
	free_all(&b);
}

int main(int argc, char **argv)
{
	printf("What a record costs the drain, the collector's main work, in one process and all "
	       "of it in "
	       "caches.\n\n");
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		for (int steps = 1; steps >= 0; steps--) {
			char name[64];
			snprintf(name, sizeof(name), "%s%s", scenarios[i].name,
			         steps ? "" : "+nosteps");
			if (argc < 2 || !strcmp(argv[1], name) || !strcmp(argv[1], "all"))
				run(&scenarios[i], steps, rounds);
		}
	printf("\n");
	return 0;
}
