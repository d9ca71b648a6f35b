/* SPDX-License-Identifier: Apache-2.0 */
/* Where the last step of a loop ends: with its own last call, whatever comes behind it, and however
 * long the host pauses within it. */
#include "tests/unit/shim/core/steps/loops_fixture.h"

#define STEPS      300
#define STEP_TICKS (12 * (CALL_TICKS + BETWEEN))

/* Other work before the loop. */
static void begins(void)
{
	for (uint32_t k = 100; k <= 110; k++)
		run_kernel(k);
}

/*
 * Behind the last step of a loop a result is read, and memory is freed 40 steps' time later, as at
 * exit, or by a call that takes as long: no part of the step, though it makes it as many events as
 * the others have.
 */
static void free_at_exit(bool late)
{
	const uint64_t long_ticks = 40 * STEP_TICKS;

	for (uint32_t k = 3; k <= 10; k++)
		run_kernel(k);
	for (int i = 0; i < 300; i++) {
		upload();
		wait_here();
		for (uint32_t k = 1; k <= 10; k++)
			run_kernel(k);
		if (i % 7 < 2) { /* so neither copies nor waits are its marker */
			upload();
			wait_here();
		}
	}
	wait_here();
	upload();
	wait_here();
	uint64_t ended = now;
	allocate(now + (late ? long_ticks : 0), CALL_TICKS + (late ? 0 : long_ticks));
	const struct tf_loop *l = longest(NULL);
	assert_in_range(l->steps, 299, 301);
	assert_in_range(l->episode[l->episodes - 1].end, ended - 2 * STEP_TICKS, ended);
	rows_agree();
}

static void test_a_free_long_behind_is_no_step(void **state)
{
	free_at_exit(true);
}

static void test_a_long_free_behind_is_no_step(void **state)
{
	free_at_exit(false);
}

/* Steps of a copy and ten kernels; before kernel `at` of each `each`th the host pauses for so many
 * steps' time. */
static void steps_with_pauses(uint32_t at, uint64_t pause, int each)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		upload();
		for (uint32_t k = 1; k <= 10; k++) {
			now += i % each == 0 && k == at ? pause * STEP_TICKS : 0;
			run_kernel(k);
		}
	}
}

static const struct tf_loop *all_steps(void)
{
	const struct tf_loop *l = longest(NULL);

	assert_int_equal(l->steps, STEPS);
	assert_int_equal(l->counts.copies, STEPS);
	assert_int_equal(l->counts.launches, 10 * STEPS);
	rows_agree();
	return l;
}

static void paused(uint32_t at, uint64_t pause, int each)
{
	steps_with_pauses(at, pause, each);
	all_steps();
}

static void test_a_pause_early_in_the_last_step(void **state)
{
	paused(2, 2, STEPS);
}

static void test_a_pause_amid_the_last_step(void **state)
{
	paused(7, 2, STEPS);
}

static void test_a_pause_late_in_the_last_step(void **state)
{
	paused(10, 2, STEPS);
}

/* The machine stops amid a step, for longer than a pause between two of them: whether steps end
 * with a wait or begin with a copy, those that are told are whole. */
static void stopped(bool waits)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		if (!waits)
			upload();
		for (uint32_t k = 1; k <= 10; k++) {
			now += i == STEPS / 2 && k == 5 ? 1000 * STEP_TICKS : 0;
			run_kernel(k);
		}
		if (waits)
			wait_here();
	}
	const struct tf_loop *l = longest(NULL);
	assert_in_range(l->steps, STEPS - 2, STEPS);
	assert_int_equal(l->counts.launches, 10 * l->steps);
	assert_int_equal(waits ? l->counts.syncs : l->counts.copies, l->steps);
	rows_agree();
}

static void test_a_stop_amid_a_step_that_ends_with_a_wait(void **state)
{
	stopped(true);
}

static void test_a_stop_amid_a_step_that_begins_with_a_copy(void **state)
{
	stopped(false);
}

/* As a loader that reads a file for ten batches at once. */
static void test_a_pause_in_each_tenth_step(void **state)
{
	paused(2, 20, 10);
}

static void test_a_pause_amid_each_tenth_step(void **state)
{
	paused(7, 20, 10);
}

static void test_a_pause_and_a_free_at_exit(void **state)
{
	steps_with_pauses(7, 3, STEPS);
	uint64_t ended = now;
	allocate(now + 40 * STEP_TICKS, CALL_TICKS);
	const struct tf_loop *l = all_steps();
	assert_true(l->episode[l->episodes - 1].end <= ended);
	assert_int_equal(l->counts.allocs, 0);
}

/* Each step ends in a free that waits for the GPU for nearly all of it: the last one a little less
 * than a mean step, or a little more. */
static void steps_that_free(uint64_t last)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		upload();
		for (uint32_t k = 1; k <= 10; k++)
			run_kernel(k);
		uint64_t ticks = 1000000 + (i == STEPS ? last : any(1000));
		allocate(now, ticks);
		now += ticks + BETWEEN;
	}
	assert_int_equal(all_steps()->counts.allocs, STEPS);
}

static void test_a_free_in_each_step(void **state)
{
	steps_that_free(500);
}

static void test_a_free_that_waits_longer(void **state)
{
	steps_that_free(5000);
}

/* Each step allocates first; in the last one that takes three steps' time. */
static void test_an_allocation_within_the_last_step(void **state)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		uint64_t ticks = i == STEPS ? 3 * STEP_TICKS : CALL_TICKS;
		upload();
		allocate(now, ticks);
		now += ticks + BETWEEN;
		for (uint32_t k = 1; k <= 10; k++)
			run_kernel(k);
	}
	assert_int_equal(all_steps()->counts.allocs, STEPS);
}

/* The first steps allocate, later ones do not: a free at exit is no part of the last one. */
static void test_a_free_at_exit_of_what_the_first_steps_allocated(void **state)
{
	begins();
	for (int i = 0; i < STEPS; i++) {
		upload();
		for (uint32_t k = 1; k <= 10; k++) {
			run_kernel(k);
			if (i >= 20)
				continue;
			allocate(now, CALL_TICKS);
			now += CALL_TICKS + BETWEEN;
		}
	}
	uint64_t ended = now;
	allocate(now + 40 * STEP_TICKS, CALL_TICKS);
	const struct tf_loop *l = all_steps();
	assert_true(l->episode[l->episodes - 1].end <= ended);
}

/* The loop's marker changes within the last step, behind a pause. */
static void test_a_loop_that_is_entered_anew(void **state)
{
	const struct tf_loop as = {.thread = 0, .cls = SPY_CLASS_LAUNCH, .marker = 1};
	struct steps_detector *d = calloc(1, sizeof(*d));
	uint32_t marker = 0;

	assert_non_null(d);
	d->used = true;
	for (uint32_t i = 0; i < 1000; i++) {
		struct tf_record r = a_launch(i % 10 + 1, 8);
		now += i == 994 ? 20000 : 0;
		r.start = now;
		r.end = now + CALL_TICKS;
		now += CALL_TICKS + BETWEEN + any(20);
		uint64_t n = steps_event(d, &r, SPY_CLASS_LAUNCH);
		if (i == 0)
			marker = steps_symbols_of(&r, SPY_CLASS_LAUNCH).coarse;
		if (i == 500 || i == 997) {
			if (i == 997) {
				marker = symbols_at(d, 0)->fine;
				steps_drop_within(d, &made.map, marker, 0, 11);
			}
			steps_enter(d, &made.map, marker, false, steps_new_loop(d, &made.map, &as),
			            0);
		} else if (d->marker) {
			steps_walk(d, &made.map, n);
		}
	}
	steps_end_last(d, &made.map);
	assert_int_equal(steps_loop_of(d, &made.map)->steps, 100);
	free(d);
}

static void ends_by(uint64_t ended, uint64_t steps_least)
{
	const struct tf_loop *l = longest(NULL);

	assert_true(l->episode[l->episodes - 1].end <= ended);
	assert_true(l->steps >= steps_least);
	rows_agree();
}

/* Forward is one kernel four times, then the next batch is uploaded, then backward. Behind the last
 * backward the host saves for 40 steps' time, then an evaluation runs forward `passes` times. */
static void prefetching(int passes)
{
	begins();
	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < 4; k++)
			run_kernel(1);
		upload();
		for (uint32_t k = 5; k <= 12; k++)
			run_kernel(k);
	}
	uint64_t ended = now;
	now += 40 * STEP_TICKS;
	for (int i = 0; i < passes; i++) {
		for (int k = 0; k < 4; k++)
			run_kernel(1);
		run_kernel(20);
	}
	ends_by(ended, STEPS - 1);
}

static void test_evaluation_behind_prefetching(void **state)
{
	prefetching(8);
}

static void test_evaluation_behind_prefetching_once(void **state)
{
	prefetching(1);
}

static void test_evaluation_behind_prefetching_long(void **state)
{
	prefetching(15);
}

/* A step has 10 or 11 launches in turn, the last one 10; then a pause of 40 steps' time, and
 * another use of the same kernel. */
static void test_a_shorter_last_step(void **state)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		upload();
		for (uint32_t k = 1; k <= 10; k++)
			run_kernel(k);
		if (i % 2)
			run_kernel(2);
	}
	uint64_t ended = now;
	now += 40 * STEP_TICKS;
	for (int i = 0; i < 40; i++)
		run_kernel(2);
	ends_by(ended, STEPS);
}

/* Every second step frees something, the last one does not; memory is freed at exit, 40 steps'
 * time later. */
static void frees_now_and_then(int every)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		upload();
		for (uint32_t k = 1; k <= 10; k++) {
			run_kernel(k);
			if (k == 5 && i % every == every - 1) {
				allocate(now, CALL_TICKS);
				now += CALL_TICKS + BETWEEN;
			}
		}
	}
	uint64_t ended = now;
	allocate(now + 40 * STEP_TICKS, CALL_TICKS);
	ends_by(ended, STEPS);
}

static void test_frees_in_every_second_step(void **state)
{
	frees_now_and_then(2);
}

/* Each step allocates a few times, a cache makes it more or fewer; the last one has one less. */
static void test_frees_that_a_cache_makes(void **state)
{
	begins();
	for (int i = 1; i <= STEPS; i++) {
		uint64_t many = i == STEPS ? 2 : i == STEPS - 1 ? 4 : 2 + any(3);
		upload();
		for (uint32_t k = 1; k <= 10; k++) {
			run_kernel(k);
			if (k <= many) {
				allocate(now, CALL_TICKS);
				now += CALL_TICKS + BETWEEN;
			}
		}
	}
	uint64_t ended = now;
	allocate(now + 40 * STEP_TICKS, CALL_TICKS);
	allocate(now + 41 * STEP_TICKS, CALL_TICKS);
	ends_by(ended, STEPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_a_free_long_behind_is_no_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_long_free_behind_is_no_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_early_in_the_last_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_amid_the_last_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_stop_amid_a_step_that_ends_with_a_wait,
	                                        begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_stop_amid_a_step_that_begins_with_a_copy,
	                                        begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_late_in_the_last_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_in_each_tenth_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_amid_each_tenth_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_and_a_free_at_exit, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_free_in_each_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_free_that_waits_longer, begin, finish),
	        cmocka_unit_test_setup_teardown(test_an_allocation_within_the_last_step, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(
	                test_a_free_at_exit_of_what_the_first_steps_allocated, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_loop_that_is_entered_anew, begin, finish),
	        cmocka_unit_test_setup_teardown(test_evaluation_behind_prefetching, begin, finish),
	        cmocka_unit_test_setup_teardown(test_evaluation_behind_prefetching_once, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_evaluation_behind_prefetching_long, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_a_shorter_last_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_frees_in_every_second_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_frees_that_a_cache_makes, begin, finish),
	};

	return cmocka_run_group_tests_name("last_steps", tests, NULL, NULL);
}
