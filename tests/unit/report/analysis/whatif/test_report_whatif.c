/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/replay/replay.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/*
 * What two runs differ by, by chance, comes on top: much where the host's time decides both, little
 * where the GPU's does in one, since how fast the host was in the other is tried apart, and nothing
 * where nothing is changed.
 */
static void test_spread_of_runs(void **state)
{
	struct whatif_outcome o = {.changed = 1, .host = {1, 1}};
	struct whatif_result r = {.what = WHATIF_NO_SYNC,
	                          .predicted = 100,
	                          .low = 100,
	                          .high = 100,
	                          .at_speed = {100, 100}};

	assert_near(whatif_spread(&o), 0.19, 1e-9);
	for (int i = 0; i < 2; i++) {
		o.host[i] = 0;
		assert_near(whatif_spread(&o), 0.03, 1e-9);
	}
	o.host[0] = 1;
	assert_near(whatif_spread(&o), 0.03, 1e-9);
	/* A host that works beside a GPU which is hardly idle, as it was or then, makes little. */
	o.host[1] = 1;
	o.busy = 0.9;
	o.bound[REPLAY_MEAN] = 0.4;
	o.time[REPLAY_MEAN] = 0.8;
	assert_near(whatif_spread(&o), 0.03 + 0.16 * 0.1, 1e-9);
	o.busy = 0.5;
	assert_near(whatif_spread(&o), 0.03 + 0.16 * 0.5, 1e-9);
	o.time[REPLAY_MEAN] = 0.4;
	assert_near(whatif_spread(&o), 0.03, 1e-9);
	o.changed = 0;
	assert_near(whatif_spread(&o), 0, 1e-9);
	r.spread = log(1.25);
	whatif_widen(&r);
	assert_near(r.low, 80, 1e-9);
	assert_near(r.high, 125, 1e-9);
	assert_near(r.least, 100, 1e-9);
	/* Not known for two reasons: their squares add up. */
	r = (struct whatif_result){.what = WHATIF_NO_SYNC,
	                           .predicted = 100,
	                           .low = 100 / exp(0.3 / 0.7),
	                           .high = 100,
	                           .at_speed = {100, 100}};
	r.spread = 0.4;
	whatif_widen(&r);
	assert_near(r.low, 100 / exp(0.5), 1e-9);
	assert_near(r.high, 100 * exp(0.4), 1e-9);
	assert_near(r.most, 100, 1e-9);
	/* What the replay does not know of is of the time that is not the GPU's. */
	r = (struct whatif_result){.what = WHATIF_NO_SYNC,
	                           .window = 200,
	                           .bound = 200,
	                           .predicted = 100,
	                           .low = 100,
	                           .high = 100,
	                           .at_speed = {100, 100}};
	r.spread = 0.03;
	whatif_widen(&r);
	assert_near(r.high, 100 * exp(0.03), 1e-9);
	r.bound = 168;
	r.high = 100;
	whatif_widen(&r);
	assert_near(r.high, 100 * exp(0.05), 1e-9);
	r.what = WHATIF_KERNEL; /* so many times as fast: that change and no other */
	r.high = 100;
	whatif_widen(&r);
	assert_near(r.high, 100 * exp(0.03), 1e-9);
	/* Nor is a host of another speed of the same cause: which end it moves, the replay tells.
	 */
	r = (struct whatif_result){.what = WHATIF_NO_SYNC,
	                           .predicted = 100,
	                           .low = 100,
	                           .high = 100,
	                           .at_speed = {100 * exp(0.3), 100 / exp(0.3)}};
	r.spread = 0.4;
	whatif_widen(&r);
	assert_near(r.low, 100 / exp(0.5), 1e-9);
	assert_near(r.high, 100 * exp(0.5), 1e-9);
	r.low = r.high = r.at_speed[0] = 100;
	whatif_widen(&r);
	assert_near(r.low, 100 / exp(0.5), 1e-9);
	assert_near(r.high, 100 * exp(0.4), 1e-9);
	/* The GPU does its work in that run as well, in a twentieth less at best; where it is
	 * not known how much that is, nothing is cut off. */
	static const double works[] = {90, 100, 20, NAN},
	                    least[] = {90, 100, 100 / 1.6487212707, 100 / 1.6487212707};
	for (int i = 0; i < 4; i++) {
		r = (struct whatif_result){.what = WHATIF_NO_SYNC,
		                           .predicted = 100,
		                           .low = 100,
		                           .high = 100,
		                           .bound_least = works[i],
		                           .at_speed = {100, 100},
		                           .spread = 0.5};
		whatif_widen(&r);
		assert_near(r.low, least[i] * (i < 2 ? exp(-0.05) : 1), 1e-6);
	}
}

/* What goes with a graph is the launches', unless the host's own work is more than that. */
static void test_the_hosts_own(void **state)
{
	struct whatif_result graphs = {.known = true,
	                               .changed = 1,
	                               .window = 100,
	                               .predicted = 50,
	                               .outside = 40},
	                     host = {.known = true, .window = 100, .predicted = 60};

	assert_near(whatif_hosts_own(&graphs, &host), 0.4, 1e-9);
	host.predicted = 40;
	assert_near(whatif_hosts_own(&graphs, &host), 1, 1e-9);
	host.known = false;
	assert_near(whatif_hosts_own(&graphs, &host), 0.4, 1e-9);
	graphs.changed = 0;
	assert_near(whatif_hosts_own(&graphs, &host), 1, 1e-9);
	graphs = (struct whatif_result){0};
	assert_near(whatif_hosts_own(&graphs, &host), 1, 1e-9);
}

/* The timeline may take the GPU for busy where work of unknown length seemed to hold calls up: no
 * longer than all pieces take one after the other. */
static void test_busy_by_guesses(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++, p.host += 1)
		play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	m.processes[0].call_log.busy = 0.9;
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_near(r.predicted, 2.15e6, 0.02);
	assert_near(r.bound, 2e6, 0.02);
	play_ends(&p, &m);
}

/* What is freed at the end is no part of the steady window, and nothing to be saved in it. */
static void test_tear_down(void **state)
{
	for (int more = 0; more < 20; more++) { /* wherever in a slice it begins */
		struct play p;
		struct model m = {0};
		play_start(&p);
		for (int i = 0; i < 2000 + more; i++)
			play_launch(&p, 3, 20);
		play_timed(&p, 20);
		play_sync(&p);
		play_alloc(&p, 6000, true);
		struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
		assert_near(r.window, 2000 * 20.75e3, 0.03);
		assert_near(r.predicted, r.window, 0.02); /* a slice is 500 us */
		play_ends(&p, &m);
	}
}

/* The time before the first call that is replayed and behind the last is changed by nothing. Where
 * there is little of it the calls stand for it. */
static void test_time_without_calls_stays(void **state)
{
	static const struct {
		double more, around; /* of the calls' time */
	} rows[] = {{9, 9}, {0.2, 0.2}, {0.05, 0}, {0, 0}};
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 2000; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_log h = m.processes[0].call_log;
		double time = h.window - h.steady;
		struct replay r;
		h.until = h.window += rows[i].more * time;
		replay_make(&r, &h, REPLAY_MEAN);
		assert_near(r.base, (1 + rows[i].around) * time, 0.03);
		assert_near(replay_run(&r, r.call_events), r.base, 0.03);
		replay_free(&r);
	}
	play_ends(&p, &m);
}

/* A kernel that is twice as fast saves half of its time at most. */
static void test_no_more_than_the_kernel_takes(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 2000; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	double kernels = 2000 * 20e3;
	assert_near(r.saved, kernels / 2, 0.03);
	assert_true(r.window - r.least <= 1.02 * kernels / 2); /* the class' interval: 2 % */
	play_ends(&p, &m);
}

/* 6000 launches into a full queue: the GPU decides, until the kernel is faster than the host. */
static void test_full_queue(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 6000; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 6000 * 20.75e3, 0.01);
	assert_near(r.predicted, 6000 * 10.75e3, 0.02);
	assert_near(play_ask(&p, &m, WHATIF_KERNEL, "solve", 100).predicted, 6000 * 3e3, 0.02);
	assert_near(play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1).speedup, 1, 0.01);
	assert_near(play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1).predicted, 6000 * 20.4e3, 0.02);
	play_ends(&p, &m);
}

/* Estimates of work that are a tenth off are put right by what the queue shows. */
static void test_full_queue_with_wrong_times(void **state)
{
	static const double estimates[] = {18, 22};

	for (int i = 0; i < 2; i++) {
		struct play p;
		struct model m = {0};
		play_start(&p);
		for (int k = 0; k < 6000; k++)
			play_launch(&p, 3, 20);
		play_timed(&p, estimates[i]);
		play_sync(&p);
		struct whatif_result r = play_ask(&p, &m, WHATIF_KERNEL, "solve", 2);
		play_assert_base(&m, 0.02);
		assert_near(r.predicted, 6000 * 10.4e3, 0.1);
		play_ends(&p, &m);
	}
}

static void test_what_cannot_be_told(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++)
		play_launch(&p, 3, 20);
	struct whatif_result r =
	        play_ask(&p, &m, WHATIF_HOST, NULL, 1); /* the kernel was never timed */
	assert_false(r.known);
	assert_non_null(strstr(r.why, "100 %"));
	play_ends(&p, &m);

	play_start(&p);
	made_header(&p.made)->gpu_mode = TF_GPU_OFF;
	for (int i = 0; i < 300; i++)
		play_launch(&p, 3, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(play_ask(&p, &m, WHATIF_HOST, NULL, 1).why, "CUDASPY_GPU"));
	play_ends(&p, &m);

	play_start(&p);
	for (int i = 0; i < 10; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(play_ask(&p, &m, WHATIF_HOST, NULL, 1).why, "few"));
	play_ends(&p, &m);

	play_start(&p);
	for (int i = 0; i < 300; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	memset(&m, 0, sizeof(m));
	assert_non_null(strstr(play_ask(&p, &m, WHATIF_KERNEL, "gemm", 2).why, "kernel"));
	play_ends(&p, &m);
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

	play_start(&p);
	struct tf_store *keep = tf_at(&p.made.map, made_header(&p.made)->keep, sizeof(*keep));
	keep->pages_max = 64;
	p.thread[0] = made_thread(&p.made, 9, "many", CALL_LOG_RECORDS);
	while (p.queued < CALL_LOG_RECORDS / 2) {
		play_launch(&p, 3, 5);
		play_sync(&p);
	}
	play_timed(&p, 5);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_true(m.processes[0].call_log.count > CALL_LOG_RECORDS * 0.99);
	double from = cpu_s();
	whatif_end(p.whatifs);
	p.whatifs = NULL;
	assert_true(play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1).speedup > 1.2);
	print_message("all changes over %zu calls: %.2f s of CPU time\n",
	              m.processes[0].call_log.count, cpu_s() - from);
	play_ends(&p, &m);
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

/* Calls that are in the way for the same reason are told together where the reason is the stream.
 */
static void test_what_is_in_the_way_is_told(void **state)
{
	const struct whatif_block blocks[] = {{BLOCK_READ, "cudaMemcpyAsync", 790, 79},
	                                      {BLOCK_WAIT, "cudaStreamSynchronize", 20, 2},
	                                      {BLOCK_LEGACY, "cudaLaunchKernel", 4940, 494},
	                                      {BLOCK_LEGACY, "cuLaunchKernelEx", 1210, 121},
	                                      {BLOCK_LEGACY, "cudaMemsetAsync", 490, 49}};
	static const struct {
		size_t at, of, said;
		const char *text;
	} cases[] = {{0, 5, 1, "cudaMemcpyAsync, 79 a step, reads"},
	             {1, 5, 1, "cudaStreamSynchronize, 2 a step, waits"},
	             {2, 5, 3, "cudaLaunchKernel (and 2 other calls), 664 a step, works on"},
	             {3, 5, 2, "cuLaunchKernelEx (and 1 other call), 170 a step, works on"},
	             {2, 3, 1, "cudaLaunchKernel, 494 a step, works on"}};
	char text[WHATIF_TEXT];
	size_t said;

	for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		whatif_block_text(&blocks[cases[k].at], cases[k].of - cases[k].at, &said, text);
		assert_int_equal(said, cases[k].said);
		assert_memory_equal(text, cases[k].text, strlen(cases[k].text));
	}
}

/* Each library has its own way to a graph: kernels' names tell which it is. */
static void test_the_way_to_a_graph(void **state)
{
	static const char *const cases[][2] = {
	        {"void at::native::elementwise_kernel<128>(int)", "torch.compile("},
	        {"triton_poi_fused_add_0", "torch.compile("},
	        {"loop_multiply_fusion", "jax.jit"},
	        {"cupy_multiply__float32_float_float32", "begin_capture()"},
	        {"__main__::tick[abi:v1][abi:cw51](Array<float>)", "a cuda.core.GraphBuilder"},
	        {"step[abi:cxx11](float*)", "cudaStreamBeginCapture"},
	};
	struct model_kernel kernels[2] = {{.name = NULL}, {.launches = 1}};
	struct model m = {.kernels = kernels, .kernel_count = 2};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		kernels[1].name = (char *)(uintptr_t)cases[k][0];
		assert_ptr_equal(strstr(whatif_graph_way(&m), cases[k][1]), whatif_graph_way(&m));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_what_is_in_the_way_is_told),
	        cmocka_unit_test(test_the_way_to_a_graph),
	        cmocka_unit_test(test_spread_of_runs),
	        cmocka_unit_test(test_the_hosts_own),
	        cmocka_unit_test(test_busy_by_guesses),
	        cmocka_unit_test(test_tear_down),
	        cmocka_unit_test(test_time_without_calls_stays),
	        cmocka_unit_test(test_no_more_than_the_kernel_takes),
	        cmocka_unit_test(test_full_queue),
	        cmocka_unit_test(test_full_queue_with_wrong_times),
	        cmocka_unit_test(test_what_cannot_be_told),
	        cmocka_unit_test(test_cost),
	        cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
