/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/analysis/findings/findings_fixture.h"

#define STEPS 1000

/* A launch of 300 us of work a ms, and the host outside CUDA from one to the next. */
static void starving(struct run *r, double gpu_us)
{
	run_start(r);
	for (int i = 0; i < STEPS; i++)
		run_launch(r, FREE, i * 1000.0, gpu_us)->thread = 2;
	run_idle(r, TF_IDLE_OUTSIDE, 690);
}

/* A loader's batch comes late where steps upload something; else there is no loader to be told of.
 */
static void test_host_starves_with_uploads(void **state)
{
	static const char *const advice[] = {"host-work", "host-work", "host-starves-gpu"};

	for (int i = 0; i < 3; i++) {
		struct run r;
		starving(&r, 300);
		r.m.steps.source = STEPS_FOUND;
		r.m.steps.duration.mean = 10 * 1e6; /* 100 in a second */
		struct call_event *a = run_copy_back(&r, FREE, 1000.0 * STEPS - 50, 3);
		a->direction = i ? SPY_DIR_HTOD : SPY_DIR_DTOH;
		a->bytes = i == 1 ? 399999 : 1 << 20;
		run_idle(&r, TF_IDLE_OUTSIDE, 690);
		assert_string_equal(run_finding(&r, "host-starves-gpu")->advice, advice[i]);
		run_end(&r);
	}
}

static void test_host_starves(void **state)
{
	struct run r;

	starving(&r, 300);
	run_has(&r, "host-starves-gpu", 0.69,
	        "while thread thread-2 (102) was outside CUDA: 999 times");
	run_has(&r, "host-starves-gpu", 0.69, "697 us, 697 us and 697 us at most");
	run_idle(&r, TF_IDLE_OUTSIDE, 100); /* the timeline says less */
	run_has(&r, "host-starves-gpu", 0.1, "10.0 %");
	run_idle(&r, TF_IDLE_OUTSIDE, 690);
	r.m.lost_share = 0.2; /* there may have been calls in between */
	run_has_not(&r, "host-starves-gpu");
	run_end(&r);

	starving(&r, 300); /* what it waits for is another finding's */
	r.verdict.waits_outside = true;
	run_has(&r, "host-starves-gpu", 0.69, "waiting for results that another thread reads");
	assert_string_equal(run_finding(&r, "host-starves-gpu")->title,
	                    "The host is outside CUDA while the GPU has nothing to do");
	run_end(&r);
	starving(&r, 1000); /* the GPU works meanwhile */
	run_has_not(&r, "host-starves-gpu");
	run_end(&r);
	starving(&r, NAN);
	run_has_not(&r, "host-starves-gpu");
	run_end(&r);
}

/* Of one kernel of a step no duration is known, and it is the last before the host's own work. */
static void test_host_starves_behind_a_kernel_never_timed(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++)
		for (int k = 0; k < 25; k++)
			run_launch(&r, FREE, i * 1000.0 + k * 10, k < 24 ? 5 : NAN)->thread = 2;
	run_idle(&r, TF_IDLE_OUTSIDE, 740);
	run_has(&r, "host-starves-gpu", 0.74, "757 us, 757 us and 757 us at most");
	run_end(&r);
}

/* Threads that are outside CUDA at the same time: an instant counts once, and what is told of a
 * thread is its own. */
static void test_threads_that_starve_it_together(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, FREE, i * 1000.0, 300)->thread = 2;
		run_launch(&r, FREE, i * 1000.0 + 10, 10)->thread = 1;
		run_call(&r, SPY_CLASS_OTHER, i * 1000.0 + 900, 1)->thread = 1;
	}
	run_idle(&r, TF_IDLE_OUTSIDE, 990); /* the recent calls say less */
	run_has(&r, "host-starves-gpu", 0.687,
	        "while threads that give it work were outside CUDA, most of all thread-2 (102): "
	        "999 "
	        "times (");
	run_has(&r, "host-starves-gpu", 0.687, "687 us, 687 us and 687 us at most");
	run_end(&r);
}

/* The figures of one thread do not make the share that is told: why stands there. */
static void test_shares_that_are_not_the_threads(void **state)
{
	struct run r;

	/* They take turns: work of 1 ms that one waits for, then it is outside CUDA for as long. */
	run_start(&r);
	for (int i = 0; i < 400; i++) {
		double at = i * 2000.0;
		run_launch(&r, FREE, at, 1000)->thread = i % 2 ? 1 : 2;
		run_call(&r, SPY_CLASS_SYNC, at + 5, 995)->thread = i % 2 ? 1 : 2;
		run_call(&r, SPY_CLASS_OTHER, at + 1500, 1)->thread = i % 2 ? 2 : 1;
	}
	run_idle(&r, TF_IDLE_OUTSIDE, 400);
	run_has(&r, "host-starves-gpu", 0.4,
	        "These make 19.9 % of that time; 1 other thread had the rest.");
	run_end(&r);

	starving(&r, 300);
	run_idle(&r, TF_IDLE_OUTSIDE, 100);
	run_has(&r, "host-starves-gpu", 0.1,
	        "These make 69.6 % of that time by the calls alone; the timeline shows no more "
	        "than the 10.0 %.");
	run_idle(&r, TF_IDLE_OUTSIDE, 690);
	assert_null(strstr(run_finding(&r, "host-starves-gpu")->evidence, "These make"));
	run_end(&r);
}

/* A launch a step of 10 ms; of every `every`th one code was loaded by that thread right before it,
 * behind another call. */
static void compiling(struct run *r, int every, uint16_t loader)
{
	run_start(r);
	for (int i = 0; i < 100; i++) {
		double at = i * 10000.0;
		run_launch(r, FREE, at, 100)->thread = 2;
		if (i % every != 0)
			continue;
		run_call(r, SPY_CLASS_OTHER, at + 9000, 1)->thread = loader;
		struct call_event *load = run_call(r, SPY_CLASS_MODULE, at + 9500, 100);
		load->thread = loader;
		load->role = CUDA_ROLE_CODE_LOADED;
	}
	run_idle(r, TF_IDLE_OUTSIDE, 990);
}

static void test_code_made_in_the_loop(void **state)
{
	struct run r;

	/* All but the 400 us from a loading to the launch: 9.4 of 9.8 ms. */
	compiling(&r, 1, 2);
	run_has(&r, "host-starves-gpu", 0.98,
	        "96.0 % of that went by before code was loaded (100 modules)");
	assert_non_null(strstr(run_finding(&r, "host-starves-gpu")->fix, "recompilation"));
	run_end(&r);
	compiling(&r, 1, 1); /* by another thread, meanwhile */
	run_has(&r, "host-starves-gpu", 0.98,
	        "100.0 % of that went by before code was loaded (100 modules)");
	run_end(&r);
	compiling(&r, 4, 2); /* it is not what the finding is about */
	run_has(&r, "host-starves-gpu", 0.98, "before code was loaded (25 modules)");
	assert_null(strstr(run_finding(&r, "host-starves-gpu")->fix, "recompilation"));
	run_end(&r);
	compiling(&r, 20, 2);
	assert_null(strstr(run_finding(&r, "host-starves-gpu")->evidence, "code was loaded"));
	run_end(&r);
}

/* The times between the calls of a thread that gives no work are no one's concern; short ones are
 * the loop around the calls. */
static void test_other_gaps(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 100; k++)
			run_launch(&r, FREE, i * 1000.0 + k * 10, 1);
		run_call(&r, SPY_CLASS_OTHER, i * 1000.0 + 999, 0.5)->thread = 1;
	}
	run_idle(&r, TF_IDLE_OUTSIDE, 690);
	run_has_not(&r, "host-starves-gpu");
	run_end(&r);
}

/* A few long gaps between many launches, as a busy machine makes them. */
static void test_rare_gaps(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 9000; k++)
			run_launch(&r, FREE, i * 50000.0 + k * 5, 1);
	run_idle(&r, TF_IDLE_OUTSIDE, 100);
	run_has_not(&r, "host-starves-gpu");
	/* One at each step is what the program does. */
	r.m.steps =
	        (struct model_steps_figures){.source = STEPS_NVTX, .duration = {.mean = 50 * MS}};
	run_has(&r, "host-starves-gpu", 0.095, "19 times (0.95 a step)");
	run_end(&r);
}

/* By the steps that the recent calls are of, not by how long a step takes on average: a long one
 * before made that another. */
static void test_steps_of_the_recent_calls(void **state)
{
	struct model_step rows[20] = {{.duration = 0}};
	struct run r;

	run_start(&r);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 9000; k++)
			run_launch(&r, FREE, i * 50000.0 + k * 5, 1);
		rows[i] = (struct model_step){
		        .found = true, .start = i * 50 * MS, .duration = 50 * MS};
	}
	run_idle(&r, TF_IDLE_OUTSIDE, 100);
	r.m.steps = (struct model_steps_figures){.source = STEPS_FOUND,
	                                         .count = 21,
	                                         .judged = 20,
	                                         .stride = 1,
	                                         .rows = rows,
	                                         .phase = PHASE_NONE,
	                                         .duration = {.mean = 75 * MS}};
	r.m.step_rows = rows;
	r.m.step_row_count = 20;
	run_has(&r, "host-starves-gpu", 0.095, "19 times (0.95 a step)");
	r.m.step_rows = NULL;
	r.m.step_row_count = 0;
	r.m.steps = (struct model_steps_figures){.source = STEPS_NONE};
	run_end(&r);
}

static void asking(struct run *r, struct model_api *api, uint64_t launches, uint64_t queries)
{
	run_start(r);
	*api = (struct model_api){.name = (char *)"cudaStreamQuery",
	                          .cls = SPY_CLASS_QUERY,
	                          .calls = queries,
	                          .total = (double)queries * 300};
	r->m.apis = api;
	r->m.api_count = 1;
	r->m.totals.launches = launches;
}

static void test_polling(void **state)
{
	struct model_api api;
	struct run r;

	asking(&r, &api, 1000, 1000000); /* exact counters alone: 0.3 s in these calls */
	run_has(&r, "polling", 0.3, "1000000 questions, 1000 for each piece of work");
	assert_int_equal(run_finding(&r, "polling")->severity, SEVERITY_LOW);
	/* Questions one after the other for 900 of 1000 ms. */
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, FREE, i * 1000.0, 100);
		for (int k = 0; k < 90; k++)
			run_call(&r, SPY_CLASS_QUERY, i * 1000.0 + 10 + k * 10, 10)->result = 600;
	}
	run_has(&r, "polling", 0.9, "the loops around them 90.0 % of a core's steady time");
	assert_int_equal(run_finding(&r, "polling")->severity, SEVERITY_MEDIUM);
	/* The GPU is at work when the answer is "not ready", whatever the estimates are. */
	run_idle(&r, TF_IDLE_OUTSIDE, 500);
	run_has_not(&r, "host-starves-gpu");
	run_end(&r);

	asking(&r, &api, 100000, 200000); /* two looks a launch, as an allocator has */
	run_has_not(&r, "polling");
	run_end(&r);
	asking(&r, &api, 0, 100); /* a few */
	run_has_not(&r, "polling");
	run_end(&r);
}

static void test_failed_calls(void **state)
{
	struct model_api apis[] = {
	        {.name = (char *)"cudaMalloc", .level = SPY_LEVEL_RUNTIME, .cls = SPY_CLASS_ALLOC},
	        {.name = (char *)"cuLaunchKernel", .cls = SPY_CLASS_LAUNCH},
	};
	struct model_failure failures[] = {
	        {.api = 0, .result = 2, .count = 3, .first = 5 * MS},
	        {.api = 1, .result = 1, .count = 9, .first = 2 * MS},
	        {.api = 0, .result = 4242, .count = 3, .first = NAN},
	        {.api = 0, .result = 1, .count = 1, .first = NAN},
	};
	struct run r;

	run_start(&r);
	r.verdict.window = 0; /* however short */
	run_has_not(&r, "failed-calls");
	r.m.apis = apis;
	r.m.api_count = 2;
	r.m.failures = failures;
	r.m.failure_count = 1;
	r.m.totals.failed = 3;
	r.m.totals.calls = 100;
	run_has(&r, "failed-calls", NAN,
	        "3 of 100 calls failed, the first 5.00 ms into the window: cudaMalloc 3 times "
	        "(cudaErrorMemoryAllocation).");
	assert_int_equal(run_finding(&r, "failed-calls")->severity, SEVERITY_LOW);
	r.m.failure_count = 4;
	r.m.totals.failed = 16;
	run_has(&r, "failed-calls", NAN,
	        "the first 2.00 ms into the window: cuLaunchKernel 9 times "
	        "(CUDA_ERROR_INVALID_VALUE), cudaMalloc 3 times (cudaErrorMemoryAllocation), "
	        "cudaMalloc 3 times (error 4242), and others.");
	assert_int_equal(run_finding(&r, "failed-calls")->severity, SEVERITY_HIGH);
	r.m.failure_count = 0; /* a thread remembers only so many kinds */
	run_has(&r, "failed-calls", NAN, "16 of 100 calls failed, the first n/a");
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_host_starves),
	        cmocka_unit_test(test_host_starves_behind_a_kernel_never_timed),
	        cmocka_unit_test(test_host_starves_with_uploads),
	        cmocka_unit_test(test_threads_that_starve_it_together),
	        cmocka_unit_test(test_shares_that_are_not_the_threads),
	        cmocka_unit_test(test_code_made_in_the_loop),
	        cmocka_unit_test(test_other_gaps),
	        cmocka_unit_test(test_rare_gaps),
	        cmocka_unit_test(test_steps_of_the_recent_calls),
	        cmocka_unit_test(test_polling),
	        cmocka_unit_test(test_failed_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
