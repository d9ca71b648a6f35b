/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated driver's timeline: order, concurrency, waiting, the queue, copies, threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/sim/selftest_driver.h"

static void sync_waits_for_the_kernel(void **state)
{
	uint64_t from = now_ns();
	unsigned zero = 0, count = 30;
	void *params[] = {&zero, &count};

	ok(launch(fix.ms20, fix.a));
	ok(cuStreamSynchronize(fix.a));
	assert_true(now_ns() - from >= 20 * MS);
	from = now_ns();
	ok(cuLaunchKernel(fix.scaled, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	ok(cuCtxSynchronize());
	assert_true(now_ns() - from >= 30 * MS);
}

/* Some things can only be seen if the host is not held up meanwhile: they are tried again. */
#define EVENTUALLY(attempt)                                                                        \
	do {                                                                                       \
		int tries = 0;                                                                     \
		while (!(attempt))                                                                 \
			assert_true(++tries < 20);                                                 \
	} while (0)

static bool concurrent(CUevent begin, CUevent end)
{
	uint64_t busy = fix.truth->device[0].busy_ns;
	bool pending;
	float ms;

	ok(cuEventRecord(begin, fix.a));
	ok(launch(fix.ms300, fix.a));
	ok(launch(fix.ms300, fix.b));
	ok(cuEventRecord(end, fix.b));
	pending = cuEventElapsedTime(&ms, begin, end) == CUDA_ERROR_NOT_READY &&
	          cuEventQuery(end) == CUDA_ERROR_NOT_READY &&
	          cuStreamQuery(fix.a) == CUDA_ERROR_NOT_READY;
	ok(cuCtxSynchronize());
	ok(cuStreamQuery(fix.a));
	ok(cuEventQuery(end));
	ok(cuEventElapsedTime(&ms, begin, end));
	assert_true(ms >= 300);
	busy = fix.truth->device[0].busy_ns - busy;
	assert_true(busy >= 300 * MS && busy <= 600 * MS);
	return pending && busy < 600 * MS;
}

static void streams_are_concurrent(void **state)
{
	CUevent begin, end, never;
	float ms;

	ok(cuEventCreate(&begin, 0));
	ok(cuEventCreate(&end, 0));
	ok(cuEventCreate(&never, 0));
	EVENTUALLY(concurrent(begin, end));
	fails(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, begin, never));
	ok(cuEventQuery(never));
	ok(cuEventDestroy_v2(begin));
	ok(cuEventDestroy_v2(end));
	ok(cuEventDestroy_v2(never));
}

static double elapsed(CUevent a, CUevent b)
{
	float ms;

	ok(cuEventSynchronize(a));
	ok(cuEventSynchronize(b));
	ok(cuEventElapsedTime(&ms, a, b));
	return ms;
}

/* Work of the non-blocking stream does not wait for the legacy stream's. */
static bool runs_beside(CUevent end, CUevent beside)
{
	ok(launch(fix.ms300, NULL));
	ok(cuEventRecord(end, NULL));
	ok(launch(fix.none, fix.free));
	ok(cuEventRecord(beside, fix.free));
	return elapsed(beside, end) > 0;
}

/* Blocking streams before the legacy stream, it before them; the non-blocking one beside it. */
static void legacy_stream_orders(void **state)
{
	CUevent start, end, beside;

	ok(cuEventCreate(&start, 0));
	ok(cuEventCreate(&end, 0));
	ok(cuEventCreate(&beside, 0));
	ok(cuEventRecord(start, fix.a));
	ok(launch(fix.ms20, fix.a));
	ok(launch(fix.ms20, NULL));
	ok(launch(fix.ms20, CU_STREAM_LEGACY));
	ok(launch(fix.ms20, fix.b));
	ok(cuEventRecord(end, fix.b));
	assert_true(elapsed(start, end) >= 80);
	EVENTUALLY(runs_beside(end, beside));
	ok(cuEventDestroy_v2(start));
	ok(cuEventDestroy_v2(end));
	ok(cuEventDestroy_v2(beside));
}

static void events_order_streams(void **state)
{
	uint64_t from = now_ns();
	CUevent e;

	ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	ok(launch(fix.ms20, fix.a));
	ok(cuEventRecord(e, fix.a));
	ok(cuStreamWaitEvent(fix.free, e, 0));
	ok(launch(fix.ms20, fix.free));
	ok(cuStreamSynchronize(fix.free));
	assert_true(now_ns() - from >= 40 * MS);
	ok(cuEventDestroy_v2(e));
}

static bool fills_the_queue(void)
{
	uint64_t full = TRUTH(queue_full), from = now_ns();

	for (int i = 0; i < QUEUE + 3; i++)
		ok(launch(fix.ms20, fix.a));
	assert_true(now_ns() - from >= 3 * 20 * MS);
	ok(cuStreamSynchronize(fix.a));
	assert_true(now_ns() - from >= (QUEUE + 3) * 20 * MS);
	return TRUTH(queue_full) == full + 3;
}

static void full_queue_blocks(void **state)
{
	EVENTUALLY(fills_the_queue());
}

static bool free_waits(void)
{
	uint64_t from = now_ns(), implicit = TRUTH(implicit_syncs), syncs = TRUTH(syncs);
	CUdeviceptr d;

	ok(cuMemAlloc_v2(&d, 64));
	ok(launch(fix.ms20, fix.free));
	ok(cuMemFree_v2(d));
	assert_true(now_ns() - from >= 20 * MS);
	ok(cuStreamQuery(fix.free));
	assert_true(TRUTH(syncs) == syncs);
	return TRUTH(implicit_syncs) == implicit + 1;
}

static void free_waits_for_the_device(void **state)
{
	EVENTUALLY(free_waits());
}

/* The call returns before the copy is done. */
static bool returns_early(CUdeviceptr d, void *pinned, size_t bytes)
{
	uint64_t from = now_ns();
	CUresult early;

	ok(cuMemcpyHtoDAsync_v2(d, pinned, bytes, fix.a));
	early = cuStreamQuery(fix.a);
	ok(cuStreamSynchronize(fix.a));
	assert_true(now_ns() - from >= bytes);
	return early == CUDA_ERROR_NOT_READY;
}

/* At 1 GB/s a MiB takes a little more than a ms. */
static void copies_take_their_time(void **state)
{
	const size_t bytes = 100u << 20, part = 20u << 20;
	uint64_t from, busy, copies;
	CUdeviceptr d;
	void *pinned, *pageable = malloc(part);

	ok(cuMemAlloc_v2(&d, bytes));
	ok(cuMemHostAlloc(&pinned, bytes, 0));
	EVENTUALLY(returns_early(d, pinned, bytes));
	copies = TRUTH(copies[TRUTH_H2D]);
	busy = fix.truth->device[0].busy_ns;
	from = now_ns();
	ok(cuMemcpyHtoDAsync_v2(d, pinned, part, fix.a));
	ok(cuMemcpyHtoDAsync_v2(d + part, pinned, part, fix.free)); /* the same engine */
	ok(cuCtxSynchronize());
	assert_true(now_ns() - from >= 40 * MS);
	assert_true(fix.truth->device[0].busy_ns - busy >= 40 * MS);
	from = now_ns();
	ok(cuMemcpyDtoHAsync_v2(pageable, d, part, fix.a)); /* blocks */
	ok(cuStreamQuery(fix.a));
	assert_true(now_ns() - from >= 20 * MS);
	from = now_ns();
	ok(cuMemcpyHtoDAsync_v2(d, pageable, part, fix.a)); /* until staged */
	assert_true(now_ns() - from >= 19 * MS);
	ok(cuMemcpyHtoDAsync_v2(d, pageable, 1000, fix.a));
	assert_true(TRUTH(copies[TRUTH_H2D]) == copies + 4);
	ok(cuMemFree_v2(d));
	ok(cuMemFreeHost(pinned));
	free(pageable);
}

static _Atomic int order;

static void CUDA_CB first(void *arg)
{
	usleep(20000);
	*(int *)arg = atomic_fetch_add(&order, 1);
}

static void CUDA_CB second(void *arg)
{
	*(int *)arg = atomic_fetch_add(&order, 1);
}

static void host_functions_run_in_order(void **state)
{
	int a = -1, b = -1;

	ok(cuLaunchHostFunc(fix.a, first, &a));
	ok(cuLaunchHostFunc(fix.a, second, &b));
	ok(cuStreamSynchronize(fix.a));
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
}

#define THREADS  16
#define LAUNCHES 2000

static void *launcher(void *arg)
{
	unsigned long long *id = arg;

	if (cuCtxSetCurrent(fix.ctx) || cuStreamGetId_ptsz(NULL, id))
		return "set-up";
	for (int i = 0; i < LAUNCHES; i++) {
		CUstream s = i % 3 ? NULL : i % 2 ? fix.a : fix.free;

		if (cuLaunchKernel_ptsz(fix.none, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL))
			return "launch";
	}
	return cuStreamSynchronize_ptsz(NULL) ? "sync" : NULL;
}

/* Each has its own default stream, and no launch is lost. */
static void threads_are_counted_exactly(void **state)
{
	uint64_t launches = TRUTH(launches), calls = TRUTH(calls);
	unsigned long long id[THREADS], legacy;
	pthread_t t[THREADS];
	void *what;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, launcher, &id[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &what), 0);
		assert_null(what);
	}
	assert_true(TRUTH(launches) == launches + THREADS * LAUNCHES);
	assert_true(TRUTH(calls) == calls + THREADS * (LAUNCHES + 3));
	ok(cuStreamGetId(NULL, &legacy));
	for (int i = 0; i < THREADS; i++) {
		assert_true(id[i] != legacy);
		for (int k = 0; k < i; k++)
			assert_true(id[i] != id[k]);
	}
}

const struct CMUnitTest time_tests[] = {
        cmocka_unit_test(sync_waits_for_the_kernel),
        cmocka_unit_test(streams_are_concurrent),
        cmocka_unit_test(legacy_stream_orders),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(full_queue_blocks),
        cmocka_unit_test(free_waits_for_the_device),
        cmocka_unit_test(copies_take_their_time),
        cmocka_unit_test(host_functions_run_in_order),
        cmocka_unit_test(threads_are_counted_exactly),
};
const size_t time_count = sizeof(time_tests) / sizeof(time_tests[0]);
