/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a recording's work: each piece once, by its call, about as long as it takes. */
#include <math.h>
#include <string.h>

#include "report/model/events/events_internal.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

struct told {
	uint32_t works[TF_WORK_SET + 1]; /* by kind */
	double us[TF_WORK_SET + 1];      /* all of them */
	double longest;                  /* kernel, us */
	uint64_t until;
	uint32_t overlaps, without_call, before_call;
};

static void take_call(void *to, const struct events_call *c)
{
}

static void take_work(void *to, const struct events_work *w)
{
	struct told *t = to;
	const double us = (double)(w->end - w->start) / 2000;

	assert_true(w->kind <= TF_WORK_SET && w->end >= w->start);
	t->works[w->kind]++;
	t->us[w->kind] += us;
	if (w->kind == TF_WORK_KERNEL)
		t->longest = fmax(t->longest, us);
	t->without_call += !w->known;
	t->before_call += w->known && w->start < w->given;
	t->overlaps += w->start < t->until;
	t->until = w->end;
}

/* Of the latest `records`, where not 0. */
static struct told tell_latest(struct play *p, uint64_t records)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct events_figures figures;
	struct recording r;
	struct told told = {0};
	const struct events_to to = {&told, take_call, take_work, NULL};

	made_close(&p->made, 2001000 + (uint64_t)(p->host * 2000) + 1000);
	assert_int_equal(
	        recording_from_memory(&r, p->made.map.base, made_bytes(&p->made), &warnings, error),
	        0);
	struct events *e = events_of(&r, 0);
	if (records)
		events_latest(e, records);
	events_tell(e, &to, &figures);
	assert_true(!records || figures.records == records);
	events_close(e);
	recording_close(&r);
	warnings_free(&warnings);
	made_free(&p->made);
	assert_int_equal(told.without_call + told.before_call + told.overlaps, 0);
	return told;
}

static struct told tell(struct play *p)
{
	return tell_latest(p, 0);
}

/* The host is ahead of kernels that take four times what is believed, with an event behind each:
 * the full queue tells, 2,044 records behind their launch. */
static void test_a_full_queue_of_longer_work(void **state)
{
	struct play p;

	play_start(&p);
	for (int i = 0; i < 8000; i++) {
		play_launch(&p, 3, 40);
		const struct tf_record r = play_call(&p, p.mark, 0.2);
		play_returns(&p, &r);
	}
	play_sync(&p);
	play_timed(&p, 10);
	const struct told told = tell(&p);
	assert_int_equal(told.works[TF_WORK_KERNEL], 8000);
	assert_near(told.us[TF_WORK_KERNEL], 8000 * 40, 0.01);
	assert_true(told.longest < 130);
}

/* A number is read behind kernels that take a tenth more than is believed: they take it, not the
 * number's copy. */
static void read_behind(struct play *p, int steps, int kernels)
{
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < kernels; i++)
			play_launch(p, 3, 11);
		p->tail += 4;
		play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 3, 2);
		play_sync(p);
	}
	play_timed(p, 10);
	play_timed_copy(p, SPY_DIR_DTOH, 4, 2);
}

static void test_a_copy_behind_longer_work(void **state)
{
	struct play p;

	play_start(&p);
	read_behind(&p, 20, 300);
	const struct told told = tell(&p);
	assert_int_equal(told.works[TF_WORK_COPY], 20);
	assert_true(told.us[TF_WORK_COPY] < 20 * 5);
	assert_near(told.us[TF_WORK_KERNEL], 6000 * 11, 0.03);
}

/* So many that not all are looked at together: the copy is not alone. */
static void test_a_copy_behind_very_many(void **state)
{
	struct play p;

	play_start(&p);
	read_behind(&p, 10, 512);
	const struct told told = tell(&p);
	assert_int_equal(told.works[TF_WORK_COPY], 10);
	assert_true(told.us[TF_WORK_COPY] < 10 * 5);
	assert_near(told.us[TF_WORK_KERNEL], 5120 * 11, 0.03);
}

/* A kernel among the others was never timed: of these the times are divided all the same. */
static void test_work_that_was_never_timed(void **state)
{
	struct play p;
	uint32_t solve;

	play_start(&p);
	solve = p.kernel;
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 200; i++) {
			p.kernel = i == 100 ? solve + 1 : solve;
			play_launch(&p, 3, i == 100 ? 5 : 11);
		}
		p.tail += 4;
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 3, 2);
		play_sync(&p);
	}
	p.kernel = solve;
	play_timed(&p, 10);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	made_kernel(&p.made, "once");
	const struct told told = tell(&p);
	assert_int_equal(told.works[TF_WORK_COPY], 20);
	assert_true(told.us[TF_WORK_COPY] < 20 * 5);
	assert_true(told.longest < 20);
}

/* As when only these were kept; how long work takes is known from before. */
static void test_the_latest_records(void **state)
{
	struct play p;

	play_start(&p);
	read_behind(&p, 20, 300);
	const struct told told = tell_latest(&p, 2 * 302);
	assert_int_equal(told.works[TF_WORK_KERNEL], 600);
	assert_int_equal(told.works[TF_WORK_COPY], 2);
	assert_near(told.us[TF_WORK_KERNEL], 600 * 11, 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_full_queue_of_longer_work),
	        cmocka_unit_test(test_a_copy_behind_longer_work),
	        cmocka_unit_test(test_a_copy_behind_very_many),
	        cmocka_unit_test(test_work_that_was_never_timed),
	        cmocka_unit_test(test_the_latest_records),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
