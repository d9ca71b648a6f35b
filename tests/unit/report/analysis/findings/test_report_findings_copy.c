/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/work/work_class.h"
#include "tests/unit/report/analysis/findings/steady.h"

#define MIB (1u << 20)

static void copies(struct steady *s, unsigned count, enum spy_memory memory, double us)
{
	for (unsigned i = 0; i < count; i++)
		steady_copy(s, s->copy, SPY_DIR_HTOD, memory, MIB, 0x1000, 0x7000, us);
}

static void test_pageable(void **state)
{
	struct steady s;

	steady_start(&s);
	copies(&s, 20, SPY_MEM_PAGEABLE, 100);
	copies(&s, 20, SPY_MEM_PINNED, 4);
	steady_expect(&s, "pageable-async-copy",
	              "20 of 40 asynchronous copies between host and device are of pageable "
	              "memory, 20.0MiB in all; the host spends 2.00 ms in these calls, 94.");
	steady_start(&s);
	copies(&s, 20, SPY_MEM_PINNED, 100);
	steady_expect(&s, "pageable-async-copy", NULL);
}

/* As cudaMemcpy makes them. Small ones to the host are results that are read, those to the device
 * are sent with the call; and where they take hardly a part of the time there is nothing to tell.
 */
static void test_blocking(void **state)
{
	static const struct {
		enum spy_direction direction;
		uint64_t bytes;
		double apart_us;
		bool told;
	} rows[] = {{SPY_DIR_HTOD, MIB, 0, true},   {SPY_DIR_DTOH, MIB, 0, true},
	            {SPY_DIR_DTOH, 4096, 0, false}, {SPY_DIR_HTOD, 4096, 0, false},
	            {SPY_DIR_HTOD, MIB, 900, true}, {SPY_DIR_HTOD, MIB, 3000, false}};

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct steady s;
		bool to_host = rows[k].direction == SPY_DIR_DTOH;
		steady_start(&s);
		for (unsigned i = 0; i < 20; i++, s.at += rows[k].apart_us)
			steady_copy(&s, s.blocking, rows[k].direction, SPY_MEM_PAGEABLE,
			            rows[k].bytes, 0x1000, 0x7000, 100);
		steady_read(&s);
		assert_null(steady_finding(&s, "pageable-async-copy"));
		const struct finding *f = steady_finding(&s, "pageable-blocking-copy");
		assert_int_equal(f != NULL, rows[k].told);
		if (f) {
			assert_non_null(strstr(f->evidence, "20 of 20 blocking copies"));
			assert_string_equal(f->advice,
			                    to_host ? "pageable-to-host" : "pageable-async-copy");
			assert_int_equal(f->direction, rows[k].direction);
		}
		steady_end(&s);
	}
}

static void expect_advice(enum spy_direction direction, const char *advice)
{
	struct steady s;

	steady_start(&s);
	for (unsigned i = 0; i < 20; i++)
		steady_copy(&s, s.copy, direction, SPY_MEM_PAGEABLE, MIB, 0x1000, 0x7000, 100);
	steady_read(&s);
	const struct finding *f = steady_finding(&s, "pageable-async-copy");
	assert_non_null(f);
	assert_string_equal(f->advice, advice);
	steady_end(&s);
}

/* What goes to the host must be waited for before it is read. */
static void test_the_way_of_pageable_bytes(void **state)
{
	expect_advice(SPY_DIR_HTOD, "pageable-async-copy");
	expect_advice(SPY_DIR_DTOH, "pageable-to-host");
}

/* As many bytes both ways: the words are of the way whose calls take longer, and so is the line. */
static void test_as_many_bytes_both_ways(void **state)
{
	for (int longer = 0; longer < 2; longer++) {
		struct steady s;
		steady_start(&s);
		for (unsigned i = 0; i < 20; i++) {
			steady_copy(&s, s.copy, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, MIB, 0x1000, 0x7000,
			            100);
			steady_copy(&s, s.copy, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, MIB, 0x7000, 0x1000,
			            longer ? 140 : 80);
		}
		steady_read(&s);
		const struct finding *f = steady_finding(&s, "pageable-async-copy");
		assert_non_null(f);
		assert_string_equal(f->advice, longer ? "pageable-to-host" : "pageable-async-copy");
		steady_end(&s);
	}
}

static void reads(struct steady *s, unsigned count, enum spy_direction direction, uint64_t bytes,
                  double us)
{
	for (unsigned i = 0; i < count; i++) {
		steady_launch(s, 4, 0);
		steady_copy(s, s->copy, direction, SPY_MEM_PAGEABLE, bytes, 0x7000, 0x1000, us);
	}
}

/* What of the calls is waiting for kernels is no price of pageable memory. */
static void test_pageable_that_waits(void **state)
{
	struct tf_work key = {.kind = TF_WORK_KERNEL};
	struct steady s;

	steady_start(&s); /* by its bytes: 1000 us are not for 20 of them, but 50 may be */
	reads(&s, 20, SPY_DIR_DTOH, 20, 1000);
	steady_expect(
	        &s, "pageable-async-copy",
	        "of its time in the loop. Of that 95.0 % is waiting for work that the GPU had "
	        "before, which pinned memory does not take away.");
	steady_start(&s); /* what is left is not worth telling */
	reads(&s, 20, SPY_DIR_DTOH, 20, 20000);
	steady_expect(&s, "pageable-async-copy", NULL);
	steady_start(&s);
	reads(&s, 20, SPY_DIR_HTOD, 20, 20000); /* they travel with the command */
	steady_expect(&s, "pageable-async-copy", NULL);
	steady_start(&s); /* by the kernels before them, of 100 us */
	key.id = s.kernel;
	key.grid_x = key.grid_y = key.grid_z = key.block_x = key.block_y = key.block_z = 1;
	made_pairs(made_work(&s.made, key, 0), TF_PAIR_IDLE, 20, 102000, 10);
	reads(&s, 20, SPY_DIR_DTOH, MIB, 200);
	steady_expect(&s, "pageable-async-copy", "Of that 49.");
	steady_start(&s); /* those to the device would not wait if they were pinned */
	reads(&s, 20, SPY_DIR_HTOD, 4 * MIB, 20000);
	steady_expect(&s, "pageable-async-copy", "80.0MiB in all; the host spends 400 ms");
}

/* Not a hundredth of the steady state. */
static void test_pageable_little(void **state)
{
	struct steady s;

	steady_start(&s);
	copies(&s, 1, SPY_MEM_PAGEABLE, 5);
	steady_call(&s, s.sync, 1000);
	steady_expect(&s, "pageable-async-copy", NULL);
}

/* The exact counters say it where no call is kept. */
static void test_pageable_without_history(void **state)
{
	struct steady s;

	steady_start(&s);
	copies(&s, 20, SPY_MEM_PAGEABLE, 100);
	made_header(&s.made)->keep = 0;
	steady_read(&s);
	assert_int_equal(s.model.processes[0].call_log.count, 0);
	assert_non_null(steady_finding(&s, "pageable-async-copy"));
	assert_int_equal(s.analysis.findings.count, 1);
	steady_end(&s);
}

static void small(struct steady *s, unsigned rows, unsigned row, bool turn)
{
	for (unsigned i = 0; i < rows; i++) {
		for (unsigned k = 0; k < row; k++)
			steady_copy(s, s->copy, turn && k % 2 ? SPY_DIR_DTOH : SPY_DIR_HTOD,
			            SPY_MEM_PINNED, 1024, 0x1000 + k * 4096u, 0x7000 + k * 1024u,
			            3);
		steady_launch(s, 3, 0);
	}
}

static void test_small(void **state)
{
	struct steady s;

	steady_start(&s);
	small(&s, 13, 10, false);
	steady_expect(
	        &s, "many-small-copies",
	        "copies of 1.00KiB on average came in rows of 10: one direction, one "
	        "stream, no other work and no wait between them. Each takes the host 3.00 us");
	steady_start(&s); /* each for a launch of its own */
	small(&s, 120, 1, false);
	steady_expect(&s, "many-small-copies", NULL);
	steady_start(&s); /* to and fro */
	small(&s, 12, 10, true);
	steady_expect(&s, "many-small-copies", NULL);
	steady_start(&s); /* few */
	small(&s, 5, 10, false);
	steady_expect(&s, "many-small-copies", NULL);
}

/* What a program does between two small copies of one stream. */
enum between { NOTHING, WORK_ELSEWHERE, COPY_ELSEWHERE, ALIKE_ELSEWHERE, ANSWER, WAIT };

static void small_with(struct steady *s, enum spy_direction direction, enum spy_memory memory,
                       enum between between)
{
	for (unsigned i = 0; i < 120; i++) {
		steady_copy(s, s->copy, direction, memory, 1024, 0x1000, 0x7000, 3);
		s->stream = 0x50;
		if (between == WORK_ELSEWHERE)
			steady_launch(s, 3, 0);
		if (between == COPY_ELSEWHERE)
			steady_copy(s, s->copy, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 1, 2, 3);
		if (between == ALIKE_ELSEWHERE)
			steady_copy(s, s->copy, direction, memory, 1024, 0x2000, 0x8000, 3);
		s->stream = 0;
		if (between == ANSWER)
			steady_call(s, s->query, 1);
		if (between == WAIT)
			steady_call(s, s->sync, 1);
	}
	steady_launch(s, 3, 0);
}

/* Packed they could only be where all is known, or needed, at one time. */
static void test_small_with_other_work(void **state)
{
	static const struct {
		enum spy_direction direction;
		enum spy_memory memory;
		enum between between;
		const char *evidence; /* NULL = not found */
	} cases[] = {
	        {SPY_DIR_HTOD, SPY_MEM_PINNED, NOTHING, "120 copies of 1.00KiB"},
	        {SPY_DIR_DTOH, SPY_MEM_PINNED, NOTHING, "120 copies of 1.00KiB"},
	        {SPY_DIR_HTOD, SPY_MEM_PINNED, ALIKE_ELSEWHERE, "240 copies of 1.00KiB"},
	        {SPY_DIR_HTOD, SPY_MEM_PINNED, ANSWER, "120 copies of 1.00KiB"},
	        {SPY_DIR_HTOD, SPY_MEM_PINNED, WAIT, NULL},
	        {SPY_DIR_HTOD, SPY_MEM_PINNED, WORK_ELSEWHERE, NULL},
	        {SPY_DIR_DTOH, SPY_MEM_PINNED, WORK_ELSEWHERE, NULL},
	        {SPY_DIR_DTOH, SPY_MEM_PINNED, COPY_ELSEWHERE, NULL},
	        {SPY_DIR_DTOH, SPY_MEM_PINNED, ANSWER, NULL},
	        {SPY_DIR_DTOH, SPY_MEM_PAGEABLE, NOTHING, NULL}, /* there as the call returns */
	};
	struct steady s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		steady_start(&s);
		small_with(&s, cases[i].direction, cases[i].memory, cases[i].between);
		steady_expect(&s, "many-small-copies", cases[i].evidence);
	}
}

/* Copies of this size take so many us on the GPU. */
static void timed(struct steady *s, enum spy_direction direction, uint64_t bytes, double us)
{
	struct tf_record r = {0};
	struct tf_work key;

	r.copy.bytes = bytes;
	r.copy.direction = (uint8_t)direction;
	r.copy.memory = SPY_MEM_PINNED;
	r.copy.async = 1;
	work_key(&key, TF_WORK_COPY, &r);
	made_pairs(made_work(&s->made, key, 0), TF_PAIR_IDLE, 20, us * 1000 + 2000, 10);
}

static void columns(struct steady *s, uint16_t call, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		steady_copy(s, call, SPY_DIR_DTOH, SPY_MEM_PINNED, MIB / 4, 0x7000, 0x1000, 4);
		steady_call(s, s->sync, 160);
	}
}

static void test_bandwidth(void **state)
{
	struct steady s;

	steady_start(&s);
	timed(&s, SPY_DIR_HTOD, 4 * MIB, 160);
	timed(&s, SPY_DIR_DTOH, MIB / 4, 160);
	steady_copy(&s, s.copy, SPY_DIR_HTOD, SPY_MEM_PINNED, 4 * MIB, 0x1000, 0x7000, 4);
	columns(&s, s.copy, 20);
	steady_expect(&s, "low-bandwidth-copy",
	              "20 DtoH copies of 256KiB of pinned memory reach 1.");
	steady_start(&s); /* twice as long as at the best bandwidth, and small: nothing is wrong */
	timed(&s, SPY_DIR_HTOD, 4 * MIB, 160);
	timed(&s, SPY_DIR_DTOH, MIB / 4, 20);
	steady_copy(&s, s.copy, SPY_DIR_HTOD, SPY_MEM_PINNED, 4 * MIB, 0x1000, 0x7000, 4);
	columns(&s, s.copy, 20);
	steady_expect(&s, "low-bandwidth-copy", NULL);
}

/* Nothing to compare with: said of copies of rows alone. Never timed: nothing is said. */
static void test_bandwidth_alone(void **state)
{
	struct steady s;

	steady_start(&s);
	timed(&s, SPY_DIR_DTOH, MIB / 4, 160);
	columns(&s, s.copy_rows, 20);
	steady_expect(&s, "low-bandwidth-copy", "this run has none to compare with");
	steady_start(&s);
	timed(&s, SPY_DIR_DTOH, MIB / 4, 160);
	columns(&s, s.copy, 20);
	steady_expect(&s, "low-bandwidth-copy", NULL);
	steady_start(&s);
	columns(&s, s.copy_rows, 20);
	steady_expect(&s, "low-bandwidth-copy", NULL);
}

static void both_ways(struct steady *s, uint64_t back_from)
{
	for (unsigned i = 0; i < 12; i++) {
		steady_copy(s, s->copy, SPY_DIR_DTOH, SPY_MEM_PINNED, MIB, 0x7000, 0x1000, 50);
		steady_call(s, s->sync, 10);
		steady_copy(s, s->copy, SPY_DIR_HTOD, SPY_MEM_PINNED, MIB, back_from, 0x7000, 50);
	}
}

static void test_back_and_forth(void **state)
{
	struct steady s;

	steady_start(&s);
	both_ways(&s, 0x1000);
	steady_expect(&s, "copy-back-and-forth",
	              "1.00MiB each way on average; that takes the host ");
	steady_start(&s);
	both_ways(&s, 0x1000);
	steady_expect(&s, "copy-back-and-forth", "; its GPU time is not known.");
	steady_start(&s);
	both_ways(&s, 0x2000);
	steady_expect(&s, "copy-back-and-forth", NULL);
	steady_start(&s); /* addresses that are not known say nothing */
	for (unsigned i = 0; i < 12; i++) {
		steady_copy(&s, s.copy, SPY_DIR_DTOH, SPY_MEM_PINNED, MIB, 0, 0, 50);
		steady_copy(&s, s.copy, SPY_DIR_HTOD, SPY_MEM_PINNED, MIB, 0, 0, 50);
	}
	steady_expect(&s, "copy-back-and-forth", NULL);
}

static void batches(struct steady *s, bool is_timed)
{
	if (is_timed) {
		struct tf_work key = {.kind = TF_WORK_KERNEL, .id = s->kernel};
		key.grid_x = key.grid_y = key.grid_z = 1;
		key.block_x = key.block_y = key.block_z = 1;
		made_pairs(made_work(&s->made, key, 0), TF_PAIR_IDLE, 20, 102000, 10);
		timed(s, SPY_DIR_HTOD, MIB, 100);
		timed(s, SPY_DIR_DTOH, MIB, 100);
	}
	for (unsigned i = 0; i < 20; i++) {
		steady_copy(s, s->copy, SPY_DIR_HTOD, SPY_MEM_PINNED, MIB, 0x1000, 0x7000, 4);
		steady_launch(s, 4, 0);
		steady_copy(s, s->copy, SPY_DIR_DTOH, SPY_MEM_PINNED, MIB, 0x7000, 0x2000, 4);
		steady_call(s, s->sync, 290);
	}
}

static void test_overlap(void **state)
{
	struct steady s;

	steady_start(&s);
	batches(&s, true);
	steady_expect(&s, "copy-not-overlapped", "so that none can overlap");
	steady_start(&s);
	batches(&s, false);
	steady_expect(&s, "copy-not-overlapped", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pageable),
	        cmocka_unit_test(test_blocking),
	        cmocka_unit_test(test_pageable_little),
	        cmocka_unit_test(test_the_way_of_pageable_bytes),
	        cmocka_unit_test(test_as_many_bytes_both_ways),
	        cmocka_unit_test(test_pageable_that_waits),
	        cmocka_unit_test(test_pageable_without_history),
	        cmocka_unit_test(test_small),
	        cmocka_unit_test(test_small_with_other_work),
	        cmocka_unit_test(test_bandwidth),
	        cmocka_unit_test(test_bandwidth_alone),
	        cmocka_unit_test(test_back_and_forth),
	        cmocka_unit_test(test_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
