/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph does as a number, on a driver that the test makes up: graphs are arrays of nodes. */
#include "shim/handles/graph_content.h"

#include <errno.h>
#include <string.h>
#include "shim/handles/memory_map.h"
#include "shim/real/real.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"
#include "tests/unit/shim_stubs.h"

#define MOST 1100u /* nodes of a graph */

struct made_graph;

struct made_node {
	CUgraphNodeType type;
	CUDA_KERNEL_NODE_PARAMS_v2 kernel;
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS set;
	CUDA_HOST_NODE_PARAMS host;
	struct made_graph *child;
};

struct made_graph {
	struct made_node node[MOST];
	unsigned nodes, edges;
	unsigned from[MOST], to[MOST];
};

static struct made_graph a, b, inner;
static CUstreamCaptureMode mode;
static unsigned changes_of_mode, calls, fail_at;

static CUresult asked(void)
{
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	errno = EINVAL;
	return ++calls == fail_at ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult exchange(CUstreamCaptureMode *m)
{
	CUstreamCaptureMode old = mode;

	mode = *m;
	*m = old;
	changes_of_mode++;
	return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	struct made_graph *g = (struct made_graph *)graph;

	for (unsigned i = 0; nodes && i < g->nodes && i < *count; i++)
		nodes[i] = (CUgraphNode)&g->node[i];
	*count = g->nodes;
	return asked();
}

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	struct made_graph *g = (struct made_graph *)graph;

	for (unsigned i = 0; from && i < g->edges && i < *count; i++) {
		from[i] = (CUgraphNode)&g->node[g->from[i]];
		to[i] = (CUgraphNode)&g->node[g->to[i]];
	}
	*count = g->edges;
	return asked();
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
	*type = ((struct made_node *)node)->type;
	return asked();
}

static CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	*p = ((struct made_node *)node)->kernel;
	return asked();
}

static CUresult get_copy(CUgraphNode node, CUDA_MEMCPY3D *p)
{
	*p = ((struct made_node *)node)->copy;
	return asked();
}

static CUresult get_set(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p)
{
	*p = ((struct made_node *)node)->set;
	return asked();
}

static CUresult get_host(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p)
{
	*p = ((struct made_node *)node)->host;
	return asked();
}

static CUresult get_child(CUgraphNode node, CUgraph *graph)
{
	*graph = (CUgraph)((struct made_node *)node)->child;
	return asked();
}

static CUresult get_name(const char **name, CUfunction f)
{
	*name = f == (CUfunction)0x5000 ? "asked" : NULL;
	asked();
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static const char *lacking;

void *spy_driver_symbol(const char *name)
{
	static const struct {
		const char *name;
		void *f;
	} all[] = {{"cuThreadExchangeStreamCaptureMode", exchange},
	           {"cuGraphGetNodes", get_nodes},
	           {"cuGraphGetEdges", get_edges},
	           {"cuGraphNodeGetType", get_type},
	           {"cuGraphKernelNodeGetParams", get_kernel},
	           {"cuGraphMemcpyNodeGetParams", get_copy},
	           {"cuGraphMemsetNodeGetParams", get_set},
	           {"cuGraphHostNodeGetParams", get_host},
	           {"cuGraphChildGraphNodeGetGraph", get_child},
	           {"cuFuncGetName", get_name}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name) && !(lacking && !strcmp(lacking, name)))
			return all[i].f;
	return NULL;
}

/* Host memory below 4 KiB is pinned. */
enum spy_memory memory_map_find(uint64_t address)
{
	return address < 4096 ? SPY_MEM_PINNED : SPY_MEM_PAGEABLE;
}

static struct made_node a_kernel(uintptr_t f, unsigned grid)
{
	return (struct made_node){.type = CU_GRAPH_NODE_TYPE_KERNEL,
	                          .kernel = {.func = (CUfunction)f,
	                                     .gridDimX = grid,
	                                     .gridDimY = 1,
	                                     .gridDimZ = 1,
	                                     .blockDimX = 32,
	                                     .blockDimY = 1,
	                                     .blockDimZ = 1}};
}

static struct made_node a_copy(size_t bytes, const void *from)
{
	return (struct made_node){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
	                          .copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
	                                   .srcHost = from,
	                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
	                                   .WidthInBytes = bytes,
	                                   .Height = 1,
	                                   .Depth = 1}};
}

/* So many equal kernels, one after the other. */
static void chain(struct made_graph *g, unsigned nodes)
{
	memset(g, 0, sizeof(*g));
	g->nodes = nodes;
	for (unsigned i = 0; i < nodes; i++)
		g->node[i] = a_kernel(0x1000, 64);
	for (unsigned i = 1; i < nodes; i++, g->edges++) {
		g->from[g->edges] = i - 1;
		g->to[g->edges] = i;
	}
}

static uint64_t graph_content(CUgraph graph, uint32_t most)
{
	struct graph_reading *r = graph_read(graph, most, 0);
	uint64_t content = r ? r->content : 0;

	graph_reading_end(r);
	return content;
}

static uint64_t content(struct made_graph *g)
{
	return graph_content((CUgraph)g, GRAPH_NODES_MOST);
}

static void assert_alike(void)
{
	assert_true(content(&a));
	assert_int_equal(content(&a), content(&b));
}

static void assert_different(void)
{
	assert_true(content(&a) && content(&b));
	assert_int_not_equal(content(&a), content(&b));
}

static int setup(void **state)
{
	stub_start(1 << 20);
	tf_append(&spy_map, &tf_header(&spy_map)->kernels); /* launches without a known name */
	tf_publish(&tf_header(&spy_map)->kernels);
	tf_header(&spy_map)->graph_nodes = spy_map.alloc(&spy_map, sizeof(struct tf_table));
	struct tf_table *t =
	        tf_at(&spy_map, tf_header(&spy_map)->graph_nodes, sizeof(struct tf_table));
	*t = (struct tf_table){
	        .entry_bytes = sizeof(struct tf_graph_nodes), .page_entries = 256, .max = 4096};
	registry_handles = NULL;
	mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	changes_of_mode = calls = fail_at = 0;
	lacking = NULL;
	chain(&a, 6);
	chain(&b, 6);
	assert_true(graph_content_find());
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	stub_end();
	return 0;
}

static void test_equal_graphs(void **state)
{
	assert_alike();
	/* Arguments and addresses are no part of it. */
	void *args[1] = {0};
	b.node[2].kernel.kernelParams = args;
	a.node[3] = a_copy(4096, (void *)0x10);
	b.node[3] = a_copy(4096, (void *)0x20);
	assert_alike();
}

static void test_other_nodes(void **state)
{
	b.node[3].kernel.gridDimX = 65;
	assert_different();
	chain(&b, 6);
	b.node[3].kernel.blockDimY = 2;
	assert_different();
	chain(&b, 6);
	b.node[3].kernel.sharedMemBytes = 1;
	assert_different();
	chain(&b, 6);
	b.node[3].kernel.func = (CUfunction)0x2000;
	assert_different();
	chain(&b, 7);
	assert_different();
	chain(&b, 6);
	b.node[3].type = CU_GRAPH_NODE_TYPE_EMPTY;
	assert_different();
}

static void test_copies_and_sets(void **state)
{
	a.node[3] = b.node[3] = a_copy(4096, (void *)0x10);
	assert_alike();
	b.node[3] = a_copy(8192, (void *)0x10);
	assert_different();
	b.node[3] = a_copy(4096, (void *)0x10000); /* pageable */
	assert_different();
	a.node[3] = (struct made_node){.type = CU_GRAPH_NODE_TYPE_MEMSET,
	                               .set = {.elementSize = 4, .width = 100, .height = 1}};
	b.node[3] = a.node[3];
	b.node[3].set.dst = 0x777;
	b.node[3].set.value = 3;
	assert_alike();
	b.node[3].set.height = 2;
	assert_different();
	a.node[3] =
	        (struct made_node){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = (CUhostFn)0x10}};
	b.node[3] = a.node[3];
	assert_alike();
	b.node[3].host.fn = (CUhostFn)0x20;
	assert_different();
}

static void test_order_and_edges(void **state)
{
	a.node[1].kernel.gridDimX = b.node[2].kernel.gridDimX = 1000;
	assert_different();
	chain(&a, 6);
	chain(&b, 6);
	b.from[4] = 3; /* the last two side by side */
	assert_different();
	chain(&b, 6);
	b.edges--;
	assert_different();
	/* In which order the driver tells the edges is its own affair. */
	chain(&b, 6);
	b.from[0] = 4, b.to[0] = 5;
	b.from[4] = 0, b.to[4] = 1;
	assert_alike();
}

static void test_child_graphs(void **state)
{
	chain(&inner, 3);
	a.node[2] = (struct made_node){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = &inner};
	b.node[2] = a.node[2];
	assert_alike();
	uint64_t before = content(&a);
	inner.node[1].kernel.gridDimX++;
	assert_int_not_equal(content(&a), before);
	/* Within itself: not for ever. */
	a.node[2].child = &a;
	assert_int_equal(content(&a), 0);
}

/* The same kernel by two handles, as in two contexts; one without a name until code is unloaded. */
static void test_kernels_by_name(void **state)
{
	b.node[3].kernel.func = NULL;
	b.node[3].kernel.kern = (CUkernel)0x3000;
	assert_different();
	registry_put(HANDLE_FUNCTION, 0x1000, registry_kernel("k"), 0, 0);
	assert_different();
	registry_put(HANDLE_FUNCTION, 0x3000, registry_kernel("k"), 0, 0);
	assert_alike();
	uint64_t before = content(&a);
	registry_code_unloaded();
	assert_int_equal(content(&a), before);
	a.node[3].kernel.func = (CUfunction)0x4000;
	before = content(&a);
	registry_code_unloaded();
	assert_int_not_equal(content(&a), before);
}

static void test_what_cannot_be_told(void **state)
{
	a.node[5].type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	assert_int_equal(content(&a), 0);
	a.node[5].type = (CUgraphNodeType)13; /* conditional */
	assert_int_equal(content(&a), 0);
	a.node[5].type = (CUgraphNodeType)99;
	assert_int_equal(content(&a), 0);
	assert_int_equal(graph_content(NULL, GRAPH_NODES_MOST), 0);
	assert_int_equal(graph_content((CUgraph)&b, 5), 0);
	assert_int_not_equal(graph_content((CUgraph)&b, 6), 0);
}

static void test_large_graphs(void **state)
{
	chain(&a, GRAPH_NODES_MOST);
	chain(&b, GRAPH_NODES_MOST);
	assert_alike();
	b.node[GRAPH_NODES_MOST - 1].kernel.gridDimX++;
	assert_different();
	chain(&a, GRAPH_NODES_MOST + 1);
	assert_int_equal(graph_content((CUgraph)&a, UINT32_MAX), 0);
	/* With a child graph it is too many. */
	chain(&inner, 3);
	b.node[2] = (struct made_node){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = &inner};
	assert_int_equal(content(&b), 0);
	chain(&b, 0);
	assert_int_not_equal(content(&b), 0);
}

/* Whichever question is refused. */
static void test_refusals(void **state)
{
	a.node[3] = a_copy(4096, (void *)0x10);
	assert_true(content(&a));
	unsigned all = calls;
	for (unsigned i = 1; i <= all; i++) {
		calls = 0;
		fail_at = i;
		assert_int_equal(content(&a), 0);
		assert_int_equal(calls, i);
	}
	fail_at = 0;
	assert_int_equal(changes_of_mode, 2 * (all + 1));
}

/* ---- what it holds ---- */

#define EVER UINT64_MAX

static const struct tf_graph_nodes *row(uint32_t index)
{
	const struct tf_table *t =
	        tf_at(&spy_map, tf_header(&spy_map)->graph_nodes, sizeof(struct tf_table));

	assert_true(t && index < tf_count(t));
	return tf_entry(&spy_map, t, index, sizeof(struct tf_graph_nodes));
}

static void assert_part(uint32_t index, enum tf_nodes kind, uint64_t nodes, uint64_t bytes)
{
	assert_int_equal(row(index)->kind, kind);
	assert_int_equal(row(index)->nodes, nodes);
	assert_int_equal(row(index)->bytes, bytes);
}

/* Index + 1 of its row. */
static uint32_t keep(struct made_graph *g, uint64_t until, uint32_t number)
{
	struct graph_reading *r = graph_read((CUgraph)g, GRAPH_NODES_MOST, until);
	uint32_t index = r && r->read ? graph_parts_keep(&r->parts, number) : 0;

	graph_reading_end(r);
	return index;
}

static void test_parts(void **state)
{
	registry_put(HANDLE_FUNCTION, 0x1000, registry_kernel("k"), 0, 0);
	a.node[1] = a_kernel(0x1000, 65);
	a.node[2] = a_copy(4096, (void *)0x10);
	a.node[3] = a_copy(100, (void *)0x20);
	a.node[4] = (struct made_node){.type = CU_GRAPH_NODE_TYPE_MEMSET,
	                               .set = {.elementSize = 4, .width = 100, .height = 2}};
	uint32_t at = keep(&a, EVER, 7);
	assert_int_equal(at, 1);
	assert_part(0, TF_NODES_ALL, 6, 0);
	assert_int_equal(row(0)->rows, 4);
	assert_int_equal(row(0)->flags, 0);
	assert_int_equal(row(0)->graph, 7);
	assert_part(1, TF_NODES_KERNEL, 2, 0); /* the first and the last node */
	assert_int_equal(row(1)->kernel, registry_kernel("k"));
	assert_int_equal(row(1)->grid_x, 64);
	assert_part(2, TF_NODES_KERNEL, 1, 0);
	assert_int_equal(row(2)->grid_x, 65);
	assert_part(3, TF_NODES_COPY, 2, 4196);
	assert_int_equal(row(3)->direction, SPY_DIR_HTOD);
	assert_int_equal(row(3)->memory, SPY_MEM_PINNED);
	assert_part(4, TF_NODES_SET, 1, 800);
	/* Another of the same shares it, one that differs in the number of nodes does not. */
	assert_int_equal(keep(&a, EVER, 8), at);
	a.node[1] = a_kernel(0x1000, 64);
	assert_int_equal(keep(&a, EVER, 8), 6);
	assert_true(graph_parts_has(1, row(2)));
	assert_false(graph_parts_has(6, row(2)));
	assert_false(graph_parts_has(0, row(2)));
	assert_false(graph_parts_has(999, row(2)));
}

static void test_parts_of_child_graphs(void **state)
{
	chain(&inner, 3);
	a.node[2] = (struct made_node){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = &inner};
	assert_int_equal(keep(&a, EVER, 0), 1);
	assert_part(0, TF_NODES_ALL, 8, 0);
	assert_part(1, TF_NODES_KERNEL, 8, 0);
	/* Within itself: what was met of it, and that it is not all. */
	a.node[2].child = &a;
	uint32_t at = keep(&a, EVER, 0);
	assert_int_equal(row(at - 1)->flags, TF_NODES_PART);
}

static void test_parts_that_cannot_be_told(void **state)
{
	a.node[5].type = (CUgraphNodeType)13; /* conditional */
	a.node[4].type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	assert_int_equal(keep(&a, EVER, 0), 1);
	assert_part(0, TF_NODES_ALL, 6, 0);
	assert_part(1, TF_NODES_KERNEL, 4, 0);
	assert_part(2, TF_NODES_OTHER, 1, 0);
	assert_part(3, TF_NODES_CONDITIONAL, 1, 0);
	/* A node that is refused is left out, and the others are told all the same. */
	chain(&a, 6);
	calls = 0;
	fail_at =
	        8; /* nodes and edges twice; type, kernel, name of the first; type of the second */
	uint32_t at = keep(&a, EVER, 0);
	assert_int_equal(row(at - 1)->nodes, 5);
	assert_int_equal(row(at - 1)->flags, TF_NODES_REFUSED);
}

static void test_a_kernels_name_is_asked_for(void **state)
{
	chain(&a, 1);
	a.node[0] = a_kernel(0x5000, 1);
	assert_int_equal(keep(&a, EVER, 0), 1);
	assert_int_equal(row(1)->kernel, registry_kernel("asked"));
	uint32_t kernel;
	assert_false(registry_get(HANDLE_FUNCTION, 0x5000, &kernel));
	a.node[0] = a_kernel(0x6000, 1);
	assert_int_equal(row(keep(&a, EVER, 0))->kernel, TF_KERNEL_UNKNOWN);
}

/* More nodes than a content may have are read; when time is up, that is said. */
static void test_time_is_up(void **state)
{
	chain(&a, GRAPH_NODES_MOST + 20);
	assert_int_equal(keep(&a, EVER, 0), 1);
	assert_part(0, TF_NODES_ALL, GRAPH_NODES_MOST + 20, 0);
	assert_int_equal(row(0)->flags, 0);
	uint32_t at = keep(&a, 1, 0);
	assert_int_equal(row(at - 1)->flags, TF_NODES_PART);
	assert_in_range(row(at - 1)->nodes, 1, 64);
	assert_int_equal(keep(&a, 0, 0), 0); /* not asked for */
}

static void test_more_kinds_than_are_told_apart(void **state)
{
	chain(&a, GRAPH_PARTS_MOST + 20);
	for (unsigned i = 0; i < a.nodes; i++)
		a.node[i].kernel.gridDimX = 1 + i;
	assert_int_equal(keep(&a, EVER, 0), 1);
	assert_part(0, TF_NODES_ALL, GRAPH_PARTS_MOST + 20, 0);
	assert_int_equal(row(0)->rows, GRAPH_PARTS_MOST);
	assert_int_equal(row(0)->flags, TF_NODES_PART);
}

static void test_a_full_table_of_nodes(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		chain(&a, GRAPH_PARTS_MOST - 1);
		for (unsigned k = 0; k < a.nodes; k++)
			a.node[k].kernel.gridDimX = 1 + k + 5000 * i;
		assert_int_equal(keep(&a, EVER, 0), 1 + 1024 * i);
	}
	chain(&a, 2);
	assert_int_equal(keep(&a, EVER, 0), 0);
}

static void test_errno_stays(void **state)
{
	errno = 77;
	content(&a);
	assert_int_equal(errno, 77);
}

static void test_a_driver_that_lacks_a_function(void **state)
{
	lacking = "cuGraphGetEdges";
	assert_false(graph_content_find());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_equal_graphs, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_other_nodes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_copies_and_sets, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_order_and_edges, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_child_graphs, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_kernels_by_name, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_what_cannot_be_told, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_large_graphs, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_parts_of_child_graphs, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_parts_that_cannot_be_told, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_a_kernels_name_is_asked_for, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_time_is_up, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_more_kinds_than_are_told_apart, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_a_full_table_of_nodes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_errno_stays, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_a_driver_that_lacks_a_function, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
