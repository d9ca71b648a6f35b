/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's sleep: how long it is, and that it can be cut short. */
#include "shim/base/collector_wait.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <time.h>

#define SECOND 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void test_idle_is_one_wake_up_a_second(void **state)
{
	uint64_t ns = COLLECTOR_WAIT_SHORT_NS;
	unsigned rounds = 0;

	for (uint64_t t = 0; t < 100 * SECOND; t += ns, rounds++)
		ns = collector_wait_next(ns, 0, 0, false);
	assert_in_range(rounds, 1, 100 + 10); /* and what it takes to get there */
}

static void test_few_records_are_taken_less_often(void **state)
{
	uint64_t ns = COLLECTOR_WAIT_SHORT_NS;

	for (unsigned i = 0; i < 100; i++)
		ns = collector_wait_next(ns, 5, 1, false);
	assert_int_equal(ns, COLLECTOR_WAIT_BUSY_NS);
	/* After a long idle time as well. */
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_LONG_NS, 5, 1, false),
	                 COLLECTOR_WAIT_BUSY_NS);
}

static void test_what_is_right_stays(void **state)
{
	assert_int_equal(collector_wait_next(2 * COLLECTOR_WAIT_SHORT_NS, 1000, 12, false),
	                 2 * COLLECTOR_WAIT_SHORT_NS);
	assert_int_equal(collector_wait_next(2 * COLLECTOR_WAIT_SHORT_NS, 1000, 28, false),
	                 2 * COLLECTOR_WAIT_SHORT_NS);
}

/* A program that calls as fast as ever: the rings it finds are filled to a third or so. */
static void test_a_steady_rate_finds_its_sleep(void **state)
{
	const double fills_a_second[] = {30, 45, 60, 100}; /* the ring, so often */

	for (unsigned r = 0; r < 4; r++) {
		uint64_t ns = COLLECTOR_WAIT_LONG_NS;
		double filled = 0;
		for (unsigned i = 0; i < 50; i++) {
			filled = fills_a_second[r] * (double)ns / (double)SECOND;
			const bool called = filled >= 0.5;
			filled = called ? 0.5 : filled;
			ns = collector_wait_next(ns, 1, (uint32_t)(filled * 64), called);
		}
		assert_true(filled > 0.15 && filled < 0.5);
	}
}

static void test_rings_that_fill_are_emptied_sooner(void **state)
{
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_BUSY_NS, 1000, 33, false),
	                 COLLECTOR_WAIT_BUSY_NS / 2);
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_LONG_NS, 1000, 32, true),
	                 COLLECTOR_WAIT_BUSY_NS / 2);
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_SHORT_NS, 1000, 40, false),
	                 COLLECTOR_WAIT_SHORT_NS);
	/* Nearly full: at once. */
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_LONG_NS, 1000, 64, false),
	                 COLLECTOR_WAIT_SHORT_NS);
	/* Called for a ring that is taken by now: by a round that was under way. */
	assert_int_equal(collector_wait_next(COLLECTOR_WAIT_LONG_NS, 0, 0, true),
	                 COLLECTOR_WAIT_BUSY_NS / 2);
}

static void *call_until_it_ends(void *ended)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (!__atomic_load_n((int *)ended, __ATOMIC_RELAXED)) {
		errno = 4711;
		collector_wait_end();
		assert_int_equal(errno, 4711);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void test_a_call_ends_it(void **state)
{
	pthread_t caller;
	int ended = 0;
	uint64_t start = now_ns();

	assert_int_equal(pthread_create(&caller, NULL, call_until_it_ends, &ended), 0);
	assert_true(collector_wait(60 * SECOND));
	assert_in_range(now_ns() - start, 0, 50 * SECOND);
	__atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
	pthread_join(caller, NULL);
}

static void test_without_a_call_it_lasts(void **state)
{
	uint64_t start = now_ns();

	collector_wait_end(); /* nobody sleeps: it is for no later sleep */
	assert_false(collector_wait(10 * COLLECTOR_WAIT_SHORT_NS));
	assert_in_range(now_ns() - start, 10 * COLLECTOR_WAIT_SHORT_NS, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_idle_is_one_wake_up_a_second),
	        cmocka_unit_test(test_few_records_are_taken_less_often),
	        cmocka_unit_test(test_what_is_right_stays),
	        cmocka_unit_test(test_a_steady_rate_finds_its_sleep),
	        cmocka_unit_test(test_rings_that_fill_are_emptied_sooner),
	        cmocka_unit_test(test_a_call_ends_it),
	        cmocka_unit_test(test_without_a_call_it_lasts),
	};

	return cmocka_run_group_tests_name("doze", tests, NULL, NULL);
}
