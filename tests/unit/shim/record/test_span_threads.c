/* SPDX-License-Identifier: Apache-2.0 */
/* Other times, other threads, other processes. */
#include "tests/unit/shim/record/span_fixture.h"

/* The recording began while the call was under way: it counts from its own entry on, with what it
 * launched. */
static void __attribute__((noinline)) launch_while_it_begins(void)
{
	struct spy_span in;

	spy_real_begins();
	spy_enter(&in, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, SPY_FILLS);
	spy_real_begins();
	stub_gate(true);
	spy_real_ended(&in);
	args_launch_ex(&in, CUDA_SUCCESS, &a_warp, (CUfunction)0x1000, NULL, NULL);
	spy_leave(&in, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, 0);
	spy_real_ended(&spy_nobody);
}

static void test_a_call_under_way_when_it_began(void **state)
{
	struct spy_span s;

	stub_gate(false);
	uint64_t before = spy_clock();
	spy_enter(&s, CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, 0);
	uint64_t entered = spy_clock();
	launch_while_it_begins();
	spy_leave(&s, CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, 0);
	assert_int_equal(figures(CALL_cudaLaunchKernel)->calls, 1);
	assert_int_equal(thread()->launches, 1);
	assert_int_equal(records(), 1);
	assert_in_range(record(0)->start, before, entered);
	/* and one without anything inside, at its return */
	stub_gate(false);
	stub_forget_thread();
	spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	spy_real_begins();
	spy_real_ended(&s);
	stub_gate(true);
	spy_leave(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	const uint64_t *at = tf_entry(&spy_map, &tf_header(&spy_map)->threads, 1, sizeof(*at));
	const struct tf_thread *second = tf_at(&spy_map, *at, sizeof(*second));
	assert_int_equal(second->calls[CALL_cuCtxSynchronize].calls, 1);
}

/* A child that no handler of ours saw, and in which another thread was first: the gate is open
 * again, for another generation, and this thread has its parent's slot still. */
static void test_a_thread_of_the_parent(void **state)
{
	struct spy_span s;

	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	struct tf_thread *parents = thread();
	spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0); /* forks in here */
	spy_real_begins();
	spy_generation++;
	stub_gate(true);
	uint32_t in_call = parents->in_call;
	spy_real_ended(&s);
	struct tf_record *r = spy_args_target(&s);
	assert_null(r);
	spy_leave(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	assert_int_equal(parents->calls[CALL_cuCtxSynchronize].calls, 0);
	assert_int_equal(parents->in_call, in_call);
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0); /* attaches anew */
	assert_int_equal(parents->calls[CALL_cuMemcpy].calls, 1);
	assert_ptr_not_equal(spy_tls.thread, parents);
	assert_int_equal(spy_tls.thread->calls[CALL_cuMemcpy].calls, 1);
}

/* In a forked child nothing that was under way is counted, however deep. */
static void __attribute__((noinline)) handler_forks(void)
{
	struct spy_span in;

	spy_real_begins();
	spy_enter(&in, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH,
	          0); /* by a handler, which forks in its real call */
	spy_real_begins();
	spy_generation++;
	spans_after_fork();
	thread_after_fork();
	stub_gate(true);
	spy_real_ended(&in);
	assert_null(spy_args_target(&in));
	spy_leave(&in, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 0);
	spy_real_ended(&spy_nobody);
}

static void test_spans_after_a_fork(void **state)
{
	struct spy_span s;

	spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	struct tf_thread *parents = thread();
	handler_forks();
	spy_leave(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	assert_int_equal(parents->calls[CALL_cuLaunchKernel].calls, 0);
	assert_int_equal(parents->calls[CALL_cuCtxSynchronize].calls, 0);
	assert_null(spy_tls.outer);
	assert_int_equal(stub_lost_calls, 0);
}

/* A slot whose owner ended without a destructor of ours is free by the kernel's word. */
static void *one_call(void *unused)
{
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	return NULL;
}

static void test_slots_of_threads_that_ended_in_silence(void **state)
{
	pthread_t id;

	for (int i = 0; i < 300; i++) {
		assert_int_equal(pthread_create(&id, NULL, one_call, NULL), 0);
		assert_int_equal(pthread_join(id, NULL), 0);
	}
	assert_int_equal(tf_count(&tf_header(&spy_map)->threads), 256);
	uint64_t calls = 0, adopted = 0;
	for (uint32_t i = 0; i < 256; i++) {
		const uint64_t *at =
		        tf_entry(&spy_map, &tf_header(&spy_map)->threads, i, sizeof(*at));
		const struct tf_thread *th = tf_at(&spy_map, *at, sizeof(*th));
		calls += th->calls[CALL_cuMemcpy].calls;
		adopted += th->adopted;
	}
	assert_int_equal(calls, 300);
	assert_int_equal(adopted, 44);
}

/* A ring that could not grow for its first thread does for the next one. */
#define ROOM (16u << 20)

static void *more_than_its_ring(void *grows)
{
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	uint64_t before = spy_tls.thread->lost;
	stub_room = grows ? ROOM : 0;
	for (int i = 0; i < 600; i++)
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(spy_tls.thread->lost - before, grows ? 0 : 600 + 1 - 512);
	return NULL;
}

static void test_rings_of_threads_that_take_over_grow(void **state)
{
	pthread_t id;

	spy_options.ring_records = 4096;
	for (int i = 0; i < 258; i++) {
		stub_room = ROOM;
		assert_int_equal(
		        pthread_create(&id, NULL, more_than_its_ring, i < 256 ? NULL : state), 0);
		assert_int_equal(pthread_join(id, NULL), 0);
	}
	assert_int_equal(tf_count(&tf_header(&spy_map)->threads), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_a_call_under_way_when_it_began, start, end),
	        cmocka_unit_test_setup_teardown(test_a_thread_of_the_parent, start, end),
	        cmocka_unit_test_setup_teardown(test_spans_after_a_fork, start, end),
	        cmocka_unit_test_setup_teardown(test_slots_of_threads_that_ended_in_silence, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_rings_of_threads_that_take_over_grow, start,
	                                        end),
	};

	return cmocka_run_group_tests_name("span_threads", tests, NULL, NULL);
}
