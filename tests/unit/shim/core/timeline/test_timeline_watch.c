/* SPDX-License-Identifier: Apache-2.0 */
/* Who draws the timeline: what is told adds up to what the device's figures have. */
#include "tests/unit/shim/core/timeline/timeline_fixture.h"

#define MOST 2048

static struct told {
	struct timeline_piece pieces[MOST];
	unsigned count;
	uint64_t ticks; /* of all parts */
	uint64_t lasts; /* every piece of work, where not 0 */
} told;

static void placed(void *to, const struct timeline_piece *p)
{
	struct told *t = to;

	assert_true(t->count < MOST && p->end >= p->start);
	t->ticks += p->end - p->start;
	t->pieces[t->count++] = *p;
}

static uint64_t duration(void *to, uint32_t thread, const struct tf_record *r,
                         const struct tf_work *work, uint64_t ticks, bool *known)
{
	const struct told *t = to;

	if (!t->lasts)
		return ticks;
	*known = true;
	return t->lasts;
}

static const struct timeline_watch watch = {&told, placed, duration};

static int start_watched(void **state)
{
	int rc = start(state);

	told = (struct told){.count = 0};
	timeline_watch(timeline, &watch);
	return rc;
}

static int start_watched_exact(void **state)
{
	int rc = start_exact(state);

	told = (struct told){.count = 0};
	timeline_watch(timeline, &watch);
	return rc;
}

static uint64_t cause(uint64_t entry)
{
	return TF_CAUSE(0, WINDOW + entry);
}

static void test_each_piece(void **state)
{
	make_stream(0x1000, 1, 1000);
	launch(0, 10000, 11000);
	launch_on(0, 0x1000, 1, 12000, 13000);
	call(SYNC, 0, 20000, 200000);
	finish();
	assert_int_equal(told.count, 2);
	assert_int_equal(told.pieces[0].cause, cause(10000));
	assert_int_equal(told.pieces[0].start, WINDOW + 11000 + START);
	assert_int_equal(told.pieces[1].cause, cause(12000));
	for (unsigned i = 0; i < 2; i++) {
		assert_true(told.pieces[i].last && told.pieces[i].estimated);
		assert_int_equal(told.pieces[i].kind, TF_WORK_KERNEL);
	}
	assert_int_equal(told.ticks, on_device(0)->work_ticks);
}

/* What is settled in between comes in parts; the last one says so. */
static void test_parts(void **state)
{
	launch(1, 10000, 11000);
	call(OTHER, 0, 30000, 30100);
	timeline_advance(timeline, WINDOW + 30100);
	assert_int_equal(told.count, 1);
	assert_false(told.pieces[0].last);
	assert_int_equal(told.pieces[0].end, WINDOW + 30100);
	call(SYNC, 0, 40000, 100000);
	finish();
	assert_int_equal(told.count, 2);
	assert_true(told.pieces[1].last);
	assert_int_equal(told.pieces[1].start, told.pieces[0].end);
	assert_int_equal(told.pieces[1].cause, told.pieces[0].cause);
}

/* A program that does not wait for its work: it is told, though the window ends before. */
static void test_work_behind_the_end(void **state)
{
	for (int i = 0; i < 3; i++)
		launch(1, 10000 + i * 1000, 10900 + i * 1000);
	finish();
	uint64_t last = 0;
	for (unsigned i = 0; i < told.count; i++)
		last += told.pieces[i].last;
	assert_int_equal(last, 3);
	assert_int_equal(told.ticks, 3 * 50000);
}

/* More is known of a piece than the mean of its class. */
static void test_durations_asked_for(void **state)
{
	told.lasts = 7000;
	launch(0, 10000, 11000);
	launch(1, 12000, 13000);
	call(SYNC, 0, 20000, 11000 + START + 7000 + GAP + 7000 + RETURN);
	finish();
	assert_int_equal(told.count, 2);
	assert_int_equal(told.ticks, 14000);
	assert_int_equal(total()->busy, 14000);
}

/* A full queue shows that work at its head lasted: a kernel, not the copy that stands there. */
static void test_a_copy_at_the_head_of_a_full_queue(void **state)
{
	const struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 4096);
	uint64_t at = 10000;

	lasts(copy, TF_WORK_COPY, 2000);
	for (int i = 0; i < 1101; i++, at += 3000)
		if (i == 79)
			feed(0, copy, at, at + 3000);
		else
			launch(0, at, at + 3000);
	launch(0, at, at + 100000);
	call(SYNC, 0, at + 100000, 22800000);
	finish();
	unsigned copies = 0;
	for (unsigned i = 0; i < told.count; i++) {
		const struct timeline_piece *p = &told.pieces[i];
		assert_true(p->kind == TF_WORK_COPY || p->kind == TF_WORK_KERNEL);
		if (p->kind != TF_WORK_COPY)
			continue;
		copies++;
		assert_int_equal(p->end - p->start, 2000);
	}
	assert_int_equal(copies, 1);
	assert_near((double)total()->busy, 22800000, 0.05);
}

static void activity(uint64_t entry, uint64_t from, uint64_t to)
{
	struct tf_record r = {.call = TF_CALL_ACTIVITY, .thread = TF_WORK_KERNEL};

	r.start = WINDOW + from;
	r.end = WINDOW + to;
	r.stream = cause(entry);
	r.activity.kernel = kernels[0];
	timeline_activity(timeline, &r);
}

/* CUPTI's records as they are, those behind the window too; what has none is an estimate. */
static void test_exact(void **state)
{
	launch(0, 10000, 11000);
	launch(0, 12000, 13000);
	launch(0, 14000, 15000);
	activity(10000, 12000, 22000);
	activity(14000, 23000, 33000);
	finish();
	assert_int_equal(told.count, 3);
	assert_int_equal(told.pieces[0].start, WINDOW + 12000);
	assert_false(told.pieces[0].estimated);
	unsigned estimated = 0, exact = 0;
	for (unsigned i = 0; i < told.count; i++) {
		estimated += told.pieces[i].estimated && told.pieces[i].cause == cause(12000);
		exact += !told.pieces[i].estimated && told.pieces[i].cause == cause(14000);
		assert_true(told.pieces[i].last);
	}
	assert_int_equal(estimated, 1);
	assert_int_equal(exact, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_each_piece, start_watched, end),
	        cmocka_unit_test_setup_teardown(test_parts, start_watched, end),
	        cmocka_unit_test_setup_teardown(test_work_behind_the_end, start_watched, end),
	        cmocka_unit_test_setup_teardown(test_durations_asked_for, start_watched, end),
	        cmocka_unit_test_setup_teardown(test_a_copy_at_the_head_of_a_full_queue,
	                                        start_watched, end),
	        cmocka_unit_test_setup_teardown(test_exact, start_watched_exact, end),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
