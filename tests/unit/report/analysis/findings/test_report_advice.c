/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a finding: said for each framework, and short enough for a line of the screen.
 */
#include <string.h>

#include "report/base/text.h"
#include "report/analysis/findings/advice.h"
#include "tests/unit/report/analysis/findings/findings_fixture.h"

static const char *const ids[] = {"host-starves-gpu", "compiling",           "pageable-async-copy",
                                  "alloc-churn",      "many-short-launches", "sync-every-step",
                                  "host-work",        "pageable-to-host",    "implicit-read",
                                  "full-power"};

static void test_each_framework_has_its_words(void **state)
{
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (int k = 0; k < FRAMEWORKS; k++) {
			const struct advice *a = advice_of(ids[i], (enum framework)k);
			assert_true(a->fix && strlen(a->fix) > 10);
			assert_in_range(text_width(a->brief), 5, FINDING_BRIEF);
			if (k == FRAMEWORK_NONE || k == FRAMEWORK_PYTORCH)
				continue;
			assert_null(strstr(a->fix, "torch"));
			assert_null(strstr(a->fix, "cudaMalloc"));
			assert_null(strstr(a->brief, "DataLoader"));
		}
	assert_null(advice_of("no-such", FRAMEWORK_NONE));
}

static void test_verdicts(void **state)
{
	for (int cls = 0; cls < VERDICT_CLASSES; cls++)
		for (int k = 0; k < FRAMEWORKS; k++) {
			const char *text =
			        advice_of_class((enum verdict_class)cls, (enum framework)k);
			assert_true((cls == VERDICT_GPU) == !text);
			if (text)
				assert_in_range(text_width(text), 5, FINDING_BRIEF);
		}
	assert_non_null(strstr(advice_of_class(VERDICT_LAUNCH, FRAMEWORK_JAX), "jax.jit"));
	assert_string_equal(advice_of_class(VERDICT_LAUNCH, FRAMEWORK_PYTORCH),
	                    advice_of_class(VERDICT_LAUNCH, FRAMEWORK_NONE));
}

/* A finding has what is advised in the framework that kernels' names tell; PyTorch's words beside
 * CUDA's where they tell none, and CUDA's in short. */
static void test_findings_have_them(void **state)
{
	struct model_kernel kernel = {.name = (char *)(uintptr_t) "cupy_add", .launches = 5};
	struct run r;

	run_start(&r);
	for (int i = 0; i < 100; i++)
		run_launch(&r, FREE, i * 10000.0, 100);
	run_idle(&r, TF_IDLE_OUTSIDE, 990);
	const struct finding *f = run_finding(&r, "host-starves-gpu");
	assert_string_equal(f->framework, "PyTorch");
	assert_string_equal(f->brief, advice_of(f->id, FRAMEWORK_NONE)->brief);
	r.m.kernels = &kernel;
	r.m.kernel_count = 1;
	f = run_finding(&r, "host-starves-gpu");
	assert_string_equal(f->framework, "CuPy");
	assert_string_equal(f->fix, advice_of(f->id, FRAMEWORK_CUPY)->fix);
	assert_string_equal(f->brief, advice_of(f->id, FRAMEWORK_CUPY)->brief);
	r.m.kernel_count = 0;
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_framework_has_its_words),
	                                   cmocka_unit_test(test_verdicts),
	                                   cmocka_unit_test(test_findings_have_them)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
