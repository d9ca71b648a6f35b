/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by calls that hold their thread until they are done: pinned, and made a step ahead. */
#include <math.h>

#include "report/analysis/whatif/whatif.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

static double tails[4];

/* A copy by a call that holds its thread until all before it on the stream and itself are done. */
static void play_blocking(struct play *p, uint64_t stream, enum spy_direction direction,
                          enum spy_memory memory, uint64_t bytes, double us)
{
	double from = p->host, *tail = stream ? &tails[stream & 3] : &p->tail;
	struct tf_record r = {.call = p->copy, .stream = stream};

	*tail = fmax(p->host + 5, *tail + 0.75) + us;
	p->host = *tail;
	r.start = 2001000 + (uint64_t)(from * 2000);
	r.end = 2001000 + (uint64_t)(p->host * 2000);
	r.copy.bytes = bytes;
	r.copy.items = 1;
	r.copy.direction = (uint8_t)direction;
	r.copy.memory = (uint8_t)memory;
	made_return(&p->made, p->thread[p->who], r);
}

/* Behind a large pageable copy that waited for a long kernel. A kernel of 20 ms, a copy of 8 MiB
 * which takes 1 ms itself but waits for the kernel, and 15 ms of host work in 100 calls. Pinning
 * saves about the copy's 1 ms a step; the host's work is slow for 1 ms behind it at most. */
static void test_waiting_is_no_copying(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 40; i++) {
		play_launch(&p, 5, 20000);
		play_blocking(&p, 0, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 8u << 20, 1000);
		for (int k = 0; k < 100; k++) {
			p.host += 145;
			struct tf_record r = play_call(&p, p.mark, 5);
			play_returns(&p, &r);
		}
	}
	play_timed(&p, 20000);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	play_assert_base(&m, 0.01);
	/* 36 ms a step; at 25 bytes a ns the copy takes 0.34 ms; 1 ms of host work is faster by 0.2
	 */
	assert_near(r.predicted, 40 * (5e3 + 20e6 + 0.34e6 + 15e6 - 0.2e6), 0.02);
	play_ends(&p, &m);
}

/* Steps of kernels alone, and then as many with a copy of pinned memory each, on a stream of its
 * own, by a call that holds the host: a step ahead none of the copies runs among the first steps.
 */
static void test_copies_are_one_step_ahead(void **state)
{
	const uint64_t bytes = 1u << 25;
	struct play p;
	struct model m = {0};
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = SPY_DIR_HTOD,
	                      .memory = SPY_MEM_PINNED,
	                      .size = work_size_bucket(bytes)};

	play_start(&p);
	uint32_t shorter = p.kernel, longer = made_kernel(&p.made, "longer");
	tails[1] = -1e9;
	p.kernel = longer;
	for (int i = 0; i < 400; i++) {
		play_launch(&p, 5, 1000);
		play_sync(&p);
	}
	p.kernel = shorter;
	for (int i = 0; i < 400; i++) {
		play_blocking(&p, 0x501, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 1000);
		play_launch(&p, 5, 50);
		play_sync(&p);
	}
	play_timed(&p, 50);
	p.kernel = longer;
	play_timed(&p, 1000);
	made_pairs(made_work(&p.made, key, 0), TF_PAIR_IDLE, 400, 1e3 * 1005.2, 1);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	/* 400 steps of 1010 us, and 400 of 1001 at least: the copies, one after the other */
	assert_near(r.predicted, 400 * (1010e3 + 1001e3), 0.02);
	play_ends(&p, &m);
}

/* What the host copies is what it made of the result of the step before: it cannot be there a step
 * ahead, which nobody sees. The range says that nothing may be gained. */
static void test_what_is_not_there_a_step_ahead(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = SPY_DIR_HTOD,
	                      .memory = SPY_MEM_PINNED,
	                      .size = work_size_bucket(bytes)};

	play_start(&p);
	for (int i = 0; i < 400; i++) {
		play_blocking(&p, 0, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 400);
		play_launch(&p, 5, 400);
		play_sync(&p);
	}
	play_timed(&p, 400);
	made_pairs(made_work(&p.made, key, 0), TF_PAIR_IDLE, 400, 1e3 * 405.2, 1);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	assert_true(r.speedup_low <= 1);
	play_ends(&p, &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_waiting_is_no_copying),
	        cmocka_unit_test(test_copies_are_one_step_ahead),
	        cmocka_unit_test(test_what_is_not_there_a_step_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
