/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/analysis/replay/replay.h"
#include "report/analysis/whatif/whatif.h"
#include "report/analysis/whatif/whatif_steps.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/* Whether it says that this is taken for granted. */
static bool assumes(const struct whatif_result *r, const char *text)
{
	for (size_t i = 0; i < r->assumption_count; i++)
		if (strstr(r->assumptions[i], text))
			return true;
	return false;
}

/* 1000 launches of 5 us each, 1 us apart, of kernels of 2 us. */
static void test_graphs(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 1000; i++, p.host += 1)
		play_launch(&p, 5, 2);
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 6e6, 0.01);
	assert_near(r.predicted, 2.15e6, 0.02); /* a piece every 2.15 us */
	/* 5 % of the 3.8 ms saved come on top, but no change makes it shorter than the GPU's work,
	 * of which a piece may take 0.32 us less.
	 */
	assert_near(r.least, 0.97 * 1.68e6, 0.01);
	/* 0.4 us between them, and what the kernel's time may be off. */
	assert_near(r.most, 2.8e6 + 0.19e6, 0.05);
	assert_near(r.coverage, 1, 1e-6);
	assert_true(assumes(&r, "0.15 us (0 to 0.4) from one piece of work"));
	/* The time between them is what they cost: less work of the host's own does not take it
	 * away. */
	r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.predicted, 6e6, 0.01);
	r = play_ask(&p, &m, WHATIF_KERNEL, "solve", 100);
	assert_near(r.predicted, 6e6, 0.01);
	r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.speedup, 1, 1e-9);
	assert_true(r.changed == 0);
	play_ends(&p, &m);
}

/*
 * Three launches and a wait, again and again, 20 us before each, and 1 ms of the program's own: too
 * few for a graph, but issuing them costs what it costs.
 */
static void test_issuing_few_calls_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 1000;
		for (int k = 0; k < 3; k++, p.host += 20)
			play_launch(&p, 5, 2);
		play_sync(&p);
	}
	play_timed(&p, 2);
	struct whatif_result r = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_near(r.window, 200 * 1076e3, 0.01);
	/* Of the program's own a twentieth is left, at best nothing. */
	assert_near(r.predicted, 200 * (96e3 + 50e3), 0.02);
	assert_true(r.least < 200 * 96e3 && r.least > 200 * 50e3);
	play_ends(&p, &m);
}

/* Work of the host between two launches is not the launches' cost: no graph takes it away. */
static void test_graphs_leave_host_work(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 300;
		play_launch(&p, 5, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	assert_near(play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1).speedup, 1, 0.001);
	play_ends(&p, &m);
}

/* 1 ms of the program's own, then 20 launches, before each of which Python takes 30 us and a
 * function is looked up, as cuBLAS does. That is what issuing the launches costs: with graphs it
 * goes, with the program's own work it stays. */
static void test_functions_that_are_looked_up(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t look_up =
	        made_call(&p.made, "cuKernelGetFunction", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 100; i++) {
		p.host += 1000;
		for (int k = 0; k < 20; k++) {
			p.host += 30;
			struct tf_record r = play_call(&p, look_up, 0.5);
			play_returns(&p, &r);
			play_launch(&p, 5, 2);
		}
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result graphs = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1),
	                     host = play_ask(&p, &m, WHATIF_HOST, NULL, 1);
	assert_int_equal(graphs.form, WHATIF_RUNS);
	assert_near(graphs.predicted, 100 * (1000 + 30 + 0.5 + 2.5) * 1e3, 0.02);
	assert_near(host.predicted, 100 * (0.05 * 1000 + 20 * 35.5) * 1e3, 0.05);
	play_ends(&p, &m);
}

/* The model has a step for each so many calls; their rows stand in the recording's place. */
static void set_steps(struct model *m, size_t calls)
{
	const struct call_log *h = &m->processes[0].call_log;

	free(m->steps.rows);
	m->steps.source = STEPS_NVTX;
	m->steps.judged = h->count / calls;
	m->steps.rows = calloc(m->steps.judged, sizeof(*m->steps.rows));
	for (size_t i = 0; i < m->steps.judged; i++) {
		const struct call_event *from = &h->call_events[i * calls];
		bool last = (i + 1) * calls >= h->count;
		double end = last ? h->call_events[h->count - 1].end : from[calls].start;
		m->steps.rows[i] = (struct model_step){
		        .tid = 7, .start = from->start, .duration = end - from->start};
	}
}

/* 20 launches of the main thread, 20 of another one that goes on meanwhile, as for a backward pass,
 * and a wait; 30 us before each, 120 before each tenth, where runs of calls end, and 500 more
 * before each step. */
static void play_steps_of(struct play *p, double before_us)
{
	play_start(p);
	for (int i = 0; i < 100; i++) {
		p->host += before_us;
		for (int k = 0; k < 40; k++) {
			p->who = k >= 20;
			p->host += k % 10 == 5 ? 120 : 30;
			play_launch(p, 5, 2);
		}
		p->who = 0;
		p->host += 30;
		play_sync(p);
	}
	play_timed(p, 2);
}

static void play_steps(struct play *p)
{
	play_steps_of(p, 500);
}

static void test_whole_steps(void **state)
{
	struct play p;
	struct model m = {0};

	play_steps(&p);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.steps, 100, 0.02);
	assert_near(r.repeated, r.steps, 1e-9);
	assert_near(r.window, 100 * (500 + 37 * 30 + 4 * 120 + 40 * 5 + 2) * 1e3, 0.02);
	/* Issuing the launch, the launch, its way to the GPU, 40 pieces, the way back, and what the
	 * host does before.
	 */
	double step = 30 + 2.5 + 1.8 + 40 * 2.15 + 3.2;
	/* Of the 530 us before a step 120 are as long as before other calls. */
	assert_near(r.predicted, 100 * (410 + step) * 1e3, 0.02);
	assert_near(r.stays, 100 * 410e3, 0.02);
	assert_true(r.least < 100 * step * 1e3 * 1.1);
	/* The kernels may take 16 % less, and have less of a run whose host is a quarter slower. */
	assert_near(r.bound_least, exp(-hypot(log(1 / 0.84), log(1.25))) * r.bound, 0.02);
	/* 5 % more of the 1.76 ms saved, and the kernels at their least. */
	assert_near(r.low_launches, r.predicted, 0.25);
	assert_int_equal(r.blocked_count, 1);
	assert_int_equal(r.blocked[0].kind, BLOCK_LEGACY);
	assert_near(r.blocked[0].per_step, 40, 1e-9);
	assert_string_equal(r.blocked[0].call, "cuLaunchKernel");
	play_ends(&p, &m);
}

/* 10 ms before each step are no framework's own: at best two of them go, and a fifth of the rest.
 */
static void test_a_loader_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_steps_of(&p, 10000);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.stays, 100 * 9910e3, 0.02);
	assert_near(r.least, 0.8 * 100 * 7910e3, 0.05); /* and what replays may be off */
	assert_non_null(
	        strstr(r.assumptions[2], "at best 2.00 ms of it go, and a fifth of the rest"));
	play_ends(&p, &m);
}

/*
 * Steps of a compiled function: 80 us of Python, three launches 20 us apart, and a wait. Three are
 * no run of calls, but a step that goes as a whole is. Where the 80 us come from is not known.
 */
static void test_whole_steps_of_three_launches(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		p.host += 60;
		for (int k = 0; k < 3; k++) {
			p.host += 20;
			play_launch(&p, 5, 5);
		}
		play_sync(&p);
	}
	play_timed(&p, 5);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 4);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_int_equal(r.form, WHATIF_WHOLE);
	double step = 2.5 + 1.8 + 15 + 2 * 0.15 + 3.2;
	/* The 80 stay, of which 20 are what is usual before a call: the graph's launch is one too.
	 */
	assert_near(r.predicted, 200 * (80 + step) * 1e3, 0.02);
	assert_true(r.least < 200 * step * 1e3 * 1.1);
	play_ends(&p, &m);
}

/* A value is read amid each step, as by .item(): a small copy to pinned memory, and a wait. And at
 * one more place something is waited for. */
static void test_reads_inside_a_step(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		for (int part = 0; part < 3; part++) {
			for (int k = 0; k < 10; k++) {
				p.host += 30;
				play_launch(&p, 5, 2);
			}
			if (part == 0)
				play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, 3, 2);
			play_sync(&p);
		}
	}
	play_timed(&p, 2);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 34);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.blocked_count, 4);
	assert_int_equal(r.blocked[0].kind, BLOCK_READ);
	assert_string_equal(r.blocked[0].call, "cuMemcpyAsync");
	assert_near(r.blocked[0].per_step, 1, 0.02);
	assert_int_equal(r.blocked[1].kind, BLOCK_WAIT);
	assert_near(r.blocked[1].per_step, 1, 0.02);
	assert_int_equal(r.blocked[2].kind, BLOCK_LEGACY); /* though these are more */
	assert_near(r.blocked[2].per_step, 30, 0.02);
	assert_int_equal(r.blocked[3].kind, BLOCK_LEGACY);
	play_ends(&p, &m);
}

/* As JAX reads a number: another thread copies it, and the one that launches goes on 300 us later,
 * again and again in a step. A graph between two reads takes its launches, not what leads to them.
 */
static void test_what_leads_from_a_read_to_a_launch_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	struct play_xla xla = play_xla(&p);
	for (int i = 0; i < 400; i++) {
		p.who = 0;
		p.host += 300;
		struct tf_record r = play_call(&p, xla.current, 1);
		play_returns(&p, &r);
		for (int k = 0; k < 10; k++, p.host += 20)
			play_launch(&p, 5, 5);
		p.who = 1;
		play_sync(&p);
		r = play_call(&p, xla.told, 4);
		play_returns(&p, &r);
	}
	play_timed(&p, 5);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 4 * 13);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.window, 400 * 556e3, 0.02);
	/* Ten kernels, the launch of one graph and the way back are 62 us. */
	assert_near(r.predicted, 400 * (300 + 62) * 1e3, 0.02);
	assert_true(r.least < 400 * 62e3); /* no read at all */
	play_ends(&p, &m);
}

/* As JAX does with a batch that the host makes in 8 ms: a thread of a pool, now this one and now
 * that one, copies it to the device. No graph makes the batch, whichever thread calls next. */
static void test_what_another_thread_copies_was_made_before(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		p.who = i % 2;
		p.host += 8000;
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 1 << 20, 3, 20);
		p.who = 0;
		for (int k = 0; k < 20; k++) {
			p.host += 20;
			play_launch(&p, 5, 5);
		}
	}
	play_timed(&p, 5);
	play_timed_copy(&p, SPY_DIR_HTOD, 1 << 20, 20);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 21);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_near(r.window, 100 * 8500e3, 0.02);
	assert_near(r.predicted, 100 * 8000e3, 0.03);
	play_ends(&p, &m);
}

/*
 * The same batch in two parts, which two of three pairs of threads copy at once: the 8 ms before
 * both are the same ones.
 */
static void test_two_threads_that_copy_at_once(void **state)
{
	struct play p;
	struct model m = {0};
	struct tf_thread *pool[6];

	play_start(&p);
	struct play_xla xla = play_xla(&p);
	for (unsigned k = 0; k < 6; k++)
		pool[k] = k ? made_thread(&p.made, 8 + k, "pool", 65536) : p.thread[1];
	for (int i = 0; i < 100; i++) {
		p.host += 8000;
		const double start = p.host;
		for (int k = 0; k < 2; k++) {
			p.host = start + 0.5 * k;
			made_return(&p.made, pool[2 * (i % 3) + k], play_call(&p, xla.current, 2));
		}
		for (int k = 0; k < 2; k++) {
			double from = start + 3 + 0.5 * k;
			p.host = from + 3;
			p.tail = fmax(p.host + 1.8, p.tail + 0.75) + 20;
			made_copy(&p.made, pool[2 * (i % 3) + k], p.copy, SPY_DIR_HTOD,
			          SPY_MEM_PINNED, true, 1 << 20, 2001000 + (uint64_t)(from * 2000),
			          2001000 + (uint64_t)(p.host * 2000));
		}
		p.who = 0;
		for (int k = 0; k < 20; k++) {
			p.host += 20;
			play_launch(&p, 5, 5);
		}
	}
	play_timed(&p, 5);
	play_timed_copy(&p, SPY_DIR_HTOD, 1 << 20, 20);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 24);
	for (size_t i = 0; i < m.steps.judged; i++)
		m.steps.rows[i].tid = 0; /* of all threads together */
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_near(r.window, 100 * 8507e3, 0.02);
	assert_near(r.predicted, 100 * 8000e3, 0.03);
	assert_true(r.stays < 100 * 8020e3);
	play_ends(&p, &m);
}

/* Seconds that it takes to find the steps among so many calls: five launches of one thread and a
 * wait of another, which gives no work at all. The least of three. */
static double seconds_of(size_t steps)
{
	const size_t count = 6 * steps;
	struct call_event *given = calloc(count, sizeof(*given));
	struct replay_act *acts = calloc(count, sizeof(*acts));
	uint32_t *next = calloc(count, sizeof(*next)), after[2] = {CALL_LOG_NONE, CALL_LOG_NONE};
	struct model_step *rows = calloc(steps, sizeof(*rows));
	struct call_log_thread threads[] = {{.tid = 7}, {.tid = 8}};
	struct call_log h = {.threads = threads,
	                     .thread_count = 2,
	                     .call_events = given,
	                     .count = count,
	                     .until = 1e12,
	                     .window = 1e12,
	                     .whole = true};
	struct model m = {.steps = {.source = STEPS_NVTX, .judged = steps, .rows = rows}};
	double least = INFINITY;

	assert_true(given && acts && next && rows);
	for (size_t i = 0; i < count; i++) {
		bool waits = i % 6 == 5;
		double start = 300e3 * (double)(i / 6) + 5e3 * (double)(i % 6);
		given[i] = (struct call_event){.start = start,
		                               .end = start + 1e3,
		                               .gpu_start = NAN,
		                               .gpu = NAN,
		                               .work = CALL_LOG_NONE,
		                               .stream = CALL_LOG_NONE,
		                               .event = CALL_LOG_NONE,
		                               .thread = waits,
		                               .kind = waits ? TF_WORK_NONE : TF_WORK_KERNEL,
		                               .cls = waits ? SPY_CLASS_SYNC : SPY_CLASS_LAUNCH};
		acts[i] = (struct replay_act){.gap = 4e3,
		                              .before = waits ? (uint32_t)i - 1 : CALL_LOG_NONE,
		                              .event = CALL_LOG_NONE,
		                              .held = CALL_LOG_NONE};
	}
	for (size_t i = count; i-- > 0;) {
		next[i] = after[given[i].thread];
		after[given[i].thread] = (uint32_t)i;
	}
	for (size_t i = 0; i < steps; i++)
		rows[i] = (struct model_step){
		        .tid = 7, .start = given[6 * i].start, .duration = 300e3};
	const struct replay r = {
	        .call_log = &h, .given = given, .call_events = acts, .next = next, .count = count};
	for (int i = 0; i < 3; i++) {
		struct whatif_steps s;
		struct timespec from, to;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		whatif_steps_make(&s, &m, 0, &r);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		assert_int_equal(s.repeated, s.count);
		whatif_steps_free(&s);
		least = fmin(least, (double)(to.tv_sec - from.tv_sec) +
		                            1e-9 * (double)(to.tv_nsec - from.tv_nsec));
	}
	free(given);
	free(acts);
	free(next);
	free(rows);
	return least;
}

/* Four times the calls cost about four times as much, not sixteen. */
static void test_the_cost_of_many_steps(void **state)
{
	double one = seconds_of(10000), four = seconds_of(40000);

	assert_true(four < 8 * one + 0.02);
}

/* Memory is made in each step, 1 ms goes to filling it, and it is freed: what divides the graph
 * lies between the last wait and what the host does. */
static void test_host_work_behind_an_allocation_stays(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 400; i++) {
		play_alloc(&p, 2000, false);
		p.host += 1000;
		for (int k = 0; k < 20; k++, p.host += k == 10 ? 150 : 10)
			play_launch(&p, 5, 2);
		play_sync(&p);
		play_alloc(&p, 700, true);
	}
	play_timed(&p, 2);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 23);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.predicted, 400 * (2000 + 1000 + 55 + 700) * 1e3, 0.02);
	assert_near(r.stays, 400 * 1000e3, 0.02);
	play_ends(&p, &m);
}

/* Every other step allocates where the others bring an input: the work is the same, and so is the
 * place of the longest stretch, which lies behind that. */
static void test_the_longest_stretch_of_steps_that_are_alike_but_for_an_allocation(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 20; k++, p.host += 10) {
			if (k == 15)
				p.host += 10000;
			if (k == 3 && i % 2)
				play_alloc(&p, 5, false);
			else if (k == 3)
				play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 4096, 5, 2);
			play_launch(&p, 5, 2);
		}
		play_sync(&p);
	}
	play_timed(&p, 2);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 22);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.repeated, 100, 0.02);
	assert_near(r.stays, 100 * 10000e3, 0.02);
	play_ends(&p, &m);
}

/* Each fourth step, or so, has one copy more, at a place of its own. */
static struct whatif_result steps_of_other_shapes(int every)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 40; k++) {
			p.host += 150;
			play_launch(&p, 5, 2);
			if (i % every == 0 && k == 1 + i / every)
				p.host -= 150,
				        play_transfer(&p, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 5, 2);
		}
		if (i % every) /* as many calls in each */
			p.host += 1, play_transfer(&p, SPY_DIR_DTOD, SPY_MEM_DEVICE, 4096, 5, 2);
		p.host += 150;
		play_sync(&p);
	}
	play_timed(&p, 2);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 42);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	play_ends(&p, &m);
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.steps, 100, 0.02);
	assert_near(r.repeated, 100 - 100 / every, 0.03);
	assert_true(r.least < 0.06 * r.window);
	return r;
}

/* No graph but in the best case, where all are padded to one shape; nearly all alike, and the
 * others are graphs in the middle too, but not where it says the least. */
static void test_steps_of_other_shapes(void **state)
{
	struct whatif_result r = steps_of_other_shapes(4);

	assert_true(r.predicted > 0.25 * r.window);
	r = steps_of_other_shapes(10);
	assert_true(r.predicted < 0.08 * r.window);
	assert_true(r.most > 0.1 * r.window);
}

/* Steps of 40 kernels, memory allocated ahead of each so many-th of them. */
static struct whatif_result steps_that_allocate(int every)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 40; k++) {
			p.host += 150;
			if (k % every == 0)
				play_alloc(&p, 50, false);
			play_launch(&p, 5, 2);
		}
		p.host += 150;
		play_sync(&p);
	}
	play_timed(&p, 2);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41 + (40 + (size_t)every - 1) / (size_t)every);
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	play_ends(&p, &m);
	return r;
}

/* No graph takes an allocation: what is between two of them is one. Less than five kernels: none.
 */
static void test_allocations_divide_graphs(void **state)
{
	struct whatif_result r = steps_that_allocate(20);

	/* Two graphs, the way to each allocation, and what that takes. */
	assert_int_equal(r.form, WHATIF_WHOLE);
	assert_near(r.predicted, 100 * (2 * (150 + 50) + 58) * 1e3, 0.03);
	assert_true(r.least < 100 * 220e3); /* the memory is there before */
	r = steps_that_allocate(1);
	assert_near(r.predicted, r.window, 1e-9);
	assert_int_equal(r.blocked[0].kind, BLOCK_ALLOC);
	assert_near(r.blocked[0].per_step, 40, 1e-9);
}

/* Rows that no recording of ours has. */
static void test_steps_that_cannot_be(void **state)
{
	struct play p;
	struct model m = {0};

	play_steps(&p);
	play_ask(&p, &m, WHATIF_KERNEL, "solve", 1);
	set_steps(&m, 41);
	for (size_t i = 0; i + 1 < m.steps.judged; i += 3) {
		m.steps.rows[i].start = i % 2 ? NAN : INFINITY;
		m.steps.rows[i + 1].duration = i % 2 ? -1e9 : NAN;
	}
	struct whatif_result r = play_ask(&p, &m, WHATIF_GRAPHS, NULL, 1);
	assert_true(r.steps <= 34);
	play_ends(&p, &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_graphs),
	        cmocka_unit_test(test_issuing_few_calls_stays),
	        cmocka_unit_test(test_graphs_leave_host_work),
	        cmocka_unit_test(test_functions_that_are_looked_up),
	        cmocka_unit_test(test_whole_steps),
	        cmocka_unit_test(test_a_loader_stays),
	        cmocka_unit_test(test_what_another_thread_copies_was_made_before),
	        cmocka_unit_test(test_two_threads_that_copy_at_once),
	        cmocka_unit_test(test_the_cost_of_many_steps),
	        cmocka_unit_test(test_whole_steps_of_three_launches),
	        cmocka_unit_test(test_reads_inside_a_step),
	        cmocka_unit_test(test_what_leads_from_a_read_to_a_launch_stays),
	        cmocka_unit_test(test_host_work_behind_an_allocation_stays),
	        cmocka_unit_test(
	                test_the_longest_stretch_of_steps_that_are_alike_but_for_an_allocation),
	        cmocka_unit_test(test_steps_of_other_shapes),
	        cmocka_unit_test(test_allocations_divide_graphs),
	        cmocka_unit_test(test_steps_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
