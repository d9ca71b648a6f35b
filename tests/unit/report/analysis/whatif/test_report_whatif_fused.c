/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/model/model.h"
#include "tests/unit/unit.h"

/* Calls of one thread that launches kernels of 1 us, each for 3 us of the call and 5 before it. */
#define CALLS 4096u

struct rows {
	struct replay replay;
	struct call_log log;
	struct call_log_work works[4096];
	struct call_event given[CALLS];
	struct replay_act acts[CALLS], changed[CALLS];
	uint32_t next[CALLS];
};
static struct rows rows;

static void start(void)
{
	memset(&rows, 0, sizeof(rows));
	rows.log.works = rows.works;
	rows.log.thread_count = 1;
	rows.replay = (struct replay){.call_log = &rows.log,
	                              .given = rows.given,
	                              .call_events = rows.acts,
	                              .next = rows.next};
}

/* Of a shape: the same number is the same one. */
static void launch(const char *kernel, uint32_t shape)
{
	uint32_t i = (uint32_t)rows.replay.count++, work = 0;

	while (work < rows.log.work_count &&
	       (rows.works[work].kernel != kernel || rows.works[work].grid[0] != shape))
		work++;
	if (work == rows.log.work_count)
		rows.works[rows.log.work_count++] =
		        (struct call_log_work){.kernel = kernel, .grid = {shape, 1, 1}};
	rows.given[i] = (struct call_event){
	        .kind = TF_WORK_KERNEL, .cls = SPY_CLASS_LAUNCH, .items = 1, .work = work};
	rows.acts[i] = (struct replay_act){.gap = 5e3, .own = 3e3, .gpu = 1e3};
	rows.next[i] = CALL_LOG_NONE;
	if (i)
		rows.next[i - 1] = i;
}

/* What the host takes of all calls then, ns. `per_tensor`: as the change's. */
static double fused_of(const int32_t *per_tensor, double *changed)
{
	struct whatif_change c = {
	        .what = WHATIF_FUSED, .hope = HOPE_MIDDLE, .per_tensor = per_tensor};
	double host = 0;

	memcpy(rows.changed, rows.acts, sizeof(rows.acts));
	change_fused(&c, &rows.replay, rows.changed);
	for (size_t i = 0; i < rows.replay.count; i++)
		host += rows.changed[i].gap + rows.changed[i].own;
	*changed = c.changed;
	return host;
}

static double fused(double *changed)
{
	return fused_of(NULL, changed);
}

static const char *const group[] = {
        "at::native::elementwise_kernel<mul>", "at::native::elementwise_kernel<add>",
        "at::native::elementwise_kernel<div>", "at::native::reduce_kernel<norm>",
        "at::native::elementwise_kernel<sub>",
};
#define GROUP 5u

/* A group of five kernels for each of 100 tensors, of so many sizes. */
static void groups(uint32_t sizes)
{
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t k = 0; k < GROUP; k++)
			launch(group[k], 1 + i % sizes);
}

static void test_groups_of_kernels_for_each_tensor(void **state)
{
	double changed, host;

	start();
	groups(10);
	host = fused(&changed);
	/* 100 tensors of each kernel are two launches; half a launch a tensor is still the host's.
	 */
	assert_near(changed, 500 - 2 * GROUP, 0);
	assert_near(host, 2 * GROUP * 8e3 + 100 * 4e3, 2 * 8e3);
}

/* A loop over one tensor, in which each launch needs the one before. */
static void test_no_groups_over_one_tensor(void **state)
{
	double changed, host;

	start();
	groups(1);
	host = fused(&changed);
	assert_near(changed, 0, 0);
	assert_near(host, 500 * 8e3, 0);
}

/* The network's own kernels before them are no part of the groups, however many these are. */
static void test_what_comes_before_groups(void **state)
{
	static const char *const layers[] = {
	        "at::native::a", "at::native::b", "at::native::c", "at::native::d", "at::native::e",
	        "at::native::f", "at::native::g", "at::native::h", "at::native::i", "at::native::j",
	};
	double changed;

	start();
	for (uint32_t i = 0; i < 100; i++)
		launch(layers[i % 10], 1);
	groups(10);
	fused(&changed);
	assert_near(changed, 500 - 2 * GROUP, 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_near(rows.changed[i].own, 3e3, 0);
}

/* Of other kernels it is not known what they need: a stencil's steps, each of the one before. Over
 * many shapes they are no steps of one thing. */
static void test_kernels_that_are_not_pytorchs(void **state)
{
	static const char *const other[] = {"step", "cupy_add__float32"};
	double changed;

	for (unsigned k = 0; k < 2; k++) {
		start();
		for (uint32_t i = 0; i < 500; i++)
			launch(other[k], 1);
		fused(&changed);
		assert_near(changed, 0, 0);
	}
	start();
	for (uint32_t i = 0; i < 500; i++)
		launch("step", 1 + i % 10);
	fused(&changed);
	assert_true(changed > 400);
	start();
	for (uint32_t i = 0; i < 500; i++)
		launch("at::native::vectorized_elementwise_kernel<add>", 1);
	fused(&changed);
	assert_true(changed > 400);
}

/* Where stacks show no optimizer, alike kernels are a simulation's, in many shapes too. */
static void test_no_optimizer(void **state)
{
	double changed;

	int32_t stacks[60] = {0};

	start();
	groups(10);
	for (uint32_t work = 0; work < rows.log.work_count; work++)
		stacks[work] = work % 3 ? -2 : 0;
	fused_of(stacks, &changed);
	assert_near(changed, 0, 0);
	memset(stacks, 0, sizeof(stacks)); /* none was taken of these */
	fused_of(stacks, &changed);
	assert_near(changed, 0, 0);
}

/* An optimizer's rows and those of a simulation in the same run: the former's go alone. */
static void test_an_optimizer_beside_others(void **state)
{
	int32_t stacks[200] = {0};
	double changed;

	start();
	groups(10);
	uint32_t works = rows.log.work_count;
	launch("gemm", 1);
	for (uint32_t i = 0; i < 300; i++)
		launch(i % 2 ? "other" : "another", 100 + i % 20);
	fused_of(NULL, &changed);
	assert_true(changed > 700);
	for (uint32_t work = 0; work < works; work++)
		stacks[work] = work % 3 ? 2 : 0; /* not of all a stack was taken */
	for (uint32_t work = works; work < rows.log.work_count; work++)
		stacks[work] = -1;
	fused_of(stacks, &changed);
	assert_near(changed, 500 - 2 * GROUP, 0);
}

/* By the stacks of the launches that have one: an optimizer's, and where there is one the program's
 * own, but no network's. Where no stack has Python's frames nothing is known. */
static void test_stacks_of_works(void **state)
{
	struct model_frame own[] = {{.python = true, .file = "/home/me/train.py"}},
	                   adamw[] = {{.file = "/usr/lib/libtorch_cuda.so"},
	                              {.python = true, .file = "/lib/torch/optim/adamw.py"}},
	                   layer[] = {{.python = true, .file = "/lib/torch/nn/modules/linear.py"},
	                              {.python = true, .file = "/home/me/train.py"}},
	                   backward[] = {{.file = "/usr/lib/libtorch_cuda.so"}};
	struct model_site sites[] = {{.kind = SITE_LAUNCH, .frames = own, .frame_count = 1},
	                             {.kind = SITE_LAUNCH, .frames = adamw, .frame_count = 2},
	                             {.kind = SITE_LAUNCH, .frames = layer, .frame_count = 2},
	                             {.kind = SITE_LAUNCH, .frames = backward, .frame_count = 1}};
	uint32_t site_of[] = {0, 1, 2, 3, UINT32_MAX};
	struct model m = {.sites = {.items = sites, .count = 4}};

	start();
	groups(1); /* five works */
	rows.log.call_events = rows.given;
	rows.log.count = rows.replay.count;
	for (size_t i = 0; i < 20; i++)
		rows.given[i].site = (uint32_t)(1 + i % GROUP);
	struct model_process p = {.call_log = rows.log, .site_of = site_of, .site_count = 5};
	static const int32_t with[] = {4, 4, -4, -4, 0}, without[] = {-4, -4, -4, -4, 0};
	for (int optimizer = 1; optimizer >= 0; optimizer--) {
		adamw[1].file = optimizer ? "/lib/torch/optim/adamw.py" : "/home/me/market.py";
		int32_t *stacks = whatif_find_per_tensor(&m, &p);
		assert_non_null(stacks);
		assert_memory_equal(stacks, optimizer ? with : without, sizeof(with));
		free(stacks);
	}
	own[0].python = adamw[1].python = layer[0].python = layer[1].python = false;
	assert_null(whatif_find_per_tensor(&m, &p));
}

/* A product of matrices ends a row. */
static void test_layers_are_no_groups(void **state)
{
	double changed;

	start();
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t k = 0; k < GROUP; k++)
			launch(k == 2 ? "gemm" : group[k], 1 + i % 10);
	fused(&changed);
	assert_near(changed, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_groups_of_kernels_for_each_tensor),
	        cmocka_unit_test(test_no_groups_over_one_tensor),
	        cmocka_unit_test(test_what_comes_before_groups),
	        cmocka_unit_test(test_kernels_that_are_not_pytorchs),
	        cmocka_unit_test(test_no_optimizer),
	        cmocka_unit_test(test_an_optimizer_beside_others),
	        cmocka_unit_test(test_stacks_of_works),
	        cmocka_unit_test(test_layers_are_no_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
