/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/replay/replay.h"
#include "tests/unit/unit.h"

#define CLASSES  4
#define LAUNCHES 100
#define US       1e3

/* Launches of some classes in turn; each class' kernel takes 2 us, within 0.5 us. */
static struct call_log_work works[CLASSES];
static struct call_event launches[LAUNCHES];
static struct call_log_thread thread;
static struct call_log_stream stream;
static struct call_log_call call;

static void make(struct call_log *h, unsigned classes, double off_apart)
{
	for (unsigned i = 0; i < classes; i++)
		works[i] = (struct call_log_work){.kind = TF_WORK_KERNEL,
		                                  .mean = 2 * US,
		                                  .low = 1.5 * US,
		                                  .high = 2.5 * US,
		                                  .call_events = LAUNCHES / classes};
	for (unsigned i = 0; i < LAUNCHES; i++)
		launches[i] = (struct call_event){.start = 5 * US * i,
		                                  .end = 5 * US * i + 3 * US,
		                                  .gpu = NAN,
		                                  .gpu_start = NAN,
		                                  .kind = TF_WORK_KERNEL,
		                                  .cls = SPY_CLASS_LAUNCH,
		                                  .work = i % classes,
		                                  .event = CALL_LOG_NONE,
		                                  .graph = CALL_LOG_NONE,
		                                  .items = 1};
	call.cls = SPY_CLASS_LAUNCH;
	*h = (struct call_log){.call_events = launches,
	                       .count = LAUNCHES,
	                       .calls = &call,
	                       .call_count = 1,
	                       .threads = &thread,
	                       .thread_count = 1,
	                       .streams = &stream,
	                       .stream_count = 1,
	                       .works = works,
	                       .work_count = classes,
	                       .window = 5 * US * LAUNCHES,
	                       .until = 5 * US * LAUNCHES,
	                       .coverage = 1,
	                       .whole = true,
	                       .off_apart = off_apart,
	                       .cpu_wait = NAN};
}

/* What all work takes at a level. */
static double work_of(unsigned classes, double off_apart, enum replay_level level)
{
	struct call_log h;
	struct replay r;

	make(&h, classes, off_apart);
	replay_make(&r, &h, level);
	double gpu = r.gpu;
	replay_free(&r);
	return gpu;
}

static void test_all_alike(void **state)
{
	assert_near(work_of(CLASSES, 0, REPLAY_MEAN), 2 * US * LAUNCHES, 1e-9);
	assert_near(work_of(CLASSES, 0, REPLAY_LOW), 1.5 * US * LAUNCHES, 1e-9);
	assert_near(work_of(CLASSES, 0, REPLAY_HIGH), 2.5 * US * LAUNCHES, 1e-9);
}

/* Of four classes that are off by chance together half of it is left; one class has all of it. */
static void test_apart(void **state)
{
	assert_near(work_of(CLASSES, 1, REPLAY_MEAN), 2 * US * LAUNCHES, 1e-9);
	assert_near(work_of(CLASSES, 1, REPLAY_LOW), 1.75 * US * LAUNCHES, 1e-9);
	assert_near(work_of(CLASSES, 1, REPLAY_HIGH), 2.25 * US * LAUNCHES, 1e-9);
	assert_near(work_of(1, 1, REPLAY_HIGH), 2.5 * US * LAUNCHES, 1e-9);
	assert_near(work_of(CLASSES, 0.6, REPLAY_HIGH), 2.35 * US * LAUNCHES, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_all_alike),
	        cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
