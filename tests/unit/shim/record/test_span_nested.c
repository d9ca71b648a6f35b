/* SPDX-License-Identifier: Apache-2.0 */
/* Calls inside calls: of the runtime, and of handlers of signals. */
#include "tests/unit/shim/record/span_fixture.h"

/* In the real function of the span that is under way. */
static void __attribute__((noinline)) inside(unsigned call, unsigned cls, int result, uint64_t mark)
{
	struct spy_span s;

	spy_real_begins();
	spy_enter(&s, call, cls, 0);
	spy_real_begins();
	spy_real_ended(&s);
	struct tf_record *r = spy_args_target(&s);
	if (r) {
		r->arg[0] = mark;
		r->stream = mark + 1;
	}
	spy_leave(&s, call, cls, result);
	spy_real_ended(&spy_nobody);
}

/* A runtime call and the driver call inside it: one call, with the arguments of the inner one. */
static void test_nested_of_the_same_class(void **state)
{
	struct spy_span s;

	for (int i = 0; i < 2; i++) {
		spy_enter(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		inside(CALL_cuMemcpyHtoD_v2, SPY_CLASS_COPY, 0, 42);
		assert_int_equal(thread()->in_call, CALL_cudaMemcpy + 1);
		spy_leave(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
	}
	assert_int_equal(figures(CALL_cudaMemcpy)->calls, 2);
	assert_int_equal(figures(CALL_cuMemcpyHtoD_v2)->calls, 0);
	assert_int_equal(records(), 2);
	assert_int_equal(record(1)->call, CALL_cudaMemcpy);
	assert_int_equal(record(1)->flags, 0);
	assert_int_equal(record(1)->arg[0], 42);
	assert_int_equal(record(1)->stream, 43);
}

/* An allocation inside another call is timed by itself, stands before its caller, and is not
 * counted. */
static void test_nested_and_timed(void **state)
{
	struct spy_span s;

	for (uint64_t i = 0; i < 2; i++) {
		spy_enter(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		inside(CALL_cuMemcpyHtoD_v2, SPY_CLASS_COPY, 0, 7);
		inside(CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0, 9);
		inside(CALL_cuEventRecord, SPY_CLASS_EVENT, 0, 11); /* neither */
		spy_leave(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		const struct tf_record *inner = record(2 * i), *outer = record(2 * i + 1);
		assert_int_equal(inner->call, CALL_cuMemAlloc_v2);
		assert_int_equal(inner->flags, TF_NESTED);
		assert_int_equal(inner->arg[0], 9);
		assert_int_equal(outer->call, CALL_cudaMemcpy);
		assert_int_equal(outer->arg[0], 7);
		assert_true(outer->start <= inner->start && inner->end <= outer->end);
	}
	assert_int_equal(records(), 4);
	assert_int_equal(offered(), 4);
	assert_int_equal(figures(CALL_cuMemAlloc_v2)->calls, 0);
	int64_t nested = 0;
	for (uint64_t i = 0; i < 4; i += 2)
		nested += (int64_t)(record(i)->end - record(i)->start);
	assert_int_equal(thread()->self_adjust[SPY_CLASS_ALLOC], nested);
	assert_int_equal(thread()->self_adjust[SPY_CLASS_COPY], -nested);
}

/* The nested record finds the last place in the ring: both go on in a larger one, and nothing is
 * lost. */
static void test_nested_at_the_end_of_a_ring(void **state)
{
	struct spy_span s;

	spy_options.ring_records = 2048;
	for (int i = 0; i < 511; i++)
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	spy_enter(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
	inside(CALL_cuMemcpyHtoD_v2, SPY_CLASS_COPY, 0, 7);
	inside(CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0, 9);
	spy_leave(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(thread()->lost, 0);
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));
	uint64_t in_first = ring->head;
	struct tf_ring *next = tf_at(&spy_map, ring->next, sizeof(*next));
	assert_non_null(next);
	assert_int_equal(in_first + next->head, 513);
	assert_int_equal(next->slots[next->head - 1].call, CALL_cudaMemcpy);
	assert_int_equal(next->slots[next->head - 1].arg[0], 7);
	assert_int_equal(next->slots[next->head - 1].flags, 0);
}

/* In a ring that is full, calls with others inside lose records, and no count. */
static void test_nested_in_a_full_ring(void **state)
{
	struct spy_span s;

	for (int i = 0; i < 500; i++) {
		spy_enter(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		inside(CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0, 9);
		spy_leave(&s, CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		if (i % 100 == 99) /* an odd number of places at a time */
			((struct tf_ring *)tf_at(&spy_map, thread()->ring_first, 192))->tail += 7;
	}
	assert_int_equal(figures(CALL_cudaMemcpy)->calls, 500);
	assert_int_equal(offered(), 1000);
	assert_int_equal(records() + thread()->lost, 1000);
	/* a nested record is never without its caller behind it */
	assert_int_equal(record(records() - 1)->flags & TF_NESTED, 0);
}

/* A call that never returns (longjmp, or an exception through it) does not make all later ones
 * nested. */
static void __attribute__((noinline)) never_returns(void)
{
	struct spy_span s;

	spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
}

static void test_left_behind(void **state)
{
	struct spy_span s;

	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	never_returns();
	assert_int_equal(thread()->in_call, CALL_cuCtxSynchronize + 1);
	spy_enter(&s, CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(s.mode, spy_clock_is_counter() ? SPAN_RECORDED : SPAN_SLOWLY);
	spy_leave(&s, CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 2);
	assert_int_equal(figures(CALL_cuCtxSynchronize)->calls, 0);
	assert_int_equal(thread()->in_call, 0);
}

/* ---- calls of the program's own inside others
 * --------------------------------------------------------------------------- */

/* A handler of a signal that comes during the real call of `outer`: a whole call, as its wrapper
 * makes it. */
static void __attribute__((noinline)) handler_calls(unsigned call, unsigned cls)
{
	struct spy_span s;

	spy_real_begins();
	spy_enter(&s, call, cls, 0);
	spy_real_begins();
	spy_real_ended(&s);
	spy_leave(&s, call, cls, 0);
	spy_real_ended(&spy_nobody);
}

static void outer_with(unsigned call, unsigned cls, unsigned inner, unsigned inner_class,
                       unsigned times)
{
	struct spy_span s;

	spy_enter(&s, call, cls, 0);
	for (unsigned i = 0; i < times; i++)
		handler_calls(inner, inner_class);
	spy_real_ended(&s);
	spy_leave(&s, call, cls, 0);
}

/* What is no part of the call around it counts as any other, by its own name. */
static void test_calls_inside_calls(void **state)
{
	/* neither level calls itself, and the driver never calls the runtime */
	outer_with(CALL_cuStreamSynchronize, SPY_CLASS_SYNC, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH,
	           1);
	outer_with(CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 1);
	outer_with(CALL_cudaMemcpy, SPY_CLASS_COPY, CALL_cudaMemcpy, SPY_CLASS_COPY, 1);
	outer_with(CALL_cuMemcpy, SPY_CLASS_COPY, CALL_cudaMemcpy, SPY_CLASS_COPY, 1);
	/* a launch of the runtime's is one of the driver's: the second one is not its own */
	outer_with(CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH,
	           3);
	/* nor does the runtime launch when it copies, or wait when it launches */
	outer_with(CALL_cudaMemcpy, SPY_CLASS_COPY, CALL_cuLaunchKernel, SPY_CLASS_LAUNCH, 1);
	outer_with(CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, CALL_cuStreamSynchronize,
	           SPY_CLASS_SYNC, 1);
	assert_int_equal(figures(CALL_cuStreamSynchronize)->calls, 2);
	assert_int_equal(figures(CALL_cuLaunchKernel)->calls, 6);
	assert_int_equal(figures(CALL_cudaMemcpy)->calls, 4);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 1);
	assert_int_equal(figures(CALL_cudaLaunchKernel)->calls, 2);
	assert_int_equal(offered(), 15);
	assert_int_equal(thread()->lost, 0);
	assert_int_equal(thread()->in_call, 0);
	assert_null(spy_tls.outer);
}

/* Its record stands before that of the call around it, and its time is none of that one's. */
static void test_a_record_of_a_call_inside(void **state)
{
	outer_with(CALL_cuStreamSynchronize, SPY_CLASS_SYNC, CALL_cuMemcpy, SPY_CLASS_COPY, 1);
	const struct tf_record *inner = record(0), *outer = record(1);
	assert_int_equal(inner->call, CALL_cuMemcpy);
	assert_int_equal(inner->flags, TF_NESTED | TF_OWN | TF_NO_ARGS);
	assert_false(tf_is_part(inner));
	assert_int_equal(outer->call, CALL_cuStreamSynchronize);
	assert_int_equal(outer->flags, TF_NO_ARGS);
	assert_true(outer->start <= inner->start && inner->end <= outer->end);
	assert_int_equal(-thread()->self_adjust[SPY_CLASS_SYNC], inner->end - inner->start);
	assert_int_equal(thread()->self_adjust[SPY_CLASS_COPY], 0); /* its own sum has it */
	assert_int_equal(figures(CALL_cuMemcpy)->sum_ticks, inner->end - inner->start);
}

/* Where the handler interrupts our own code the ring is not touched: counted, without a record. */
static void __attribute__((noinline)) handler_of_a_handler(void)
{
	struct spy_span in;

	spy_enter(&in, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
	spy_real_begins();
	handler_calls(CALL_cuStreamSynchronize,
	              SPY_CLASS_SYNC); /* another one comes to the handler */
	spy_real_ended(&in);
	spy_leave(&in, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
}

static void test_a_handler_inside_our_own_code(void **state)
{
	struct spy_span s;

	for (int i = 0; i < 3; i++) {
		spy_enter(&s, CALL_cuMemcpy, SPY_CLASS_COPY, 0); /* and here the signal comes */
		handler_of_a_handler();
		spy_real_begins();
		spy_real_ended(&s);
		spy_leave(&s, CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	}
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 3);
	assert_int_equal(figures(CALL_cuCtxSynchronize)->calls, 3);
	assert_int_equal(figures(CALL_cuStreamSynchronize)->calls, 3);
	assert_int_equal(records(), 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(record(i)->call, CALL_cuMemcpy);
	assert_int_equal(thread()->lost, 6);
	assert_null(spy_tls.outer);
}

/* Left by a longjmp, and its frame written over: seen from deeper frames too. */
static void __attribute__((noinline)) deeper(unsigned levels)
{
	volatile char room[512];

	memset((char *)room, 0x5a, sizeof(room));
	if (levels)
		deeper(levels - 1);
	else
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	room[0] = room[1];
}

static void test_left_behind_by_deeper_calls(void **state)
{
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	for (int i = 0; i < 5; i++) {
		never_returns();
		deeper(8);
		deeper(8);
		a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	}
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 16);
	assert_int_equal(figures(CALL_cuCtxSynchronize)->calls, 0);
	assert_int_equal(thread()->in_call, 0);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_LEFT], 5);
	assert_null(spy_tls.outer);
}

/* A handler on a stack of its own, which lies above the interrupted one or below: no call is given
 * up for that. */
static void on_signal(int number)
{
	handler_calls(CALL_cuMemcpy, SPY_CLASS_COPY);
}

static void test_a_handler_with_a_stack_of_its_own(void **state)
{
	static char below[32768];
	char above[32768]; /* in a frame above the wrapper's */
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, before;
	stack_t old;

	sigaction(SIGUSR1, &act, &before);
	for (int i = 0; i < 2; i++) {
		const stack_t stack = {.ss_sp = i ? above : below, .ss_size = sizeof(below)};
		assert_int_equal(sigaltstack(&stack, &old), 0);
		struct spy_span s;
		spy_enter(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
		spy_real_begins();
		raise(SIGUSR1);
		spy_real_ended(&s);
		spy_leave(&s, CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
		sigaltstack(&old, NULL);
	}
	sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(figures(CALL_cuCtxSynchronize)->calls, 2);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 2);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_LEFT], 0);
}

/* On a stack of the program's own making (a coroutine's) another call comes and goes while one is
 * under way: by where it lies the first is taken for dead. It comes back all the same, and with it
 * a part of it. */
static void test_a_call_on_another_stack(void **state)
{
	struct spy_span on_stack[3];

	spy_enter(&on_stack[1], CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, 0);
	spy_real_begins();
	spy_enter(&on_stack[0], CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, SPY_FILLS);
	assert_int_equal(on_stack[0].mode, SPAN_NESTED);
	spy_real_begins();
	spy_enter(&on_stack[2], CALL_cuStreamSynchronize, SPY_CLASS_SYNC, 0);
	spy_real_begins();
	spy_real_ended(&on_stack[2]);
	spy_leave(&on_stack[2], CALL_cuStreamSynchronize, SPY_CLASS_SYNC, 0);
	assert_null(spy_tls.outer);
	spy_real_ended(&on_stack[0]);
	args_launch_ex(&on_stack[0], CUDA_SUCCESS, &a_warp, (CUfunction)0x1000, NULL, NULL);
	spy_leave(&on_stack[0], CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, 0);
	spy_real_ended(&spy_nobody);
	spy_leave(&on_stack[1], CALL_cudaLaunchKernel, SPY_CLASS_LAUNCH, 0);
	assert_null(spy_tls.outer);
	assert_int_equal(figures(CALL_cuStreamSynchronize)->calls, 1);
	assert_int_equal(figures(CALL_cudaLaunchKernel)->calls, 1);
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	assert_int_equal(figures(CALL_cuMemcpy)->calls, 1);
}

/* So does a part of it that is timed by itself: what it was part of is gone when it returns, or
 * another call is under way. Nothing is charged to that one, and the next part that is timed is. */
static void test_a_timed_call_whose_outer_one_was_taken_for_dead(void **state)
{
	struct spy_span on_stack[3];

	for (int still = 0; still < 2; still++) {
		spy_enter(&on_stack[1], CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		spy_real_begins();
		spy_enter(&on_stack[0], CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
		assert_int_equal(on_stack[0].mode, SPAN_TIMED);
		spy_real_begins();
		spy_enter(&on_stack[2], CALL_cuStreamSynchronize, SPY_CLASS_SYNC, 0);
		spy_real_begins();
		if (!still) {
			spy_real_ended(&on_stack[2]);
			spy_leave(&on_stack[2], CALL_cuStreamSynchronize, SPY_CLASS_SYNC, 0);
			assert_null(spy_tls.outer);
		}
		spy_real_ended(&on_stack[0]);
		spy_leave(&on_stack[0], CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
		if (still) {
			spy_real_ended(&on_stack[2]);
			spy_leave(&on_stack[2], CALL_cuStreamSynchronize, SPY_CLASS_SYNC, 0);
		}
		spy_real_ended(&on_stack[1]);
		spy_leave(&on_stack[1], CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
		assert_null(spy_tls.outer);
		assert_int_equal(figures(CALL_cuStreamSynchronize)->calls, still + 1);
		assert_int_equal(figures(CALL_cudaMemcpy)->calls, still + 1);
		assert_int_equal(thread()->self_adjust[SPY_CLASS_ALLOC], 0);
		assert_int_equal(thread()->self_adjust[SPY_CLASS_SYNC], 0);
	}
	spy_enter(&on_stack[1], CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
	inside(CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0, 9);
	spy_leave(&on_stack[1], CALL_cudaMemcpy, SPY_CLASS_COPY, 0);
	assert_true(thread()->self_adjust[SPY_CLASS_ALLOC] > 0);
	assert_int_equal(thread()->self_adjust[SPY_CLASS_ALLOC],
	                 -thread()->self_adjust[SPY_CLASS_COPY]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_nested_of_the_same_class, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_and_timed, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_at_the_end_of_a_ring, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_in_a_full_ring, start, end),
	        cmocka_unit_test_setup_teardown(test_left_behind, start, end),
	        cmocka_unit_test_setup_teardown(test_calls_inside_calls, start, end),
	        cmocka_unit_test_setup_teardown(test_a_record_of_a_call_inside, start, end),
	        cmocka_unit_test_setup_teardown(test_a_handler_inside_our_own_code, start, end),
	        cmocka_unit_test_setup_teardown(test_left_behind_by_deeper_calls, start, end),
	        cmocka_unit_test_setup_teardown(test_a_handler_with_a_stack_of_its_own, start, end),
	        cmocka_unit_test_setup_teardown(
	                test_a_timed_call_whose_outer_one_was_taken_for_dead, start, end),
	        cmocka_unit_test_setup_teardown(test_a_call_on_another_stack, start, end),
	};

	return cmocka_run_group_tests_name("span_nested", tests, NULL, NULL);
}
