/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/findings/findings_internal.h"
#include "tests/unit/report/analysis/findings/findings_fixture.h"

static struct call_log_work works[MADE_STREAMS];
static struct model_thread threads[12];

/* So many threads are there, which launched as often for the whole second; the timeline says that a
 * fifth of their time was more than launches usually take while others called. */
static void with_threads(struct run *r, unsigned count, uint64_t launches)
{
	r->process.call_log.works = works;
	r->process.call_log.work_count = MADE_STREAMS;
	memset(threads, 0, sizeof(threads));
	for (unsigned t = 0; t < count; t++) {
		threads[t].launches = launches;
		threads[t].issues = true;
		threads[t].cpu_cores = NAN;
		threads[t].split.contention = 200 * MS;
		threads[t].split.alive = 1000 * MS;
	}
	r->m.threads = threads;
	r->m.thread_count = count;
}

static struct call_event *launch_of(struct run *r, unsigned thread, double at_us, double us)
{
	struct call_event *a = run_launch(r, FREE, at_us, 2);

	a->thread = (uint16_t)thread;
	a->end = a->start + us * US;
	return a;
}

/* ---- severities ---- */

static void test_severity(void **state)
{
	assert_int_equal(finding_severity(1.99, 0.001), SEVERITY_HIGH);
	assert_int_equal(finding_severity(1.2, NAN), SEVERITY_HIGH);
	assert_int_equal(finding_severity(1.19, 0.9), SEVERITY_MEDIUM);
	assert_int_equal(finding_severity(1.05, NAN), SEVERITY_MEDIUM);
	assert_int_equal(finding_severity(1.04, NAN), SEVERITY_LOW);
	assert_int_equal(finding_severity(1, 0.99), SEVERITY_LOW);
	assert_int_equal(finding_severity(NAN, 0.2), SEVERITY_HIGH);
	assert_int_equal(finding_severity(NAN, 0.19), SEVERITY_MEDIUM);
	assert_int_equal(finding_severity(NAN, 0.05), SEVERITY_MEDIUM);
	assert_int_equal(finding_severity(NAN, 0.04), SEVERITY_LOW);
	assert_int_equal(finding_severity(NAN, NAN), SEVERITY_LOW);
}

/* ---- launch-contention ---- */

/* No lock, and more threads than CPUs: a launch takes as long beside others as alone, but for those
 * whose thread was not running meanwhile. */
static void test_more_threads_than_cpus(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 10000; i++)
		for (unsigned t = 0; t < 4; t++)
			launch_of(&r, t, i * 100.0 + t * 2,
			          (i + (int)t) % 10 ? 2.62 + 0.01 * (t > 0) : 90);
	with_threads(&r, 4, 10000);
	run_has_not(&r, "launch-contention");
	run_end(&r);
}

static void test_nothing_to_compare_with(void **state)
{
	struct run r;

	run_start(&r); /* all meet the other thread but the first */
	for (int i = 0; i < 20000; i++)
		launch_of(&r, (unsigned)i % 2, i * 49.0, 50);
	with_threads(&r, 2, 10000);
	run_has_not(&r, "launch-contention");
	run_end(&r);
}

/* Under a lock that all want all the time hardly a launch is alone: those that met fewer threads
 * are compared with those that met more. */
static void test_crowded(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 20000; i++) /* the third from the last has always ended */
		launch_of(&r, (unsigned)i % 3, i * 40.0, i % 2000 < 100 ? 50 : 90);
	with_threads(&r, 3, 6666);
	run_has(&r, "launch-contention", NAN,
	        "(lower quartile) while one other thread launches at most, 90.0 us while more "
	        "launch too");
	run_end(&r);
}

/* Launches of other kernels take other times: that is not for the threads. */
static void test_other_kernels(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 10000; i++)
		for (unsigned t = 0; t < 4; t++)
			launch_of(&r, t, i * 100.0 + t, t ? 12 : 3)->work = t ? OTHER_FREE : FREE;
	with_threads(&r, 4, 10000);
	run_has_not(&r, "launch-contention");
	run_end(&r);
}

/* ---- host-starved-of-cpu ---- */

static void starved(struct run *r, unsigned count, double wait, double idle_ms)
{
	run_start(r);
	for (int i = 0; i < 1000; i++)
		launch_of(r, (unsigned)i % count, i * 1000.0, 3);
	with_threads(r, count, 1000 / count);
	run_idle(r, TF_IDLE_LAUNCH, idle_ms);
	r->process.call_log.cpu_wait = wait;
	r->process.cpu = (struct model_process_cpu){.cores = 2,
	                                            .online = 64,
	                                            .limit_known = true,
	                                            .quota = NAN,
	                                            .periods = NAN,
	                                            .throttled_periods = NAN,
	                                            .throttled = NAN};
}

static void test_starved(void **state)
{
	struct run r;

	starved(&r, 4, 0.4, 700);
	run_has(&r, "host-starved-of-cpu", 0.4,
	        "The 4 threads that give the GPU its work waited for a CPU for 40.0 % of the "
	        "steady "
	        "time (400 ms each), and the GPU idled because of the host for 70.0 % of it. CPU: "
	        "2 "
	        "of 64 cores, no quota.");
	threads[1].cpu_cores = 1;
	run_has(&r, "host-starved-of-cpu", 0.4, "no quota. A thread may run on 1 of them only.");
	run_idle(&r, TF_IDLE_LAUNCH, 100); /* no more than that can be gained */
	run_has(&r, "host-starved-of-cpu", 0.1, "idled because of the host for 10.0 %");
	run_idle(&r, TF_IDLE_LAUNCH, 20); /* it had work all the while */
	run_has_not(&r, "host-starved-of-cpu");
	run_end(&r);
	starved(&r, 1, 0.4, 700);
	run_has(&r, "host-starved-of-cpu", 0.4,
	        "The thread that gives the GPU its work waited for a CPU for 40.0 % of the steady "
	        "time (400 ms), and");
	r.process.call_log.cpu_wait = 0.04;
	run_has_not(&r, "host-starved-of-cpu");
	r.process.call_log.cpu_wait = NAN;
	run_has_not(&r, "host-starved-of-cpu");
	run_end(&r);
}

static void test_throttled(void **state)
{
	struct run r;

	starved(&r, 4, 0.03, 700);
	r.process.cpu.limited = true;
	r.process.cpu.quota = 1.5;
	r.process.cpu.periods = 100;
	r.process.cpu.throttled_periods = 50;
	r.process.cpu.throttled = 1.2e9;
	run_has(&r, "host-starved-of-cpu", 0.03,
	        "quota 1.5 (used up in 50 of 100 periods, threads waited 1.20 s)");
	r.process.call_log.cpu_wait = NAN; /* no share is known */
	assert_true(isnan(run_finding(&r, "host-starved-of-cpu")->share));
	run_has(&r, "host-starved-of-cpu", NAN, "What threads waited for a CPU is not known, and");
	r.process.call_log.cpu_wait = 0; /* it was others in the cgroup */
	run_has_not(&r, "host-starved-of-cpu");
	r.process.call_log.cpu_wait = 0.03;
	r.process.cpu.throttled_periods = 4;
	run_has_not(&r, "host-starved-of-cpu");
	run_end(&r);
}

/* What the GPU did is not known: neither is what could be gained. */
static void test_starved_without_gpu_times(void **state)
{
	struct run r;

	starved(&r, 2, 0.4, 700);
	r.m.gpu.has_busy = false;
	run_has(&r, "host-starved-of-cpu", NAN,
	        "40.0 % of the steady time (400 ms each). CPU: 2 of");
	assert_true(isnan(run_finding(&r, "host-starved-of-cpu")->share));
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_severity),
	        cmocka_unit_test(test_more_threads_than_cpus),
	        cmocka_unit_test(test_nothing_to_compare_with),
	        cmocka_unit_test(test_crowded),
	        cmocka_unit_test(test_other_kernels),
	        cmocka_unit_test(test_starved),
	        cmocka_unit_test(test_throttled),
	        cmocka_unit_test(test_starved_without_gpu_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
