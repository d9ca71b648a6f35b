/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/unit/report/analysis/findings/steady.h"

#define MIB (1u << 20)

/* ---- churn ---- */

static void test_churn(void **state)
{
	struct steady s;

	steady_start(&s);
	for (int i = 0; i < 20; i++) {
		steady_memory(&s, false, 4 * MIB, 20);
		steady_launch(&s, 5, 0);
		steady_memory(&s, true, 4 * MIB, 30);
	}
	/* The first of them is of a size that was not freed before. */
	steady_expect(&s, "alloc-churn", "19 allocations, ");
}

/* Made at the start, freed at the end: no size comes again after it was freed. */
static void test_no_churn(void **state)
{
	struct steady s;

	steady_start(&s);
	for (int i = 0; i < 40; i++)
		steady_memory(&s, false, 4 * MIB, 20);
	for (int i = 0; i < 40; i++)
		steady_launch(&s, 5, 0);
	for (int i = 0; i < 40; i++)
		steady_memory(&s, true, 4 * MIB, 20);
	steady_expect(&s, "alloc-churn", NULL);
}

/* At the start alone, and failed ones. */
static void test_early_churn(void **state)
{
	struct steady s;

	steady_start(&s);
	for (int i = 0; i < 20; i++) {
		steady_memory(&s, false, 4 * MIB, 20);
		steady_memory(&s, true, 4 * MIB, 20);
	}
	for (int i = 0; i < 60; i++)
		steady_launch(&s, 30, 0);
	steady_expect(&s, "alloc-churn", NULL);
}

/* Of a longer run the last calls (256) alone are held: the count is of these, and says so. */
static void test_held(void **state)
{
	struct steady s;

	steady_start(&s);
	for (int i = 0; i < 240; i++) {
		steady_memory(&s, false, 4 * MIB, 20);
		steady_memory(&s, true, 4 * MIB, 30);
	}
	steady_expect(&s, "alloc-churn", "127 allocations in the last 6.6");
}

/* ---- growth ---- */

/* Physical memory has no address: of it and its mapping, the mapping counts. */
static void test_physical(void **state)
{
	struct steady s;

	steady_start(&s);
	for (int i = 0; i < 50; i++) {
		struct tf_record r = steady_record(&s, s.alloc, 5);
		r.alloc.bytes = MIB;
		r.alloc.memory = SPY_MEM_DEVICE;
		made_return(&s.made, s.thread, r);
		steady_memory(&s, false, MIB, 5);
		steady_launch(&s, 5, 0);
		steady_memory(&s, true, MIB, 5);
	}
	steady_read(&s);
	assert_null(steady_finding(&s, "memory-growth"));
	assert_non_null(steady_finding(&s, "alloc-churn"));
	assert_non_null(strstr(steady_finding(&s, "alloc-churn")->evidence, "49 allocations, "));
	steady_end(&s);
}

/* Steps of a launch that allocate MiB until step `most`; so many are freed at the end. */
static void steps(struct steady *s, int count, int most, int freed)
{
	steady_launch(s, 5, 0); /* what comes before the first work is start-up */
	for (int i = 0; i < count; i++) {
		if (i < most)
			steady_memory(s, false, MIB, 5);
		steady_launch(s, 5, 0);
	}
	for (int i = 0; i < freed; i++)
		steady_memory(s, true, MIB, 5);
}

static void test_growth(void **state)
{
	struct steady s;

	steady_start(&s);
	steps(&s, 100, 100, 0);
	steady_read(&s);
	const struct finding *f = steady_finding(&s, "memory-growth");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence, "grew evenly by 100MiB in "));
	assert_non_null(strstr(f->evidence, "at most it held 100MiB."));
	assert_non_null(strstr(f->evidence, "a device of 8.00GiB is full in "));
	assert_int_equal(f->severity, SEVERITY_HIGH);
	assert_true(isnan(f->share));
	steady_end(&s);
	steady_start(&s); /* freed by the program's end alone */
	steps(&s, 80, 80, 80);
	steady_expect(&s, "memory-growth", "grew evenly by 80.0MiB");
}

static void test_no_growth(void **state)
{
	struct steady s;

	steady_start(&s); /* a cache that fills up */
	steps(&s, 100, 60, 0);
	steady_expect(&s, "memory-growth", NULL);
	steady_start(&s); /* as much freed as allocated */
	for (int i = 0; i < 60; i++) {
		steady_memory(&s, false, MIB, 5);
		steady_launch(&s, 5, 0);
		steady_memory(&s, true, MIB, 5);
	}
	steady_expect(&s, "memory-growth", NULL);
}

/* ---- modules, first launches ---- */

static void test_loads(void **state)
{
	struct steady s;

	steady_start(&s);
	steady_launch(&s, 5, 0);
	for (int i = 0; i < 20; i++) {
		steady_call(&s, s.load, 50);
		steady_launch(&s, 5, 0);
	}
	steady_expect(&s, "module-load-in-loop", "20 modules were loaded, ");
	steady_start(&s); /* at the start alone */
	for (int i = 0; i < 5; i++)
		steady_call(&s, s.load, 50);
	for (int i = 0; i < 100; i++)
		steady_launch(&s, 5, 0);
	steady_expect(&s, "module-load-in-loop", NULL);
}

static void launches(struct steady *s, int first_every, double first_us, int first_until)
{
	for (int i = 0; i < 100; i++) {
		bool first = i % first_every == 0 && i < first_until;
		steady_launch(s, first ? first_us : 5, first ? TF_FIRST : 0);
		steady_call(s, s->sync, 20);
	}
}

static void test_first_launches(void **state)
{
	struct steady s;

	steady_start(&s);
	launches(&s, 10, 60, 100);
	steady_expect(&s, "first-launch-cost", "they take 60.0 us each where others take 5.0");
	steady_start(&s); /* they cost no more than others */
	launches(&s, 10, 6, 100);
	steady_expect(&s, "first-launch-cost", NULL);
	steady_start(&s); /* warmed up */
	launches(&s, 1, 60, 4);
	steady_expect(&s, "first-launch-cost", NULL);
}

/* ---- graphs ---- */

static void graphs(struct steady *s, int steps, int made_until, int replays)
{
	uint32_t number = made_graph(&s->made, 0x5000, 100000);
	struct tf_record r;

	steady_launch(s, 5, 0);
	for (int i = 0; i < steps; i++) {
		if (i < made_until)
			steady_call(s, s->make, 50);
		for (int k = 0; k < replays; k++) {
			r = steady_record(s, s->graph, 4);
			r.graph.graph = number;
			r.graph.handle = 0x5000;
			made_return(&s->made, s->thread, r);
		}
	}
}

static void test_graphs(void **state)
{
	static const char made[] = "graph-reinstantiated",
	                  dominates[] = "graph-instantiation-dominates";
	struct steady s;

	steady_start(&s);
	graphs(&s, 51, 51, 1); /* the first is made before the loop's first step */
	steady_read(&s);
	assert_non_null(steady_finding(&s, made));
	assert_null(steady_finding(&s, dominates));
	assert_non_null(strstr(steady_finding(&s, made)->evidence,
	                       " graphs were instantiated and 0 updated, "));
	steady_end(&s);
	steady_start(&s); /* each launched three times */
	graphs(&s, 50, 50, 3);
	steady_read(&s);
	assert_null(steady_finding(&s, made));
	assert_non_null(steady_finding(&s, dominates));
	assert_non_null(strstr(steady_finding(&s, dominates)->evidence, "each for 3"));
	steady_end(&s);
	steady_start(&s); /* at the start alone */
	graphs(&s, 200, 12, 1);
	steady_read(&s);
	assert_null(steady_finding(&s, made));
	assert_null(steady_finding(&s, dominates));
	steady_end(&s);
}

/* Nodes that are given other parameters before each `every`th launch of the graph; the time from
 * one change to the next is the host's as well. */
static void changes(struct steady *s, int steps, int changed_until, int every)
{
	uint16_t change = made_call(&s->made, "cuGraphExecKernelNodeSetParams_v2", SPY_CLASS_GRAPH,
	                            SPY_LEVEL_DRIVER);

	for (int i = 0; i < steps; i++) {
		for (int k = 0; k < 20 && i < changed_until && i % every == 0; k++)
			steady_call(s, change, 1.3);
		graphs(s, 1, 0, 1);
		steady_call(s, s->sync, 30);
	}
}

static void test_changed_nodes(void **state)
{
	static const char id[] = "graph-nodes-changed";
	struct steady s;

	steady_start(&s);
	changes(&s, 100, 100, 1);
	steady_expect(&s, id, "11 of 11 graph launches in the last ");
	steady_start(&s);
	changes(&s, 100, 100, 1); /* 20 of 1.3 us, and 19 us between them */
	steady_expect(&s, id, " each time. These take the host 45.");
	steady_start(&s); /* before a few */
	changes(&s, 100, 100, 4);
	steady_expect(&s, id, NULL);
	steady_start(&s); /* at the start alone */
	changes(&s, 100, 20, 1);
	steady_expect(&s, id, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_churn),          cmocka_unit_test(test_no_churn),
	        cmocka_unit_test(test_early_churn),    cmocka_unit_test(test_held),
	        cmocka_unit_test(test_physical),       cmocka_unit_test(test_growth),
	        cmocka_unit_test(test_no_growth),      cmocka_unit_test(test_loads),
	        cmocka_unit_test(test_first_launches), cmocka_unit_test(test_graphs),
	        cmocka_unit_test(test_changed_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
