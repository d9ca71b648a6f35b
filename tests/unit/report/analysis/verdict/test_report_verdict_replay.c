/* SPDX-License-Identifier: Apache-2.0 */
/* Whose gain it is what a graph would save: the launches', or the copies'. */
#include "report/analysis/verdict/verdict.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

#define MS 1e6

/* Whether what a graph would save is the launches' or the copies' is told by which of them the host
 * issues; copies within a device are issued as kernels are. Where both are alike it is of both. */
static void test_whose_a_graphs_gain_is(void **state)
{
	static const struct {
		double launch, copy, issued;
		bool launches, copies;
	} runs[] = {{3 * MS, 2.3 * MS, 0, true, false},
	            {3 * MS, 2.5 * MS, 0, true, true},
	            {3 * MS, 3.7 * MS, 0, true, true},
	            {3 * MS, 3.8 * MS, 0, false, true},
	            {2.6 * MS, 2.7 * MS, 1.8 * MS, true, false}};
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++, p.host += 1)
		play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct verdict_input in = {.window = 6 * MS,
		                           .launch = runs[i].launch,
		                           .copy = runs[i].copy,
		                           .issued = runs[i].issued};
		verdict_replay(p.whatifs, &in);
		assert_true(in.replayed);
		assert_int_equal(in.replay[VERDICT_LAUNCH].mean > 0.5, runs[i].launches);
		assert_int_equal(in.replay[VERDICT_COPY].mean > 0.5, runs[i].copies);
		assert_int_equal(in.copies_gain, runs[i].copies);
	}
	play_ends(&p, &m);
}

/* One launch and three copies within the device a step, 10 us of the host's between: these are
 * issued as kernels are. */
static void test_copies_within_a_device_are_launches(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++) {
		play_launch(&p, 2, 1);
		p.host += 10;
		for (int k = 0; k < 3; k++, p.host += 10)
			play_transfer(&p, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 1.5, 1);
	}
	play_timed(&p, 1);
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = SPY_DIR_DTOD,
	                      .memory = SPY_MEM_DEVICE,
	                      .async = 1,
	                      .size = work_size_bucket(4096)};
	made_pairs(made_work(&p.made, key, 0), TF_PAIR_IDLE, 400, 1e3 * 3, 1);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	struct verdict_input in = {
	        .window = 46.5 * MS, .launch = 2 * MS, .copy = 4.5 * MS, .issued = 4.5 * MS};
	verdict_replay(p.whatifs, &in);
	assert_true(in.replayed);
	assert_true(in.replay[VERDICT_LAUNCH].mean > 0.3);
	assert_true(in.replay[VERDICT_COPY].mean < 0.1);
	play_ends(&p, &m);
}

/* A program that uploads its weights with many copies while it starts, and then only launches. */
static void test_copies_of_the_start_take_nothing(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++, p.host += 10)
		play_launch(&p, 2, 1);
	play_timed(&p, 1);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	m.totals.copies = 3000; /* while it started: none is among the calls that are replayed */
	struct verdict_input in = {.window = 12 * MS, .launch = 2 * MS, .copy = 0};
	verdict_replay(p.whatifs, &in);
	assert_true(in.replayed);
	assert_true(in.replay[VERDICT_LAUNCH].mean > 0.3);
	assert_true(in.replay[VERDICT_COPY].mean < 0.1);
	play_ends(&p, &m);
}

/* A large copy a step takes longer than the launches, but what a graph would save is the host's
 * time between these. */
static void test_what_lies_between_launches_is_theirs(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 1 << 20, 100, 40);
		for (int k = 0; k < 20; k++, p.host += 10)
			play_launch(&p, 2, 1);
	}
	play_timed(&p, 1);
	play_timed_copy(&p, SPY_DIR_HTOD, 1 << 20, 40);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	struct verdict_input in = {.window = 34 * MS, .launch = 4 * MS, .copy = 10 * MS};
	verdict_replay(p.whatifs, &in);
	assert_true(in.replayed && in.between > 10 * MS);
	assert_true(in.replay[VERDICT_LAUNCH].mean > 0.3);
	assert_true(in.replay[VERDICT_COPY].mean < in.replay[VERDICT_LAUNCH].mean);
	play_ends(&p, &m);
}

/* Fewer waits would save a third of the window. Where no call of CUDA waits, and copies take
 * little, the host waits outside; not where the replay did not tell, or it is another class. */
static void test_waits_outside_cuda(void **state)
{
	static const struct {
		double sync, copy;
		enum verdict_class first, second;
		bool replayed, outside;
	} runs[] = {{0, 0, VERDICT_SYNC, VERDICT_HOST, true, true},
	            {0.9, 1, VERDICT_SYNC, VERDICT_HOST, true, true},
	            {0.9, 1, VERDICT_HOST, VERDICT_SYNC, true, true},
	            {5, 0, VERDICT_SYNC, VERDICT_HOST, true, false},
	            {0, 9, VERDICT_SYNC, VERDICT_HOST, true, false},
	            {0, 0, VERDICT_HOST, VERDICT_LAUNCH, true, false},
	            {0, 0, VERDICT_SYNC, VERDICT_HOST, false, false}};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct verdict v = {.first = runs[i].first,
		                    .second = runs[i].second,
		                    .gain = 0.33,
		                    .second_gain = 0.33};
		struct verdict_input in = {.window = 100,
		                           .sync = runs[i].sync,
		                           .copy = runs[i].copy,
		                           .replayed = runs[i].replayed};
		assert_int_equal(verdict_waits_outside(&v, &in), runs[i].outside);
	}
}

static double told(const struct verdict_input *in, enum verdict_class cls, double gain)
{
	struct verdict v = {.cls = cls, .first = cls, .gain = gain, .second = VERDICT_NONE};

	verdict_tell(&v, in);
	return v.gain;
}

static void test_what_is_told_of_a_gain(void **state)
{
	struct verdict_input in = {.window = 100, .replayed = true};

	in.replay[VERDICT_COPY] = (struct verdict_gain){0.53, 0.4, 0.64};
	assert_near(told(&in, VERDICT_COPY, 0.82), 0.53, 1e-9);
	assert_near(told(&in, VERDICT_COPY, 0.2), 0.53, 1e-9);
	assert_near(told(&in, VERDICT_COMM, 0.82), 0.82, 1e-9); /* none predicts that */
	assert_near(told(&in, VERDICT_NONE, 0), 0, 1e-9);
	in.replay[VERDICT_COPY] = (struct verdict_gain){0, 0, 0}; /* no change has a gain */
	assert_near(told(&in, VERDICT_COPY, 0.1), 0.1, 1e-9);
	in.replay[VERDICT_COPY] = (struct verdict_gain){0.53, 0.4, 0.64};
	in.copies_within = true; /* fewer copies within a device is another change */
	assert_near(told(&in, VERDICT_COPY, 0.82), 0.82, 1e-9);
	in.copies_within = false;
	in.replayed = false;
	assert_near(told(&in, VERDICT_COPY, 0.82), 0.82, 1e-9);
}

/* The runner-up of a program whose GPU has work all the time gains no 5 %, whatever its change
 * would save were the GPU faster. */
static void test_the_runner_up_of_a_busy_gpu(void **state)
{
	struct verdict_input in = {.window = 100, .replayed = true};
	struct verdict v = {.cls = VERDICT_GPU,
	                    .first = VERDICT_GPU,
	                    .second = VERDICT_LAUNCH,
	                    .second_gain = 0.02};

	in.replay[VERDICT_LAUNCH] = (struct verdict_gain){0.17, 0.11, 0.3};
	verdict_tell(&v, &in);
	assert_near(v.second_gain, 0.02, 1e-9);
	v.cls = v.first = VERDICT_SYNC;
	verdict_tell(&v, &in);
	assert_near(v.second_gain, 0.17, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_whose_a_graphs_gain_is),
	        cmocka_unit_test(test_copies_within_a_device_are_launches),
	        cmocka_unit_test(test_copies_of_the_start_take_nothing),
	        cmocka_unit_test(test_waits_outside_cuda),
	        cmocka_unit_test(test_what_is_told_of_a_gain),
	        cmocka_unit_test(test_the_runner_up_of_a_busy_gpu),
	        cmocka_unit_test(test_what_lies_between_launches_is_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
