/* SPDX-License-Identifier: Apache-2.0 */
/* Which launches can have waited for a place in the launch queue: by what waits proved. */
#include <math.h>

#include "report/analysis/replay/replay.h"
#include "shim/core/cuda/engines.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

enum way { BY_STREAM, BY_DEVICE, BY_EVENT, NOT_AT_ALL };

#define LAUNCHES 900 /* between two waits: all are in the queue, and it has room for more */
#define KERNEL   30  /* us; the host gives six of them meanwhile */

/* The wait returns when all work is done. */
static void wait(struct play *p, enum way way, uint16_t device_sync)
{
	const uint64_t event = 0x600;
	struct tf_record r;

	if (way == BY_EVENT) {
		r = play_call(p, p->mark, 1);
		r.event.event = event;
		play_returns(p, &r);
	}
	r = play_call(p,
	              way == BY_STREAM   ? p->sync
	              : way == BY_DEVICE ? device_sync
	                                 : p->wait_mark,
	              p->tail + 3.2 - p->host);
	r.event.event = way == BY_EVENT ? event : 0;
	play_returns(p, &r);
}

/* Launches of which some took longer, by something else than the queue; the streams' corrections at
 * them, us. */
static double corrected(enum way way)
{
	struct play p;
	struct model m = {0};
	struct replay r;
	double sum = 0;

	play_start(&p);
	uint16_t device_sync =
	        made_call(&p.made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 4 * LAUNCHES; i++) {
		play_launch(&p, i % LAUNCHES > 700 && i % 50 == 25 ? 25 : 5, KERNEL);
		if (i % LAUNCHES == LAUNCHES - 1 && way != NOT_AT_ALL)
			wait(&p, way, device_sync);
	}
	play_timed(&p, KERNEL);
	play_sync(&p);
	play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	replay_make(&r, &m.processes[0].call_log, REPLAY_MEAN);
	assert_true(r.count > 3 * LAUNCHES);
	for (size_t i = 0; i < r.count; i++)
		if (r.given[i].kind == TF_WORK_KERNEL)
			sum += fabs(r.call_events[i].shift) / 1e3;
	replay_free(&r);
	play_ends(&p, &m);
	return sum;
}

static void test_what_was_waited_for_is_in_no_queue(void **state)
{
	assert_near(corrected(BY_STREAM), 0, 0.001);
	assert_near(corrected(BY_DEVICE), 0, 0.001);
	assert_near(corrected(BY_EVENT), 0, 0.001);
}

/* Without waits the queue is full, and launches that wait for a place tell when one was free. */
static void test_a_full_queue_is_told_by_its_launches(void **state)
{
	assert_true(corrected(NOT_AT_ALL) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_what_was_waited_for_is_in_no_queue),
	        cmocka_unit_test(test_a_full_queue_is_told_by_its_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
