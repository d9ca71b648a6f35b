/* SPDX-License-Identifier: Apache-2.0 */
/* Without waits: what goes with a read, and what is the program's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/analysis/replay/replay.h"
#include "report/analysis/whatif/whatif.h"
#include "report/analysis/whatif/whatif_change.h"
#include "shim/core/cuda/host_functions.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/* A kernel of 500 us; while the GPU works at it the program works for 100 us and allocates for 300;
 * then it copies 4 bytes and is told by a host function when they are there; then it works for 1000
 * us. By one thread, or by two that take turns. */
static double reads_itself(unsigned threads, double *host)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t told = made_call(&p.made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 200; i++) {
		p.who = (unsigned)i % threads;
		play_launch(&p, 5, 500);
		p.host += 100;
		play_alloc(&p, 300, false);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
		struct tf_record r = play_call(&p, told, 4);
		play_returns(&p, &r);
		p.host = p.tail + 10 + 1000;
	}
	p.who = 0;
	play_timed(&p, 500);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.02);
	struct whatif_result h = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	*host = h.predicted;
	play_ends(&p, &m);
	return r.predicted;
}

/* Without the wait 1414 us a step are left, or 200 less where waking up is taken for a wait. */
static void test_a_program_that_reads_itself(void **state)
{
	double host[2], one = reads_itself(1, &host[0]), two = reads_itself(2, &host[1]);

	assert_near(one, 200 * (1414e3 - 200e3), 0.05);
	assert_near(two, one, 0.05);
	assert_near(host[1], host[0], 0.05);
}

/* The program's own wait by a host function, of which nobody knows whether it is one, leads to
 * a read: what lies before the read goes by no-sync and by host=0. */
static void test_nothing_is_promised_twice(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	struct play_xla xla = play_xla(&p);
	for (int i = 0; i < 200; i++) {
		p.who = 0;
		play_launch(&p, 5, 30);
		struct tf_record r = play_call(&p, xla.told, 4);
		play_returns(&p, &r);
		p.host = p.tail + 160;
		play_read(&p, &xla, 4, 2);
		p.host += 100;
	}
	p.who = 0;
	play_timed(&p, 30);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.02);
	struct whatif_result h = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	/* Together they save no more than all of it. */
	assert_true(r.saved + h.saved <= 1.02 * r.window);
	play_ends(&p, &m);
}

/* A thread that gives no work asks to be told when another one's is done, time after time, and
 * comes back so late that nobody knows whether it waited. */
static void told_and_late(struct play *p, int steps)
{
	uint16_t told = made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER),
	         current = made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT,
	                             SPY_LEVEL_DRIVER);

	for (int i = 0; i < steps; i++) {
		p->who = 0;
		play_launch(p, 5, 200);
		p->who = 1;
		struct tf_record r = play_call(p, told, 4);
		r.arg[0] = 0x1234;
		play_returns(p, &r);
		p->host = p->tail + 600;
		r = play_call(p, current, 1);
		play_returns(p, &r);
	}
	p->who = 0;
	play_timed(p, 200);
	play_sync(p);
}

/* CPU time of the change alone, s: the least of three tries. */
static double seconds_of(int steps)
{
	struct play p;
	struct model m = {0};
	struct replay replay;
	double least = INFINITY;

	play_start(&p);
	told_and_late(&p, steps);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 2);
	replay_make(&replay, &m.processes[0].call_log, REPLAY_MEAN);
	struct replay_act *acts = calloc(replay.count, sizeof(*acts));
	assert_non_null(acts);
	for (int i = 0; i < 3; i++) {
		struct whatif_change c = {.what = WHATIF_NO_SYNC, .hope = HOPE_MIDDLE};
		struct timespec from, to;
		memcpy(acts, replay.call_events, replay.count * sizeof(*acts));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		change_acts(&c, &replay, acts);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		least = fmin(least, (double)(to.tv_sec - from.tv_sec) +
		                            1e-9 * (double)(to.tv_nsec - from.tv_nsec));
	}
	free(acts);
	replay_free(&replay);
	play_ends(&p, &m);
	return least;
}

/* Four times the calls cost about four times as much, not sixteen. */
static void test_the_cost_of_many_calls(void **state)
{
	double one = seconds_of(5000), four = seconds_of(20000);

	assert_true(four < 8 * one + 0.02);
}

/* A kernel of 8 us is all that the program gives, and its result is read; its input may be uploaded
 * first. Without the reads the GPU still works, in any case. */
static void only_kernel(bool uploads)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 400; i++) {
		p.host += 1;
		if (uploads)
			play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 4096, 1, 1);
		play_launch(&p, 3, 8);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 3, 2);
		play_sync(&p);
	}
	play_timed(&p, 8);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	if (uploads)
		play_timed_copy(&p, SPY_DIR_HTOD, 4096, 1);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	assert_true(r.least >= 0.9 * 400 * 8e3);
	struct replay replay;
	replay_make(&replay, &m.processes[0].call_log, REPLAY_LOW);
	struct replay_act *acts = calloc(replay.count, sizeof(*acts));
	struct whatif_change c = {.what = WHATIF_NO_SYNC, .hope = HOPE_MOST};
	size_t dropped = 0;
	memcpy(acts, replay.call_events, replay.count * sizeof(*acts));
	change_acts(&c, &replay, acts);
	for (size_t i = 0; i < replay.count; i++)
		dropped += replay.given[i].kind == TF_WORK_KERNEL && acts[i].flags & REPLAY_SKIP;
	free(acts);
	replay_free(&replay);
	play_ends(&p, &m);
	assert_int_equal(dropped, 0);
}

static void test_the_only_kernel_stays(void **state)
{
	only_kernel(false);
	only_kernel(true);
}

/* The call that comes when a host function has run gives work itself, and takes 300 us: these
 * are no waiting. Launch, host function: 304 us of the host, 200 us of the GPU. */
static void test_a_call_behind_a_host_function_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t told = made_call(&p.made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 200; i++) {
		play_launch(&p, 300, 200);
		struct tf_record r = play_call(&p, told, 4);
		r.arg[0] = 0x1234;
		play_returns(&p, &r);
		p.host = p.tail + 20;
		p.tail += 1e-3 * CUDA_HOST_FUNCTION_NS;
	}
	play_timed(&p, 200);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.02);
	assert_near(r.predicted, 200 * 304e3, 0.05);
	assert_true(r.most >= 200 * 304e3);
	play_ends(&p, &m);
}

/* A reader's thread is woken up 160 us before it reads; the thread that goes on asks so many times
 * before it gives work. */
static double reader(int queries, double *window)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	struct play_xla xla = play_xla(&p);
	uint16_t attribute =
	        made_call(&p.made, "cuDeviceGetAttribute", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 100; i++) {
		p.who = 0;
		for (int k = 0; k < queries; k++) {
			struct tf_record q = play_call(&p, attribute, 0.1);
			play_returns(&p, &q);
		}
		play_launch(&p, 5, 50);
		p.host += 160;
		play_read(&p, &xla, 4, 2);
		p.host = p.tail + 10 + 150;
	}
	p.who = 0;
	play_timed(&p, 50);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	*window = r.window;
	play_ends(&p, &m);
	return r.predicted;
}

static void test_a_reader_and_many_calls(void **state)
{
	double few_of, many_of, few = reader(240, &few_of), many = reader(300, &many_of);

	assert_near(few_of, many_of, 0.05);
	assert_near(many, few, 0.1);
}

/* A result is copied by a thread that is woken up for it, and told by a host function. */
static void read_aside(struct play *p, uint16_t told, double woken)
{
	p->who = 1;
	p->host += woken;
	play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
	struct tf_record r = play_call(p, told, 4);
	play_returns(p, &r);
}

/* Work of 50 us, and two reads of it by another thread, `apart` us each, which may also send what
 * the next work needs. Then the program works for 300 us. */
static struct whatif_result two_reads(double apart, bool uploads)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t told = made_call(&p.made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 200; i++) {
		p.who = 0;
		play_launch(&p, 5, 50);
		read_aside(&p, told, 140);
		read_aside(&p, told, apart);
		p.host += apart;
		if (uploads)
			play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 4, 5, 2);
		p.host += 300;
	}
	p.who = 0;
	play_timed(&p, 50);
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 2);
	if (uploads)
		play_timed_copy(&p, SPY_DIR_HTOD, 4, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.03);
	play_ends(&p, &m);
	return r;
}

/* The program waits for each of two reads that come 140 us apart: of 720 us outside CUDA 250 go for
 * each, in the middle. The thread that reads may send copies as well. Where it gives both at once
 * it waits once. */
static void test_reads_in_turn(void **state)
{
	struct whatif_result in_turn = two_reads(140, false), at_once = two_reads(1, false),
	                     sends = two_reads(140, true);

	assert_near(in_turn.changed, 400, 0.02);
	assert_near(sends.changed, 400, 0.02);
	assert_near(at_once.changed, 200, 0.02);
	assert_near(in_turn.predicted, 200 * (720 - 2 * 250 + 5) * 1e3, 0.03);
	assert_near(sends.predicted, 200 * 310e3, 0.1); /* what comes behind the upload stays */
}

/* Reads as XLA makes them, which wake two threads up in 150 and 200 us, and work of the program's
 * own, us: before each so many-th read or behind it, between two reads, behind a call that gives no
 * work, behind a read that the program's thread makes itself, and behind each third where 8 MiB are
 * read. */
struct reading {
	int each;
	double before, behind, between, call, self, large;
};

static void play_reading(struct play *p, const struct reading *c, int steps)
{
	play_start(p);
	struct play_xla xla = play_xla(p);
	for (int i = 0; i < steps; i++) {
		bool odd = c->each && i % c->each == 0, large = c->large > 0 && i % 3 == 0;
		p->who = 0;
		play_launch(p, 5, 50);
		p->host += 150 + (odd ? c->before : 0);
		play_read(p, &xla, large ? 8u << 20 : 4, large ? 100 : 2);
		p->host = p->tail + 210 + (odd ? c->behind : 0) + (large ? c->large : 0);
		if (c->between > 0) {
			p->host += 150 + c->between;
			play_read(p, &xla, 4, 2);
			p->host = p->tail + 210;
		}
		p->who = 0;
		if (c->call > 0) {
			struct tf_record r = play_call(p, xla.current, 2);
			play_returns(p, &r);
			p->host += c->call;
		}
		if (c->self > 0) {
			play_launch(p, 5, 50);
			play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 5, 2);
			struct tf_record r = play_call(p, xla.told, 4);
			play_returns(p, &r);
			p->host = p->tail + 10 + c->self;
		}
	}
	p->who = 0;
	play_timed(p, 50);
	play_timed_copy(p, SPY_DIR_DTOH, 4, 2);
	play_timed_copy(p, SPY_DIR_DTOH, 8u << 20, 100);
	play_sync(p);
}

/* What is far longer than waking up is work of the program's own: without waits it stays, and it is
 * what goes with less of that work. */
static void test_what_is_no_waking(void **state)
{
	static const struct reading cases[] = {{.each = 5, .behind = 20000},
	                                       {.each = 3, .behind = 20000},
	                                       {.each = 5, .before = 20000},
	                                       {.between = 5000},
	                                       {.call = 5000},
	                                       {.self = 5000},
	                                       {.large = 10000}};
	const int steps = 200;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct reading *c = &cases[i];
		struct play p;
		struct model m = {0};
		play_reading(&p, c, steps);
		struct whatif_result waits = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1),
		                     host = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
		double own = 1e3 * steps *
		             ((c->each ? (c->before + c->behind) / c->each : 0) + c->between +
		              c->call + c->self + c->large / 3);
		assert_true(waits.least > 0.6 * own && waits.predicted > 0.75 * own);
		assert_true(host.saved > 0.75 * own);
		/* Together they save no more than all of it. */
		assert_true(waits.saved + host.saved <= 1.02 * waits.window);
		play_ends(&p, &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_what_is_no_waking),
	        cmocka_unit_test(test_a_program_that_reads_itself),
	        cmocka_unit_test(test_nothing_is_promised_twice),
	        cmocka_unit_test(test_the_cost_of_many_calls),
	        cmocka_unit_test(test_the_only_kernel_stays),
	        cmocka_unit_test(test_a_call_behind_a_host_function_stays),
	        cmocka_unit_test(test_a_reader_and_many_calls),
	        cmocka_unit_test(test_reads_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
