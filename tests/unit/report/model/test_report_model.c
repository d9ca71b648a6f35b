/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/model.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

static void model_of(struct model *m, const struct made *made)
{
	assert_true(render_model(m, made->map.base, made_bytes(made)));
}

static const struct model_api *api_named(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->api_count; i++)
		if (!strcmp(m->apis[i].name, name))
			return &m->apis[i];
	fail_msg("no api %s", name);
	return NULL;
}

static struct tf_thread *thread_of(struct made *m, uint32_t index)
{
	uint64_t *at = tf_entry(&m->map, &made_header(m)->threads, index, sizeof(*at));

	return tf_at(&m->map, *at, sizeof(struct tf_thread));
}

/* The window of the sample: from the first launch to the return of the graph launch, 2,900,600
 * ticks of 0.5 ns. */
#define WINDOW_NS 1450300.0

static void test_sample(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, MADE_AREAS);
	model_of(&m, &made);
	assert_int_equal(m.totals.calls, 29);
	assert_int_equal(m.totals.failed, 1);
	assert_int_equal(m.totals.launches, 20);
	assert_int_equal(m.totals.graph_launches, 1);
	assert_int_equal(m.totals.captured, 0);
	assert_int_equal(m.totals.copies, 2);
	assert_int_equal(m.totals.pageable_copies, 1);
	assert_int_equal(m.totals.copy_bytes, (1 << 20) + 4096);
	assert_int_equal(m.totals.syncs, 1);
	assert_int_equal(m.totals.allocs, 4);
	assert_int_equal(m.lost, 0);
	assert_near(m.wall, 5e6, 1e-9);
	assert_near(m.window, WINDOW_NS, 1e-9);
	assert_near(m.startup, 1e6, 1e-9);
	assert_near(m.start_realtime, 1755767727123000000.0 + 500, 1e-9);
	assert_near(m.per_call, 40, 1e-9);
	assert_near(m.calls_cost, 29 * 40, 1e-9);
	assert_true(isnan(m.samples_cost));
	/* of two threads that made calls */
	assert_near(m.overhead_share, (29 * 40 + 5e5) / (2 * 5e6), 1e-9);
	assert_int_equal(m.process_count, 1);
	assert_int_equal(m.processes[0].state, PROCESS_COMPLETE);
	assert_string_equal(m.processes[0].command, "python3 train.py '--name=a b'");
	assert_true(m.simulated);
	assert_int_equal(m.warnings.count, 0);

	const struct model_api *launch = api_named(&m, "cudaLaunchKernel");
	assert_int_equal(launch->calls, 20);
	assert_near(launch->total, 80000, 1e-9);
	assert_near(launch->mean, 4000, 1e-9);
	assert_near(launch->q.p50, 4000, 0.03);
	assert_near(launch->max, 4000, 1e-9);
	assert_int_equal(m.failure_count, 1);
	assert_string_equal(m.apis[m.failures[0].api].name, "cudaMalloc");
	assert_int_equal(m.failures[0].result, 2);
	model_free(&m);
	made_free(&made);
}

static void test_kernels(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, MADE_AREAS);
	model_of(&m, &made);
	assert_int_equal(m.kernel_count, 2);
	const struct model_kernel *add = &m.kernels[0], *scale = &m.kernels[1];
	assert_string_equal(add->name,
	                    "void vector_add<float>(float const*, float const*, float*, int)");
	assert_int_equal(add->launches, 15);
	assert_near(add->total, 60000, 1e-9);
	assert_near(add->first, 4000, 1e-9);
	assert_int_equal(add->shapes, 2);
	assert_int_equal(add->most.launches, 10);
	assert_int_equal(add->most.grid[0], 64);
	assert_int_equal(add->most.block[0], 256);
	assert_string_equal(scale->name, "scale");
	assert_int_equal(scale->shapes, 1);
	assert_int_equal(scale->most.grid[0], 128);
	model_free(&m);
	made_free(&made);
}

/* Every split: the parts sum to the thread's life, life and absence to the window. */
static void test_split(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	model_of(&m, &made);
	assert_int_equal(m.thread_count, 2);
	for (size_t i = 0; i < m.thread_count; i++) {
		const struct model_split *s = &m.threads[i].split;
		assert_near(s->launch_api + s->sync + s->copy + s->alloc + s->module + s->other +
		                    s->outside,
		            s->alive, 1e-9);
		assert_near(s->alive + s->absent, WINDOW_NS, 1e-9);
	}
	assert_int_equal(m.threads[0].tid, 4711);
	assert_true(m.threads[0].issues);
	assert_false(m.threads[1].issues);
	assert_near(m.threads[0].split.sync, 1e6, 1e-9);
	assert_near(m.threads[1].split.alive, 1e6, 1e-9);
	assert_near(m.threads[1].split.absent, WINDOW_NS - 1e6, 1e-9);
	assert_true(m.has_host);
	assert_near(m.host.launch_api, 80300, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* A process killed inside a sync: the call is named with its age, the time in it is no time outside
 * CUDA. */
static void test_killed(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = thread_of(&made, 0);
	h->state = TF_STATE_OPEN;
	h->closed = 0;
	h->last_seen = 400000000;
	t->in_call = 2 + 1; /* cudaStreamSynchronize */
	t->in_start = 200000000;
	model_of(&m, &made);
	assert_int_equal(m.processes[0].state, PROCESS_KILLED);
	assert_int_equal(m.processes[0].flight_count, 1);
	assert_string_equal(m.processes[0].flights[0].api, "cudaStreamSynchronize");
	assert_int_equal(m.processes[0].flights[0].tid, 4711);
	assert_near(m.processes[0].flights[0].age, 1e8, 1e-9);
	assert_near(m.window, WINDOW_NS, 1e-9);
	model_free(&m);

	/* Another thread went on: within its window the first one was in the sync. */
	struct tf_thread *other = thread_of(&made, 1);
	other->last_return = 300000000;
	model_of(&m, &made);
	assert_near(m.threads[0].split.sync, 1e6 + 5e7, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* What the process left in its rings counts in the percentiles; what found the ring full is lost
 * there alone. */
static void test_loss(void **state)
{
	struct made made;
	struct model m;

	made_start(&made, 1 << 20, 4, 0);
	made_clock(&made, 0, 0, 1);
	made_clock(&made, 2000000000, 1000000000, 1000000001);
	uint16_t launch = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	made_kernel(&made, "");
	uint32_t kernel = made_kernel(&made, "k");
	struct tf_thread *t = made_thread(&made, 1, "full", 64);
	for (uint64_t i = 0; i < 1000; i++)
		made_launch(&made, t, launch, kernel, 1, 3000000 + i * 10000,
		            3000000 + i * 10000 + 2000 + i);
	model_of(&m, &made);
	assert_int_equal(m.totals.launches, 1000);
	assert_int_equal(m.lost, 936);
	assert_int_equal(m.written, 1000);
	assert_near(m.lost_share, 0.936, 1e-9);
	assert_int_equal(m.processes[0].drained, 64);
	assert_near(m.apis[0].q.p50, (2000 + 31.5) / 2, 0.03);
	assert_near(m.apis[0].max, 2999 / 2.0, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* Quantiles of a known distribution: 1..10,000 us, all of them in one ring. */
static void test_percentiles(void **state)
{
	struct made made;
	struct model m;

	made_start(&made, 4 << 20, 4, 0);
	made_clock(&made, 0, 0, 1);
	made_clock(&made, 2000000000, 1000000000, 1000000001);
	uint16_t call = made_call(&made, "cuMemFree_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	struct tf_thread *t = made_thread(&made, 1, "t", 16384);
	for (uint64_t i = 1; i <= 10000; i++)
		made_return(&made, t,
		            (struct tf_record){
		                    .start = 3000000, .end = 3000000 + i * 2000, .call = call});
	model_of(&m, &made);
	assert_near(m.apis[0].q.p50, 5000e3, 0.03);
	assert_near(m.apis[0].q.p90, 9000e3, 0.03);
	assert_near(m.apis[0].q.p99, 9900e3, 0.03);
	assert_true(m.apis[0].q.p99 <= m.apis[0].max);
	assert_near(m.apis[0].max, 10000e3, 1e-9);
	model_free(&m);
	made_free(&made);
}

static void add(struct model *m, const struct made *made)
{
	char error[READER_ERROR_BYTES];
	struct recording r;

	assert_int_equal(
	        recording_from_memory(&r, made->map.base, made_bytes(made), &m->warnings, error),
	        0);
	model_add(m, &r);
	recording_close(&r);
}

/* Two processes, the second on a machine whose clock ticks twice as fast and that started 1 s
 * later. */
static void test_two_processes(void **state)
{
	struct made a, b;
	struct model m = {0};

	made_sample(&a, MADE_AREAS);
	made_sample(&b, MADE_AREAS);
	struct tf_header *h = made_header(&b);
	h->pid = 4712;
	struct tf_clock_triple *c = tf_entry(&b.map, &h->clocks, 0, sizeof(*c));
	c[0].realtime_ns += 1000000000;
	c[1].realtime_ns = c[0].realtime_ns + 100000000;
	c[1].monotonic_ns = c[0].monotonic_ns + 100000000; /* 0.25 ns a tick */
	add(&m, &a);
	add(&m, &b);
	model_finish(&m);
	assert_int_equal(m.process_count, 2);
	assert_int_equal(m.totals.calls, 58);
	assert_int_equal(m.totals.launches, 40);
	assert_int_equal(m.api_count, 5); /* cuInit was never counted */
	assert_int_equal(m.kernel_count, 2);
	assert_int_equal(m.kernels[0].launches, 30);
	assert_int_equal(m.kernels[0].shapes, 2);
	assert_int_equal(m.kernels[0].most.launches, 20);
	const struct model_api *launch = api_named(&m, "cudaLaunchKernel");
	assert_near(launch->total, 80000 + 40000, 1e-9);
	assert_true(launch->q.p50 > 1900 && launch->q.p50 < 4100);
	assert_near(launch->q.p90, 4000, 0.03);
	assert_near(launch->max, 4000, 1e-9);
	assert_int_equal(m.copy_count, 2);
	assert_int_equal(m.gap_count, 1);
	assert_int_equal(m.gaps[0].count, 6);
	/* The second one, at 0.25 ns a tick, lasts 2.5 ms and started 1 s after the first. */
	assert_near(m.wall, 1e9 + 2.5e6, 1e-6);
	/* One thread of each gave work: the hosts of both, one after the other. */
	assert_true(m.has_host);
	assert_near(m.host_window, WINDOW_NS * 1.5, 1e-9);
	model_free(&m);
	made_free(&a);
	made_free(&b);
}

/* The call that the window starts after is no part of the window's shares. */
static void test_first_call(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = thread_of(&made, 0);
	t->calls[h->first_call - 1] =
	        (struct tf_call_stat){.calls = 2, .sum_ticks = 1000400, .max_ticks = 1000000};
	model_of(&m, &made);
	const struct model_api *init = api_named(&m, "cuInit");
	assert_near(init->total, 500200, 1e-9);
	assert_near(init->before_window, 500000, 1e-9);
	assert_near(m.class_ns[SPY_CLASS_CONTEXT], 200, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* The window ends with the last call of the program, and not with those that runtimes make when the
 * driver is gone, nor with our exit handler ahead of them. */
static void test_exit(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = thread_of(&made, 0);
	h->exit_return = t->last_return;
	h->exit_calls = 29;
	t->last_return += 3000000;
	t->calls[0].calls += 2;
	h->too_late_calls = 2;
	model_of(&m, &made);
	assert_near(m.window, WINDOW_NS, 1e-9);
	assert_int_equal(m.totals.calls, 31);
	model_free(&m);
	h->too_late_calls = 1; /* one of them did something */
	model_of(&m, &made);
	assert_near(m.window, WINDOW_NS + 1500000, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* Before cuInit returned there is no window, and no figure is made up for it. */
static void test_no_window(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	made_header(&made)->window_start = 0;
	model_of(&m, &made);
	assert_true(isnan(m.window));
	assert_true(isnan(m.startup));
	assert_near(m.wall, 5e6, 1e-9);
	model_free(&m);
	made_free(&made);
}

/* What was found and is not told is counted, and said. */
static void test_loops_that_are_not_told(void **state)
{
	struct made made;
	struct model all, some;

	made_sample(&made, 0);
	model_of(&all, &made);
	made_header(&made)->loops_dropped = 3;
	model_of(&some, &made);
	assert_int_equal(some.warnings.count, all.warnings.count + 1);
	model_free(&all);
	model_free(&some);
	made_free(&made);
}

/* It would begin behind every sign of life: then it is not 0 ns long. */
static void test_window_behind_the_end(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	made_header(&made)->window_start = 1ull << 40;
	model_of(&m, &made);
	assert_true(isnan(m.window));
	assert_near(m.wall, 5e6, 1e-9);
	model_free(&m);
	made_free(&made);
}

static void test_sort(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	model_of(&m, &made);
	assert_string_equal(m.apis[0].name, "cudaStreamSynchronize");
	model_sort(&m, SORT_CALLS);
	assert_string_equal(m.apis[0].name, "cudaLaunchKernel");
	model_sort(&m, SORT_FAILED);
	assert_string_equal(m.apis[0].name, "cudaMalloc");
	assert_string_equal(m.apis[m.failures[0].api].name, "cudaMalloc");
	model_sort(&m, SORT_NAME);
	assert_string_equal(m.apis[0].name, "cudaGraphLaunch");
	assert_string_equal(m.kernels[0].name, "scale");
	model_free(&m);
	made_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sample),
	        cmocka_unit_test(test_kernels),
	        cmocka_unit_test(test_split),
	        cmocka_unit_test(test_killed),
	        cmocka_unit_test(test_loss),
	        cmocka_unit_test(test_percentiles),
	        cmocka_unit_test(test_two_processes),
	        cmocka_unit_test(test_first_call),
	        cmocka_unit_test(test_exit),
	        cmocka_unit_test(test_no_window),
	        cmocka_unit_test(test_window_behind_the_end),
	        cmocka_unit_test(test_loops_that_are_not_told),
	        cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
