/* SPDX-License-Identifier: Apache-2.0 */
/* A recording with this thread in it, for the tests of spans: each is one program, which has one of
 * these. */
#ifndef TESTS_UNIT_SPAN_FIXTURE_H
#define TESTS_UNIT_SPAN_FIXTURE_H

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

/* What is not looked at here. */

uint32_t spy_learn_function(CUfunction f)
{
	return TF_KERNEL_UNKNOWN;
}

bool spy_is_captured_slow(const struct spy_span *s, CUstream stream)
{
	return false;
}

static const CUlaunchConfig a_warp = {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0};

static inline int start(void **state)
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

static inline int end(void **state)
{
	stub_forget_thread();
	stub_end();
	return 0;
}

static inline struct tf_thread *thread(void)
{
	const uint64_t *at = tf_entry(&spy_map, &tf_header(&spy_map)->threads, 0, sizeof(*at));

	return at ? tf_at(&spy_map, *at, sizeof(struct tf_thread)) : NULL;
}

static inline struct tf_call_stat *figures(unsigned call)
{
	return &thread()->calls[call];
}

static inline uint64_t records(void)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	return ring->head;
}

static inline struct tf_record *record(uint64_t n)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	assert_true(n < ring->head);
	return &ring->slots[n & (ring->capacity - 1)];
}

static inline void drained(void)
{
	struct tf_ring *ring = tf_at(&spy_map, thread()->ring_first, sizeof(*ring));

	ring->tail = ring->head;
}

static inline void a_call(unsigned call, unsigned cls, int result)
{
	struct spy_span s;

	spy_enter(&s, call, cls, 0);
	spy_real_begins();
	spy_real_ended(&s);
	spy_leave(&s, call, cls, result);
}

/* Records that the thread offered to its rings, lost ones too. */
static inline uint64_t offered(void)
{
	uint64_t records = thread()->lost;

	for (uint64_t at = thread()->ring_first; at;) {
		const struct tf_ring *ring = tf_at(&spy_map, at, sizeof(*ring));
		records += ring->head;
		at = ring->next;
	}
	return records;
}

#endif
