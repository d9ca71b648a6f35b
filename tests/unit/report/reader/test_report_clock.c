/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/reader/clock.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

struct opened {
	struct made made;
	struct recording recording;
	struct warnings warnings;
	struct clock clock;
};

static void open_clock(struct opened *o)
{
	char error[READER_ERROR_BYTES];

	assert_int_equal(recording_from_memory(&o->recording, o->made.map.base,
	                                       made_bytes(&o->made), &o->warnings, error),
	                 0);
	clock_init(&o->clock, &o->recording);
}

static void close_clock(struct opened *o)
{
	clock_free(&o->clock);
	recording_close(&o->recording);
	warnings_free(&o->warnings);
	made_free(&o->made);
}

static void start(struct opened *o)
{
	*o = (struct opened){0};
	made_start(&o->made, 1 << 20, 4, 0);
}

static void test_pieces(void **state)
{
	struct opened o;

	start(&o);
	made_clock(&o.made, 1000, 5000, 1000005000);
	made_clock(&o.made, 3000, 6000, 1000006000); /* 0.5 ns a tick */
	made_clock(&o.made, 4000, 7000, 1000007000); /* then 1 */
	open_clock(&o);
	assert_int_equal(o.warnings.count, 0);
	assert_near(o.clock.ns_per_tick, 2000.0 / 3000, 1e-12);
	assert_near(clock_ns(&o.clock, 3000), 2000, 1e-12);
	assert_near(clock_monotonic(&o.clock, 2000), 5500, 1e-12);
	assert_near(clock_monotonic(&o.clock, 3500), 6500, 1e-12);
	assert_near(clock_monotonic(&o.clock, 4000), 7000, 1e-12);
	assert_near(clock_realtime(&o.clock, 3500), 1000006500, 1e-12);
	/* beyond the ends: the rate of all */
	assert_near(clock_monotonic(&o.clock, 7000), 9000, 1e-12);
	assert_near(clock_monotonic(&o.clock, 400), 4600, 1e-12);
	assert_true(clock_between(&o.clock, 5, 3) == 0);
	close_clock(&o);
}

static void test_one_reading(void **state)
{
	struct opened o;

	start(&o);
	made_clock(&o.made, 1000, 5000, 1000005000);
	open_clock(&o);
	assert_true(isnan(o.clock.ns_per_tick));
	assert_true(isnan(clock_ns(&o.clock, 10)));
	assert_int_equal(o.warnings.count, 1);
	assert_non_null(strstr(o.warnings.text[0], "rate"));
	close_clock(&o);
}

static void test_monotonic(void **state)
{
	struct opened o;

	start(&o);
	made_header(&o.made)->clock_kind = TF_CLOCK_MONOTONIC;
	open_clock(&o);
	assert_int_equal(o.warnings.count, 0);
	assert_near(clock_ns(&o.clock, 12345), 12345, 1e-12);
	assert_near(clock_monotonic(&o.clock, 12345), 12345, 1e-12);
	assert_true(isnan(clock_realtime(&o.clock, 12345)));
	close_clock(&o);
}

static void test_disorder(void **state)
{
	struct opened o;

	start(&o);
	made_clock(&o.made, 1000, 5000, 1000005000);
	made_clock(&o.made, 900, 6000, 1000006000);  /* back */
	made_clock(&o.made, 3000, 4000, 1000006000); /* time back */
	made_clock(&o.made, 3000, 6000, 1000006000);
	open_clock(&o);
	assert_int_equal(o.clock.count, 2);
	assert_near(o.clock.ns_per_tick, 0.5, 1e-12);
	assert_int_equal(o.warnings.count, 1);
	close_clock(&o);
}

static void test_absurd_rate(void **state)
{
	struct opened o;

	start(&o);
	made_clock(&o.made, 1000, 5000, 1000005000);
	made_clock(&o.made, 1001, 5000000, 1000006000);
	open_clock(&o);
	assert_true(isnan(o.clock.ns_per_tick));
	assert_int_equal(o.warnings.count, 1);
	close_clock(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_one_reading),
	        cmocka_unit_test(test_monotonic),   cmocka_unit_test(test_disorder),
	        cmocka_unit_test(test_absurd_rate),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
