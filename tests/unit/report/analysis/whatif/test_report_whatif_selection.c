/* SPDX-License-Identifier: Apache-2.0 */
/* What of an array is selected is counted first, and the count is read: without the read there is
 * no selection. */
#include "report/analysis/whatif/whatif.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

#define STEPS  200
#define KERNEL 4.0  /* us, each kernel */
#define OWN    5.0  /* us, each launch */
#define WAY    10.0 /* us of the program before each call */

enum how { SELECTED, JUST_READ, READ_APART };

static const char *const kernels[] = {
        "at::native::mul",
        "at_cuda_detail::cub::detail::reduce::DeviceReduceKernel<int>",
        "at_cuda_detail::cub::detail::reduce::DeviceReduceSingleTileKernel<int>",
        "at_cuda_detail::cub::detail::scan::DeviceCompactInitKernel<int>",
        "at_cuda_detail::cub::detail::select::DeviceSelectSweepKernel<long>",
        "at::native::index",
};
#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static void launch(struct play *p, const uint32_t ids[KERNELS], unsigned k)
{
	p->kernel = ids[k];
	p->host += WAY;
	play_launch(p, OWN, KERNEL);
}

/* Saved of a step, us. */
static double saved(enum how how, double *least)
{
	struct play p;
	struct model m = {0};
	uint32_t ids[KERNELS];

	play_start(&p);
	for (unsigned k = 0; k < KERNELS; k++)
		ids[k] = made_kernel(&p.made, kernels[k]);
	for (int i = 0; i < STEPS; i++) {
		launch(&p, ids, 0);
		launch(&p, ids, how == JUST_READ ? 0 : 1);
		launch(&p, ids, how == JUST_READ ? 0 : 2);
		p.host += WAY;
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, 4, OWN, 1);
		play_sync(&p);
		if (how == READ_APART)
			launch(&p, ids, 5);
		launch(&p, ids, how == JUST_READ ? 0 : 3);
		launch(&p, ids, how == JUST_READ ? 0 : 4);
		launch(&p, ids, 5);
	}
	for (unsigned k = 0; k < KERNELS; k++) {
		p.kernel = ids[k];
		play_timed(&p, KERNEL);
	}
	play_timed_copy(&p, SPY_DIR_DTOH, 4, 1);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_SYNC, NULL, 1);
	play_assert_base(&m, 0.02);
	play_ends(&p, &m);
	*least = (r.window - r.most) / 1e3 / STEPS;
	return (r.window - r.predicted) / 1e3 / STEPS;
}

static void test_a_selection_goes_with_its_count(void **state)
{
	double least[2], read = saved(JUST_READ, &least[0]), selected = saved(SELECTED, &least[1]);

	/* Four launches and the way to each. */
	assert_near(selected - read, 4 * (OWN + WAY), 0.15);
	assert_true(least[1] - least[0] < 2); /* at least only the wait goes */
}

/* What is selected behind other work was not counted by this read. */
static void test_another_selection_stays(void **state)
{
	double least, read = saved(JUST_READ, &least), apart = saved(READ_APART, &least);

	assert_true(apart < read + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_selection_goes_with_its_count),
	        cmocka_unit_test(test_another_selection_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
