/* SPDX-License-Identifier: Apache-2.0 */
/* The seal of a closed recording: it holds for what was sealed, and for nothing else. */
#include <stdlib.h>
#include <string.h>

#include "shim/core/format/seal.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static struct made made;

static int set_up(void **state)
{
	made_sample(&made, MADE_AREAS);
	made_seal(&made);
	return 0;
}

static int tear_down(void **state)
{
	made_free(&made);
	return 0;
}

static struct tf_header *header(void)
{
	return made_header(&made);
}

static struct tf_thread *thread(uint32_t index)
{
	uint64_t *at = tf_entry(&made.map, &header()->threads, index, sizeof(*at));

	return tf_at(&made.map, *at, header()->thread_bytes);
}

static void test_holds_as_it_was_sealed(void **state)
{
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
}

static void test_open_recordings_have_none(void **state)
{
	header()->seal.state = 0;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED); /* closed: it must have one */
	header()->closed = 0;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	header()->state = TF_STATE_OPEN;
	assert_int_equal(seal_check(&made.map), SEAL_NONE);
	header()->seal.state = 1;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
}

static void test_broken_or_never_finished(void **state)
{
	seal_break(&made.map);
	assert_int_equal(seal_check(&made.map), SEAL_NONE);
	seal_begin(&made.map);
	assert_int_equal(seal_check(&made.map), SEAL_NONE);
	assert_true(seal_make(&made.map, NULL));
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
	seal_begin(&made.map);
	seal_break(&made.map); /* in the midst of it */
	assert_false(seal_make(&made.map, NULL));
	assert_int_equal(seal_check(&made.map), SEAL_NONE);
}

/* What no reader looks at: slots of rings outside head and tail, the call that is entered. */
static bool matters(uint64_t at)
{
	for (uint32_t i = 0; i < header()->threads.count; i++) {
		const uint8_t *slot = (const uint8_t *)thread(i);
		const struct tf_ring *r = tf_at(&made.map, thread(i)->ring_first, sizeof(*r));
		uint64_t from = (uint64_t)((const uint8_t *)r - made.map.base),
		         to = from + sizeof(*r) + r->capacity * sizeof(struct tf_record);
		if (at >= from && at < to) {
			uint64_t in = at - from;
			bool ends = in < 16 || (in >= 64 && in < 72) || (in >= 128 && in < 136);
			return ends ||
			       (in >= sizeof(*r) + r->tail * 64 && in < sizeof(*r) + r->head * 64);
		}
		if (made.map.base + at >= slot && made.map.base + at < slot + 16)
			return false;
	}
	uint64_t seal = offsetof(struct tf_header, seal);
	return at < seal + 16 || at >= seal + sizeof(struct tf_seal);
}

static void test_any_flip_is_found(void **state)
{
	uint64_t seed = 88172645463325252u, tried = 0;

	for (int i = 0; i < 3000; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		/* Half of them among what is not zero: the first part of the file. */
		uint64_t at = seed % (i % 2 ? made_bytes(&made) : sizeof(struct tf_header));
		if (!matters(at))
			continue;
		tried++;
		made.map.base[at] ^= (uint8_t)(1u << (seed >> 60 & 7));
		if (seal_check(&made.map) == SEAL_HOLDS)
			fail_msg("a flip at %llu was not found", (unsigned long long)at);
		made.map.base[at] ^= (uint8_t)(1u << (seed >> 60 & 7));
	}
	assert_true(tried > 1000);
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
}

static void test_pages_swapped_repeated_zeroed(void **state)
{
	static uint8_t copy[4096], other[4096];
	uint64_t pages = made_bytes(&made) / 4096, found = 0;

	for (uint64_t i = 0; i + 1 < pages; i++) {
		uint8_t *p = made.map.base + i * 4096, *q = p + 4096;
		memcpy(copy, p, 4096);
		memcpy(other, q, 4096);
		memcpy(p, other, 4096);
		memcpy(q, copy, 4096);
		found += seal_check(&made.map) != SEAL_HOLDS;
		memcpy(q, other, 4096); /* repeated */
		bool same = !memcmp(copy, other, 4096);
		if (!same && i < 4)
			assert_true(seal_check(&made.map) != SEAL_HOLDS);
		memset(p, 0, 4096);
		if (i < 4)
			assert_true(seal_check(&made.map) != SEAL_HOLDS);
		memcpy(p, copy, 4096);
	}
	assert_true(found >= 3);
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
}

static void test_cut(void **state)
{
	uint64_t whole = made.map.size;

	for (uint64_t size = 0; size < made_bytes(&made); size += 4096) {
		made.map.size = size;
		assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	}
	made.map.size = whole;
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
}

/* A thread that was inside a call may store what it counted of it while the seal is made. */
static void test_threads_inside_a_call_are_left_out(void **state)
{
	struct tf_thread *t = thread(0);

	seal_begin(&made.map);
	t->in_call = 3;
	assert_true(seal_make(&made.map, NULL));
	t->calls[0].calls++;
	t->last_return++;
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
	thread(1)->calls[0].calls++; /* this one was in none */
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
}

static void test_entering_a_call_breaks_nothing(void **state)
{
	struct tf_thread *t = thread(0);
	struct tf_ring *r = tf_at(&made.map, t->ring_first, sizeof(*r));

	t->in_start = 12345;
	t->in_call = 3;
	r->slots[r->head % r->capacity].start = 12345;
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
}

static void test_kept_records_have_digests_of_their_pages(void **state)
{
	struct tf_store *s = tf_at(&made.map, header()->keep, sizeof(*s));
	uint64_t bytes = s->page_records * sizeof(struct tf_record);

	for (int page = 0; page < 3; page++)
		s->pages[page] = made.map.alloc(&made.map, bytes);
	s->written = 2 * s->page_records;
	memset(made.map.base + s->pages[0], 1, bytes);
	memset(made.map.base + s->pages[1], 2, bytes);
	s->digests[0] = seal_bytes(made.map.base + s->pages[0], bytes); /* when it was full */
	s->digests[2] = seal_bytes(made.map.base + s->pages[2], bytes);
	made_seal(&made);
	assert_int_equal(seal_check(&made.map), SEAL_HOLDS);
	made.map.base[s->pages[1] + 77] ^= 4;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	made.map.base[s->pages[1] + 77] ^= 4;
	made.map.base[s->pages[0]] ^= 4;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
}

static void test_structures_that_lead_outside(void **state)
{
	struct tf_header saved = *header();
	struct tf_thread *t = thread(1), was = *t;

	header()->alloc_end = UINT64_MAX - 63;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	*header() = saved;
	header()->thread_bytes = UINT32_MAX;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	*header() = saved;
	header()->keep = made.map.size - 64;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	*header() = saved;
	t->ring_first = made.map.size - 64;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	t->ring_first = was.ring_first;
	struct tf_ring *r = tf_at(&made.map, t->ring_first, sizeof(*r));
	r->next = t->ring_first; /* round and round */
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
	r->next = 0;
	r->tail = r->head + 1;
	assert_int_equal(seal_check(&made.map), SEAL_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_holds_as_it_was_sealed, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_open_recordings_have_none, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_broken_or_never_finished, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_any_flip_is_found, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_pages_swapped_repeated_zeroed, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_threads_inside_a_call_are_left_out, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(test_entering_a_call_breaks_nothing, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(test_kept_records_have_digests_of_their_pages,
	                                        set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_structures_that_lead_outside, set_up,
	                                        tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
