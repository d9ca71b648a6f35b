/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/base/stats.h"
#include "report/model/model_gpu_pairs.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define WORKS 8

static struct made made;
static struct tf_work *empty, *null; /* the calibration */
static struct tf_work works[WORKS];  /* classes */
static struct model_calibration c;

/* A pair around nothing costs 1,300 ns, one around a kernel 2,700 - 590 = 2,110 ns. */
static int setup(void **state)
{
	memset(works, 0, sizeof(works));
	made_start(&made, 2u << 20, 1, MADE_AREAS);
	made_device(&made, "NVIDIA H200", false);
	empty = made_work(&made, (struct tf_work){.kind = TF_WORK_EMPTY}, 0);
	made_pairs(empty, TF_PAIR_IDLE, 10, 1300, 20);
	null = made_work(&made, (struct tf_work){.kind = TF_WORK_NULL}, 0);
	made_pairs(null, TF_PAIR_IDLE, 20, 2700, 40);
	return 0;
}

/* The recording is of another kind of GPU. */
static void on(const char *name)
{
	struct tf_device *d = tf_entry(&made.map, &made_header(&made)->devices, 0, sizeof(*d));

	strcpy(d->name, name);
}

static int teardown(void **state)
{
	made_free(&made);
	return 0;
}

static struct tf_work copy_of(enum spy_direction direction, enum spy_memory memory, uint64_t bytes,
                              double pair)
{
	struct tf_work w = {.kind = TF_WORK_COPY,
	                    .direction = (uint8_t)direction,
	                    .memory = (uint8_t)memory,
	                    .size = work_size_bucket(bytes),
	                    .count = 3,
	                    .bytes = 3 * bytes};

	made_pairs(&w, TF_PAIR_IDLE, 3, pair, 0);
	return w;
}

static void test_student(void **state)
{
	assert_near(stats_student_95(1), 12.706, 1e-3);
	assert_near(stats_student_95(4), 2.776, 1e-3);
	assert_near(stats_student_95(5), 2.571, 2e-3);
	assert_near(stats_student_95(10), 2.228, 2e-3);
	assert_near(stats_student_95(1e9), 1.96, 1e-3);
	assert_near(stats_student_95(NAN), 12.706, 1e-3);
}

/* Both regimes pooled, each less its own cost; the interval's parts. */
static void test_kernel(void **state)
{
	made_pairs(null, TF_PAIR_BUSY, 5, 2800, 50);
	works[2].kind = TF_WORK_KERNEL;
	made_pairs(&works[2], TF_PAIR_IDLE, 10, 5110, 100); /* 3,000 */
	made_pairs(&works[2], TF_PAIR_BUSY, 10, 5410, 100); /* 3,200 */
	model_calibrate(&c, &made.map, works, WORKS);
	struct model_work_time t = model_work_time(&works[2], &c);
	assert_true(t.known);
	assert_false(t.exact);
	assert_int_equal(t.samples, 20);
	assert_near(t.mean, 3100, 1e-9);
	/* 18 degrees within the regimes and one between them */
	double deviation = sqrt((18 * 100.0 * 100 + 20 * 100.0 * 100) / 19);
	assert_near(t.random, stats_student_95(19) * deviation / sqrt(20), 1e-6);
	assert_near(t.shared,
	            (stats_student_95(19) * 40 / sqrt(20) + stats_student_95(4) * 50 / sqrt(5)) / 2,
	            1e-6);
	assert_near(t.systematic, hypot(250, 0.01 * 3100), 1e-9);
	on("NVIDIA A100-SXM4-40GB");
	model_calibrate(&c, &made.map, works, WORKS);
	/* Of a kind that nobody measured: an empty kernel lasts what this run tells beside those
	 * that were, and less is known. */
	struct gpu_figures told = {740, 320, GPU_UNMEASURED, 0, false};
	gpu_kind_told(&told, 2700 - 1300, 40 * 40 / 20.0 + 20 * 20 / 10.0);
	double mean = 3100 + told.null_kernel_ns - 590;
	assert_near(model_work_time(&works[2], &c).mean, mean, 1e-6);
	assert_near(model_work_time(&works[2], &c).systematic, hypot(told.off_ns, 0.01 * mean),
	            1e-6);
	empty->pairs[TF_PAIR_IDLE].count = 0; /* nothing tells */
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).mean, 3100 + 150, 1e-9);
	assert_near(model_work_time(&works[2], &c).systematic, hypot(320, 0.01 * 3250), 1e-9);
	on("NVIDIA H100 80GB HBM3");
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).mean, 3100 + 280, 1e-9);
	assert_near(model_work_time(&works[2], &c).systematic, hypot(250, 0.01 * 3380), 1e-9);
	made_device(&made, "NVIDIA H200", false); /* of two kinds */
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).mean, 3100 + 140, 1e-9);
	assert_near(model_work_time(&works[2], &c).systematic, hypot(250 + 140, 0.01 * 3240), 1e-9);
}

/*
 * Another stream keeps the GPU busy, and the empty kernel of the calibration waits for it. Pairs
 * that scatter less did not wait, and cost what they do on a busy stream, or a bit more than the
 * shortest; of others nobody knows.
 */
static void test_other_streams_keep_the_gpu(void **state)
{
	made_pairs(null, TF_PAIR_IDLE, 200, 164000, 97000);
	null->pairs[TF_PAIR_IDLE].least_ns = 2600;
	for (int i = 2; i < 5; i++)
		works[i].kind = TF_WORK_KERNEL;
	made_pairs(&works[2], TF_PAIR_IDLE, 30, 5110, 300);
	made_pairs(&works[3], TF_PAIR_IDLE, 30, 170000, 90000);
	made_pairs(&works[4], TF_PAIR_IDLE, 1, 5110, 0);
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).mean, 5110 - (2600 + 130 - 590), 1e-6);
	assert_near(estimate_ns(&c.costs, &works[2]), 5110 - (2600 + 130 - 590), 1e-6);
	made_pairs(null, TF_PAIR_BUSY, 90, 2700, 50);
	model_calibrate(&c, &made.map, works, WORKS);
	struct model_work_time t = model_work_time(&works[2], &c);
	assert_near(t.mean, 3000, 1e-6);
	assert_near(t.shared, stats_student_95(199) * 130, 1);
	assert_near(model_work_time(&works[4], &c).mean, 3000, 1e-6);
	t = model_work_time(&works[3], &c);
	assert_near(t.mean, 170000 - (164000 - 590), 1e-6);
	assert_true(t.shared > 97000 / sqrt(200));
}

/* One reading: half of it, or the spread of the other classes where that is more. */
static void test_single(void **state)
{
	works[2].kind = works[3].kind = TF_WORK_KERNEL;
	made_pairs(&works[2], TF_PAIR_IDLE, 1, 12110, 0);
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).random, 5000, 1e-9);
	/* As large as its mean, and what pairs around one and the same kernel differ by. */
	made_pairs(&works[3], TF_PAIR_IDLE, 5, 6110, hypot(4000, 40));
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(c.deviation, 1, 1e-6);
	assert_near(model_work_time(&works[2], &c).random, 19600, 1e-4);
}

/* A few alike pairs: what the run's other classes are like counts as two more. Where their pieces
 * are of one length, as nearly all are, or so many pairs are hardly alike by chance, it is the
 * spread of those. */
static void test_few(void **state)
{
	works[2].kind = works[3].kind = works[4].kind = TF_WORK_KERNEL;
	made_pairs(&works[2], TF_PAIR_IDLE, 4, 100000 + 2110, 0);
	made_pairs(&works[3], TF_PAIR_IDLE, 20, 10000 + 2110, hypot(500, 40));
	model_calibrate(&c, &made.map, works, WORKS);
	double plain = 0.05 * sqrt(19 / 22.0); /* its own three degrees among them */
	assert_near(c.deviation, plain, 1e-6);
	assert_near(c.plain_deviation, plain, 1e-6);
	assert_near(c.mixed, 0.25, 1e-9); /* one class tells little */
	double sd = sqrt(2 * plain * plain * 1e10 / 5);
	assert_near(model_work_time(&works[2], &c).random, stats_student_95(5) * sd / 2, 1e-6);
	/* Half of the others have pieces of several lengths. */
	made_pairs(&works[4], TF_PAIR_IDLE, 20, 10000 + 2110, hypot(9000, 40));
	model_calibrate(&c, &made.map, works, WORKS);
	double others = sqrt(19 * (0.05 * 0.05 + 0.9 * 0.9) / 41);
	assert_near(c.deviation, others, 1e-6);
	assert_near(c.plain_deviation, plain, 1e-6);
	assert_near(c.mixed, 0.5, 1e-9);
	sd = sqrt(2 * others * others * 1e10 / 5);
	assert_near(model_work_time(&works[2], &c).random, stats_student_95(5) * sd / 2, 1e-6);
	works[2].pairs[TF_PAIR_IDLE].count = 0;
	made_pairs(&works[2], TF_PAIR_IDLE, 8, 100000 + 2110, 0);
	works[3].kind = works[4].kind = TF_WORK_NONE;
	model_calibrate(&c, &made.map, works, WORKS);
	assert_true(model_work_time(&works[2], &c).random < 5000);
	/* What pairs differ by anyway is not the class's. */
	works[3].kind = TF_WORK_KERNEL;
	works[3].pairs[TF_PAIR_IDLE].count = 0;
	made_pairs(&works[3], TF_PAIR_IDLE, 20, 100 + 2110, 40);
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(c.deviation, 0, 1e-3);
}

/* Work shorter than the pair's cost takes no time below 0. Without calibration a pair costs what it
 * did elsewhere, and the interval says how well that is known. */
static void test_bounds(void **state)
{
	works[2].kind = TF_WORK_KERNEL;
	made_pairs(&works[2], TF_PAIR_BUSY, 4, 2000, 0);
	model_calibrate(&c, &made.map, works, WORKS);
	assert_true(model_work_time(&works[2], &c).known);
	assert_near(model_work_time(&works[2], &c).mean, 0, 1e-9);
	null->pairs[TF_PAIR_IDLE].count = 0;
	made_pairs(&works[2], TF_PAIR_BUSY, 4, 7150, 0);
	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&works[2], &c).mean, 7150 - ESTIMATE_NULL_PAIR_NS + 590, 1e-9);
	assert_near(model_work_time(&works[2], &c).shared, 1.96 * ESTIMATE_PAIR_SD_NS, 1e-3);
	assert_false(model_work_time(&works[3], &c).known);
}

/* What a pair costs depends on how the driver does a copy or set. */
static void test_copies(void **state)
{
	struct tf_work w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 4096, 7310);

	model_calibrate(&c, &made.map, works, WORKS);
	assert_near(model_work_time(&w, &c).mean, 7310 - 2110 - 3200, 1e-3);
	assert_true(model_work_time(&w, &c).shared > 1.96 * ESTIMATE_WAKE_SD_NS);
	w = copy_of(SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 7310);
	assert_near(model_work_time(&w, &c).mean, 7310 - 2110, 1e-9);
	assert_near(model_work_time(&w, &c).below, 500, 1e-9); /* an H200 had 300 less */
	w.kind = TF_WORK_GRAPH;
	assert_true(model_work_time(&w, &c).systematic > 2600); /* or 2.7 us less, or 2.1 more */
	w = copy_of(SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 65536, 7300);
	assert_near(model_work_time(&w, &c).mean, 7300 - 1300, 1e-9);
	assert_near(model_work_time(&w, &c).below, 750, 1e-9); /* or it costs what a kernel does */
	w = copy_of(SPY_DIR_HTOH, SPY_MEM_PINNED, 65536, 7300);
	assert_false(model_work_time(&w, &c).known);
	w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 1024, 3040); /* an H200's, and CUPTI says 930 */
	w.async = 1;
	assert_near(model_work_time(&w, &c).mean, 930, 1e-9);
	assert_near(model_work_time(&w, &c).below, 550, 1e-9); /* an H100 had 500 less */
	w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 4096, 7310);
	w.kind = TF_WORK_SET;
	assert_near(model_work_time(&w, &c).mean, 7310 - 1300, 1e-9);
	w.size = work_size_bucket(65536);
	assert_near(model_work_time(&w, &c).mean, 7310 - 2110, 1e-9);
	w.size = work_size_bucket(16384);
	assert_near(model_work_time(&w, &c).mean, 7310 - 2110, 1e-9);
	assert_near(model_work_time(&w, &c).above, 810, 1e-9); /* or it travels with the command */
	w = copy_of(SPY_DIR_PTOP, SPY_MEM_DEVICE, 4096, 7310);
	assert_near(model_work_time(&w, &c).mean, 7310 - 2110 - 3200, 1e-9);
	assert_near(model_work_time(&w, &c).above, 3200, 1e-9);
}

/* PCIe 5 x16, pairs around a kernel as where these copies were measured. */
static void set_bus(double null_ns, double spread_ns)
{
	struct tf_environment *e = made_environment(&made, 1);

	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, 1000);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 1000);
	made_pairs(null, TF_PAIR_IDLE, 20, null_ns, spread_ns);
	model_calibrate(&c, &made.map, works, WORKS);
}

/*
 * Pinned copies as an H200 had them, ns: CUPTI's time, and pairs: with engines asleep behind a
 * stall and behind our kernel, awake in half of all cases, and 1 MiB each way beside kernels, four
 * runs.
 */
static void test_pinned(void **state)
{
	static const struct {
		enum spy_direction direction;
		uint64_t bytes;
		double truth, mean, spread, least;
		unsigned pairs;
	} had[] = {
	        {SPY_DIR_DTOH, 4, 1514, 8218, 900, 7600, 150},
	        {SPY_DIR_DTOH, 4, 1514, 7707, 3300, 3040, 150},
	        {SPY_DIR_DTOH, 4, 1413, 9882, 0, 9882, 1},
	        {SPY_DIR_DTOH, 4, 1413, 5155, 0, 5155, 1},
	        {SPY_DIR_DTOH, 65536, 2667, 9492, 850, 8700, 150},
	        {SPY_DIR_HTOD, 65536, 3724, 9587, 3000, 5000, 150},
	        {SPY_DIR_HTOD, 1 << 20, 21500, 28162, 900, 27000, 150},
	        {SPY_DIR_DTOH, 1 << 20, 20370, 27025, 850, 26200, 150},
	        {SPY_DIR_HTOD, 1 << 20, 21746, 26573, 2249, 24400, 15},
	        {SPY_DIR_HTOD, 1 << 20, 21884, 27659, 3031, 23900, 15},
	        {SPY_DIR_HTOD, 1 << 20, 21737, 26047, 2007, 24200, 15},
	        {SPY_DIR_HTOD, 1 << 20, 21786, 29212, 3415, 24600, 17},
	        {SPY_DIR_DTOH, 1 << 20, 20660, 27660, 2424, 23200, 13},
	        {SPY_DIR_DTOH, 1 << 20, 20556, 27298, 3998, 22700, 14},
	        {SPY_DIR_DTOH, 1 << 20, 20596, 26930, 3251, 23100, 10},
	        {SPY_DIR_DTOH, 1 << 20, 20657, 28163, 2631, 23000, 16},
	};

	set_bus(2780, 80);
	null->pairs[TF_PAIR_IDLE].least_ns = 2700;
	model_calibrate(&c, &made.map, works, WORKS);
	for (unsigned i = 0; i < sizeof(had) / sizeof(had[0]); i++) {
		struct tf_work w = copy_of(had[i].direction, SPY_MEM_PINNED, had[i].bytes, 0);
		made_pairs(&w, TF_PAIR_IDLE, had[i].pairs, had[i].mean, had[i].spread);
		w.pairs[TF_PAIR_IDLE].least_ns = (uint32_t)had[i].least;
		struct model_work_time t = model_work_time(&w, &c);
		double off = t.mean - had[i].truth;
		assert_true(t.known && t.samples == had[i].pairs);
		assert_true(fabs(off) < fmax(750, 0.04 * had[i].truth));
		assert_true(-model_work_above(&t) < off && off < model_work_below(&t));
		assert_true(model_work_above(&t) < 4200 && model_work_below(&t) < 4200);
		assert_near(estimate_ns(&c.costs, &w), t.mean, 1e-9);
	}
}

/* Where the pairs contradict the bus, and where nothing is known of it. */
static void test_pinned_elsewhere(void **state)
{
	struct tf_work w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 256 << 10, 40000 + 2110);
	struct model_work_time t;

	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c); /* asleep in four cases of five */
	assert_near(t.mean, 40000 - 0.8 * CUDA_WAKE_NS, 1e-3);
	assert_true(t.mean + model_work_above(&t) > 40000 && t.mean - model_work_below(&t) < 36000);
	set_bus(2700, 0);
	t = model_work_time(&w, &c); /* the bus is another than its link: it tells nothing */
	assert_near(t.mean, 40000 - 0.8 * CUDA_WAKE_NS, 1e-3);
	/* 25 bytes a ns, some of them with the engine asleep. */
	made_pairs(&w, TF_PAIR_IDLE, 50, 12986 + 2110 + 3500, 2600);
	w.pairs[TF_PAIR_IDLE].least_ns = 12986 + 2110;
	t = model_work_time(&w, &c);
	assert_near(t.mean, 12986, 0.25);
	assert_true(t.mean + model_work_above(&t) > 12986);
	/* Those that differ by more than an engine's wake are not taken for the shortest. */
	made_pairs(&w, TF_PAIR_IDLE, 20, 40000 + 2110, 9000);
	w.pairs[TF_PAIR_IDLE].least_ns = 9350; /* as its bytes say */
	t = model_work_time(&w, &c);
	assert_near(t.mean, 40000 - ESTIMATE_WAKE_MOST_NS, 1e-3);
	assert_true(t.mean + model_work_above(&t) > 40000);
	/* On chips where nobody has measured it, less is known. */
	double shared = t.shared;
	on("NVIDIA A100-SXM4-40GB");
	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c);
	assert_true(t.shared > 1.5 * shared);
	/* Of a damaged file. */
	made_pairs(&w, TF_PAIR_IDLE, 3, 40000, 0);
	w.pairs[TF_PAIR_IDLE].sum_squares = 1e300;
	null->pairs[TF_PAIR_IDLE] = (struct tf_pairs){2, 2700, 5400, 1.7e308};
	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c);
	assert_true(!t.known || (isfinite(t.mean) && !isnan(model_work_below(&t)) &&
	                         !isnan(model_work_above(&t))));
}

/* Copies that no pair stands around, by their bytes; those of pageable memory are staged. */
static void test_untimed(void **state)
{
	struct tf_work w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 32 << 20, 0);
	struct model_work_time t;

	w.pairs[TF_PAIR_IDLE].count = 0;
	model_calibrate(&c, &made.map, works, WORKS);
	assert_false(model_work_time(&w, &c).known);
	set_bus(2700, 0);
	t = model_work_time(&w, &c);
	assert_true(t.known && !t.samples);
	assert_near(t.mean, ESTIMATE_IN_NS + (32 << 20) / c.costs.told.rate, 1e-9);
	/* The run's other copies tell the bus better, to both who ask. */
	struct tf_work *b =
	        made_work(&made, copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 16 << 20, 0), 50);
	b->bytes = 50ull * (16 << 20);
	made_pairs(b, TF_PAIR_IDLE, 50, 2500 + (16 << 20) / 25.0 + 2110 + 2000, 2500);
	b->pairs[TF_PAIR_IDLE].least_ns = (uint32_t)(2500 + (16 << 20) / 25.0 + 2110);
	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c);
	assert_near(t.mean, ESTIMATE_IN_NS + (32 << 20) / 25.0, 0.002);
	assert_near(estimate_ns(&c.costs, &w), t.mean, 1e-9);
	/* CUPTI's times of such copies: 0.33 to 2.0 times as long, from the device 0.96 to 1.55. */
	assert_near(t.below / t.mean, 0.7, 1e-9);
	assert_near(t.above / t.mean, 1.1, 1e-9);
	w.direction = SPY_DIR_DTOH;
	struct model_work_time out = model_work_time(&w, &c);
	assert_near(out.below / out.mean, 0.3, 1e-9);
	assert_near(out.above / out.mean, 0.6, 1e-9);
	w.direction = SPY_DIR_HTOD;
	w.memory = SPY_MEM_MANAGED;
	assert_near(model_work_time(&w, &c).mean, t.mean, 1e-9);
	w.memory = SPY_MEM_PAGEABLE;
	assert_false(model_work_time(&w, &c).known);
}

/* Copies of a class differ in size: its pairs are told of its least size, and so counted. */
static void test_sizes(void **state)
{
	static const double sizes[] = {1, 1.2, 1.1, 1.19, 1.05};
	struct tf_work w = copy_of(SPY_DIR_HTOD, SPY_MEM_PINNED, 16 << 20, 0);
	double truth = 0;

	w.count = w.bytes = 0;
	w.pairs[TF_PAIR_IDLE] = (struct tf_pairs){0};
	for (unsigned i = 0; i < 5; i++) {
		uint64_t bytes = (uint64_t)(sizes[i] * (16 << 20));
		double took = ESTIMATE_IN_NS + (double)bytes / 50,
		       ns = estimate_pair_ns(&w, bytes, took + 2110);
		struct tf_pairs *p = &w.pairs[TF_PAIR_IDLE];
		p->least_ns = !i || ns < p->least_ns ? (uint32_t)ns : p->least_ns;
		p->count++;
		p->sum_ns += ns;
		p->sum_squares += ns * ns;
		w.count++;
		w.bytes += bytes;
		truth += took / 5;
	}
	set_bus(2700, 0);
	struct model_work_time t =
	        model_work_time(&w, &c); /* engines awake or asleep: alike pairs do not tell */
	assert_true(fabs(t.mean - truth) <= CUDA_WAKE_NS);
	assert_true(t.mean - model_work_below(&t) < truth && truth < t.mean + model_work_above(&t));
	w.memory = SPY_MEM_PAGEABLE;
	assert_near(estimate_pair_ns(&w, 18 << 20, 1e5), 1e5, 0);
}

/* A staged copy: no longer than its pair, at this run's bandwidth or an assumed one. */
static void test_staged(void **state)
{
	struct tf_work w = copy_of(SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 1 << 20, 81300);

	model_calibrate(&c, &made.map, works, WORKS);
	struct model_work_time t = model_work_time(&w, &c);
	assert_near(t.mean, ESTIMATE_OUT_NS + (1 << 20) / 25.0, 1e-9);
	assert_near(t.mean - t.below, (1 << 20) / 64.0, 1e-9);
	assert_near(t.mean + t.above, 80000 + t.shared + stats_student_95(9) * 20 / sqrt(10), 1e-6);
	struct tf_work *pinned =
	        made_work(&made, copy_of(SPY_DIR_DTOH, SPY_MEM_PINNED, 4 << 20, 0), 4);
	pinned->bytes = 4 * (4 << 20);
	/* 80,000 ns beside its start, engines asleep in four cases of five */
	made_pairs(pinned, TF_PAIR_IDLE, 4, 80000 + ESTIMATE_OUT_NS + 2110 + 3200, 0);
	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c);
	assert_near(t.mean, ESTIMATE_OUT_NS + 20000, 1e-5);
	assert_near(t.below, 0.3 * t.mean, 1e-9);
	assert_near(t.mean + t.above, 80000 + t.shared + stats_student_95(9) * 20 / sqrt(10), 1e-6);
	/* Of the other direction nothing is known. */
	w.direction = SPY_DIR_UNKNOWN;
	assert_near(model_work_time(&w, &c).mean, ESTIMATE_OUT_NS + (1 << 20) / 25.0, 1e-9);
	/* A pair shorter than that is the most it can be. */
	w = copy_of(SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 1 << 20, 11300);
	t = model_work_time(&w, &c);
	assert_true(t.mean <= 10100 && t.above >= 0);
}

/* One whose calls were followed: by these, each of them a sample. */
static void test_staged_by_calls(void **state)
{
	struct tf_environment *e = made_environment(&made, 1);
	struct tf_work w = copy_of(SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4 << 20, 100);

	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, 1000);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 1000);
	w.pairs[TF_PAIR_IDLE] = (struct tf_pairs){0};
	model_calibrate(&c, &made.map, works, WORKS);
	assert_false(model_work_time(&w, &c).known); /* of an earlier version */
	w.staged_ns = 3 * 420564.0;                  /* CUPTI says 276,382 */
	struct model_work_time t = model_work_time(&w, &c);
	assert_true(t.known);
	assert_false(t.exact);
	assert_int_equal(t.samples, 3);
	assert_near(t.mean, 276382, 0.02);
	assert_true(t.mean - model_work_below(&t) > 210000 &&
	            t.mean - model_work_below(&t) < 230000);
	assert_true(t.mean + model_work_above(&t) < 360000 &&
	            t.mean + model_work_above(&t) > 340000);
	/* A bus of unknown speed: from what the call tells to all of it. */
	e->devices[0].first.known = 0;
	model_calibrate(&c, &made.map, works, WORKS);
	t = model_work_time(&w, &c);
	assert_near(t.mean, 420564 * .625, 1e-6);
	assert_near(t.mean + t.above, 420564, 1e-6);
	w = copy_of(SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4, 100);
	w.pairs[TF_PAIR_IDLE] = (struct tf_pairs){0};
	w.staged_ns = 3 * 9400;
	assert_false(model_work_time(&w, &c).known);
}

static void test_exact(void **state)
{
	struct tf_work w = {.kind = TF_WORK_KERNEL, .exact_count = 4, .exact_ns = 1000};

	model_calibrate(&c, &made.map, works, WORKS);
	struct model_work_time t = model_work_time(&w, &c);
	assert_true(t.known && t.exact);
	assert_near(t.mean, 250, 1e-9);
	assert_near(t.random + t.shared + t.systematic, 0, 0);
	w.exact_ns = NAN;
	assert_false(model_work_time(&w, &c).known);
}

/* Doubles that no measurement gives, from a damaged file. */
static void test_hostile(void **state)
{
	const double wrong[] = {NAN, INFINITY, -INFINITY, -1, 1e300};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct tf_pairs sum = {.count = 2, .sum_ns = wrong[i], .sum_squares = 1};
		struct tf_pairs squares = {.count = 2, .sum_ns = 1, .sum_squares = wrong[i]};
		assert_false(model_pairs_good(&sum));
		assert_int_equal(squares.sum_squares == 1e300 || !model_pairs_good(&squares), 1);
		works[2].kind = TF_WORK_KERNEL;
		works[2].pairs[0] = sum;
		null->pairs[1] = squares;
		model_calibrate(&c, &made.map, works, WORKS);
		assert_false(model_work_time(&works[2], &c).known);
		assert_true(isfinite(c.cost[ESTIMATE_KERNEL][1].mean) &&
		            isfinite(c.cost[ESTIMATE_KERNEL][1].half));
	}
	/* A count no run reaches, squares smaller than the sum allows. */
	works[2].pairs[0] =
	        (struct tf_pairs){.count = UINT32_MAX, .sum_ns = 1e20, .sum_squares = 0};
	model_calibrate(&c, &made.map, works, WORKS);
	struct model_work_time t = model_work_time(&works[2], &c);
	assert_true(isfinite(t.mean) && isfinite(t.random) && t.mean >= 0 && t.random >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_student),
	        cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_other_streams_keep_the_gpu, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_single, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_few, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_pinned, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_pinned_elsewhere, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_untimed, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_staged, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_staged_by_calls, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_exact, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
