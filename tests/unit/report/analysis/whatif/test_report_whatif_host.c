/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/analysis/whatif/whatif.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/*
 * The host takes 125 us a kernel of 100, 115 of them its own. On a host that is faster the GPU
 * would hold the loop up already: nothing is to be gained. On a slower one it is more.
 */
static void test_a_host_of_another_speed(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++, p.host += 115)
		play_launch(&p, 10, 100);
	play_timed(&p, 100);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window / r.predicted, 125 / 100.75, 0.02);
	assert_near(r.window / r.at_speed[0], 1, 0.02);
	assert_near(r.window / r.at_speed[1], 125 * 1.25 / 100.75, 0.02);
	/* Two loops in turn differ by no more than by what their host does. */
	assert_true(r.speedup_low < 1 && r.speedup_low > 0.85);
	play_ends(&p, &m);
}

/* The host takes 125 us a kernel of 40, 115 of them its own; so many others have the GPU too. */
static struct whatif_result beside_others(double others)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	if (others > 0) {
		struct tf_environment *e = made_environment(&p.made, 1);
		e->devices[0].used = 1;
		made_told(&e->devices[0].first, SPY_ENVIRONMENT_OTHERS, (uint64_t)others, 2001000);
		made_told(&e->devices[0].last, SPY_ENVIRONMENT_OTHERS, 0, 3001000);
	}
	for (int i = 0; i < 300; i++, p.host += 115)
		play_launch(&p, 10, 40);
	play_timed(&p, 40);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	play_ends(&p, &m);
	return r;
}

/* Another process may have as much of the GPU: the least gain is what is left then. */
static void test_others_on_the_gpu(void **state)
{
	struct whatif_result alone = beside_others(0), shared = beside_others(1);

	assert_near(alone.predicted, 300 * 40.75e3, 0.02);
	assert_true(alone.most < 300 * 50e3);
	assert_near(shared.predicted, alone.predicted, 1e-9);
	assert_near(shared.least, alone.least, 1e-9);
	assert_near(shared.most, 300 * 81.5e3, 0.1);
	assert_int_equal(shared.assumption_count, alone.assumption_count + 1);
	assert_non_null(
	        strstr(shared.assumptions[shared.assumption_count - 1], "1 other, by NVML"));
}

/* A loader's time may go but for a twentieth, or be shared by workers; where there is one CPU it
 * stays at least. */
static void test_work_that_others_take_over(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++, p.host += 120)
		play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 200 * (5e3 + 6e3), 0.02);
	/* A sixth of the 120 us is left, 3 % more, and a quarter of the 11 us. */
	assert_near(r.most, 200 * (1.03 * 25e3 + 0.25 * 11e3), 0.03);
	whatif_end(p.whatifs);
	p.whatifs = NULL;
	for (size_t i = 0; i < m.thread_count; i++)
		m.threads[i].cpu_cores = 1;
	r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.most, r.window, 0.01);
	play_ends(&p, &m);
}

/* The same, and code that is loaded before each launch: what made it goes whole, in the middle
 * too, whatever call the thread makes in between. */
static void test_making_code_goes_whole(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t load = made_call(&p.made, "cuModuleLoadData", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 200; i++) {
		p.host += 1000;
		struct tf_record r = play_call(&p, p.mark, 1);
		play_returns(&p, &r);
		p.host += 1000;
		r = play_call(&p, load, 10);
		play_returns(&p, &r);
		p.host += 20;
		play_launch(&p, 5, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window, 200 * 2036e3, 0.02);
	assert_near(r.predicted, 200 * (0.05 * 20e3 + 16e3), 0.02);
	assert_true(r.most > 200 * 2000e3 / 6); /* at least others share it */
	play_ends(&p, &m);
}

/* 40 launches of 5 us each, 20 us apart, of kernels of 2 us, and 3 ms of the host's own: of these
 * alone. */
static void test_own_work_is_apart_from_issuing(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++, p.host += 3000)
		for (int k = 0; k < 40; k++, p.host += 20)
			play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window, 100 * 4000e3, 0.02);
	assert_near(r.predicted, 100 * (1000e3 + 150e3), 0.03);
	assert_near(r.most, 100 * 1500e3 * 1.1, 0.03); /* a sixth of the 3 ms is left */
	play_ends(&p, &m);
}

/* What cudaspy took of the host is no work of the program's that could be left out: 1000 launches
 * of 5 us, 20 us before every tenth of them ours. */
static void test_own_time_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++) {
		p.host += 121;
		if (i % 10 == 0) {
			struct tf_record ours = play_call(&p, 0, 20);
			made_own(&p.made, p.thread[0], ours.start, ours.end);
			p.host += 20;
		}
		play_launch(&p, 5, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 128e6, 0.01);
	/* The 20 us are not the program's, and a twentieth of its own is left. */
	assert_near(r.predicted, 7e6 + 0.05 * 121e6, 0.02);
	play_ends(&p, &m);
}

/* The thread waited for a CPU for this share of its steady time, evenly. */
static void waited_for_a_cpu(struct play *p, double share)
{
	struct tf_slices *s = tf_at(&p->made.map, made_header(&p->made)->slices, sizeof(*s));
	uint64_t end = 2001000 + (uint64_t)(p->host * 2000);

	s->origin = 2001000;
	s->width = (end - s->origin) / 100;
	s->used = 100;
	for (unsigned i = 0; i < 100; i++) {
		s->slice[i].cpu_known_ticks = s->width;
		s->slice[i].cpu_wait_ns = (uint64_t)(share * (double)s->width / 2);
	}
}

/* 1000 launches of 5 us, 3 us apart, of kernels of 2 us: a quarter of that is no work. */
static void test_no_waiting_for_a_cpu(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++, p.host += 3)
		play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	waited_for_a_cpu(&p, 0.25);
	struct whatif_result r = play_ask(&p, &m, WHATIF_CPU, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 8e6, 0.01);
	assert_near(r.predicted, 6e6, 0.01);
	assert_int_equal(r.changed, 1001);
	assert_true(play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1).known);
	play_ends(&p, &m);
}

/* Half of the time the host waits for the GPU: whether it had a CPU then is not known. */
static void test_waiting_for_a_cpu_and_for_the_gpu(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 500; i++, p.host += 15) {
		play_launch(&p, 5, 15);
		play_sync(&p); /* 20 us */
	}
	play_timed(&p, 15);
	waited_for_a_cpu(&p, 0.2);
	struct whatif_result r = play_ask(&p, &m, WHATIF_CPU, NULL, 1);
	assert_near(r.window, 500 * 40e3, 0.01);
	/* Between a fifth of 20 us, with what a wait returns late, and the 8 us that it waited. */
	assert_true(r.most > 500 * 35e3 && r.most < 500 * 37.5e3);
	assert_true(r.least < 500 * 32.5e3 && r.least > 500 * 29e3);
	assert_true(r.predicted > 500 * 32.5e3 && r.predicted < 500 * 35.5e3);
	play_ends(&p, &m);
	memset(&m, 0, sizeof(m));
	play_start(&p); /* nothing is known of that */
	for (int i = 0; i < 300; i++)
		play_launch(&p, 3, 20);
	play_timed(&p, 20);
	r = play_ask(&p, &m, WHATIF_CPU, NULL, 1);
	assert_false(r.known);
	assert_non_null(strstr(r.why, "waited for a CPU"));
	assert_true(play_ask(&p, &m, WHATIF_HOST, NULL, 1).known);
	play_ends(&p, &m);
}

/* One thread works while the other waits for it, as PyTorch's forward and backward do; once
 * nobody does anything for `pause` us. */
static void take_turns(double pause)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++)
		for (p.who = 0; p.who < 2; p.who++) {
			p.host += i == 10 && p.who ? pause : 0;
			for (int k = 0; k < 50; k++, p.host += 5)
				play_launch(&p, 5, 1);
		}
	play_timed(&p, 1);
	p.who = 0;
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 10000 * 10e3 + pause * 1e3, 0.01);
	/* 5 us are what a launch costs, where one thread goes on behind the other too. */
	assert_near(r.predicted, 10000 * 10e3, 0.02);
	play_ends(&p, &m);
}

static void test_threads_that_take_turns(void **state)
{
	take_turns(0);
	take_turns(3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_host_of_another_speed),
	        cmocka_unit_test(test_own_work_is_apart_from_issuing),
	        cmocka_unit_test(test_others_on_the_gpu),
	        cmocka_unit_test(test_work_that_others_take_over),
	        cmocka_unit_test(test_making_code_goes_whole),
	        cmocka_unit_test(test_own_time_stays),
	        cmocka_unit_test(test_no_waiting_for_a_cpu),
	        cmocka_unit_test(test_waiting_for_a_cpu_and_for_the_gpu),
	        cmocka_unit_test(test_threads_that_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
