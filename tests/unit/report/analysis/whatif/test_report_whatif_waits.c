/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/whatif/whatif.h"
#include "shim/core/cuda/host_functions.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/*
 * A result is copied to pinned memory, the host asks to be told when that is done, and sleeps until
 * then; another thread goes on. A kernel of 200 us, `own` us of the host's own.
 */
static void read_by_callback(struct play *p, bool waits, double own)
{
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);

	for (int i = 0; i < 100; i++) {
		p->who = 0;
		play_launch(p, 5, 200);
		p->who = 1;
		p->host += 1;
		play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
		struct tf_record r = play_call(p, told, 4);
		play_returns(p, &r);
		p->host += own;
		if (waits)
			p->host = p->tail + 10 + own;
	}
	p->who = 0;
	play_timed(p, 200);
	play_timed_copy(p, SPY_DIR_DTOH, 4, 2);
	play_sync(p);
}

static void test_reads_by_callback(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	read_by_callback(&p, true, 150);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.predicted, 100 * 205e3, 0.05); /* the GPU's, of about 370 us */
	assert_near(r.changed, 99, 0.02);
	r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	/* It still waits. The 160 us behind may be waiting too, or 50 of them: what goes without
	 * the wait does not go again as the host's own work. */
	assert_near(r.predicted, 100 * 370e3, 0.03);
	assert_near(r.most, 100 * 370e3, 0.05);
	assert_near(r.least, 100 * (215e3 + 50e3) * 0.97, 0.03);
	play_ends(&p, &m);
	/* Where work is given before the copy can have ended nobody waits for it. */
	m = (struct model){0};
	play_start(&p);
	read_by_callback(&p, false, 150);
	r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.changed, 0, 0);
	play_ends(&p, &m);
}

/* Behind a read a part of the host's time may be the wait still, however long it is: an eighth of
 * 4 ms in the middle, a quarter where it says the least. */
static void test_long_work_behind_a_read(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	read_by_callback(&p, true, 4000);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.window, 100 * 4215e3, 0.02);
	assert_near(r.predicted, 100 * (215e3 + 500e3), 0.03);
	/* 3 % more, and a quarter of the 715 us. */
	assert_near(r.most, 100 * (1.03 * (215e3 + 1000e3) + 0.25 * 715e3), 0.03);
	play_ends(&p, &m);
}

/*
 * The same, with a kernel of 20 us: the thread that copies the result is woken up by a host
 * function `ahead` us behind it and makes three calls of 20 us more, and the program goes on
 * `behind` us later.
 */
static void play_woken(struct play *p, double ahead, double behind)
{
	play_start(p);
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER),
	         current = made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT,
	                             SPY_LEVEL_DRIVER);
	for (int i = 0; i < 200; i++) {
		p->who = 0;
		play_launch(p, 5, 20);
		struct tf_record r = play_call(p, told, 4);
		play_returns(p, &r);
		p->who = 1;
		p->host = p->tail + ahead;
		r = play_call(p, current, 20);
		play_returns(p, &r);
		play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
		r = play_call(p, told, 20);
		play_returns(p, &r);
		r = play_call(p, current, 20);
		play_returns(p, &r);
		p->host += behind;
	}
	p->who = 0;
	play_timed(p, 20);
	play_timed_copy(p, SPY_DIR_DTOH, 4, 2);
	play_sync(p);
}

/*
 * From that call on it takes 138 us to the copy, and 250 behind: waking up takes as long on either
 * side. In the middle half of what it takes longer behind is left of both, 56 us; nothing at most,
 * and all but 50 at least. Where the program does work of its own on one side, which this cannot be
 * told from, 250 us go in the middle and 400 at most, or by what the other side takes: 2 times 60.
 */
static void test_a_reader_that_is_woken_up(void **state)
{
	static const struct {
		double ahead, behind, left, most_goes;
	} cases[] = {{120, 250, 112.0 / 2, 388},
	             {120, 1000, 1138 - 250, 400},
	             {700, 250, 968 - 250, 400},
	             {42, 100, 40.0 / 2, 160},
	             {42, 1000, 1060 - 120, 4 * 60}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct play p;
		struct model m = {0};
		play_woken(&p, cases[i].ahead, cases[i].behind);
		struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
		play_assert_base(&m, 0.02);
		double both = cases[i].ahead + 18 + cases[i].behind;
		assert_near(r.window, 200 * (both + 74) * 1e3, 0.02);
		/* The launch and its host function stay. */
		assert_near(r.predicted, 200 * (9 + cases[i].left) * 1e3, 0.06);
		assert_true(r.least < 200 * (24 + fmax(0, both - cases[i].most_goes)) * 1e3);
		/* 50 us less than where waking up takes nothing. */
		assert_true(r.most > 200 * (both - 60) * 1e3);
		assert_true(r.most < 200 * 1.1 * (both + 20) * 1e3);
		play_ends(&p, &m);
	}
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
		play_launch(p, 5, 200);
		struct tf_record r = play_call(p, told, 4);
		play_returns(p, &r);
		p->host += waits ? p->tail + 20 - p->host : i % 2 ? 30 : 210;
		p->who = 1;
		r = play_call(p, current, 1);
		play_returns(p, &r);
		p->host += 150;
	}
	p->who = 0;
	play_timed(p, 200);
	play_sync(p);
}

static void test_a_host_function_tells_a_thread(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	told_by_callback(&p, true);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.predicted, 100 * 205e3, 0.05); /* the GPU's, of about 380 us */
	assert_near(r.changed, 100, 0.02);
	r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 100 * 228e3, 0.06); /* it still waits */
	play_ends(&p, &m);
	m = (struct model){0};
	play_start(&p);
	told_by_callback(&p, false);
	r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.changed, 0, 0);
	play_ends(&p, &m);
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
			play_launch(p, 5, k ? 300 : 60);
			r = play_call(p, told, 4);
			r.arg[0] = 0x1234;
			play_returns(p, &r);
			p->host = k ? p->tail + 20 : p->host + 30;
			p->tail += 1e-3 * CUDA_HOST_FUNCTION_NS;
		}
		p->who = 1;
		r = play_call(p, current, 1);
		play_returns(p, &r);
		p->host += own;
	}
	p->who = 0;
	p->kernel = first;
	play_timed(p, 60);
	p->kernel = step;
	play_timed(p, 300);
	play_sync(p);
}

static void test_a_host_function_names_its_stream(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	told_on_a_stream(&p, 200);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.changed, 100, 0.02);
	assert_near(r.window, 100 * 656e3, 0.02);
	assert_near(r.predicted, 100 * 495e3, 0.03); /* the GPU's, with two functions */
	play_ends(&p, &m);
}

/* The host always has more to do than the GPU, 600 us behind the end of 200: whether it waited
 * before is not known. `calls` of 20 us issue the work. */
static void play_busy_or_waiting(struct play *p, int calls)
{
	uint16_t told, current;

	play_start(p);
	told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	current = made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 100; i++) {
		struct tf_record r;
		p->who = 0;
		for (int k = 0; k < calls; k++) {
			r = play_call(p, current, 20);
			play_returns(p, &r);
		}
		play_launch(p, 5, 200);
		r = play_call(p, told, 4);
		r.arg[0] = 0x1234;
		play_returns(p, &r);
		p->host = p->tail + 600;
		p->who = 1;
		r = play_call(p, current, 1);
		play_returns(p, &r);
	}
	p->who = 0;
	play_timed(p, 200);
	play_sync(p);
}

static void test_a_wait_that_may_be_none(void **state)
{
	struct play p;
	struct model m = {0};

	play_busy_or_waiting(&p, 0);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.window, 100 * 805e3, 0.02);
	assert_near(r.most, r.window, 0.01);         /* it never waited */
	assert_near(r.predicted, 100 * 707e3, 0.05); /* every second time */
	assert_near(r.least, 100 * 610e3, 0.06);
	play_ends(&p, &m);
}

/* Without the host's own work issuing it runs beside the GPU where the host did not wait, and one
 * after the other where it did. */
static void test_work_that_may_be_a_wait(void **state)
{
	struct play p;
	struct model m = {0};

	play_busy_or_waiting(&p, 10);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.window, 100 * 1005e3, 0.02);
	assert_near(r.most, 100 * (410e3 + 100e3), 0.1); /* and a sixth of the 600 us */
	assert_near(r.predicted, 100 * 345e3, 0.06);     /* every second time */
	assert_true(r.least < 100 * 235e3);
	play_ends(&p, &m);
}

/*
 * In an interpreted language each call takes its way: 20 us before each of two launches, and before
 * a read of 4 bytes, behind which the host does 30 us of its own.
 */
static void test_a_wait_goes_with_its_way(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 2; k++) {
			p.host += 20;
			play_launch(&p, 5, 2);
		}
		p.host += 20;
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4, 10, 0);
		p.host += 30;
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, r.window * 80 / 110, 0.02); /* the call and its way */
	assert_near(r.most, r.window * 104 / 110, 0.05);     /* the waiting alone */
	/* And half of a way behind it; the kernel that made what is read, 25 us with its way; and
	 * 3 us of error. */
	assert_near(r.least, r.window * (70 - 25 - 3) / 110, 0.06);
	play_ends(&p, &m);
}

/* A kernel that takes long is there for more than what is read behind it. */
static void test_long_kernels_before_a_read_stay(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 20;
		play_launch(&p, 5, 40);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4, 10, 0);
	}
	play_timed(&p, 40);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_true(r.least > 200 * 40e3 * 0.9);
	play_ends(&p, &m);
}

/* What the host does before a wait is not all its way: no more than the ways to other calls. */
static void test_work_before_a_wait_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 4; k++) {
			p.host += 5;
			play_launch(&p, 5, 2);
		}
		p.host += 400;
		play_sync(&p);
	}
	play_timed(&p, 2);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, 200 * 435e3, 0.01);
	play_ends(&p, &m);
}

/* Where each call comes after a long time of the program's own that is no way, and none goes. */
static void test_long_work_is_no_way(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		p.host += 400;
		play_launch(&p, 5, 2);
		p.host += 400;
		play_sync(&p);
	}
	play_timed(&p, 2);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, r.window, 0.01);
	play_ends(&p, &m);
}

/* A launch of 3 us, a kernel of 50, a wait, 20 us of host work: 78 us become 50.75. */
static void test_no_sync(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++, p.host += 20) {
		play_launch(&p, 3, 50);
		play_sync(&p);
	}
	play_timed(&p, 50);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 78e3 - 20e3, 0.01);
	assert_near(r.predicted, 300 * 50.75e3, 0.02);
	assert_near(play_ask(&p, &m, WHATIF_KERNEL, "^solve$", 2).predicted, 300 * 53e3, 0.02);
	play_ends(&p, &m);
}

/* A result that is not read is not copied either; at least that stays. */
static void test_a_read_that_goes_is_not_copied(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++, p.host += 10) {
		play_launch(&p, 3, 50);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4, 5, 20);
	}
	play_timed(&p, 50);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 20);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, 300 * 50.75e3, 0.02);
	assert_true(r.most > 1.1 * r.predicted);
	play_ends(&p, &m);
}

/* Asking again and again is waiting. */
static void test_polls_are_waits(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		play_launch(&p, 3, 50);
		while (p.host < p.tail) {
			struct tf_record r = play_call(&p, p.query, 0.5);
			r.result = 600;
			play_returns(&p, &r);
			p.host += 0.1;
		}
		struct tf_record r = play_call(&p, p.query, 0.5);
		play_returns(&p, &r);
		p.host += 0.1;
	}
	play_timed(&p, 50);
	struct whatif_result r = play_ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 55.5e3, 0.02);
	assert_near(r.predicted, 300 * 30.5e3, 0.05);
	play_ends(&p, &m);
}

/* A copy that a needless wait keeps from running beside the kernels of its step. */
static void test_waits_that_part_copies_and_kernels(void **state)
{
	const uint64_t bytes = 1u << 25;
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		play_launch(&p, 5, 600);
		p.host += 20;
		play_sync(&p);
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 5, 600);
		play_sync(&p);
	}
	play_timed(&p, 600);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 600);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_true(r.bound < 0.6 * r.window);
	play_ends(&p, &m);
}

/* More work is queued behind an event than is waited for. */
static void test_events(void **state)
{
	struct play p;
	struct model m = {0};
	double done[2] = {0};

	play_start(&p);
	for (int i = 0; i < 400; i++) {
		struct tf_record r =
		        play_call(&p, p.wait_mark, fmax(1, done[i % 2] + 3.2 - p.host));
		r.event.event = 0x500 + (uint64_t)(i % 2);
		play_returns(&p, &r);
		play_launch(&p, 3, 40);
		r = play_call(&p, p.mark, 1);
		r.event.event = 0x500 + (uint64_t)(i % 2);
		done[i % 2] = p.tail;
		play_returns(&p, &r);
	}
	play_timed(&p, 36); /* a tenth too short: it must not add up */
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.window, 400 * 40.75e3, 0.01);
	assert_near(r.predicted, 400 * 40.75e3, 0.02);
	play_ends(&p, &m);
}

/* A kernel of 100 us, whose result is waited for; a copy to the device whose call takes 200 us, and
 * may bring back what the host made of it: the least that is left of a step. */
static double least_with_an_answer(uint64_t bytes)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		play_launch(&p, 5, 100);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 3, 2);
		play_sync(&p);
		p.host += 20;
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 200, 2);
	}
	play_timed(&p, 100);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_near(r.predicted, 200 * 220e3, 0.1);
	play_ends(&p, &m);
	return r.least / 200e3;
}

static void test_an_answer_goes_with_its_read(void **state)
{
	assert_true(least_with_an_answer(8) < 130);
	assert_true(least_with_an_answer(1u << 20) > 190);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_reads_by_callback),
	        cmocka_unit_test(test_long_work_behind_a_read),
	        cmocka_unit_test(test_a_reader_that_is_woken_up),
	        cmocka_unit_test(test_a_host_function_tells_a_thread),
	        cmocka_unit_test(test_a_host_function_names_its_stream),
	        cmocka_unit_test(test_a_wait_that_may_be_none),
	        cmocka_unit_test(test_work_that_may_be_a_wait),
	        cmocka_unit_test(test_a_wait_goes_with_its_way),
	        cmocka_unit_test(test_long_kernels_before_a_read_stay),
	        cmocka_unit_test(test_work_before_a_wait_stays),
	        cmocka_unit_test(test_long_work_is_no_way),
	        cmocka_unit_test(test_no_sync),
	        cmocka_unit_test(test_a_read_that_goes_is_not_copied),
	        cmocka_unit_test(test_polls_are_waits),
	        cmocka_unit_test(test_waits_that_part_copies_and_kernels),
	        cmocka_unit_test(test_events),
	        cmocka_unit_test(test_an_answer_goes_with_its_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
