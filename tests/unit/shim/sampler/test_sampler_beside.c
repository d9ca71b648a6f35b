/* SPDX-License-Identifier: Apache-2.0 */
/* Whether other threads gave work to a stream, by their slots and rings as they may stand. */
#include "shim/sampler/sampler_beside.h"
#include "tests/unit/recording.h"
#include "tests/unit/shim_stubs.h"

#define OPENED  5000u
#define CONTEXT 7u
#define MINE    0u
#define OTHER   1u

static const CUstream stream = (CUstream)(uintptr_t)0x1000, another = (CUstream)(uintptr_t)0x2000;

struct stand {
	struct made m;
	struct tf_thread *mine, *other;
	uint16_t launch, wait;
};

static void begin(struct stand *s)
{
	made_start(&s->m, 1 << 22, 8, 0);
	s->launch = made_call(&s->m, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	s->wait = made_call(&s->m, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	s->mine = made_thread(&s->m, 1, "mine", 256);
	s->other = made_thread(&s->m, 2, "other", 256);
	beside_entered(MINE, CONTEXT);
	beside_entered(OTHER, CONTEXT);
}

static void called(struct stand *s, uint16_t call, CUstream on, uint64_t end, uint16_t flags)
{
	made_record(&s->m, s->other,
	            (struct tf_record){.start = end - 100,
	                               .end = end,
	                               .call = call,
	                               .flags = flags,
	                               .stream = (uintptr_t)on});
	s->other->last_return = end;
}

static bool works(const struct stand *s, CUstream on, int ptds)
{
	return beside_works(&s->m.map, s->mine, CONTEXT, on, ptds, OPENED);
}

static void test_a_launch_since(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	assert_false(works(&s, stream, 0));
	called(&s, s.launch, stream, OPENED - 1, 0);
	assert_false(works(&s, stream, 0));
	called(&s, s.launch, stream, OPENED + 10, 0);
	assert_true(works(&s, stream, 0));
	assert_false(works(&s, another, 0));
	assert_false(works(&s, NULL, 0));
	called(&s, s.wait, stream, OPENED + 20, 0); /* behind it in the ring */
	assert_true(works(&s, stream, 0));
	/* Its own is none beside it. */
	assert_false(beside_works(&s.m.map, s.other, CONTEXT, stream, 0, OPENED));
	made_free(&s.m);
}

static void test_what_is_no_work_of_the_stream(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.wait, stream, OPENED + 10, 0);
	called(&s, s.launch, stream, OPENED + 20, TF_CAPTURED);
	called(&s, s.launch, another, OPENED + 30, 0);
	called(&s, s.launch, NULL, OPENED + 40, TF_PTDS);
	assert_false(works(&s, stream, 0));
	assert_false(works(&s, NULL, 0));
	assert_false(works(&s, NULL, 1)); /* each thread has its own */
	made_free(&s.m);
}

/* A sample's record ends with a duration, which is no tick. */
static void test_behind_a_record_of_a_sample(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, stream, OPENED + 10, 0);
	made_record(&s.m, s.other, (struct tf_record){.end = 3, .call = TF_CALL_SAMPLE});
	assert_true(works(&s, stream, 0));
	made_free(&s.m);
}

static void test_a_call_under_way(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, another, 3000, 0);
	s.other->in_call = s.launch + 1u;
	assert_false(works(&s, stream, 0)); /* it gave its work to another stream until now */
	assert_true(works(&s, another, 0));
	s.other->in_call = s.wait + 1u;
	assert_false(works(&s, another, 0));
	made_free(&s.m);
}

/* Its stream is known before the work is given. */
static void test_a_first_launch_under_way(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	s.other->in_call = s.launch + 1u;
	assert_false(works(&s, stream, 0));
	beside_begins(OTHER, stream, 0);
	assert_true(works(&s, stream, 0));
	assert_false(works(&s, another, 0));
	beside_begins(OTHER, NULL, 1);
	assert_false(works(&s, NULL, 0));
	beside_begins(1u << 20, stream, 0); /* no place for it: nothing is written */
	made_free(&s.m);
}

/* It has returned, its record is not there yet. */
static void test_a_record_about_to_come(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, another, OPENED - 10, 0);
	s.other->last_return = OPENED + 10;
	s.other->in_call = s.launch + 1u;
	assert_false(works(&s, stream, 0));
	assert_true(works(&s, another, 0));
	s.other->lost = 1;
	assert_true(works(&s, stream, 0));
	made_free(&s.m);
}

/* The default stream is one a context. */
static void test_another_context(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, NULL, OPENED + 10, 0);
	assert_true(works(&s, NULL, 0));
	assert_true(works(&s, (CUstream)(uintptr_t)1, 0));
	beside_entered(OTHER, CONTEXT + 1);
	assert_false(works(&s, NULL, 0));
	beside_entered(OTHER, 0); /* not known */
	assert_true(works(&s, NULL, 0));
	beside_entered(1u << 20, 1); /* no place for it: nothing is written */
	made_free(&s.m);
}

/* What more calls than are looked at gave is not known. */
static void test_many_calls_meanwhile(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 40; i++)
		called(&s, s.wait, stream, OPENED + 1 + i, 0);
	called(&s, s.launch, another, OPENED + 61, 0);
	assert_false(works(&s, stream, 0)); /* its ring has all that it ever did */
	for (unsigned i = 0; i < 200; i++)
		called(&s, s.wait, stream, OPENED + 301 + i, 0);
	assert_true(works(&s, stream, 0));
	assert_false(beside_works(&s.m.map, s.mine, CONTEXT, stream, 0, OPENED + 460));
	made_free(&s.m);
}

/* A ring that was full, and a larger one in its place: what was given before stands in the old one.
 */
static void test_a_ring_that_has_just_grown(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, stream, OPENED + 10, 0);
	struct tf_ring *old = tf_at(&s.m.map, s.other->ring_first, sizeof(*old));
	uint64_t larger = made_ring(&s.m, 1024);
	old->next = larger;
	assert_true(works(&s, stream, 0));
	s.other->last_return = OPENED - 1; /* nothing since */
	assert_false(works(&s, stream, 0));
	s.other->in_call = s.launch + 1u;
	assert_true(works(&s, stream, 0));
	made_free(&s.m);
}

static void test_a_record_that_is_lost(void **state)
{
	struct stand s;

	(void)state;
	begin(&s);
	called(&s, s.launch, another, OPENED - 10, 0);
	s.other->last_return = OPENED + 10;
	assert_true(works(&s, stream, 0));
	s.other->last_return = OPENED - 5;
	assert_false(works(&s, stream, 0));
	made_free(&s.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_launch_since),
	        cmocka_unit_test(test_what_is_no_work_of_the_stream),
	        cmocka_unit_test(test_behind_a_record_of_a_sample),
	        cmocka_unit_test(test_a_call_under_way),
	        cmocka_unit_test(test_a_first_launch_under_way),
	        cmocka_unit_test(test_a_record_about_to_come),
	        cmocka_unit_test(test_another_context),
	        cmocka_unit_test(test_many_calls_meanwhile),
	        cmocka_unit_test(test_a_ring_that_has_just_grown),
	        cmocka_unit_test(test_a_record_that_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
