/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/record/span_fixture.h"

static void test_a_call(void **state)
{
	uint64_t before = spy_clock();
	struct spy_span s;

	for (int i = 0; i < 3;
	     i++) { /* the first attaches the thread, the others go the fast way */
		spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, TF_PTDS);
		assert_int_equal(thread()->in_call, CALL_cuCtxSynchronize + 1);
		assert_in_range(thread()->in_start, before, spy_clock());
		assert_int_equal(figures(CALL_cuCtxSynchronize)->calls,
		                 i); /* counted when it returns */
		spy_leave(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
		assert_int_equal(thread()->in_call, 0);
		assert_int_equal(figures(CALL_cuCtxSynchronize)->calls, i + 1);
		struct tf_record *r = record((uint64_t)i);
		assert_int_equal(r->call, CALL_cuCtxSynchronize);
		assert_int_equal(r->flags, TF_PTDS | TF_NO_ARGS);
		assert_int_equal(r->result, 0);
		assert_int_equal(r->thread, 0);
		assert_true(before <= r->start && r->start <= r->end && r->end <= spy_clock());
		assert_int_equal(thread()->last_return, r->end);
		assert_int_equal(r->stream | r->arg[0] | r->arg[1] | r->arg[2] | r->arg[3], 0);
	}
	assert_int_equal(offered(), 3);
	assert_int_equal(thread()->lost, 0);
	assert_int_equal(thread()->first_call, record(0)->start);
}

static void test_times_add_up(void **state)
{
	uint64_t sum = 0, longest = 0;

	for (uint64_t i = 0; i < 60; i++) {
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
		uint64_t ticks = record(i)->end - record(i)->start;
		sum += ticks;
		longest = ticks > longest ? ticks : longest;
	}
	assert_int_equal(figures(CALL_cuMemcpy)->sum_ticks, sum);
	assert_int_equal(figures(CALL_cuMemcpy)->max_ticks, longest);
}

static void test_failures(void **state)
{
	for (int i = 0; i < 5; i++)
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 700);
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 1);
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	a_call(CALL_cuEventQuery, SPY_CLASS_QUERY, 600); /* not ready: no failure */
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 7);
	assert_int_equal(figures(CALL_cuMemcpy)->failed, 6);
	assert_int_equal(figures(CALL_cuEventQuery)->failed, 0);
	const struct tf_failure *f = thread()->failures;
	assert_int_equal(f[0].call, CALL_cuMemcpy);
	assert_int_equal(f[0].result, 700);
	assert_int_equal(f[0].count, 5);
	assert_int_equal(f[0].first_tick, record(0)->end);
	assert_int_equal(f[1].result, 1);
	assert_int_equal(f[1].count, 1);
	assert_int_equal(f[2].count, 0);
	assert_int_equal(record(5)->result, 1);
	assert_int_equal(record(7)->result, 600);
	assert_int_equal(thread()->in_call, 0);
}

static void test_more_kinds_of_failure_than_places(void **state)
{
	for (int round = 0; round < 2; round++)
		for (int i = 1; i <= (int)TF_FAILURES + 3; i++)
			a_call(CALL_cuMemcpy, SPY_CLASS_COPY, i);
	assert_int_equal(figures(CALL_cuMemcpy)->failed, 2 * (TF_FAILURES + 3));
	for (unsigned i = 0; i < TF_FAILURES; i++)
		assert_int_equal(thread()->failures[i].count, 2);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_FAILURES_FULL], 6);
}

static void test_errno_is_kept(void **state)
{
	errno = 4711;
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0); /* attaches */
	for (int i = 0; i < 200; i++)             /* fills the ring */
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, i % 3);
	assert_int_equal(errno, 4711);
}

static void test_a_full_ring(void **state)
{
	for (int i = 0; i < 1000; i++)
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, i % 10 == 9);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 1000); /* exact all the same */
	assert_int_equal(figures(CALL_cuMemcpy)->failed, 100);
	assert_int_equal(offered(), 1000);
	assert_int_equal(records() + thread()->lost, 1000);
	assert_int_equal(records(), 64);
	drained();
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(records(), 65);
	assert_int_equal(offered(), 1001);
}

static void test_growth(void **state)
{
	static const struct {
		uint64_t capacity, head;
	} sizes[] = {{512, 256}, {2048, 1024}, {8192, 8192}, {32768, 32768}}; /* the first early */

	spy_options.ring_records = 32768;
	for (int i = 0; i < 256 + 1024 + 8192 + 32768 + 10; i++)
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(thread()->lost, 10);
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(ring->capacity, sizes[i].capacity);
		assert_int_equal(ring->head, sizes[i].head);
		ring = tf_at(&spy_map, ring->next, sizeof(*ring));
	}
	assert_null(ring);
}

/* Where the clock is no counter, the gate stays shut and all calls take the other way: they are
 * recorded no less. */
static void test_the_other_clock(void **state)
{
	spy_clock_kind = TF_CLOCK_MONOTONIC;
	spy_gate_page.gate.open = spy_gate_page.gate.counter = 0;
	uint64_t before = clock_monotonic_ns();
	for (int i = 0; i < 100; i++)
		a_call(CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 0);
	assert_int_equal(figures(CALL_cuLaunchKernel)->calls, 100);
	assert_int_equal(records(), 64);
	assert_in_range(record(63)->start, before, clock_monotonic_ns());
	assert_in_range(record(63)->end, before, clock_monotonic_ns());
}

static void test_nothing_is_recorded(void **state)
{
	stub_gate(false);
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_null(thread());
	stub_gate(true); /* now it is */
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 1);
}

/* CUDA came up inside a call: that one is the first that counts. */
static void test_the_first_call(void **state)
{
	struct spy_span s;

	stub_gate(false);
	spy_enter(&s, CALL_cuInit, SPY_CLASS_CONTEXT, 0);
	stub_gate(true);
	spy_first_call(&s);
	assert_int_equal(thread()->in_call, CALL_cuInit + 1);
	spy_leave(&s, CALL_cuInit, SPY_CLASS_CONTEXT, 0);
	assert_int_equal(figures(CALL_cuInit)->calls, 1);
	assert_int_equal(records(), 1);
	assert_int_equal(tf_header(&spy_map)->first_call, CALL_cuInit + 1);
	assert_int_equal(tf_header(&spy_map)->window_start, record(0)->end);
}

/* ---- launches
 * -----------------------------------------------------------------------------------------------------------
 */

static void launch(CUfunction f, const CUlaunchConfig *config, CUresult rc)
{
	struct spy_span s;

	spy_enter(&s, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, 0);
	args_launch_ex(&s, rc, config, f, NULL, NULL);
	spy_leave(&s, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, (int)rc);
}

static struct tf_kernel_stat *kernel_figures(uint32_t kernel)
{
	uint32_t page = thread()->kernel_pages[kernel / TF_KERNEL_PAGE];

	return page ? thread_kernel_page(page) + kernel % TF_KERNEL_PAGE : NULL;
}

/* Every field of a launch's record, however it is put together, with all values that fit. */
static void test_a_launchs_record(void **state)
{
	for (uint64_t i = 0; i < 5000; i++) {
		uint32_t kernel = (uint32_t)stub_random() % 300;
		CUfunction f = (CUfunction)(uintptr_t)(0x1000 + kernel * 16);
		CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
		cluster.value.clusterDim.x = stub_random() % 17;
		cluster.value.clusterDim.y = stub_random() % 17;
		cluster.value.clusterDim.z = stub_random() % 17;
		const CUlaunchConfig c = {
		        .gridDimX = (unsigned)stub_random(),
		        .gridDimY = stub_random() % 65536,
		        .gridDimZ = stub_random() % 65536,
		        .blockDimX = stub_random() % 1025,
		        .blockDimY = stub_random() % 1025,
		        .blockDimZ = stub_random() % 65,
		        .sharedMemBytes = stub_random() % (228 << 10),
		        .hStream = (CUstream)(uintptr_t)stub_random(),
		        .attrs = &cluster,
		        .numAttrs = i % 2,
		};
		registry_put(HANDLE_FUNCTION, (uintptr_t)f, kernel, 0, 0);
		launch(f, &c, CUDA_SUCCESS);
		const struct tf_record *r = record(i);
		assert_int_equal(r->launch.kernel, kernel);
		assert_int_equal(r->launch.shared_bytes, c.sharedMemBytes);
		assert_int_equal(r->launch.grid_x, c.gridDimX);
		assert_int_equal(r->launch.grid_y, c.gridDimY);
		assert_int_equal(r->launch.grid_z, c.gridDimZ);
		assert_int_equal(r->launch.block_x, c.blockDimX);
		assert_int_equal(r->launch.block_y, c.blockDimY);
		assert_int_equal(r->launch.block_z, c.blockDimZ);
		assert_int_equal(r->launch.cluster_x, i % 2 ? cluster.value.clusterDim.x : 0);
		assert_int_equal(r->launch.cluster_y, i % 2 ? cluster.value.clusterDim.y : 0);
		assert_int_equal(r->launch.cluster_z, i % 2 ? cluster.value.clusterDim.z : 0);
		assert_int_equal(r->launch.items, 1);
		assert_int_equal(r->launch.reserved, 0);
		assert_int_equal(r->stream, (uintptr_t)c.hStream);
		assert_int_equal(r->flags & ~TF_FIRST, 0);
		drained();
	}
}

/* Figures of each kernel, also after a handle came to mean another one. */
static void test_figures_of_kernels(void **state)
{
	CUfunction f = (CUfunction)0x1000, g = (CUfunction)0x1020;
	uint64_t sum = 0;

	registry_put(HANDLE_FUNCTION, 0x1000, 5, 0, 0);
	registry_put(HANDLE_FUNCTION, 0x1020, 200, 0, 0);
	for (uint64_t i = 0; i < 30; i++) {
		launch(f, &a_warp, i % 10 == 9 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
		assert_int_equal(record(2 * i)->flags, i == 0 ? TF_FIRST : 0);
		if (i % 10 != 9)
			sum += record(2 * i)->end - record(2 * i)->start;
		launch(g, &a_warp, CUDA_SUCCESS);
	}
	assert_int_equal(kernel_figures(5)->launches, 27);
	assert_int_equal(kernel_figures(5)->failed, 3);
	assert_int_equal(kernel_figures(5)->sum_ticks, sum);
	assert_int_equal(kernel_figures(5)->first_ticks, record(0)->end - record(0)->start);
	assert_int_equal(kernel_figures(200)->launches, 30);
	drained();
	registry_drop(HANDLE_FUNCTION,
	              0x1000); /* its module is unloaded, and the handle taken by another kernel */
	registry_put(HANDLE_FUNCTION, 0x1000, 6, 0, 0);
	for (int i = 0; i < 3; i++)
		launch(f, &a_warp, CUDA_SUCCESS);
	registry_put(HANDLE_FUNCTION, 0x1000, 7, 0, 0); /* or taken without a word */
	launch(f, &a_warp, CUDA_SUCCESS);
	registry_drop(HANDLE_FUNCTION, 0x1000);
	launch(f, &a_warp, CUDA_SUCCESS);
	assert_int_equal(kernel_figures(5)->launches, 27);
	assert_int_equal(kernel_figures(6)->launches, 3);
	assert_int_equal(kernel_figures(7)->launches, 1);
	assert_int_equal(kernel_figures(TF_KERNEL_UNKNOWN)->launches, 1);
	assert_int_equal(figures(CALL_cuLaunchKernelEx)->calls, 65);
}

/* Time of ours inside a call stands in a record ahead of the call's, which begins behind it; what
 * is hardly any does not, but for pieces that are more together. */
static void test_own_time(void **state)
{
	struct spy_span s;

	spy_enter(&s, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 0);
	uint64_t entry = s.rec->start;
	own_time(50000);
	s.rec->start += 50000;
	own_time(10);
	s.rec->start += 10;
	own_time(20000);
	s.rec->start += 20000;
	own_time(500);
	s.rec->start += 500;
	own_time(500);
	s.rec->start += 500;
	s.rec->stream = 0x1234;
	spy_leave(&s, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 0);
	assert_int_equal(records(), 4);
	assert_int_equal(record(0)->call, TF_CALL_OWN);
	assert_int_equal(record(0)->start, entry);
	assert_int_equal(record(0)->end, entry + 50000);
	assert_int_equal(record(1)->call, TF_CALL_OWN);
	assert_int_equal(record(1)->start, entry + 50000);
	assert_int_equal(record(1)->end, entry + 70010);
	assert_int_equal(record(2)->call, TF_CALL_OWN);
	assert_int_equal(record(2)->start, entry + 70010);
	assert_int_equal(record(2)->end, entry + 71010);
	assert_int_equal(record(3)->call, CALL_cuLaunchKernel);
	assert_int_equal(record(3)->start, entry + 71010);
	assert_int_equal(record(3)->stream, 0x1234);
	assert_int_equal(figures(CALL_cuLaunchKernel)->calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_a_call, start, end),
	        cmocka_unit_test_setup_teardown(test_times_add_up, start, end),
	        cmocka_unit_test_setup_teardown(test_failures, start, end),
	        cmocka_unit_test_setup_teardown(test_more_kinds_of_failure_than_places, start, end),
	        cmocka_unit_test_setup_teardown(test_errno_is_kept, start, end),
	        cmocka_unit_test_setup_teardown(test_a_full_ring, start, end),
	        cmocka_unit_test_setup_teardown(test_growth, start, end),
	        cmocka_unit_test_setup_teardown(test_the_other_clock, start, end),
	        cmocka_unit_test_setup_teardown(test_nothing_is_recorded, start, end),
	        cmocka_unit_test_setup_teardown(test_the_first_call, start, end),
	        cmocka_unit_test_setup_teardown(test_a_launchs_record, start, end),
	        cmocka_unit_test_setup_teardown(test_figures_of_kernels, start, end),
	        cmocka_unit_test_setup_teardown(test_own_time, start, end),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
