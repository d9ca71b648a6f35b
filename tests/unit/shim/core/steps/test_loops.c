/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops are found, at which level their steps are, and when they come again. */
#include "tests/unit/shim/core/steps/loops_fixture.h"

/* An optimizer that goes over its parameters one by one, the host between two steps: the step is
 * not what it does for a parameter. */
static void test_a_pause_divides_steps(void **state)
{
	for (int i = 0; i < 70; i++) {
		for (int parameter = 0; parameter < 400; parameter++)
			for (uint32_t k = 1; k <= 6; k++)
				run_kernel(k);
		now += LONG_GAP;
	}
	const struct tf_loop *l = longest(NULL);
	assert_in_range(l->steps, 68, 70);
	assert_in_range(l->events / l->steps, 2390, 2410);
	assert_int_equal(l->anchors, TF_ANCHOR_GAP);
	assert_true(l->levels >= 2 && l->step_level > 0);
	assert_in_range(l->level[0].events_x1000, 5990, 6010);
	rows_agree();
}

/* Between alike launches it is cudaspy that takes its time now and then: no rhythm of the host. */
static void test_our_own_time_is_no_pause(void **state)
{
	for (int i = 0; i < 100; i++) {
		struct tf_record own = {.call = TF_CALL_OWN, .start = now};
		now = own.end = now + 40000;
		steps_own(steps, by, &own);
		for (uint64_t k = 100 + any(100); k > 0; k--)
			run_kernel(1);
	}
	steps_finish(steps, &made.map);
	assert_null(loop(0));
}

static void bring_back(bool async, enum spy_memory memory)
{
	struct tf_record r = {.call = 5};

	r.copy.direction = SPY_DIR_DTOH;
	r.copy.memory = memory;
	r.copy.async = async;
	r.copy.bytes = 4096;
	give(r, SPY_CLASS_COPY);
}

/* A copy to the host that returns when it is done is a wait: each step has one, and what the host
 * does behind some of them makes no longer steps. */
static void test_copies_that_are_waited_for(void **state)
{
	static const struct {
		bool async;
		enum spy_memory memory;
		bool waited;
	} rows[] = {{false, SPY_MEM_PINNED, true},
	            {true, SPY_MEM_PAGEABLE, true},
	            {true, SPY_MEM_PINNED, false}};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		finish(state);
		begin(state);
		for (int i = 0; i < 800; i++) {
			for (uint32_t k = 1; k <= 3; k++)
				run_kernel(k);
			bring_back(rows[row].async, rows[row].memory);
			now += i % 10 ? 0 : LONG_GAP + any(4 * LONG_GAP);
		}
		const struct tf_loop *l = longest(NULL);
		if (rows[row].waited) {
			assert_in_range(l->steps, 795, 800);
			assert_true(l->anchors & TF_ANCHOR_WAIT);
		} else {
			assert_false(l->anchors & TF_ANCHOR_WAIT);
		}
		rows_agree();
	}
}

static void launch_this(uint64_t graph)
{
	struct tf_record r = {.call = graph_launch};

	r.graph.graph = graph;
	give(r, SPY_CLASS_GRAPH_LAUNCH);
}

static void launch_graph(void)
{
	launch_this(0x700);
}

/* Two graphs, one after the other, each a step: whichever they are, they are two loops. What steps
 * are counted by has fewer places than there are graphs. */
static void test_graphs_of_one_place(void **state)
{
	for (uint64_t other = 1; other <= 100; other++) {
		finish(state);
		begin(state);
		for (int i = 0; i < 400; i++) {
			now += 20 * LONG_GAP + any(LONG_GAP);
			launch_this(i < 200 ? 0x700 : 0x700 + 8 * other);
		}
		const struct tf_loop *first = longest(NULL);
		assert_in_range(first->steps, 190, 200);
		assert_in_range(longest(first)->steps, 190, 200);
	}
}

/* A program tries kernels for long, in no order, and then launches one graph a step: fewer calls
 * than came before. */
static void test_a_graph_a_step_behind_much_else(void **state)
{
	for (int i = 0; i < 900; i++) {
		if (any(3))
			run_kernel(1 + (uint32_t)any(60));
		else
			upload();
		now += any(LONG_GAP);
	}
	uint64_t before = now;
	for (int i = 0; i < 175; i++) {
		now += 20 * LONG_GAP + any(LONG_GAP);
		launch_graph();
	}
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->cls, SPY_CLASS_GRAPH_LAUNCH);
	assert_in_range(l->steps, 174, 175);
	assert_int_equal(l->events, l->steps);
	assert_true(l->episode[0].start >= before);
	rows_agree();
}

/* The same behind a short loop of copies that ended in a pause: it must be noticed that these do
 * not come any more. */
static void test_a_loop_that_ended_in_a_pause(void **state)
{
	for (int i = 0; i < 60; i++)
		upload();
	for (int i = 0; i < 600; i++) {
		now += 400 * LONG_GAP;
		run_kernel(1 + (uint32_t)any(60));
	}
	for (int i = 0; i < 340; i++) {
		now += 20 * LONG_GAP + any(LONG_GAP);
		launch_graph();
	}
	for (int i = 0; i < 100; i++)
		run_kernel(1 + (uint32_t)any(60));
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->cls, SPY_CLASS_GRAPH_LAUNCH);
	assert_in_range(l->steps, 338, 340);
	rows_agree();
}

/* A program waits now and then while it starts, as it does in each step later on: what lies between
 * the first waits is no sign that there are no steps. */
static void test_waits_before_the_first_step(void **state)
{
	for (int i = 0; i < 8; i++) {
		for (uint64_t k = 1 + any(6); k > 0; k--)
			run_kernel(1 + (uint32_t)any(60));
		wait_here();
		now += any(40 * LONG_GAP);
	}
	for (int i = 0; i < 175; i++) {
		for (uint32_t k = 0; k < 39; k++)
			run_kernel(100 + k % 3);
		wait_here();
	}
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->cls, SPY_CLASS_SYNC);
	assert_in_range(l->steps, 172, 175);
	assert_int_equal(l->events, 40 * l->steps);
	rows_agree();
}

/* As many calls as a loop has come before it, some eight times over; of 20 launches one is waited
 * for. */
static void test_a_loop_in_the_last_part(void **state)
{
	for (int i = 0; i < 3000; i++) {
		if (any(4))
			run_kernel(1 + (uint32_t)any(99));
		else
			upload();
	}
	for (int i = 0; i < 25; i++) {
		for (int k = 0; k < 20; k++)
			run_kernel(150);
		wait_here();
	}
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->cls, SPY_CLASS_SYNC);
	assert_in_range(l->steps, 23, 25);
	rows_agree();
}

/* ---- programs at random ---- */

struct truth {
	uint64_t start, end, events, steps; /* events: of a step */
};

/* What a program does before its loop: in no order, or slowly, or with waits. */
static void made_up_start(uint64_t calls)
{
	uint64_t style = any(3);

	for (uint64_t i = 0; i < calls; i++) {
		uint64_t what = any(5);
		if (style == 1)
			now += any(3) ? 0 : any(40 * LONG_GAP);
		if (style == 2)
			now += any(2) ? 0 : any(6 * LONG_GAP);
		if (what == 0)
			upload();
		else if (what == 1 && style == 2)
			wait_here();
		else
			run_kernel(1 + (uint32_t)any(99));
	}
}

static struct truth made_up_loop(uint32_t base)
{
	static const uint64_t lengths[] = {2, 5, 20, 79, 200}, often[] = {30, 60, 175, 400};
	bool graph = !any(5), inner = !any(5), waits = any(2), uploads = !any(3), pauses = any(2);
	uint64_t kernels = graph ? 1 : lengths[any(5)], steps = often[any(4)],
	         log = any(2) ? 10 + any(15) : 0, ids[200];

	if (steps < 60 && kernels < 79)
		steps = 60;
	for (uint64_t k = 0; k < kernels; k++)
		ids[k] = base + (inner ? k % 3 : any(60));
	struct truth t = {.start = now, .steps = steps, .events = kernels + waits + uploads};
	for (uint64_t i = 0; i < steps; i++) {
		now += pauses ? 8 * LONG_GAP + any(2 * LONG_GAP) : 0;
		if (uploads)
			upload();
		for (uint64_t k = 0; k < kernels; k++)
			graph ? launch_graph() : run_kernel((uint32_t)ids[k]);
		if (kernels >= 20 && !any(30))
			made_up_start(1 + any(4));
		if (waits)
			wait_here();
		if (log && i % log == log - 1)
			wait_here();
	}
	t.end = now;
	return t;
}

/* Its steps, or some of them together, or parts of one: in most of its time. */
static bool is_found(const struct truth *t)
{
	for (uint32_t i = 0; loop(i); i++) {
		const struct tf_loop *l = loop(i);
		double each = l->steps ? (double)l->events / (double)l->steps / (double)t->events
		                       : 0,
		       whole = each >= 1  ? each
		               : each > 0 ? 1 / each
		                          : 0;
		if (!l->steps || l->episode[0].start + (t->end - t->start) / 5 < t->start)
			continue;
		double off = whole - (double)(uint64_t)(whole + 0.5);
		if (off < 0.12 * whole && off > -0.12 * whole &&
		    l->events * 10 >= t->events * t->steps * 8)
			return true;
	}
	return false;
}

/* One or two loops, behind a start of some thousand calls or none, with waits at the end or none.
 */
static void test_programs_at_random(void **state)
{
	static const uint64_t starts[] = {0, 10, 100, 600, 3000};
	uint64_t seed = 88172645463325252u;
	unsigned loops = 0, found = 0;

	for (int program = 0; program < 200; program++) {
		struct truth t[2];
		finish(state);
		begin(state);
		noise = seed;
		made_up_start(starts[any(5)]);
		unsigned n = 0;
		t[n++] = made_up_loop(100);
		if (any(2)) {
			now += any(1000 * LONG_GAP);
			made_up_start(any(3) * 100);
			t[n++] = made_up_loop(140);
		}
		for (uint64_t k = any(2) * any(60); k > 0; k--)
			wait_here();
		made_up_start(any(2) * 30);
		steps_finish(steps, &made.map);
		rows_agree();
		for (unsigned i = 0; i < n; i++, loops++)
			found += is_found(&t[i]);
		seed = noise;
	}
	print_message("%u of %u loops found\n", found, loops);
	assert_true(100 * found >= 80 * loops); /* 247 of 296; 185 on the day before */
}

/* A detector that had its marker every 30 events until event 900 and from 1500 on, and a loop of
 * steps of 20 events in between; whether that is taken back for one of the marker's. */
static bool taken_back(uint64_t first, uint64_t told)
{
	struct steps_detector *d = calloc(1, sizeof(*d));
	const uint32_t marker = 40, other = 44;
	struct tf_loop as = {.thread = 0};

	d->count = 2000;
	for (uint64_t n = 0; n < d->count; n++)
		d->symbols[n].coarse = n % 30 || (n >= 900 && n < 1500) ? other : marker;
	assert_int_equal(steps_new_loop(d, &made.map, &as), 0);
	d->knowns[0] = (struct steps_known){
	        .loop = d->knowns[0].loop, .first = first, .told = told, .events = 20};
	steps_drop_within(d, &made.map, marker, 0, 30);
	bool gone = !d->known_count;
	free(d);
	return gone;
}

/* Waits at the end of a program are no steps of what it had waited for before its training, and the
 * training is none of their pieces. */
static void test_what_lies_between_is_not_taken_back(void **state)
{
	assert_false(taken_back(930, 1430));
	assert_false(taken_back(890, 1490)); /* one marker */
	assert_true(taken_back(930, 1040));  /* a piece like others may hold that */
	assert_true(taken_back(100, 600));
	assert_true(taken_back(800, 1700));
}

/* Kernels in a row that are alike, amid others without order: they fill a look at the latest
 * events, and are no loop without a rhythm of the host's. */
static void test_a_row_of_kernels_is_no_loop_yet(void **state)
{
	for (int i = 0; i < 1360; i++)
		run_kernel(i >= 600 && i < 760 ? 100 + (uint32_t)i % 4 : 1 + (uint32_t)any(60));
	steps_finish(steps, &made.map);
	for (uint32_t i = 0; loop(i); i++)
		assert_int_equal(loop(i)->steps, 0);
}

/* A short run of replays, as long a pause before each: no pause is longer than others, and each
 * replay is a step. */
static void test_pauses_that_are_alike(void **state)
{
	struct tf_record r = {.call = graph_launch};

	r.graph.graph = 1;
	run_kernel(1);
	for (int i = 0; i < 51; i++) {
		now += 20 * LONG_GAP;
		give(r, SPY_CLASS_GRAPH_LAUNCH);
	}
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->cls, SPY_CLASS_GRAPH_LAUNCH);
	assert_int_equal(l->anchors, 0);
	assert_in_range(l->steps, 50, 51);
	rows_agree();
}

static void forward_and_back(void)
{
	upload();
	for (uint32_t k = 10; k < 50; k++)
		run_kernel(k);
	wait_here();
}

static void evaluate(void)
{
	upload();
	for (uint32_t k = 60; k < 75; k++)
		run_kernel(k);
	wait_here();
}

/* Between two runs of the loop the program does something else for long, with a call of its own on
 * either side: that time is no step's, whether the loop's marker begins a step or ends it. */
static void pause_amid_calls(void (*step)(void))
{
	for (int i = 0; i < 100; i++)
		step();
	run_kernel(3);
	uint64_t paused = now;
	now += 400 * 8000;
	run_kernel(4);
	for (int i = 0; i < 300; i++)
		step();
	const struct tf_loop *l = longest(NULL);
	assert_in_range(l->steps, 397, 401);
	assert_int_equal(l->episodes, 2);
	assert_true(l->episode[0].end <= paused);
	assert_true(l->episode[1].start >= paused + 400 * 8000);
	assert_in_range(l->ticks / l->steps, 1000, 8000);
	rows_agree();
}

static void forward_alone(void)
{
	for (uint32_t k = 10; k < 50; k++)
		run_kernel(k);
	now += LONG_GAP / 10;
}

static void test_a_pause_amid_steps_that_wait(void **state)
{
	pause_amid_calls(forward_and_back);
}

static void test_a_pause_amid_steps_that_do_not(void **state)
{
	pause_amid_calls(forward_alone);
}

/* Launches that come together, as the collector hands them over: so many at once, at most. */
static void run_together(unsigned launches, unsigned most)
{
	struct tf_record r[64];
	const struct steps_symbols *symbols[64];
	struct steps_symbols s;

	while (launches) {
		unsigned n = launches < most ? launches : most;
		for (unsigned i = 0; i < n; i++) {
			r[i] = a_launch(1, 8);
			r[i].start = now;
			r[i].end = now + CALL_TICKS;
			now += CALL_TICKS + BETWEEN;
			s = steps_symbols_of(&r[i], SPY_CLASS_LAUNCH);
			symbols[i] = &s;
		}
		steps_launches(steps, &made.map, by, r, symbols, n);
		launches -= n;
	}
}

/* Nothing is there once in an iteration when its loop is found, but what comes behind what: a
 * launch behind an upload. It is one as well among launches that come together. Then come smaller
 * iterations, which have it too. The host is late now and then. */
static void test_a_pair_that_begins_launches(void **state)
{
	for (unsigned most = 1; most <= 64; most += 9) {
		finish(state);
		begin(state);
		for (int i = 0; i < 40; i++) {
			for (int k = 0; k < 8; k++)
				upload();
			run_together(100, most);
			now += any(3) ? 0 : 20 * LONG_GAP;
			run_together(200, most);
			wait_here();
			now += any(3) ? LONG_GAP : 0;
		}
		for (int i = 0; i < 400; i++) {
			upload();
			now += any(6) ? 0 : 20 * LONG_GAP;
			run_together(6, most);
			wait_here();
			now += LONG_GAP;
		}
		const struct tf_loop *one = longest(NULL), *other = longest(one);
		if (one->steps < other->steps) {
			const struct tf_loop *more = other;
			other = one;
			one = more;
		}
		assert_in_range(one->steps, 395, 400);
		assert_in_range(other->steps, 39, 40);
		rows_agree();
	}
}

/* A server's threads, and the one that started them: each has a loop of its own. */
static void test_many_threads(void **state)
{
	for (int i = 0; i < 50; i++)
		forward_and_back();
	for (int i = 0; i < 700; i++) {
		by = 1 + (uint32_t)any(7);
		evaluate();
	}
	steps_finish(steps, &made.map);
	uint32_t seen = 0;
	for (uint32_t i = 0; loop(i); i++)
		if (loop(i)->steps >= 60 && loop(i)->thread >= 1 && loop(i)->thread <= 7)
			seen |= 1u << loop(i)->thread;
	assert_int_equal(seen, 0xfe);
	rows_agree();
}

/* Training and evaluation in turns: two loops, each with its episodes. */
static void test_loops_that_alternate(void **state)
{
	for (int i = 0; i < 300; i++)
		run_kernel(100 + (uint32_t)any(90));
	for (int epoch = 0; epoch < 10; epoch++) {
		for (int i = 0; i < 100; i++)
			forward_and_back();
		for (int i = 0; i < 40; i++)
			evaluate();
	}
	const struct tf_loop *train = longest(NULL), *test = longest(train);
	assert_in_range(train->steps, 980, 1000);
	assert_in_range(test->steps, 370, 400);
	assert_int_equal(train->episodes, 10);
	assert_int_equal(test->episodes, 10);
	assert_int_equal(train->counts.syncs, train->steps);
	assert_true(train->episode[0].end <= test->episode[0].start);
	assert_true(test->episode[0].end <= train->episode[1].start);
	rows_agree();
}

/* More episodes than there is room for: neighbours become one, no step is lost. */
static void test_many_episodes(void **state)
{
	for (int epoch = 0; epoch < 100; epoch++) {
		for (int i = 0; i < 20; i++)
			forward_and_back();
		for (int i = 0; i < 20; i++)
			evaluate();
	}
	const struct tf_loop *train = longest(NULL);
	assert_int_equal(train->episodes, TF_EPISODES);
	assert_true(train->merged >= 60);
	assert_true(train->steps > 1800);
	rows_agree();
}

/* The reporter drains a file whose count is not one: no more than there is room for. */
static void test_damaged_count_of_episodes(void **state)
{
	for (int i = 0; i < 100; i++)
		forward_and_back();
	struct tf_loop *l = (struct tf_loop *)(uintptr_t)longest(NULL);
	uint64_t steps_before = l->steps;
	l->episodes = 612369920;
	for (int i = 0; i < 20; i++)
		forward_and_back();
	assert_true(l->steps > steps_before);
	assert_true(l->episode[TF_EPISODES - 1].end > l->episode[0].end);
}

/* One step's calls come from whatever thread of a pool is free. */
static void test_threads_that_take_turns(void **state)
{
	for (int i = 0; i < 2520; i++) {
		by = (uint32_t)any(12);
		upload();
		by = (uint32_t)any(12);
		run_kernel(1);
		run_kernel(2);
		by = (uint32_t)any(12);
		wait_here();
	}
	const struct tf_loop *l = longest(NULL);
	assert_int_equal(l->thread, TF_LOOP_ALL);
	assert_in_range(l->steps, 2510, 2520);
	rows_agree();
}

/* A second thread is first heard of within the first step: it is whole all the same. */
static void test_a_thread_that_helps(void **state)
{
	for (int i = 0; i < 50; i++) {
		upload();
		run_kernel(1);
		run_kernel(2);
		by = 1;
		for (uint32_t k = 3; k < 6; k++)
			run_kernel(k);
		by = 0;
		wait_here();
	}
	steps_finish(steps, &made.map);
	const struct tf_loop *all = NULL;
	for (uint32_t i = 0; loop(i); i++)
		all = loop(i)->thread == TF_LOOP_ALL ? loop(i) : all;
	assert_non_null(all);
	assert_int_equal(all->steps, 50);
	assert_int_equal(all->counts.launches, 250);
	rows_agree();
}

/* Four threads that know nothing of each other: each has its own loop. */
static void test_threads_on_their_own(void **state)
{
	int at[4] = {0};

	for (int i = 0; i < 40000; i++) {
		by = (uint32_t)any(4);
		int n = at[by]++ % 6;
		if (n == 5)
			wait_here();
		else
			run_kernel((uint32_t)n + 1);
	}
	steps_finish(steps, &made.map);
	uint32_t own = 0;
	for (uint32_t i = 0; loop(i); i++)
		if (loop(i)->thread != TF_LOOP_ALL && loop(i)->steps > 1500) {
			own++;
			assert_int_equal(loop(i)->odd, 0);
		}
	assert_int_equal(own, 4);
	rows_agree();
}

/* The table is full: what took least goes, and is counted. */
static void test_more_loops_than_rows(void **state)
{
	for (uint32_t l = 0; l < 60; l++)
		for (uint32_t i = 0; i < 60 + l; i++) {
			for (uint32_t k = 0; k < 12; k++)
				run_kernel(3 * l + 1 + k % 3);
			wait_here();
		}
	longest(NULL);
	assert_int_equal(made_header(&made)->loops.count, TF_LOOPS_MAX);
	assert_in_range(made_header(&made)->loops_dropped, 55 - TF_LOOPS_MAX, 60 - TF_LOOPS_MAX);
	rows_agree();
}

/* Whatever comes, the rows agree with each other. */
static void test_any_calls(void **state)
{
	for (int round = 0; round < 60; round++) {
		uint32_t base = (uint32_t)any(100), length = 1 + (uint32_t)any(60);
		uint64_t times = any(300), odd = 1 + any(50);
		by = (uint32_t)any(3);
		for (uint64_t i = 0; i < times; i++) {
			for (uint32_t k = 0; k < length; k++)
				run_kernel(1 + base + k % 30);
			if (any(odd) == 0)
				for (uint64_t k = any(200); k > 0; k--)
					run_kernel(1 + (uint32_t)any(KERNELS_ALL - 1));
			if (base & 1)
				wait_here();
			if (base & 2)
				now += any(2 * LONG_GAP);
		}
	}
	steps_finish(steps, &made.map);
	rows_agree();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_a_pause_divides_steps, begin, finish),
	        cmocka_unit_test_setup_teardown(test_our_own_time_is_no_pause, begin, finish),
	        cmocka_unit_test_setup_teardown(test_copies_that_are_waited_for, begin, finish),
	        cmocka_unit_test_setup_teardown(test_graphs_of_one_place, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_graph_a_step_behind_much_else, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_a_loop_that_ended_in_a_pause, begin, finish),
	        cmocka_unit_test_setup_teardown(test_waits_before_the_first_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_loop_in_the_last_part, begin, finish),
	        cmocka_unit_test_setup_teardown(test_what_lies_between_is_not_taken_back, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_a_row_of_kernels_is_no_loop_yet, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_pauses_that_are_alike, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pair_that_begins_launches, begin, finish),
	        cmocka_unit_test_setup_teardown(test_many_threads, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_amid_steps_that_wait, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_pause_amid_steps_that_do_not, begin, finish),
	        cmocka_unit_test_setup_teardown(test_loops_that_alternate, begin, finish),
	        cmocka_unit_test_setup_teardown(test_many_episodes, begin, finish),
	        cmocka_unit_test_setup_teardown(test_damaged_count_of_episodes, begin, finish),
	        cmocka_unit_test_setup_teardown(test_threads_that_take_turns, begin, finish),
	        cmocka_unit_test_setup_teardown(test_a_thread_that_helps, begin, finish),
	        cmocka_unit_test_setup_teardown(test_threads_on_their_own, begin, finish),
	        cmocka_unit_test_setup_teardown(test_more_loops_than_rows, begin, finish),
	        cmocka_unit_test_setup_teardown(test_any_calls, begin, finish),
	        cmocka_unit_test_setup_teardown(test_programs_at_random, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
