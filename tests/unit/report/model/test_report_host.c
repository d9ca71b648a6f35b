/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/model.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

#define WINDOW 20e6 /* ns, of made_sampled() */

static struct made made;
static struct model m;

static int setup(void **state)
{
	made_sampled(&made);
	return 0;
}

static int teardown(void **state)
{
	model_free(&m);
	made_free(&made);
	return 0;
}

static void read_made(void)
{
	assert_true(render_model(&m, made.map.base, made_bytes(&made)));
}

static struct tf_thread *thread_at(uint32_t index)
{
	uint64_t *offset =
	        tf_entry(&made.map, &made_header(&made)->threads, index, sizeof(*offset));

	return tf_at(&made.map, *offset, sizeof(struct tf_thread));
}

/* The parts of a split that are always known. */
static double sum_of(const struct model_split *s)
{
	return s->launch_api + s->sync + s->copy + s->alloc + s->module + s->other + s->outside +
	       s->sampling;
}

/* Exact sums divided as the timeline says; what copies waited moves to the waits. */
static void test_divided(void **state)
{
	read_made();
	const struct model_split *s = &m.threads[0].split;
	assert_near(s->launch_api, 6.46e6, 1e-9);
	assert_near(s->launch, 5e6, 1e-9);
	assert_near(s->back_pressure, 1e6, 1e-9);
	assert_near(s->contention, 0.46e6, 1e-9);
	assert_near(s->copy, 0.5e6, 1e-9);
	assert_near(s->sync, 4.5e6, 1e-9);
	assert_near(s->sync_useful, 3e6, 1e-9);
	assert_near(s->sync_wasted, 1.5e6, 1e-9);
	assert_near(s->sampling, 0.24e6, 1e-9);
	assert_near(s->outside, 8.3e6, 1e-9);
	assert_near(sum_of(s), WINDOW, 1e-12);
	assert_near(sum_of(&m.host), WINDOW, 1e-12);
	assert_near(m.host_window, WINDOW, 1e-12);
	assert_true(m.totals.implicit_known);
	assert_int_equal(m.totals.implicit_syncs, 7);
	assert_near(m.samples_cost, 0.24e6, 1e-9);
}

/* Half of the records were lost: the timeline saw half of the copies' own time, and no more of it
 * is waiting than before. */
static void test_thinned(void **state)
{
	struct tf_thread *t = thread_at(0);

	t->lost = 1000;
	struct tf_ring *ring = tf_at(&made.map, t->ring_first, sizeof(*ring));
	ring->head = ring->tail = 1000;
	for (int i = 0; i < TF_HOST_OUTSIDE; i++)
		t->split_ticks[i] /= 2;
	read_made();
	const struct model_split *s = &m.threads[0].split;
	assert_near(s->copy, 0.5e6, 1e-9);
	assert_near(s->launch, 5e6, 1e-9);
	assert_near(s->sync, 4.5e6, 1e-9);
	assert_near(sum_of(s), WINDOW, 1e-12);
}

/* The call that a killed process was in, of which the timeline knows nothing, was no wait. */
static void test_killed_inside(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = thread_at(0);
	uint16_t create = made_call(&made, "cuCtxCreate_v2", SPY_CLASS_CONTEXT, SPY_LEVEL_DRIVER);

	h->state = TF_STATE_OPEN;
	h->closed = 0;
	h->last_seen = t->last_return;
	t->in_call = create + 1;
	t->in_start = t->last_return - 8000000; /* 4 ms */
	read_made();
	const struct model_split *s = &m.threads[0].split;
	assert_near(s->other, 4e6, 1e-9);
	assert_near(s->copy, 0.5e6, 1e-9);
	assert_near(s->sync, 4.5e6, 1e-9);
}

/* Two threads gave work: the timeline's merged host, made to fit the window. */
static void test_merged(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_thread *second = made_thread(&made, 4712, "backward", 4);

	made_calls(&made, second, 0, 100, 800000);
	made_launches(&made, second, 1, 100, 800000, 8000);
	second->last_return = h->window_start + 1000000;
	for (int i = 0; i < TF_HOSTS; i++)
		h->host_ticks[i] *= 2; /* more than there can be */
	read_made();
	assert_int_equal(m.thread_count, 2);
	assert_true(m.has_host);
	assert_near(sum_of(&m.host), WINDOW, 1e-12);
	assert_near(m.host.launch, 5e6, 1e-9);
	assert_near(m.host.sync_wasted, 1.5e6, 1e-9);
	/* The timeline said nothing of the second thread. */
	assert_true(isnan(m.threads[1].split.launch));
	assert_near(m.threads[1].split.launch_api, 0.4e6, 1e-9);
}

/* What of the merged host's time was ours is told by the timeline: it is none of the program's
 * outside CUDA, and no more than was on the way of the thread that fed the GPU. */
static void test_merged_own_time(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_thread *second = made_thread(&made, 4712, "backward", 4);

	made_calls(&made, second, 0, 100, 800000);
	made_launches(&made, second, 1, 100, 800000, 8000);
	second->last_return = h->window_start + 1000000;
	second->sample_ticks = 8000000; /* 4 ms, beside what the other thread did */
	h->host_ticks[TF_HOST_OUTSIDE] -= 2000000;
	h->host_ticks[TF_HOST_OWN] = 2000000; /* 1 ms */
	read_made();
	assert_near(m.host.sampling, 1e6, 1e-9);
	assert_near(m.host.outside, 8.54e6 - 1e6, 1e-9);
	assert_near(sum_of(&m.host), WINDOW, 1e-12);
}

/* Time that went into samples of which none held is ours all the same. */
static void test_no_sample_held(void **state)
{
	thread_at(0)->samples = 0;
	read_made();
	assert_near(m.samples_cost, 0.24e6, 1e-9);
	double share = m.overhead_share;
	model_free(&m);
	thread_at(0)->sample_ticks = 0;
	read_made();
	assert_true(isnan(m.samples_cost)); /* nothing was timed */
	assert_near(share - m.overhead_share, 0.24e6 / m.wall, 1e-9);
}

/* What cudaspy took of the thread that it took most of, beside the wall time. */
static void test_own_share(void **state)
{
	struct tf_thread *second = made_thread(&made, 4712, "backward", 4);

	made_calls(&made, second, 0, 10, 80000);
	read_made();
	double own = 0.24e6 + m.per_call * 1652; /* the first thread's samples and calls */
	assert_near(m.own_share, own / m.wall, 1e-9);
	assert_null(m.own_warning);
	model_free(&m);
	second->sample_ticks = 8000000; /* 4 ms */
	read_made();
	assert_near(m.own_share, (4e6 + m.per_call * 10) / m.wall, 1e-9);
	assert_non_null(strstr(m.own_warning, "of the wall time of thread backward (4712)"));
	assert_non_null(
	        strstr(m.own_warning, "timing GPU work 4.00 ms of it and taking call sites 0."));
	assert_non_null(strstr(m.own_warning, "CUDASPY_BUDGET and CUDASPY_GPU=off"));
	model_free(&m);
	second->site_ticks =
	        10000000; /* 5 ms more: they are told apart, and what takes them away */
	read_made();
	assert_non_null(strstr(m.own_warning,
	                       "timing GPU work 4.00 ms of it and taking call sites 5.00 ms"));
	assert_non_null(strstr(m.own_warning, "CUDASPY_SITES=off"));
	second->site_ticks = 0;
}

/* Of what is judged: samples and stacks in it, and its calls as far as threads that feed the GPU
 * make them; where the calls of a phase are not kept, as many as its part of the time. */
/* What the first screen says to make less is the largest part. */
static void test_what_makes_its_cost_less(void **state)
{
	struct model m = {.calls_cost = 3, .samples_cost = 4, .sites_cost = 2};

	assert_string_equal(model_own_less(&m), "CUDASPY_BUDGET lowers it");
	m.sites_cost = 5;
	assert_string_equal(model_own_less(&m), "CUDASPY_SITES=off lowers it");
	m.calls_cost = 6;
	assert_string_equal(model_own_less(&m), "most of it is a record for each call");
	m = (struct model){.calls_cost = NAN, .samples_cost = 1, .sites_cost = NAN};
	assert_string_equal(model_own_less(&m), "CUDASPY_BUDGET lowers it");
}

static void test_own_share_of_what_is_judged(void **state)
{
	struct model_thread threads[] = {{.issues = true, .calls = 300}, {.calls = 100}};
	struct model_api all = {.calls = 400}, some = {.calls = 200};
	struct model_phase loop = {.kind = PHASE_LOOP};
	struct model whole = {.has_host = true,
	                      .host_window = 10e9,
	                      .host = {.sampling = 50e6},
	                      .calls_cost = 40e6,
	                      .threads = threads,
	                      .thread_count = 2,
	                      .apis = &all,
	                      .api_count = 1,
	                      .own_share = 0.008},
	             view = whole;

	assert_near(model_own_judged(&whole, &whole), 0.008, 1e-9); /* (50 + 40 * 3 / 4) / 10000 */
	assert_null(model_own_judged_warning(&whole, &whole));
	view.phase = &loop;
	view.host_window = 1e9;
	view.host.sampling = 40e6;
	assert_near(model_own_judged(&whole, &view), 0.043, 1e-9); /* (40 + 30 / 10) / 1000 */
	view.apis = &some;
	assert_near(model_own_judged(&whole, &view), 0.055, 1e-9); /* (40 + 30 / 2) / 1000 */
	char *warning = model_own_judged_warning(&whole, &view);
	assert_non_null(strstr(warning, "took 5.5 % of the loop, where 2.0 % is the most"));
	free(warning);
	whole.own_warning = (char *)"that of the run is told";
	assert_null(model_own_judged_warning(&whole, &view));
	view.host.sampling = 2e9;
	assert_near(model_own_judged(&whole, &view), 1, 0);
	view.has_host = false;
	assert_true(isnan(model_own_judged(&whole, &view)));
}

/* Threads that wait for a CPU while they are timed: together more than the wall time, and of a
 * damaged recording more than that, but no share is more than the whole. */
static void test_own_share_of_threads_that_wait(void **state)
{
	struct tf_thread *second = made_thread(&made, 4712, "backward", 4);

	made_calls(&made, second, 0, 10, 80000);
	read_made();
	double wall = m.wall, alone = m.overhead_share;
	model_free(&m);
	thread_at(0)->sample_ticks = second->sample_ticks = (uint64_t)(wall * 2 * 0.75);
	read_made();
	assert_near(m.samples_cost, wall * 1.5, 1e-6);
	assert_near(m.overhead_share, alone + (wall * 1.5 - 0.24e6) / (2 * wall), 1e-6);
	model_free(&m);
	thread_at(0)->sample_ticks = UINT64_MAX;
	read_made();
	assert_near(m.overhead_share, 1, 0);
	assert_near(m.own_share, 1, 0);
}

/* Without GPU time nothing of a launch or a wait can be told apart. */
static void test_off(void **state)
{
	made_header(&made)->gpu_mode = TF_GPU_OFF;
	read_made();
	const struct model_split *s = &m.threads[0].split;
	assert_near(s->launch_api, 6.46e6, 1e-9);
	assert_near(s->sync, 4e6, 1e-9);
	assert_near(s->copy, 1e6, 1e-9);
	assert_true(isnan(s->launch) && isnan(s->back_pressure) && isnan(s->contention));
	assert_true(isnan(s->sync_useful) && isnan(s->sync_wasted));
	assert_near(sum_of(s), WINDOW, 1e-12);
	assert_true(m.has_host);
	assert_false(m.totals.implicit_known);
	assert_true(isnan(m.gpu.overhead));
}

/* What was asked about graphs is ours as well, but no sample's. */
static void test_graphs_asked_about(void **state)
{
	read_made();
	double share = m.overhead_share;
	model_free(&m);
	thread_at(0)->graph_ticks = 120000; /* 60 us of 240 */
	read_made();
	assert_near(m.threads[0].split.sampling, 0.24e6, 1e-9);
	assert_near(m.graphs_cost, 60000, 1e-9);
	assert_near(m.samples_cost, 180000, 1e-9);
	assert_near(m.overhead_share, share, 1e-9);
	model_free(&m);
	thread_at(0)->graph_ticks = UINT64_MAX; /* more than all of it */
	read_made();
	assert_near(m.graphs_cost, 0.24e6, 1e-9);
	assert_near(m.samples_cost, 0, 0);
}

/* Counters that cannot be: no sum leaves the window, nothing is infinite. */
static void test_hostile(void **state)
{
	struct tf_thread *t = thread_at(0);

	memset(t->split_ticks, 0xff, sizeof(t->split_ticks));
	memset(made_header(&made)->host_ticks, 0xff, sizeof(t->split_ticks));
	t->sample_ticks = UINT64_MAX;
	t->implicit_syncs = UINT64_MAX;
	read_made();
	const struct model_split *s = &m.threads[0].split;
	assert_near(sum_of(s), WINDOW, 1e-9);
	assert_true(s->outside >= 0 && s->launch >= 0 && s->sync_useful >= 0);
	assert_near(sum_of(&m.host), WINDOW, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_divided, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_thinned, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_killed_inside, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_merged, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_merged_own_time, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_no_sample_held, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_own_share, setup, teardown),
	        cmocka_unit_test(test_what_makes_its_cost_less),
	        cmocka_unit_test(test_own_share_of_what_is_judged),
	        cmocka_unit_test_setup_teardown(test_own_share_of_threads_that_wait, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_off, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_graphs_asked_about, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
