/* SPDX-License-Identifier: Apache-2.0 */
/* What graphs hold, as a recording says it: of one that is sound, and of one that is not. */
#include <string.h>

#include "report/model/model.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

static struct made made;
static struct model m;
static uint32_t kernel, rows;

/* Two kernels of one name and two shapes, three copies, and the first graph holds them. */
static int setup(void **state)
{
	made_sampled(&made);
	kernel = made_kernel(&made, "inside");
	rows = made_graph_nodes(
	        &made, (struct tf_graph_nodes){
	                       .kind = TF_NODES_ALL, .nodes = 10, .launches = 5, .rows = 3});
	made_graph_nodes(
	        &made, (struct tf_graph_nodes){
	                       .kind = TF_NODES_KERNEL, .kernel = kernel, .grid_x = 7, .nodes = 1});
	made_graph_nodes(
	        &made, (struct tf_graph_nodes){
	                       .kind = TF_NODES_KERNEL, .kernel = kernel, .grid_x = 8, .nodes = 6});
	made_graph_nodes(&made, (struct tf_graph_nodes){.kind = TF_NODES_COPY,
	                                                .direction = SPY_DIR_HTOD,
	                                                .nodes = 3,
	                                                .bytes = 3000});
	struct tf_graph *g = tf_entry(&made.map, &made_header(&made)->graphs, 0, sizeof(*g));
	g->nodes = rows;
	return 0;
}

static int teardown(void **state)
{
	model_free(&m);
	made_free(&made);
	return 0;
}

static void read_made(void)
{
	assert_true(render_model(&m, made.map.base, made_bytes(&made)));
}

static struct tf_graph_nodes *row(uint32_t index)
{
	const struct tf_table *t =
	        tf_at(&made.map, made_header(&made)->graph_nodes, sizeof(struct tf_table));

	assert_non_null(t);
	return tf_entry(&made.map, t, index, sizeof(struct tf_graph_nodes));
}

static uint64_t runs_inside(void)
{
	for (size_t i = 0; i < m.kernel_count; i++)
		if (!strcmp(m.kernels[i].name, "inside"))
			return m.kernels[i].graph_launches;
	return 0;
}

static void test_runs(void **state)
{
	read_made();
	assert_int_equal(runs_inside(), 35);
	assert_int_equal(m.in_graphs.launches, 5);
	assert_int_equal(m.in_graphs.launches_in_part, 0);
	assert_int_equal(m.in_graphs.kernels, 35);
	assert_int_equal(m.in_graphs.copies, 15);
	assert_int_equal(m.in_graphs.copy_bytes, 15000);
	const struct model_graph *g = &m.graphs[0];
	assert_true(g->nodes_known && !g->nodes_in_part && !g->nodes_changed);
	assert_int_equal(g->nodes, 10);
	assert_int_equal(g->part_count, 3);
	assert_int_equal(m.graph_parts[g->parts].nodes, 6); /* the most first */
	assert_int_equal(m.graph_parts[g->parts].grid[0], 8);
	assert_string_equal(m.graph_parts[g->parts].kernel, "inside");
	assert_int_equal(m.graph_parts[g->parts + 1].kind, TF_NODES_COPY);
}

static void test_flags(void **state)
{
	struct tf_graph *g = tf_entry(&made.map, &made_header(&made)->graphs, 0, sizeof(*g));

	g->nodes |= TF_GRAPH_OTHER_NODES;
	row(0)->flags = TF_NODES_REFUSED;
	read_made();
	assert_true(m.graphs[0].nodes_in_part && m.graphs[0].nodes_changed);
	assert_int_equal(m.in_graphs.launches_in_part, 5);
}

/* Whatever stands there: nothing is read that is not in the table, and sums stop at the largest
 * number. */
static void test_nonsense(void **state)
{
	struct tf_graph *g = tf_entry(&made.map, &made_header(&made)->graphs, 0, sizeof(*g));

	row(0)->rows = 4; /* one is missing */
	read_made();
	assert_int_equal(m.in_graphs.launches, 0);
	assert_false(m.graphs[0].nodes_known);
	model_free(&m);
	row(0)->rows = UINT32_MAX;
	read_made();
	assert_int_equal(m.in_graphs.launches, 0);
	model_free(&m);
	row(0)->rows = 3;
	row(0)->launches = UINT64_MAX;
	row(1)->kernel = UINT32_MAX;
	row(2)->kernel = TF_KERNELS_MAX - 1; /* no such kernel has a name */
	row(3)->direction = row(3)->memory = 255;
	read_made();
	assert_int_equal(m.in_graphs.kernels, UINT64_MAX);
	assert_int_equal(m.graphs[0].part_count, 2);
	model_free(&m);
	row(1)->kind = TF_NODES_KINDS;
	row(2)->kind = TF_NODES_ALL; /* a first row among another's */
	row(3)->kind = 0;
	read_made();
	assert_int_equal(m.graphs[0].part_count, 0);
	model_free(&m);
	g->nodes = 3; /* it is of no graph: part of another */
	read_made();
	assert_false(m.graphs[0].nodes_known);
	model_free(&m);
	g->nodes = 77;
	read_made();
	assert_false(m.graphs[0].nodes_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_runs, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
