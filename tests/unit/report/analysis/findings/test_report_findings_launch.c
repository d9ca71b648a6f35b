/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/analysis/findings/findings_fixture.h"

/* 50,000 launches of `each` us in the second, 5 different ones in turn, and a wait after `between`
 * of them. */
static void short_launches(struct run *r, int between, double each)
{
	run_start(r);
	for (int i = 0; i < 50000; i++) {
		run_launch(r, FREE, i * 20.0, each)->work = (uint32_t)(i % 5);
		if (i % between == between - 1)
			run_sync(r, FREE, i * 20.0 + 4, 8);
	}
	run_idle(r, TF_IDLE_LAUNCH, 300);
	r->m.totals.launches = 50000;
	r->m.host.launch = 250 * MS;
	r->m.gpu.launch_p50 = 5 * US;
	r->m.gpu.launched.mean = each * US;
}

static void test_many_short_launches(void **state)
{
	struct run r;

	short_launches(&r, 100, 2);
	run_has(&r, "many-short-launches", 0.25, "launching takes the host 5.00 us each");
	run_has(&r, "many-short-launches", 0.25,
	        "The same sequence of 100 launches with 1 wait between them comes 324 times and "
	        "covers");
	r.m.steps.source = STEPS_FOUND;
	r.m.steps.duration.mean = 24 * MS;
	run_has(&r, "many-short-launches", 0.25, "50000 launches, 1200 a step; ");
	r.m.gpu.launched.mean = 100 * US; /* long kernels hide their launches */
	run_has_not(&r, "many-short-launches");
	r.m.gpu.launched.mean = NAN;
	run_has_not(&r, "many-short-launches");
	run_end(&r);

	short_launches(&r, 50000, 2); /* the same, now a set and four launches */
	for (size_t i = 0; i < 50000; i += 5)
		r.process.call_log.call_events[i].kind = TF_WORK_SET;
	run_has(&r, "many-short-launches", 0.25,
	        "The same sequence of 4 launches and 1 other piece of work comes");
	run_end(&r);

	short_launches(&r, 50000, 2);
	run_has(&r, "many-short-launches", 0.25, "The same sequence of 5 launches comes");
	r.m.host.launch = 20 * MS; /* there is little to gain */
	run_has_not(&r, "many-short-launches");
	run_end(&r);
}

/* Longer kernels, with waits between few of them, are told where the verdict is of launches. */
static void test_launches_that_the_verdict_names(void **state)
{
	struct run r;

	short_launches(&r, 2, 15);
	run_has_not(&r, "many-short-launches");
	r.verdict.cls = r.verdict.first = VERDICT_LAUNCH;
	run_has(&r, "many-short-launches", 0.25, "launching takes the host 5.00 us each");
	assert_string_equal(run_finding(&r, "many-short-launches")->title,
	                    "The GPU runs dry between launches");
	r.verdict.cls = VERDICT_NONE; /* it is not sure of it */
	run_has_not(&r, "many-short-launches");
	run_end(&r);
}

/* The title says of the figures what they say. */
static void test_kernels_longer_than_launches(void **state)
{
	struct run r;

	short_launches(&r, 100, 2);
	run_has(&r, "many-short-launches", 0.25,
	        "the GPU idled for 30.0 % of the steady time while the host launched or was "
	        "between "
	        "two launches");
	assert_string_equal(run_finding(&r, "many-short-launches")->title,
	                    "The host launches short kernels for longer than they run");
	r.m.gpu.launched.mean = 7 * US;
	run_has(&r, "many-short-launches", 0.25,
	        "launching takes the host 5.00 us each, with what the program does between the "
	        "calls 20.0 us (median), and the GPU runs");
	assert_string_equal(run_finding(&r, "many-short-launches")->title,
	                    "The GPU runs dry between the launches of short kernels");
	for (size_t i = 0; i < r.process.call_log.count; i++) /* cudaspy's own is not told */
		r.process.call_log.call_events[i].ours = 3e3f;
	run_has(&r, "many-short-launches", 0.25, "between the calls 17.0 us (median), and");
	for (size_t i = 0; i < r.process.call_log.count; i++) /* one after the other */
		r.process.call_log.call_events[i].ours = 15.2e3f;
	run_has(&r, "many-short-launches", 0.25,
	        "launching takes the host 5.00 us each and the GPU runs");
	r.process.call_log.count = 4; /* each of another thread: nothing from one to the next */
	for (uint16_t i = 0; i < 4; i++)
		r.process.call_log.call_events[i].thread = i;
	run_has(&r, "many-short-launches", 0.25,
	        "launching takes the host 5.00 us each and the GPU runs");
	run_end(&r);
}

/* What two devices idled is held against the window of one. */
static void test_idle_of_two_devices(void **state)
{
	struct run r;

	short_launches(&r, 100, 2);
	run_idle(&r, TF_IDLE_LAUNCH, 160);
	r.m.gpu.busy.window = 2000 * MS;
	run_has(&r, "many-short-launches", 0.08, "idled for 8.0 % of the steady time");
	run_idle(&r, TF_IDLE_LAUNCH, 80);
	r.m.gpu.busy.window = 2000 * MS;
	run_has_not(&r, "many-short-launches");
	run_end(&r);
}

/* The calls that are looked at are of the process that gave the GPU most work, be it graphs. */
static void test_the_busiest_process(void **state)
{
	struct model_process both[2];
	struct run r;

	short_launches(&r, 100, 2);
	both[0] = both[1] = r.process;
	both[0].call_log.count = 0;
	both[0].launches = 5; /* the other one: 1 */
	r.m.processes = both;
	r.m.process_count = 2;
	run_has(&r, "many-short-launches", 0.25, "The same sequence of 100 launches with 1 wait");
	run_end(&r);
}

/* With a wait after each launch a graph has nothing to hold. */
static void test_waits_between_launches(void **state)
{
	struct run r;

	short_launches(&r, 1, 2);
	run_has_not(&r, "many-short-launches");
	/* No record is kept: the exact counters tell the same. */
	r.process.call_log.count = 0;
	r.m.totals.syncs = 50000;
	run_has_not(&r, "many-short-launches");
	run_end(&r);
}

static void test_queue_full(void **state)
{
	struct run r;

	run_start(&r);
	r.m.host.back_pressure = 600 * MS;
	run_has(&r, "launch-queue-full", 0.6, "600 ms of launch calls, 60.0 %");
	assert_int_equal(run_finding(&r, "launch-queue-full")->severity, SEVERITY_INFO);
	r.m.host.back_pressure = NAN; /* not told apart */
	run_has_not(&r, "launch-queue-full");
	run_end(&r);
}

/* Threads that launch all at once or one after the other: 3 us, or 12 beside others. */
static void launching_threads(struct run *r, struct model_thread *threads, int count, bool at_once)
{
	static struct call_log_work works[MADE_STREAMS];

	run_start(r);
	for (int i = 0; i < 10000; i++)
		for (int t = 0; t < count; t++) {
			struct call_event *a =
			        run_launch(r, FREE, i * 100.0 + (at_once ? t : t * 20), 2);
			a->thread = (uint16_t)t;
			a->end = a->start + (at_once && t ? 12 : 3) * US;
		}
	r->process.call_log.works = works;
	r->process.call_log.work_count = MADE_STREAMS;
	memset(threads, 0, sizeof(*threads) * (size_t)count);
	for (int t = 0; t < count; t++) {
		threads[t].launches = 10000;
		threads[t].split.contention = 200 * MS;
		threads[t].split.alive = 1000 * MS;
	}
	r->m.threads = threads;
	r->m.thread_count = (size_t)count;
}

static void test_contention(void **state)
{
	struct model_thread threads[4];
	struct run r;

	launching_threads(&r, threads, 4, true);
	run_has(&r, "launch-contention", 0.0675,
	        "4 threads launch and wait for one another for 6.8 % of their time. A launch takes "
	        "3.00 us (lower quartile) alone, 12.0 us while another thread launches too, as "
	        "75.0 % of "
	        "them do: 9.00 us to 9.00 us longer (95 %).");
	r.process.call_log.cpu_wait = 0.3;
	run_has(&r, "launch-contention", 0.0675,
	        "longer (95 %). What they waited for a CPU, 30.0 % of their time, is not in that.");
	for (int t = 0; t < 4; t++)
		threads[t].split.contention = NAN;
	run_has_not(&r, "launch-contention");
	run_end(&r);
	launching_threads(&r, threads, 4, false); /* long launches, but never two at a time */
	run_has_not(&r, "launch-contention");
	run_end(&r);
	launching_threads(&r, threads, 1, true);
	run_has_not(&r, "launch-contention");
	run_end(&r);
}

/* A run of some ms has shares, but they mean nothing. */
static void test_too_short(void **state)
{
	struct run r;

	short_launches(&r, 100, 2);
	r.verdict.window = 10 * MS;
	run_has_not(&r, "many-short-launches");
	run_end(&r);
}

/* Nothing at all is known. */
static void test_nothing(void **state)
{
	struct run r;

	run_start(&r);
	assert_null(run_finding(&r, "x"));
	assert_int_equal(r.found.count, 0);
	r.verdict.window = NAN;
	r.process.call_log.stream_count = r.process.call_log.thread_count = 0;
	assert_null(run_finding(&r, "x"));
	assert_int_equal(r.found.count, 0);
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_many_short_launches),
	        cmocka_unit_test(test_launches_that_the_verdict_names),
	        cmocka_unit_test(test_kernels_longer_than_launches),
	        cmocka_unit_test(test_idle_of_two_devices),
	        cmocka_unit_test(test_the_busiest_process),
	        cmocka_unit_test(test_waits_between_launches),
	        cmocka_unit_test(test_queue_full),
	        cmocka_unit_test(test_contention),
	        cmocka_unit_test(test_too_short),
	        cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
