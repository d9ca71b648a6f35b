/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that somebody truncates while calls are recorded: at every access that a thread makes
 * to it, from its first call on. Nothing but records may be lost.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/args/args.h"
#include "shim/core/options/options.h"
#include "shim/handles/registry.h"
#include "shim/record/own_time.h"
#include "shim/record/thread.h"
#include "tests/unit/cut.h"
#include "tests/unit/shim_stubs.h"

#define ROOM  (4u << 20)
#define SLOTS 256 /* from here on a thread looks for a slot of a dead one */

uint32_t spy_learn_function(CUfunction f)
{
	return TF_KERNEL_UNKNOWN;
}

bool spy_is_captured_slow(const struct spy_span *s, CUstream stream)
{
	return false;
}

static uint64_t (*given)(struct tf_map *map, uint64_t bytes);

/* As the shim's own: a recording that is known to be cut gives nothing more. */
static uint64_t alloc_uncut(struct tf_map *map, uint64_t bytes)
{
	return tf_header(map)->alloc_end ? given(map, bytes) : 0;
}

static void a_call(unsigned call, unsigned cls, int result)
{
	struct spy_span s;

	spy_enter(&s, call, cls, 0);
	spy_real_begins();
	spy_real_ended(&s);
	spy_leave(&s, call, cls, result);
}

static void *one_call(void *unused)
{
	a_call(CALL_cuMemcpy, SPY_CLASS_COPY, 0);
	return NULL;
}

static void launch(CUfunction f)
{
	const CUlaunchConfig c = {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0};
	struct spy_span s;

	spy_enter(&s, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, 0);
	args_launch_ex(&s, CUDA_SUCCESS, &c, f, NULL, NULL);
	spy_leave(&s, CALL_cuLaunchKernelEx, SPY_CLASS_LAUNCH, 0);
}

static void nested(void)
{
	struct spy_span outer, inner;

	spy_enter(&outer, CALL_cudaMalloc, SPY_CLASS_ALLOC, 0);
	spy_enter(&inner, CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
	spy_leave(&inner, CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
	own_time(50000);
	outer.rec->start += 50000;
	spy_leave(&outer, CALL_cudaMalloc, SPY_CLASS_ALLOC, 0);
}

static void calls(void *unused)
{
	spy_options.ring_records = 128; /* the ring grows now */
	stub_forget_thread();
	for (int i = 0; i < 30; i++) {
		a_call(CALL_cuCtxSynchronize, SPY_CLASS_SYNC, 0);
		launch((CUfunction)(uintptr_t)(0x1000 + i % 3 * 16));
		nested();
		a_call(CALL_cuStreamQuery, SPY_CLASS_QUERY, i % 2 ? 600 : 700);
	}
}

static void test_cut_at_every_access(void **state)
{
	const char *asked = getenv("CUT_STRIDE");
	struct cut cut = {.base = cut_memory(ROOM), .bytes = ROOM};
	pthread_t id;

	cut.stride = asked && atoi(asked) > 0 ? (uint64_t)atoi(asked) : 29;
	assert_non_null(cut.base);
	stub_start(ROOM - (sizeof(struct tf_header) + 63) / 64 * 64);
	given = spy_map.alloc;
	spy_map.alloc = alloc_uncut;
	struct tf_header *h = tf_header(&spy_map);
	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + SPY_CALLS * sizeof(struct tf_call_stat));
	h->threads = (struct tf_table){.entry_bytes = 8, .page_entries = 512, .max = 65535};
	memcpy(cut.base, spy_map.base, ROOM);
	free(spy_map.base);
	spy_map.base = cut.base;
	spy_map.size = ROOM;
	spy_options.ring_records = 8;
	clock_choose(true);
	spy_generation++;
	stub_gate(true);
	for (uintptr_t i = 0; i < 3; i++)
		registry_put(HANDLE_FUNCTION, 0x1000 + i * 16, (uint32_t)(i * 300), 0, 0);
	/* The last slot of all is a dead thread's; the others live as long as this process. */
	assert_int_equal(pthread_create(&id, NULL, one_call, NULL), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	h = tf_header(&spy_map);
	assert_int_equal(tf_count(&h->threads), 1);
	uint64_t *slot = tf_entry(&spy_map, &h->threads, 0, sizeof(*slot));
	for (int i = 1; i < SLOTS; i++) {
		uint64_t *to = tf_append(&spy_map, &h->threads);
		*to = *slot;
		tf_publish(&h->threads);
	}
	cut.kept[1] = 4096;
	cut.kept[2] = h->alloc_end / 8192 * 4096;
	cut_run(&cut, calls, NULL);
	if (cut.failure)
		fail_msg("at access %llu, %llu bytes kept: %s", (unsigned long long)cut.failed_at,
		         (unsigned long long)cut.failed_kept, cut.failure);
	assert_true(cut.accesses > 1000 && cut.cuts >= cut.accesses / cut.stride);
	assert_int_equal(((struct tf_thread *)tf_at(&spy_map, *slot, sizeof(struct tf_thread)))
	                         ->calls[CALL_cuCtxSynchronize]
	                         .calls,
	                 30);
	cut_free(cut.base, ROOM);
	spy_map = (struct tf_map){0};
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_at_every_access)};

	return cmocka_run_group_tests_name("span_cut", tests, NULL, NULL);
}
