/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/analysis/whatif/whatif_change.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

#define STEPS      200
#define COPYING_US 200.0 /* 1 MiB at 5.2 bytes a ns */
#define UPLOAD_US  40.0
#define KERNEL_US  20.0
#define OWN_US     100.0 /* the program's own work, behind the wait */

enum how { STAGED, NO_RECORD, OTHER_TIMES, TOO_FAST };

/*
 * In each step a library copies 1 MiB to pinned memory of its own, sends it and records an event
 * behind that, and the program launches kernels on it, waits, and looks at the result.
 */
static void played(struct play *p, enum how how)
{
	play_start(p);
	for (int i = 0; i < STEPS; i++) {
		p->host += how == OTHER_TIMES ? COPYING_US * (0.6 + 0.1 * (i % 9))
		           : how == TOO_FAST  ? COPYING_US / 4
		                              : COPYING_US;
		play_transfer(p, SPY_DIR_HTOD, SPY_MEM_PINNED, 1u << 20, 3, UPLOAD_US);
		if (how != NO_RECORD) {
			struct tf_record r = play_call(p, p->mark, 1);
			r.event.event = 0x500 + (uint64_t)(i % 2);
			play_returns(p, &r);
		}
		for (int k = 0; k < 10; k++) {
			p->host += 4;
			play_launch(p, 3, KERNEL_US);
		}
		play_sync(p);
		struct tf_record r = play_call(p, p->query, 1);
		play_returns(p, &r);
		p->host += OWN_US;
		r = play_call(p, p->query, 1);
		play_returns(p, &r);
	}
	play_timed(p, KERNEL_US);
	play_timed_copy(p, SPY_DIR_HTOD, 1u << 20, UPLOAD_US);
	play_sync(p);
}

static struct whatif_result asked(enum how how, enum whatif what)
{
	struct play p;
	struct model m = {0};

	played(&p, how);
	struct whatif_result r = play_ask(&p, &m, what, NULL, 1);
	play_assert_base(&m, 0.01);
	play_ends(&p, &m);
	return r;
}

/* Saved of a step, us. */
static double saved(double from, double to)
{
	return (from - to) / 1e3 / STEPS;
}

static void test_pinned_memory_need_not_be_filled(void **state)
{
	struct whatif_result r = asked(STAGED, WHATIF_PINNED);

	assert_near(saved(r.window, r.predicted), COPYING_US, 0.05);
	assert_true(saved(r.window, r.most) < COPYING_US / 2 + 1);
	assert_true(saved(r.window, r.least) >= COPYING_US);
}

static void test_it_is_no_work_of_the_program(void **state)
{
	struct whatif_result r = asked(STAGED, WHATIF_HOST);

	assert_true(saved(r.window, r.predicted) < OWN_US + 20);
	assert_true(saved(r.window, r.least) > COPYING_US); /* at best it was */
	r = asked(NO_RECORD, WHATIF_HOST);
	assert_true(saved(r.window, r.predicted) > 0.9 * (OWN_US + COPYING_US));
}

/* Without the event, or where the time is not that of copying, the host did something else. */
static void test_other_work_is_no_copying(void **state)
{
	for (enum how how = NO_RECORD; how <= TOO_FAST; how++) {
		struct whatif_result r = asked(how, WHATIF_PINNED);
		assert_true(r.changed == 0 || saved(r.window, r.predicted) < 1);
	}
}

#define RESULT_BYTES (8u << 20)
#define MAKING_US    900.0  /* 9 bytes a ns */
#define READING_US   1300.0 /* 6 bytes a ns */
#define DOWN_US      160.0

static int kept_each; /* one step of so many finds its array made; 0: none */

/*
 * In each step a kernel makes a large result; a thread of XLA makes an array for it, copies it to
 * pinned memory, is told by a host function when it is there, and copies it to the array. Then the
 * program works for some time with it. The thread may send the array on.
 */
static void read_by_xla(struct play *p, double own_us, double faster, bool sends)
{
	play_start(p);
	struct play_xla xla = play_xla(p);
	for (int i = 0; i < STEPS; i++) {
		p->who = 0;
		play_launch(p, 5, KERNEL_US);
		struct tf_record r = play_call(p, xla.told, 4);
		play_returns(p, &r);
		p->host = p->tail + (kept_each && i % kept_each == 0 ? 20 : MAKING_US / faster);
		play_read(p, &xla, RESULT_BYTES, DOWN_US);
		p->host = p->tail + READING_US / faster + own_us;
		if (sends) {
			play_transfer(p, SPY_DIR_HTOD, SPY_MEM_PINNED, RESULT_BYTES, 5, DOWN_US);
			r = play_call(p, p->mark, 1);
			r.event.event = 0x500;
			play_returns(p, &r);
		}
	}
	p->who = 0;
	play_timed(p, KERNEL_US);
	play_timed_copy(p, SPY_DIR_DTOH, RESULT_BYTES, DOWN_US);
	if (sends)
		play_timed_copy(p, SPY_DIR_HTOD, RESULT_BYTES, DOWN_US);
	play_sync(p);
}

static struct whatif_result reading(enum whatif what, double own_us, double faster)
{
	struct play p;
	struct model m = {0};

	read_by_xla(&p, own_us, faster, false);
	struct whatif_result r = play_ask(&p, &m, what, NULL, 1);
	play_assert_base(&m, 0.02);
	play_ends(&p, &m);
	return r;
}

/* It is time of the copy, which pinned memory, or fewer bytes, save, and none of the host's work.
 */
static void test_a_large_result_is_copied_by_the_library(void **state)
{
	struct whatif_result r = reading(WHATIF_PINNED, 0, 1);

	assert_near(saved(r.window, r.predicted), MAKING_US + READING_US, 0.1);
	r = reading(WHATIF_HOST, 0, 1);
	assert_true(saved(r.window, r.predicted) < 100);
	assert_true(saved(r.window, r.least) > MAKING_US); /* at best it was */
}

/* Now and then there is an array already, or it is made while the GPU works. */
static void test_an_array_that_is_there_now_and_then(void **state)
{
	kept_each = 4;
	struct whatif_result r = reading(WHATIF_OVERLAP, 0, 1);
	kept_each = 0;
	assert_near(saved(r.window, r.predicted), MAKING_US * 3 / 4 + DOWN_US, 0.1);
}

/* Asked for ahead, the array is made and the copy goes meanwhile. */
static void test_a_large_result_is_asked_for_ahead(void **state)
{
	struct whatif_result r = reading(WHATIF_OVERLAP, 0, 1);

	assert_near(saved(r.window, r.predicted), MAKING_US + DOWN_US, 0.1);
	assert_near(saved(r.window, r.least), MAKING_US + READING_US + DOWN_US, 0.1);
	assert_true(saved(r.window, r.most) < 1);
}

/* What takes longer than copying does is the program's. */
static void test_work_with_a_result_is_the_programs(void **state)
{
	struct whatif_result host = reading(WHATIF_HOST, 10e3, 1);

	assert_true(saved(host.window, host.predicted) > 0.8 * 10e3);
	struct whatif_result pinned = reading(WHATIF_PINNED, 10e3, 1);
	assert_true(saved(pinned.window, pinned.predicted) < 1.5 * (MAKING_US + READING_US));
	assert_true(saved(pinned.window, pinned.predicted) > MAKING_US + READING_US);
}

/* The time between a read and a large upload is copying once, whichever of both it is told by. */
static void test_nothing_is_copied_twice(void **state)
{
	struct whatif_change c = {.what = WHATIF_PINNED, .hope = HOPE_MIDDLE};
	struct play p;
	struct model m = {0};
	struct replay r;

	read_by_xla(&p, 0, 1, true);
	play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	replay_make(&r, &m.processes[0].call_log, REPLAY_MEAN);
	struct replay_act *acts = calloc(r.count, sizeof(*acts));
	assert_non_null(acts);
	memcpy(acts, r.call_events, r.count * sizeof(*acts));
	change_acts(&c, &r, acts);
	assert_true(c.staged == (WHATIF_SENT | WHATIF_MADE | WHATIF_READ));
	for (size_t i = 0; i < r.count; i++)
		assert_true(acts[i].gap >= 0);
	free(acts);
	replay_free(&r);
	play_ends(&p, &m);
}

/* No host copies as fast as this: there was no array to make. */
static void test_no_copy_is_as_fast(void **state)
{
	struct whatif_result r = reading(WHATIF_PINNED, 0, 4);

	assert_true(r.changed == 0 || saved(r.window, r.predicted) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pinned_memory_need_not_be_filled),
	        cmocka_unit_test(test_it_is_no_work_of_the_program),
	        cmocka_unit_test(test_other_work_is_no_copying),
	        cmocka_unit_test(test_a_large_result_is_copied_by_the_library),
	        cmocka_unit_test(test_a_large_result_is_asked_for_ahead),
	        cmocka_unit_test(test_an_array_that_is_there_now_and_then),
	        cmocka_unit_test(test_work_with_a_result_is_the_programs),
	        cmocka_unit_test(test_nothing_is_copied_twice),
	        cmocka_unit_test(test_no_copy_is_as_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
