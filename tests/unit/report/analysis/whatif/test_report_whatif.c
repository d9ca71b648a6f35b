/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/model/model.h"
#include "report/analysis/replay/replay.h"
#include "shim/core/cuda/host_functions.h"
#include "report/analysis/whatif/whatif_change.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

/*
 * Programs played on a GPU of one stream and two copy engines, in us: work starts 1.8 us after its
 * call's return and 0.75 us after the work before it; a wait returns 3.2 us after the work.
 */
struct play {
	struct made made;
	struct whatifs *whatifs;
	struct tf_thread *thread[2];
	unsigned who;      /* thread that calls */
	double host, tail; /* now; end of the last work */
	double queue[1024];
	unsigned queued;
	uint16_t launch, copy, sync, mark, wait_mark, alloc, release, query;
	uint32_t kernel;
};
#define KERNEL_EMPTY_US 2.0 /* what a pair around a kernel costs */

static void start(struct play *p)
{
	memset(p, 0, sizeof(*p));
	made_start(&p->made, 64u << 20, 16, MADE_AREAS);
	made_clock(&p->made, 0, 1000000000, 1755767727123000000);
	made_clock(&p->made, 400000000, 1200000000, 1755767727323000000);
	struct tf_header *h = made_header(&p->made);
	struct tf_store *keep = tf_at(&p->made.map, h->keep, sizeof(*keep));
	h->gpu_mode = TF_GPU_SAMPLE;
	keep->page_records = 4096;
	keep->pages_max = 16;
	p->launch = made_call(&p->made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	p->copy = made_call(&p->made, "cuMemcpyAsync", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	p->sync = made_call(&p->made, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	p->mark = made_call(&p->made, "cuEventRecord", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	p->wait_mark = made_call(&p->made, "cuEventSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	p->alloc = made_call(&p->made, "cuMemAlloc_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	p->release = made_call(&p->made, "cuMemFree_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	p->query = made_call(&p->made, "cuStreamQuery", SPY_CLASS_QUERY, SPY_LEVEL_DRIVER);
	made_kernel(&p->made, "");
	p->kernel = made_kernel(&p->made, "solve");
	p->thread[0] = made_thread(&p->made, 7, "main", 65536);
	p->thread[1] = made_thread(&p->made, 8, "other", 65536);
	p->tail = -1e9;
	/* An empty kernel counts 0.59 us. */
	made_pairs(made_work(&p->made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE,
	           100, 1e3 * KERNEL_EMPTY_US + 740, 1);
}

static struct tf_record call(const struct play *p, uint16_t id, double us)
{
	uint64_t from = 2001000 + (uint64_t)(p->host * 2000);

	return (struct tf_record){.call = id, .start = from, .end = from + (uint64_t)(us * 2000)};
}

static void returns(struct play *p, const struct tf_record *r)
{
	made_return(&p->made, p->thread[p->who], *r);
	p->host += (double)(r->end - r->start) / 2000;
}

/* A kernel; waits for a place in the queue. */
static void launch(struct play *p, double own, double us)
{
	double place = p->queued >= 1024 ? p->queue[p->queued % 1024] : 0;
	double took = own + fmax(0, place - p->host);

	made_launch(&p->made, p->thread[p->who], p->launch, p->kernel, 1,
	            2001000 + (uint64_t)(p->host * 2000),
	            2001000 + (uint64_t)((p->host + took) * 2000));
	p->host += took;
	p->tail = fmax(p->host + 1.8, p->tail + 0.75) + us;
	p->queue[p->queued++ % 1024] = p->tail;
}

static void sync_stream(struct play *p)
{
	double took = fmax(1, p->tail + 3.2 - p->host);
	struct tf_record r = call(p, p->sync, took);

	returns(p, &r);
}

static void allocate(struct play *p, double us, bool is_free)
{
	double took = is_free ? us + fmax(0, p->tail - p->host) : us;
	struct tf_record r = call(p, is_free ? p->release : p->alloc, took);

	r.alloc.address = 0x7000;
	r.alloc.bytes = 4096;
	r.alloc.memory = SPY_MEM_DEVICE;
	r.alloc.is_free = is_free;
	returns(p, &r);
}

static void transfer(struct play *p, enum spy_direction direction, enum spy_memory memory,
                     uint64_t bytes, double own, double us)
{
	double from = p->host;

	if (memory == SPY_MEM_PAGEABLE) { /* its caller copies, once the work before is done */
		p->host = p->tail = fmax(p->host, p->tail) + own;
	} else {
		p->host += own;
		p->tail = fmax(p->host + 1.8, p->tail + 0.75) + us;
	}
	made_copy(&p->made, p->thread[p->who], p->copy, direction, memory, true, bytes,
	          2001000 + (uint64_t)(from * 2000), 2001000 + (uint64_t)(p->host * 2000));
}

/* The class of the kernel takes so long. */
static void timed(struct play *p, double us)
{
	struct tf_work key = {.kind = TF_WORK_KERNEL,
	                      .id = p->kernel,
	                      .grid_x = 1,
	                      .grid_y = 1,
	                      .grid_z = 1,
	                      .block_x = 256,
	                      .block_y = 1,
	                      .block_z = 1};

	made_pairs(made_work(&p->made, key, 0), TF_PAIR_IDLE, 400, 1e3 * (us + KERNEL_EMPTY_US), 1);
}

static void timed_copy(struct play *p, enum spy_direction direction, uint64_t bytes, double us)
{
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = (uint8_t)direction,
	                      .memory = SPY_MEM_PINNED,
	                      .async = 1,
	                      .size = work_size_bucket(bytes)};

	made_pairs(made_work(&p->made, key, 0), TF_PAIR_IDLE, 400,
	           1e3 * (us + KERNEL_EMPTY_US + 3.2), 1);
}

/* The prediction; the model is the test's, to be freed by ends(). */
static struct whatif_result ask(struct play *p, struct model *m, enum whatif what,
                                const char *kernel, double factor)
{
	struct whatif_result r;

	if (!m->process_count) {
		made_close(&p->made, 2001000 + (uint64_t)(p->host * 2000) + 1000);
		assert_true(render_model(m, p->made.map.base, made_bytes(&p->made)));
	}
	if (!p->whatifs)
		p->whatifs = whatif_start(m);
	bool known = whatif_predict(p->whatifs, what, kernel, factor, &r);
	assert_int_equal(known, r.known);
	if (!known) {
		assert_true(isnan(r.predicted) && isnan(r.speedup) && isnan(r.low));
		assert_true(r.why[0]);
		return r;
	}
	assert_true(r.least <= r.predicted && r.predicted <= r.most && r.most <= r.window);
	assert_true(r.low <= 1.01 * r.predicted && 0.99 * r.predicted <= r.high);
	assert_true(r.speedup_low <= r.speedup && r.speedup <= r.speedup_high);
	assert_near(r.saved, r.window - r.predicted, 1e-9);
	return r;
}

static void ends(struct play *p, struct model *m)
{
	whatif_end(p->whatifs);
	model_free(m);
	made_free(&p->made);
}

/* What is not changed comes to what it was, whatever the program does. */
static void assert_base(const struct model *m, double part)
{
	struct replay r;

	replay_make(&r, &m->processes[0].call_log, REPLAY_MEAN);
	assert_true(r.count > 0);
	assert_near(replay_run(&r, r.call_events), r.base, part);
	replay_free(&r);
}

/*
 * What two runs differ by, by chance, comes on top: much where the host's time decides and then
 * does not, little where the GPU's does, and nothing where nothing is changed.
 */
static void test_spread_of_runs(void **state)
{
	struct whatif_outcome o = {.changed = 1, .host = {1, 0}};
	struct whatif_result r = {
	        .what = WHATIF_NO_SYNC, .predicted = 100, .low = 100, .high = 100};

	assert_near(whatif_spread(&o), hypot(0.3, 0.12), 1e-9);
	o.host[1] = 1;
	assert_near(whatif_spread(&o), 0.12, 1e-9);
	o.host[0] = o.host[1] = 0;
	assert_near(whatif_spread(&o), 0.03, 1e-9);
	o.changed = 0;
	assert_near(whatif_spread(&o), 0, 1e-9);
	r.spread = log(1.25);
	whatif_widen(&r);
	assert_near(r.low, 80, 1e-9);
	assert_near(r.high, 125, 1e-9);
	assert_near(r.least, 100, 1e-9);
	/* Not known for two reasons: their squares add up. */
	r = (struct whatif_result){
	        .what = WHATIF_NO_SYNC, .predicted = 100, .low = 100 / exp(0.375), .high = 100};
	r.spread = 0.4;
	whatif_widen(&r);
	assert_near(r.low, 100 / exp(0.5), 1e-9);
	assert_near(r.high, 100 * exp(0.4), 1e-9);
	assert_near(r.most, 100, 1e-9);
	/* So many workers are a choice: the least gain is not by chance. */
	r = (struct whatif_result){.what = WHATIF_HOST,
	                           .predicted = 100,
	                           .low = 100 / exp(0.375),
	                           .high = 100 * exp(0.3)};
	r.spread = 0.4;
	whatif_widen(&r);
	assert_near(r.low, 100 / exp(0.5), 1e-9);
	assert_near(r.high, 100 * exp(0.5), 1e-9);
}

/* A loader's time may go, or be shared by workers; where there is one CPU it stays at least. */
static void test_work_that_others_take_over(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++, p.host += 120)
		launch(&p, 5, 2);
	timed(&p, 2);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 200 * 5e3, 0.05);
	/* A quarter of the 120 us is left, and 3 % more. */
	assert_near(r.most, 1.03 * 200 * (5e3 + 30e3), 0.05);
	whatif_end(p.whatifs);
	p.whatifs = NULL;
	for (size_t i = 0; i < m.thread_count; i++)
		m.threads[i].cpu_cores = 1;
	r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.most, r.window, 0.01);
	ends(&p, &m);
}

/*
 * A result is copied to pinned memory, the host asks to be told when that is done, and sleeps until
 * then; another thread goes on. A kernel of 200 us, 150 us of the host's own.
 */
static void read_by_callback(struct play *p, bool waits)
{
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);

	for (int i = 0; i < 100; i++) {
		p->who = 0;
		launch(p, 5, 200);
		p->who = 1;
		p->host += 1;
		transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
		struct tf_record r = call(p, told, 4);
		returns(p, &r);
		p->host += 150;
		if (waits)
			p->host = p->tail + 10 + 150;
	}
	p->who = 0;
	timed(p, 200);
	timed_copy(p, SPY_DIR_DTOH, 4, 2);
	sync_stream(p);
}

static void test_reads_by_callback(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	read_by_callback(&p, true);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 0.01);
	assert_near(r.predicted, 100 * 205e3, 0.05); /* the GPU's, of about 370 us */
	assert_near(r.changed, 99, 0.02);
	r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 100 * 220e3, 0.06); /* it still waits */
	ends(&p, &m);
	/* Where work is given before the copy can have ended nobody waits for it. */
	m = (struct model){0};
	start(&p);
	read_by_callback(&p, false);
	r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.changed, 0, 0);
	ends(&p, &m);
}

/* 40 launches of 5 us each, 20 us apart, of kernels of 2 us, and 3 ms of the host's own: of these
 * alone. */
static void test_own_work_is_apart_from_issuing(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 100; i++, p.host += 3000)
		for (int k = 0; k < 40; k++, p.host += 20)
			launch(&p, 5, 2);
	timed(&p, 2);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window, 100 * 4000e3, 0.02);
	assert_near(r.predicted, 100 * 1000e3, 0.03);
	assert_near(r.most, 100 * 1750e3 * 1.1, 0.03); /* a quarter of the 3 ms is left */
	ends(&p, &m);
}

/*
 * A host function behind a kernel of 200 us wakes another thread, which calls no wait; the host
 * then works for 150 us. Or that thread calls whenever it likes.
 */
static void told_by_callback(struct play *p, bool waits)
{
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER),
	         current = made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT,
	                             SPY_LEVEL_DRIVER);

	for (int i = 0; i < 100; i++) {
		p->who = 0;
		launch(p, 5, 200);
		struct tf_record r = call(p, told, 4);
		returns(p, &r);
		p->host += waits ? p->tail + 20 - p->host : i % 2 ? 30 : 210;
		p->who = 1;
		r = call(p, current, 1);
		returns(p, &r);
		p->host += 150;
	}
	p->who = 0;
	timed(p, 200);
	sync_stream(p);
}

static void test_a_host_function_tells_a_thread(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	told_by_callback(&p, true);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 0.01);
	assert_near(r.predicted, 100 * 205e3, 0.05); /* the GPU's, of about 380 us */
	assert_near(r.changed, 100, 0.02);
	r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 100 * 228e3, 0.06); /* it still waits */
	ends(&p, &m);
	m = (struct model){0};
	start(&p);
	told_by_callback(&p, false);
	r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.changed, 0, 0);
	ends(&p, &m);
}

/*
 * The function is given to a stream of its own, which waits for the work: recordings name it. Each
 * step begins with another kernel, of 60 us, behind which there is a function too, but nobody
 * waits for that one; the host then works for `own` us.
 */
static void told_on_a_stream(struct play *p, double own)
{
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER),
	         current = made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT,
	                             SPY_LEVEL_DRIVER);
	uint32_t step = p->kernel, first = made_kernel(&p->made, "first");
	struct tf_record r;

	for (int i = 0; i < 100; i++) {
		p->who = 0;
		for (int k = 0; k < 2; k++) {
			p->kernel = k ? step : first;
			launch(p, 5, k ? 300 : 60);
			r = call(p, told, 4);
			r.arg[0] = 0x1234;
			returns(p, &r);
			p->host = k ? p->tail + 20 : p->host + 30;
			p->tail += 1e-3 * CUDA_HOST_FUNCTION_NS;
		}
		p->who = 1;
		r = call(p, current, 1);
		returns(p, &r);
		p->host += own;
	}
	p->who = 0;
	p->kernel = first;
	timed(p, 60);
	p->kernel = step;
	timed(p, 300);
	sync_stream(p);
}

static void test_a_host_function_names_its_stream(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	told_on_a_stream(&p, 200);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 0.01);
	assert_near(r.changed, 100, 0.02);
	assert_near(r.window, 100 * 656e3, 0.02);
	assert_near(r.predicted, 100 * 495e3, 0.03); /* the GPU's, with two functions */
	ends(&p, &m);
}

/* The host always has more to do than the GPU: whether it waited before is not known. */
static void test_a_wait_that_may_be_none(void **state)
{
	struct play p;
	struct model m = {0};
	uint16_t told, current;

	start(&p);
	told = made_call(&p.made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	current = made_call(&p.made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 100; i++) {
		p.who = 0;
		launch(&p, 5, 200);
		struct tf_record r = call(&p, told, 4);
		r.arg[0] = 0x1234;
		returns(&p, &r);
		p.host = p.tail + 600;
		p.who = 1;
		r = call(&p, current, 1);
		returns(&p, &r);
	}
	p.who = 0;
	timed(&p, 200);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 0.01);
	assert_near(r.window, 100 * 805e3, 0.02);
	assert_near(r.most, r.window, 0.01);         /* it never waited */
	assert_near(r.predicted, 100 * 707e3, 0.05); /* every second time */
	assert_near(r.least, 100 * 610e3, 0.06);
	ends(&p, &m);
}

/*
 * In an interpreted language each call takes its way: 20 us before each of two launches, and before
 * a read of 4 bytes, behind which the host does 30 us of its own.
 */
static void test_a_wait_goes_with_its_way(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 2; k++) {
			p.host += 20;
			launch(&p, 5, 2);
		}
		p.host += 20;
		transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4, 10, 0);
		p.host += 30;
	}
	timed(&p, 2);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, r.window * 80 / 110, 0.02); /* the call and its way */
	assert_near(r.most, r.window * 104 / 110, 0.05);     /* the waiting alone */
	assert_near(r.least, r.window * 70 / 110, 0.06);     /* and half of a way behind it */
	ends(&p, &m);
}

/* What the host does before a wait is not all its way: no more than the ways to other calls. */
static void test_work_before_a_wait_stays(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 4; k++) {
			p.host += 5;
			launch(&p, 5, 2);
		}
		p.host += 400;
		sync_stream(&p);
	}
	timed(&p, 2);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, 200 * 435e3, 0.01);
	ends(&p, &m);
}

/* Where each call comes after a long time of the program's own that is no way, and none goes. */
static void test_long_work_is_no_way(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 100; i++) {
		p.host += 400;
		launch(&p, 5, 2);
		p.host += 400;
		sync_stream(&p);
	}
	timed(&p, 2);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, r.window, 0.01);
	ends(&p, &m);
}

/*
 * A copy of pageable memory is waited for right behind it, as PyTorch does without
 * non_blocking=True, and then the host works for 300 us: that wait is a part of the copy.
 */
static void test_a_pinned_copy_is_not_waited_for(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 100; i++) {
		transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 5000000, 1000, 0);
		p.host += 1;
		sync_stream(&p);
		launch(&p, 5, 300);
		p.host += 300;
	}
	timed(&p, 300);
	struct whatif_result r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.predicted, 100 * 510e3, 0.05); /* the GPU's, 200 us of it the copy */
	ends(&p, &m);
}

/* 1000 launches of 5 us each, 1 us apart, of kernels of 2 us. */
static void test_graphs(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 1000; i++, p.host += 1)
		launch(&p, 5, 2);
	timed(&p, 2);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 6e6, 0.01);
	assert_near(r.predicted, 2.4e6, 0.02); /* a piece every 2.4 us */
	/* 5 % of the 3.6 ms saved come on top, but no change makes it shorter than the GPU's work,
	 * of which a piece may take 0.4 us less.
	 */
	assert_near(r.least, 0.97 * 1.6e6, 0.01);
	/* 0.75 us between them, and what the kernel's time may be off. */
	assert_near(r.most, 3.15e6 + 0.18e6, 0.05);
	assert_near(r.coverage, 1, 1e-6);
	assert_true(r.assumption_count > 0);
	/* The time between them is what they cost: less work of the host's own does not take it
	 * away. */
	r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 6e6, 0.01);
	r = ask(&p, &m, WHATIF_KERNEL, "solve", 100);
	assert_near(r.predicted, 6e6, 0.01);
	r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.speedup, 1, 1e-9);
	assert_true(r.changed == 0);
	ends(&p, &m);
}

/*
 * Three launches and a wait, again and again, 20 us before each, and 1 ms of the program's own: too
 * few for a graph, but issuing them costs what it costs.
 */
static void test_issuing_few_calls_stays(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 1000;
		for (int k = 0; k < 3; k++, p.host += 20)
			launch(&p, 5, 2);
		sync_stream(&p);
	}
	timed(&p, 2);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window, 200 * 1076e3, 0.01);
	assert_near(r.predicted, 200 * 96e3, 0.02);
	assert_true(r.least < 200 * 40e3); /* at best nothing of it */
	ends(&p, &m);
}

/* The timeline may take the GPU for busy where work of unknown length seemed to hold calls up: no
 * longer than all pieces take one after the other. */
static void test_busy_by_guesses(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 1000; i++, p.host += 1)
		launch(&p, 5, 2);
	timed(&p, 2);
	sync_stream(&p);
	ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	m.processes[0].call_log.busy = 0.9;
	struct whatif_result r = ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_near(r.predicted, 2.4e6, 0.02);
	assert_near(r.bound, 2e6, 0.02);
	ends(&p, &m);
}

/* What cudaspy took of the host is no work of the program's that could be left out: 1000 launches
 * of 5 us, 20 us before every tenth of them ours. */
static void test_own_time_stays(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 1000; i++) {
		p.host += 121;
		if (i % 10 == 0) {
			struct tf_record ours = call(&p, 0, 20);
			made_own(&p.made, p.thread[0], ours.start, ours.end);
			p.host += 20;
		}
		launch(&p, 5, 2);
	}
	timed(&p, 2);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 128e6, 0.01);
	assert_near(r.predicted, 7e6, 0.02); /* the 20 us are not the program's */
	ends(&p, &m);
}

/* The thread waited for a CPU for this share of its steady time, evenly. */
static void waited_for_a_cpu(struct play *p, double share)
{
	struct tf_slices *s = tf_at(&p->made.map, made_header(&p->made)->slices, sizeof(*s));
	uint64_t end = 2001000 + (uint64_t)(p->host * 2000);

	s->origin = 2001000;
	s->width = (end - s->origin) / 100;
	s->used = 100;
	for (unsigned i = 0; i < 100; i++) {
		s->slice[i].cpu_known_ticks = s->width;
		s->slice[i].cpu_wait_ns = (uint64_t)(share * (double)s->width / 2);
	}
}

/* 1000 launches of 5 us, 3 us apart, of kernels of 2 us: a quarter of that is no work. */
static void test_no_waiting_for_a_cpu(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 1000; i++, p.host += 3)
		launch(&p, 5, 2);
	timed(&p, 2);
	sync_stream(&p);
	waited_for_a_cpu(&p, 0.25);
	struct whatif_result r = ask(&p, &m, WHATIF_CPU, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 8e6, 0.01);
	assert_near(r.predicted, 6e6, 0.01);
	assert_int_equal(r.changed, 1001);
	assert_true(ask(&p, &m, WHATIF_GRAPHS, NULL, 1).known);
	ends(&p, &m);
}

/* Half of the time the host waits for the GPU: whether it had a CPU then is not known. */
static void test_waiting_for_a_cpu_and_for_the_gpu(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 500; i++, p.host += 15) {
		launch(&p, 5, 15);
		sync_stream(&p); /* 20 us */
	}
	timed(&p, 15);
	waited_for_a_cpu(&p, 0.2);
	struct whatif_result r = ask(&p, &m, WHATIF_CPU, NULL, 1);
	assert_near(r.window, 500 * 40e3, 0.01);
	/* Between a fifth of 20 us, with what a wait returns late, and the 8 us that it waited. */
	assert_true(r.most > 500 * 35e3 && r.most < 500 * 37.5e3);
	assert_true(r.least < 500 * 32.5e3 && r.least > 500 * 29e3);
	assert_true(r.predicted > 500 * 32.5e3 && r.predicted < 500 * 35.5e3);
	ends(&p, &m);
	memset(&m, 0, sizeof(m));
	start(&p); /* nothing is known of that */
	for (int i = 0; i < 300; i++)
		launch(&p, 3, 20);
	timed(&p, 20);
	r = ask(&p, &m, WHATIF_CPU, NULL, 1);
	assert_false(r.known);
	assert_non_null(strstr(r.why, "waited for a CPU"));
	assert_true(ask(&p, &m, WHATIF_HOST, NULL, 1).known);
	ends(&p, &m);
}

/* Work of the host between two launches is not the launches' cost: no graph takes it away. */
static void test_graphs_leave_host_work(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 300;
		launch(&p, 5, 2);
	}
	timed(&p, 2);
	sync_stream(&p);
	assert_near(ask(&p, &m, WHATIF_GRAPHS, NULL, 1).speedup, 1, 0.001);
	ends(&p, &m);
}

/* A launch of 3 us, a kernel of 50, a wait, 20 us of host work: 78 us become 50.75. */
static void test_no_sync(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 300; i++, p.host += 20) {
		launch(&p, 3, 50);
		sync_stream(&p);
	}
	timed(&p, 50);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 78e3 - 20e3, 0.01);
	assert_near(r.predicted, 300 * 50.75e3, 0.02);
	assert_near(ask(&p, &m, WHATIF_KERNEL, "^solve$", 2).predicted, 300 * 53e3, 0.02);
	ends(&p, &m);
}

/* Asking again and again is waiting. */
static void test_polls_are_waits(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 300; i++) {
		launch(&p, 3, 50);
		while (p.host < p.tail) {
			struct tf_record r = call(&p, p.query, 0.5);
			r.result = 600;
			returns(&p, &r);
			p.host += 0.1;
		}
		struct tf_record r = call(&p, p.query, 0.5);
		returns(&p, &r);
		p.host += 0.1;
	}
	timed(&p, 50);
	struct whatif_result r = ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 55.5e3, 0.02);
	assert_near(r.predicted, 300 * 30.5e3, 0.05);
	ends(&p, &m);
}

/* 4 MiB each way through pageable memory, 400 us of copying each, a kernel of 10 us. */
static void play_pageable(struct play *p)
{
	const uint64_t bytes = 4u << 20;

	start(p);
	for (int i = 0; i < 100; i++) {
		transfer(p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, bytes, 400, 0);
		launch(p, 3, 10);
		transfer(p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, bytes, 400, 0);
		sync_stream(p);
	}
	timed(p, 10);
}

static void test_pinned(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_base(&m, 1e-6);
	/* At 25 bytes a ns: 167.8 us each way, 2.5 and 1.5. */
	assert_near(r.predicted, 100 * 360e3, 0.03);
	assert_true(r.least < 0.6 * r.predicted); /* it may be twice as fast */
	ends(&p, &m);
}

static bool assumes(const struct whatif_result *r, const char *text)
{
	for (size_t i = 0; i < r->assumption_count; i++)
		if (strstr(r->assumptions[i], text))
			return true;
	return false;
}

/* The link is known, though at rest when it was read last: 63.0 bytes a ns, and 88 % of them. */
static void test_pinned_by_the_link(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct tf_environment *e = made_environment(&p.made, 1);
	e->devices[0].used = 1;
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 2001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN, 1, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, 3001000);
	struct whatif_result r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	/* 75.9 us each way, 2.5 and 1.5; a tenth less to a fifth more, and 5 % of the saving. */
	double saving = 0.05 * r.saved;
	assert_near(r.predicted, 100 * 181e3, 0.05);
	assert_true(r.least + saving > 0.88 * r.predicted && r.least + saving < 0.98 * r.predicted);
	assert_true(r.most - saving > 1.1 * r.predicted && r.most - saving < 1.3 * r.predicted);
	assert_true(assumes(&r, "PCIe generation 5 x16, are assumed: 55.3 GB/s"));
	ends(&p, &m);
}

/* Small pinned copies tell nothing of the bus: most of their time is their start. */
static void test_pinned_beside_small_ones(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 65536, 3, 4);
	sync_stream(&p);
	timed_copy(&p, SPY_DIR_HTOD, 65536, 4);
	struct whatif_result r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_true(assumes(&r, "25 to 50 GB/s over the bus are assumed"));
	assert_near(r.predicted, 100 * 360e3, 0.03);
	ends(&p, &m);
}

/* What cannot be is not believed. */
static void test_pinned_by_no_link(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct tf_environment *e = made_environment(&p.made, 1);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN, 1000, 3001000);
	struct whatif_result r = ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.predicted, 100 * 360e3, 0.03);
	assert_true(assumes(&r, "25 to 50 GB/s over the bus are assumed"));
	ends(&p, &m);
}

static void test_no_alloc(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 300; i++) {
		allocate(&p, 50, false);
		launch(&p, 3, 10);
		allocate(&p, 30, true);
	}
	timed(&p, 10);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 94.8e3, 0.01);
	assert_near(r.predicted, 300 * 10.75e3, 0.03);
	ends(&p, &m);
}

/* What is freed at the end is no part of the steady window, and nothing to be saved in it. */
static void test_tear_down(void **state)
{
	for (int more = 0; more < 20; more++) { /* wherever in a slice it begins */
		struct play p;
		struct model m = {0};
		start(&p);
		for (int i = 0; i < 2000 + more; i++)
			launch(&p, 3, 20);
		timed(&p, 20);
		sync_stream(&p);
		allocate(&p, 6000, true);
		struct whatif_result r = ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
		assert_near(r.window, 2000 * 20.75e3, 0.03);
		assert_near(r.predicted, r.window, 0.02); /* a slice is 500 us */
		ends(&p, &m);
	}
}

/* To the device, a kernel, to the host, 100 us each, one after the other on one stream. */
static void test_overlap(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 300; i++) {
		transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 3, 100);
		launch(&p, 3, 100);
		transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, bytes, 3, 100);
	}
	timed(&p, 100);
	timed_copy(&p, SPY_DIR_HTOD, bytes, 100);
	timed_copy(&p, SPY_DIR_DTOH, bytes, 100);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 302.25e3, 0.01);
	assert_near(r.predicted, 300 * 100.75e3, 0.02);
	ends(&p, &m);
}

/* 6000 launches into a full queue: the GPU decides, until the kernel is faster than the host. */
static void test_full_queue(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 6000; i++)
		launch(&p, 3, 20);
	timed(&p, 20);
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	assert_base(&m, 1e-6);
	assert_near(r.window, 6000 * 20.75e3, 0.01);
	assert_near(r.predicted, 6000 * 10.75e3, 0.02);
	assert_near(ask(&p, &m, WHATIF_KERNEL, "solve", 100).predicted, 6000 * 3e3, 0.02);
	assert_near(ask(&p, &m, WHATIF_NO_SYNC, NULL, 1).speedup, 1, 0.01);
	assert_near(ask(&p, &m, WHATIF_GRAPHS, NULL, 1).predicted, 6000 * 20.4e3, 0.02);
	ends(&p, &m);
}

/* Estimates of work that are a tenth off are put right by what the queue shows. */
static void test_full_queue_with_wrong_times(void **state)
{
	static const double estimates[] = {18, 22};

	for (int i = 0; i < 2; i++) {
		struct play p;
		struct model m = {0};
		start(&p);
		for (int k = 0; k < 6000; k++)
			launch(&p, 3, 20);
		timed(&p, estimates[i]);
		sync_stream(&p);
		struct whatif_result r = ask(&p, &m, WHATIF_KERNEL, "solve", 2);
		assert_base(&m, 0.02);
		assert_near(r.predicted, 6000 * 10.4e3, 0.1);
		ends(&p, &m);
	}
}

/* One thread works while the other waits for it, as PyTorch's forward and backward do; once
 * nobody does anything for `pause` us. */
static void take_turns(double pause)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 100; i++)
		for (p.who = 0; p.who < 2; p.who++) {
			p.host += i == 10 && p.who ? pause : 0;
			for (int k = 0; k < 50; k++, p.host += 5)
				launch(&p, 5, 1);
		}
	timed(&p, 1);
	p.who = 0;
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_base(&m, 1e-6);
	assert_near(r.window, 10000 * 10e3 + pause * 1e3, 0.01);
	/* 5 us are what a launch costs, where one thread goes on behind the other too. */
	assert_near(r.predicted, 10000 * 10e3, 0.02);
	ends(&p, &m);
}

static void test_threads_that_take_turns(void **state)
{
	take_turns(0);
	take_turns(3000);
}

/* A copy that a needless wait keeps from running beside the kernels of its step. */
static void test_waits_that_part_copies_and_kernels(void **state)
{
	const uint64_t bytes = 1u << 25;
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 200; i++) {
		launch(&p, 5, 600);
		p.host += 20;
		sync_stream(&p);
		transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 5, 600);
		sync_stream(&p);
	}
	timed(&p, 600);
	timed_copy(&p, SPY_DIR_HTOD, bytes, 600);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_true(r.bound < 0.6 * r.window);
	ends(&p, &m);
}

/* The model has a step for each so many calls; their rows stand in the recording's place. */
static void set_steps(struct model *m, size_t calls)
{
	const struct call_log *h = &m->processes[0].call_log;

	free(m->steps.rows);
	m->steps.source = STEPS_NVTX;
	m->steps.judged = h->count / calls;
	m->steps.rows = calloc(m->steps.judged, sizeof(*m->steps.rows));
	for (size_t i = 0; i < m->steps.judged; i++) {
		const struct call_event *from = &h->call_events[i * calls];
		bool last = (i + 1) * calls >= h->count;
		double end = last ? h->call_events[h->count - 1].end : from[calls].start;
		m->steps.rows[i] = (struct model_step){
		        .tid = 7, .start = from->start, .duration = end - from->start};
	}
}

/* 20 launches of the main thread, 20 of another one that goes on meanwhile, as for a backward pass,
 * and a wait; 30 us before each, and 500 more before each step. */
static void play_steps(struct play *p)
{
	start(p);
	for (int i = 0; i < 100; i++) {
		p->host += 500;
		for (int k = 0; k < 40; k++) {
			p->who = k >= 20;
			p->host += 30;
			launch(p, 5, 2);
		}
		p->who = 0;
		p->host += 30;
		sync_stream(p);
	}
	timed(p, 2);
}

static void test_whole_steps(void **state)
{
	struct play p;
	struct model m = {0};

	play_steps(&p);
	ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41);
	struct whatif_result r = ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_base(&m, 1e-6);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.steps, 100, 0.02);
	assert_near(r.repeated, r.steps, 1e-9);
	assert_near(r.window, 100 * (500 + 41 * 30 + 40 * 5 + 2) * 1e3, 0.02);
	/* The launch, its way to the GPU, 40 pieces, the way back, and what the host does before.
	 */
	double step = 2.5 + 1.8 + 40 * 2.4 + 3.2;
	assert_near(r.predicted, 100 * (500 + step) * 1e3, 0.02);
	assert_near(r.stays, 100 * 500e3, 0.02);
	assert_true(r.least < 100 * step * 1e3 * 1.1);
	assert_near(r.low_launches, r.predicted, 0.2);
	assert_int_equal(r.blocked_count, 1);
	assert_int_equal(r.blocked[0].kind, BLOCK_LEGACY);
	assert_near(r.blocked[0].per_step, 40, 1e-9);
	assert_string_equal(r.blocked[0].call, "cuLaunchKernel");
	ends(&p, &m);
}

/* Each fourth step has one launch more, at a place of its own: no graph but in the best case, where
 * all are padded to one shape. */
static void test_steps_of_other_shapes(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 40; k++) {
			p.host += 150;
			launch(&p, 5, 2);
			if (i % 4 == 0 && k == 1 + i / 4)
				p.host -= 150,
				        transfer(&p, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 5, 2);
		}
		if (i % 4) /* as many calls in each */
			p.host += 1, transfer(&p, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 5, 2);
		p.host += 150;
		sync_stream(&p);
	}
	timed(&p, 2);
	ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 42);
	struct whatif_result r = ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.steps, 100, 0.02);
	assert_near(r.repeated, 75, 0.03);
	assert_true(r.predicted > 0.25 * r.window);
	assert_true(r.least < 0.06 * r.window);
	ends(&p, &m);
}

/* Rows that no recording of ours has. */
static void test_steps_that_cannot_be(void **state)
{
	struct play p;
	struct model m = {0};

	play_steps(&p);
	ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41);
	for (size_t i = 0; i + 1 < m.steps.judged; i += 3) {
		m.steps.rows[i].start = i % 2 ? NAN : INFINITY;
		m.steps.rows[i + 1].duration = i % 2 ? -1e9 : NAN;
	}
	struct whatif_result r = ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_true(r.steps <= 34);
	ends(&p, &m);
}

/* More work is queued behind an event than is waited for. */
static void test_events(void **state)
{
	struct play p;
	struct model m = {0};
	double done[2] = {0};

	start(&p);
	for (int i = 0; i < 400; i++) {
		struct tf_record r = call(&p, p.wait_mark, fmax(1, done[i % 2] + 3.2 - p.host));
		r.event.event = 0x500 + (uint64_t)(i % 2);
		returns(&p, &r);
		launch(&p, 3, 40);
		r = call(&p, p.mark, 1);
		r.event.event = 0x500 + (uint64_t)(i % 2);
		done[i % 2] = p.tail;
		returns(&p, &r);
	}
	timed(&p, 36); /* a tenth too short: it must not add up */
	sync_stream(&p);
	struct whatif_result r = ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_base(&m, 0.01);
	assert_near(r.window, 400 * 40.75e3, 0.01);
	assert_near(r.predicted, 400 * 40.75e3, 0.02);
	ends(&p, &m);
}

static void test_what_cannot_be_told(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	for (int i = 0; i < 300; i++)
		launch(&p, 3, 20);
	struct whatif_result r = ask(&p, &m, WHATIF_HOST, NULL, 1); /* the kernel was never timed */
	assert_false(r.known);
	assert_non_null(strstr(r.why, "100 %"));
	ends(&p, &m);

	start(&p);
	made_header(&p.made)->gpu_mode = TF_GPU_OFF;
	for (int i = 0; i < 300; i++)
		launch(&p, 3, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(ask(&p, &m, WHATIF_HOST, NULL, 1).why, "CUDASPY_GPU"));
	ends(&p, &m);

	start(&p);
	for (int i = 0; i < 10; i++)
		launch(&p, 3, 20);
	timed(&p, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(ask(&p, &m, WHATIF_HOST, NULL, 1).why, "few"));
	ends(&p, &m);

	start(&p);
	for (int i = 0; i < 300; i++)
		launch(&p, 3, 20);
	timed(&p, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(ask(&p, &m, WHATIF_KERNEL, "gemm", 2).why, "kernel"));
	ends(&p, &m);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What it costs the report, for whoever reads the test's output: no machine is fast for sure. */
static void test_cost(void **state)
{
	struct play p;
	struct model m = {0};

	start(&p);
	struct tf_store *keep = tf_at(&p.made.map, made_header(&p.made)->keep, sizeof(*keep));
	keep->pages_max = 64;
	p.thread[0] = made_thread(&p.made, 9, "many", CALL_LOG_RECORDS);
	while (p.queued < CALL_LOG_RECORDS / 2) {
		launch(&p, 3, 5);
		sync_stream(&p);
	}
	timed(&p, 5);
	ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_true(m.processes[0].call_log.count > CALL_LOG_RECORDS * 0.99);
	double from = cpu_s();
	whatif_end(p.whatifs);
	p.whatifs = NULL;
	assert_true(ask(&p, &m, WHATIF_NO_SYNC, NULL, 1).speedup > 1.2);
	print_message("all changes over %zu calls: %.2f s of CPU time\n",
	              m.processes[0].call_log.count, cpu_s() - from);
	ends(&p, &m);
}

static void test_parse(void **state)
{
	static const char *const wrong[] = {
	        "",           "graph",      "kernel:",     "kernel:a",   "kernel:=2",
	        "kernel:a=0", "kernel:a=x", "kernel:a=2x", "kernel:(=2", "kernel:a=inf"};
	struct whatif_question q;
	char error[WHATIF_TEXT];

	for (enum whatif i = 0; i < WHATIF_STEP; i++) {
		assert_int_equal(whatif_parse(&q, whatif_names[i], error), 0);
		assert_int_equal(q.what, i);
		assert_null(q.kernel);
	}
	assert_int_equal(whatif_parse(&q, "kernel:a=b.*=1.5", error), 0);
	assert_int_equal(q.what, WHATIF_KERNEL);
	assert_string_equal(q.kernel, "a=b.*");
	assert_near(q.factor, 1.5, 1e-12);
	free(q.kernel);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		error[0] = '\0';
		assert_int_equal(whatif_parse(&q, wrong[i], error), -1);
		assert_true(error[0]);
		assert_null(q.kernel);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_spread_of_runs),
	        cmocka_unit_test(test_reads_by_callback),
	        cmocka_unit_test(test_own_work_is_apart_from_issuing),
	        cmocka_unit_test(test_a_host_function_tells_a_thread),
	        cmocka_unit_test(test_a_host_function_names_its_stream),
	        cmocka_unit_test(test_a_wait_that_may_be_none),
	        cmocka_unit_test(test_a_wait_goes_with_its_way),
	        cmocka_unit_test(test_work_before_a_wait_stays),
	        cmocka_unit_test(test_long_work_is_no_way),
	        cmocka_unit_test(test_a_pinned_copy_is_not_waited_for),
	        cmocka_unit_test(test_work_that_others_take_over),
	        cmocka_unit_test(test_graphs),
	        cmocka_unit_test(test_issuing_few_calls_stays),
	        cmocka_unit_test(test_busy_by_guesses),
	        cmocka_unit_test(test_own_time_stays),
	        cmocka_unit_test(test_no_waiting_for_a_cpu),
	        cmocka_unit_test(test_waiting_for_a_cpu_and_for_the_gpu),
	        cmocka_unit_test(test_graphs_leave_host_work),
	        cmocka_unit_test(test_no_sync),
	        cmocka_unit_test(test_polls_are_waits),
	        cmocka_unit_test(test_pinned),
	        cmocka_unit_test(test_pinned_by_the_link),
	        cmocka_unit_test(test_pinned_beside_small_ones),
	        cmocka_unit_test(test_pinned_by_no_link),
	        cmocka_unit_test(test_no_alloc),
	        cmocka_unit_test(test_tear_down),
	        cmocka_unit_test(test_overlap),
	        cmocka_unit_test(test_full_queue),
	        cmocka_unit_test(test_full_queue_with_wrong_times),
	        cmocka_unit_test(test_threads_that_take_turns),
	        cmocka_unit_test(test_waits_that_part_copies_and_kernels),
	        cmocka_unit_test(test_whole_steps),
	        cmocka_unit_test(test_steps_of_other_shapes),
	        cmocka_unit_test(test_steps_that_cannot_be),
	        cmocka_unit_test(test_events),
	        cmocka_unit_test(test_what_cannot_be_told),
	        cmocka_unit_test(test_cost),
	        cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
