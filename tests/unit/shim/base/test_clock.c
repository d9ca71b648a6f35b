/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "tests/unit/unit.h"

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The CPU's counter is taken only where the kernel itself goes by it. */
static void test_choice(void **state)
{
	spy_clock_kind = 0;
	clock_choose(true);
#if defined(__x86_64__)
	char source[32] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
	if (f && !fgets(source, sizeof(source), f))
		source[0] = 0;
	if (f)
		fclose(f);
	if (strcmp(source, "tsc\n"))
		assert_int_equal(spy_clock_kind, TF_CLOCK_MONOTONIC);
	else
		assert_in_range(spy_clock_kind, TF_CLOCK_TSC, TF_CLOCK_MONOTONIC);
	assert_int_equal(spy_clock_is_counter(), spy_clock_kind == TF_CLOCK_TSC);
#elif defined(__aarch64__)
	assert_int_equal(spy_clock_kind, TF_CLOCK_CNTVCT);
#endif
}

static void test_it_goes_forward(void **state)
{
	clock_choose(true);
	uint64_t last = spy_clock(), first = last;
	for (int i = 0; i < 100000; i++) {
		uint64_t now = spy_clock();
		assert_true(now >= last);
		last = now;
	}
	assert_true(last > first);
}

static void test_the_other_clock(void **state)
{
	spy_clock_kind = TF_CLOCK_MONOTONIC;
	uint64_t before = clock_monotonic_ns(), tick = spy_clock(), after = clock_monotonic_ns();
	assert_in_range(tick, before, after);
	assert_false(spy_clock_is_counter());
}

/* A triple is one instant: each clock's reading lies between readings taken before and after. */
static void check_triple(int brackets)
{
	uint64_t tick = spy_clock(), mono = clock_monotonic_ns(), real = realtime_ns();
	struct tf_clock_triple t = clock_triple(brackets);

	assert_in_range(t.tick, tick, spy_clock());
	assert_in_range(t.monotonic_ns, mono, clock_monotonic_ns());
	assert_in_range(t.realtime_ns, real, realtime_ns());
	assert_in_range(t.bracket, 0, spy_clock() - tick);
}

static void test_triples(void **state)
{
	for (int i = 0; i < 200; i++) {
		spy_clock_kind = TF_CLOCK_MONOTONIC;
		check_triple(1 + i % 3);
		clock_choose(true);
		check_triple(1 + i % 3);
	}
}

/* Many readings, and the tightest of them: no single one of fewer is tighter, but where the machine
 * became faster in between, as a busy one may often. Any one of them would be as tight as 50 others
 * in one round of 51. */
static void test_the_tightest_is_taken(void **state)
{
	int holds = 0;

	clock_choose(true);
	for (int round = 0; round < 20; round++) {
		uint64_t tight = clock_triple(2000).bracket, least = UINT64_MAX;
		for (int i = 0; i < 50; i++) {
			uint64_t one = clock_triple(1).bracket;
			least = one < least ? one : least;
		}
		holds += tight <= least;
	}
	assert_true(holds >= 8);
}

/* Two triples give the clock's rate: the same over two stretches, but for what the readings miss
 * by. */
static void test_rate(void **state)
{
	double rate[2];

	clock_choose(true);
	for (int i = 0; i < 2; i++) {
		struct tf_clock_triple a = clock_triple(100);
		usleep(50000);
		struct tf_clock_triple b = clock_triple(100);
		rate[i] = (double)(b.tick - a.tick) / (double)(b.monotonic_ns - a.monotonic_ns);
	}
	assert_near(rate[0], rate[1], 0.01);
	if (!spy_clock_is_counter())
		assert_near(rate[0], 1, 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_choice),
	        cmocka_unit_test(test_it_goes_forward),
	        cmocka_unit_test(test_the_other_clock),
	        cmocka_unit_test(test_triples),
	        cmocka_unit_test(test_the_tightest_is_taken),
	        cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
