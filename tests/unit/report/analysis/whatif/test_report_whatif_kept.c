/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that are launched as they are: what changing their nodes takes the host goes. */
#include <math.h>
#include <string.h>

#include "report/analysis/analysis.h"
#include "report/analysis/whatif/whatif.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

#define STEPS   200
#define CHANGES 50
#define CHANGE  1.3 /* us */
#define BETWEEN 2.0

struct graphs {
	struct play p;
	struct model m;
	uint32_t number;
	uint16_t change, launch, look_up;
};

static void start(struct graphs *g)
{
	struct made *made = &g->p.made;

	*g = (struct graphs){0};
	play_start(&g->p);
	g->number = made_graph(made, 0x5000, 100000);
	g->change = made_call(made, "cuGraphExecKernelNodeSetParams_v2", SPY_CLASS_GRAPH,
	                      SPY_LEVEL_DRIVER);
	g->look_up = made_call(made, "cuKernelGetFunction", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	g->launch = made_call(made, "cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_DRIVER);
}

static void change_nodes(struct graphs *g, int changes)
{
	struct play *p = &g->p;

	p->who = 0;
	for (int i = 0; i < changes; i++) {
		struct tf_record r = play_call(p, g->change, CHANGE);
		play_returns(p, &r);
		p->host += BETWEEN;
	}
}

/* The graph takes the GPU so many us. */
static void launch(struct graphs *g, double us)
{
	struct play *p = &g->p;
	struct tf_record r = play_call(p, g->launch, 5);

	r.graph.graph = g->number;
	r.graph.handle = 0x5000;
	play_returns(p, &r);
	p->tail = fmax(p->host + 1.8, p->tail + 0.75) + us;
}

/* Changes all nodes, as XLA does, and launches the graph. */
static void step(struct graphs *g, double us)
{
	change_nodes(g, CHANGES);
	launch(g, us);
}

static struct whatif_result ask(struct graphs *g, double us)
{
	struct tf_work key = {.kind = TF_WORK_GRAPH, .id = g->number};

	g->p.who = 0;
	made_pairs(made_work(&g->p.made, key, STEPS), TF_PAIR_IDLE, 400, 1e3 * us + 740, 1);
	play_timed_copy(&g->p, SPY_DIR_DTOH, 4, 2);
	play_sync(&g->p);
	struct whatif_result r = play_ask(&g->p, &g->m, WHATIF_KEPT, NULL, 1);
	play_assert_base(&g->m, 0.02);
	return r;
}

static char evidence[512]; /* of the finding that was found last */

/* The finding of it, which is not told where nothing is gained; its gain, or 0. */
static double found(const struct model *m)
{
	struct analysis a;
	double gain = 0;

	analysis_make(&a, m, m->phases.main);
	for (size_t i = 0; i < a.findings.count; i++)
		if (!strcmp(a.findings.items[i].id, "graph-nodes-changed")) {
			gain = a.findings.items[i].speedup;
			snprintf(evidence, sizeof(evidence), "%s", a.findings.items[i].evidence);
		}
	analysis_free(&a);
	return gain;
}

/* The host waits for each step, and then changes the nodes for the next one. */
static void test_before_each_launch(void **state)
{
	struct graphs g;
	/* Behind the last change of a step the launch follows: that stays. */
	double all = (STEPS - 1) * (CHANGES * CHANGE + (CHANGES - 1) * BETWEEN) * 1e3,
	       calls = (STEPS - 1) * CHANGES * CHANGE * 1e3;

	(void)state;
	start(&g);
	for (int i = 0; i < STEPS; i++) {
		step(&g, 100);
		play_sync(&g.p);
	}
	struct whatif_result r = ask(&g, 100);
	assert_near(r.changed, (STEPS - 1) * CHANGES, 1e-9);
	assert_near(r.saved, all, 0.03);
	/* For the least gain the calls alone, and the GPU takes as long as its interval has it. */
	assert_in_range(r.window - r.most, (uint64_t)(0.7 * calls), (uint64_t)calls);
	assert_near(found(&g.m), r.speedup, 1e-9);
	play_ends(&g.p, &g.m);
}

/* The runtime asks for the kernel's function ahead of each change: that goes too. A look-up that no
 * change follows stays. */
static void test_the_runtime_asks_first(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	for (int i = 0; i < STEPS; i++) {
		struct play *p = &g.p;
		for (int n = 0; n < CHANGES; n++) {
			struct tf_record r = play_call(p, g.look_up, 0.5);
			play_returns(p, &r);
			p->host += BETWEEN / 2;
			r = play_call(p, g.change, CHANGE);
			play_returns(p, &r);
			p->host += BETWEEN / 2;
		}
		struct tf_record r = play_call(p, g.look_up, 30);
		play_returns(p, &r);
		launch(&g, 100);
		play_sync(p);
	}
	struct whatif_result r = ask(&g, 100);
	assert_near(r.changed, (STEPS - 1) * CHANGES, 1e-9);
	assert_near(r.saved,
	            (STEPS - 1) * (CHANGES * (CHANGE + 0.5) + (CHANGES - 0.5) * BETWEEN) * 1e3,
	            0.03);
	assert_near(found(&g.m), r.speedup, 1e-9);
	assert_non_null(strstr(evidence, "189 us each time"));
	play_ends(&g.p, &g.m);
}

/* What was asked long ahead of a change was not asked for it. */
static void test_asked_long_before(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	for (int i = 0; i < STEPS; i++) {
		struct tf_record r = play_call(&g.p, g.look_up, 40);
		play_returns(&g.p, &r);
		g.p.host += 60;
		step(&g, 100);
		play_sync(&g.p);
	}
	struct whatif_result r = ask(&g, 100);
	assert_near(r.saved, (STEPS - 1) * (CHANGES * CHANGE + (CHANGES - 1) * BETWEEN) * 1e3,
	            0.05);
	assert_near(found(&g.m), r.speedup, 1e-9);
	assert_non_null(strstr(evidence, "163 us each time"));
	play_ends(&g.p, &g.m);
}

/* Code that is linked ahead of the changes is none of them, however it is called. */
static void test_code_is_linked_first(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	uint16_t link =
	        made_call(&g.p.made, "cuLinkAddData_v2", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	for (int i = 0; i < STEPS; i++) {
		struct tf_record r = play_call(&g.p, link, 3000);
		play_returns(&g.p, &r);
		step(&g, 100);
		play_sync(&g.p);
	}
	struct whatif_result r = ask(&g, 100);
	assert_near(r.saved, (STEPS - 1) * (CHANGES * CHANGE + (CHANGES - 1) * BETWEEN) * 1e3,
	            0.05);
	play_ends(&g.p, &g.m);
}

/* It waits outside CUDA until another thread has waited for the step, and read a result. */
static void test_behind_a_read(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	struct play_xla xla = play_xla(&g.p);
	for (int i = 0; i < STEPS; i++) {
		step(&g, 100);
		struct tf_record r = play_call(&g.p, xla.told, 4);
		play_returns(&g.p, &r);
		g.p.host = g.p.tail + 10;
		play_read(&g.p, &xla, 4, 2);
		g.p.host += 60;
	}
	assert_near(ask(&g, 100).saved, (STEPS - 1) * CHANGES * (CHANGE + BETWEEN) * 1e3, 0.05);
	play_ends(&g.p, &g.m);
}

/* The GPU has work all the while: nothing is saved, and nothing told. */
static void test_while_the_gpu_works(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	for (int i = 0; i < STEPS; i++)
		step(&g, 300);
	struct whatif_result r = ask(&g, 300);
	assert_true(r.saved < 0.005 * r.window);
	assert_true(found(&g.m) == 0);
	play_ends(&g.p, &g.m);
}

/* What the program does between a change and what follows that is no change is its own work. */
static void test_work_behind_a_change(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	for (int i = 0; i < STEPS; i++) {
		change_nodes(&g, 1);
		g.p.host += 45;
		launch(&g, 50);
		play_sync(&g.p);
	}
	struct whatif_result r = ask(&g, 50);
	assert_near(r.saved, (STEPS - 1) * CHANGE * 1e3, 0.05);
	assert_true(r.speedup < 1.02);
	play_ends(&g.p, &g.m);
}

/* Changes ahead of the read that the launch follows do not lie in what is behind it. */
static void test_ahead_of_a_read(void **state)
{
	struct graphs g;

	(void)state;
	start(&g);
	struct play_xla xla = play_xla(&g.p);
	for (int i = 0; i < STEPS; i++) {
		change_nodes(&g, CHANGES);
		g.p.host = fmax(g.p.host, g.p.tail + 10);
		play_read(&g.p, &xla, 4, 2);
		g.p.host += 250;
		g.p.who = 0;
		launch(&g, 100);
	}
	assert_true(ask(&g, 100).saved <= 1.02 * STEPS * CHANGES * (CHANGE + BETWEEN) * 1e3);
	play_ends(&g.p, &g.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_before_each_launch),
	        cmocka_unit_test(test_the_runtime_asks_first),
	        cmocka_unit_test(test_asked_long_before),
	        cmocka_unit_test(test_code_is_linked_first),
	        cmocka_unit_test(test_behind_a_read),
	        cmocka_unit_test(test_while_the_gpu_works),
	        cmocka_unit_test(test_work_behind_a_change),
	        cmocka_unit_test(test_ahead_of_a_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
