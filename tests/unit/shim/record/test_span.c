/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "shim/args/args.h"
#include "shim/core/options/options.h"
#include "shim/record/own_time.h"
#include "shim/handles/registry.h"
#include "shim/record/thread.h"
#include "tests/unit/shim_stubs.h"

/* ---- what is not looked at here
 * ---------------------------------------------------------------------------------------- */

uint32_t spy_learn_function(CUfunction f)
{
	return TF_KERNEL_UNKNOWN;
}

bool spy_is_captured_slow(const struct spy_span *s, CUstream stream)
{
	return false;
}

/* ---- a recording with this thread in it
 * -------------------------------------------------------------------------------- */

static int start(void **state)
{
	stub_start(64 << 20);
	struct tf_header *h = tf_header(&spy_map);
	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + SPY_CALLS * sizeof(struct tf_call_stat));
	h->threads = (struct tf_table){.entry_bytes = 8, .page_entries = 512, .max = 65535};
	spy_options.ring_records = 64;
	clock_choose(true);
	stub_forget_thread();
	spy_generation++;
	stub_lost_calls = 0;
	stub_gate(true);
	return 0;
}

static int end(void **state)
{
	stub_forget_thread();
	stub_end();
	return 0;
}

static struct tf_thread *thread(void)
{
	const uint64_t *at = tf_entry(&spy_map, &tf_header(&spy_map)->threads, 0, sizeof(*at));

	return at ? tf_at(&spy_map, *at, sizeof(struct tf_thread)) : NULL;
}

static struct tf_call_stat *figures(unsigned call)
{
	return &thread()->calls[call];
}

static uint64_t records(void)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	return ring->head;
}

static struct tf_record *record(uint64_t n)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	assert_true(n < ring->head);
	return &ring->slots[n & (ring->capacity - 1)];
}

static void drained(void)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	ring->tail = ring->head;
}

static void a_call(unsigned call, unsigned cls, int result)
{
	struct spy_span s;

	spy_enter(&s, call, cls, 0);
	spy_real_begins();
	spy_real_ended(&s);
	spy_leave(&s, call, cls, result);
}

/* ---- one call
 * ----------------------------------------------------------------------------------------------------------
 */

/* Records that the thread offered to its rings, lost ones too. */
static uint64_t offered(void)
{
	uint64_t records = thread()->lost;

	for (uint64_t at = thread()->ring_first; at;) {
		const struct tf_ring *ring = tf_at(&spy_map, at, sizeof(*ring));
		records += ring->head;
		at = ring->next;
	}
	return records;
}

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

/* ---- calls inside calls
 * -------------------------------------------------------------------------------------------------
 */

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
	const CUlaunchConfig c = {.gridDimX = 1,
	                          .gridDimY = 1,
	                          .gridDimZ = 1,
	                          .blockDimX = 32,
	                          .blockDimY = 1,
	                          .blockDimZ = 1};
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
	args_launch_ex(&on_stack[0], CUDA_SUCCESS, &c, (CUfunction)0x1000, NULL, NULL);
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

/* ---- other times, other processes
 * ------------------------------------------------------------------------------------------ */

/* The recording began while the call was under way: it counts from its own entry on, with what it
 * launched. */
static void __attribute__((noinline)) launch_while_it_begins(void)
{
	const CUlaunchConfig c = {.gridDimX = 1,
	                          .gridDimY = 1,
	                          .gridDimZ = 1,
	                          .blockDimX = 32,
	                          .blockDimY = 1,
	                          .blockDimZ = 1};
	struct spy_span in;

	spy_real_begins();
	spy_enter(&in, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, SPY_FILLS);
	spy_real_begins();
	stub_gate(true);
	spy_real_ended(&in);
	args_launch_ex(&in, CUDA_SUCCESS, &c, (CUfunction)0x1000, NULL, NULL);
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
	const CUlaunchConfig c = {.gridDimX = 1,
	                          .gridDimY = 1,
	                          .gridDimZ = 1,
	                          .blockDimX = 32,
	                          .blockDimY = 1,
	                          .blockDimZ = 1};
	CUfunction f = (CUfunction)0x1000, g = (CUfunction)0x1020;
	uint64_t sum = 0;

	registry_put(HANDLE_FUNCTION, 0x1000, 5, 0, 0);
	registry_put(HANDLE_FUNCTION, 0x1020, 200, 0, 0);
	for (uint64_t i = 0; i < 30; i++) {
		launch(f, &c, i % 10 == 9 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
		assert_int_equal(record(2 * i)->flags, i == 0 ? TF_FIRST : 0);
		if (i % 10 != 9)
			sum += record(2 * i)->end - record(2 * i)->start;
		launch(g, &c, CUDA_SUCCESS);
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
		launch(f, &c, CUDA_SUCCESS);
	registry_put(HANDLE_FUNCTION, 0x1000, 7, 0, 0); /* or taken without a word */
	launch(f, &c, CUDA_SUCCESS);
	registry_drop(HANDLE_FUNCTION, 0x1000);
	launch(f, &c, CUDA_SUCCESS);
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
	        cmocka_unit_test_setup_teardown(test_a_call_under_way_when_it_began, start, end),
	        cmocka_unit_test_setup_teardown(test_a_thread_of_the_parent, start, end),
	        cmocka_unit_test_setup_teardown(test_spans_after_a_fork, start, end),
	        cmocka_unit_test_setup_teardown(test_slots_of_threads_that_ended_in_silence, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_rings_of_threads_that_take_over_grow, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_a_launchs_record, start, end),
	        cmocka_unit_test_setup_teardown(test_figures_of_kernels, start, end),
	        cmocka_unit_test_setup_teardown(test_own_time, start, end),
	};

	return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
