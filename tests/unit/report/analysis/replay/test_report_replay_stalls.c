/* SPDX-License-Identifier: Apache-2.0 */
/* Long gaps between calls: the host was held up, or did work of its own. */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/replay/replay.h"
#include "tests/unit/unit.h"

#define WORKS 16
#define STEPS 2000
#define US    1e3

struct wanted {
	unsigned works;   /* launches of a step, each of another kernel */
	unsigned stalled; /* so many gaps of all places, anywhere */
	unsigned every;   /* before the fourth launch of each so many steps; 0 = never */
	double stall_us;  /* how long each is */
	bool found;       /* these are stalls */
};

static struct call_log_work works[WORKS];
static struct call_event given[STEPS * WORKS];
static bool stalls[STEPS * WORKS], own[STEPS * WORKS];
static struct call_log_thread thread;
static struct call_log_stream stream;
static struct call_log_call call = {.cls = SPY_CLASS_LAUNCH};

static uint32_t chance(uint32_t below)
{
	static uint32_t state = 1;

	state = state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)state * below) >> 32);
}

/* Launches of 3 us, 20 us apart but for the long gaps. */
static void make(struct call_log *h, const struct wanted *w)
{
	uint32_t count = STEPS * w->works;
	double at = 0;

	for (uint32_t i = 0; i < count; i++) {
		stalls[i] = false;
		own[i] = w->every && i % w->works == 3 && i / w->works % w->every == 0;
	}
	for (unsigned i = 0; i < w->stalled;) {
		uint32_t to = 1 + chance(count - 1);
		i += !stalls[to] && !own[to];
		stalls[to] |= !own[to];
	}
	for (uint32_t i = 0; i < count; i++) {
		at += (stalls[i] ? w->stall_us : own[i] ? 1000 : 20) * US;
		given[i] = (struct call_event){.start = at,
		                               .end = at + 3 * US,
		                               .gpu = NAN,
		                               .gpu_start = NAN,
		                               .kind = TF_WORK_KERNEL,
		                               .cls = SPY_CLASS_LAUNCH,
		                               .work = i % w->works,
		                               .event = CALL_LOG_NONE,
		                               .graph = CALL_LOG_NONE,
		                               .items = 1};
		at += 3 * US;
	}
	for (unsigned i = 0; i < w->works; i++)
		works[i] = (struct call_log_work){.kind = TF_WORK_KERNEL,
		                                  .mean = 2 * US,
		                                  .low = 2 * US,
		                                  .high = 2 * US,
		                                  .call_events = STEPS};
	*h = (struct call_log){.call_events = given,
	                       .count = count,
	                       .calls = &call,
	                       .call_count = 1,
	                       .threads = &thread,
	                       .thread_count = 1,
	                       .streams = &stream,
	                       .stream_count = 1,
	                       .works = works,
	                       .work_count = w->works,
	                       .window = at,
	                       .until = at,
	                       .coverage = 1,
	                       .whole = true,
	                       .cpu_wait = NAN};
}

static void test_what_is_a_stall(void **state)
{
	static const struct wanted rows[] = {
	        {12, 200, 0, 1500, true},
	        {12, 0, 25, 1500, false},    /* work of its own before one kernel */
	        {12, 200, 25, 1500, true},   /* both */
	        {12, 10, 0, 1500, false},    /* too few to be a habit */
	        {12, 200, 0, 30000, false},  /* longer than what holds a host up */
	        {12, 200, 0, 90, false},     /* no long gaps */
	        {4, 200, 0, 1500, false},    /* too few places to tell */
	        {12, 4000, 0, 1500, false}}; /* most of the time: that is what it does */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_log h;
		struct replay r;
		size_t found = 0, missed = 0, wrong = 0;
		make(&h, &rows[i]);
		replay_make(&r, &h, REPLAY_MEAN);
		for (size_t k = 0; k < r.count; k++) {
			bool stalled = r.call_events[k].flags & REPLAY_STALLED;
			found += stalled && stalls[k];
			missed += !stalled && stalls[k];
			wrong += stalled && !stalls[k];
		}
		assert_int_equal(found + wrong, r.stalls);
		assert_int_equal(wrong, 0);
		/* Those where the program works itself cannot be told from its work. */
		if (rows[i].found)
			assert_true(missed <= found / 8);
		else
			assert_int_equal(found, 0);
		assert_near(r.stalled, (double)found * rows[i].stall_us * US, 0.01);
		replay_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_a_stall)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
