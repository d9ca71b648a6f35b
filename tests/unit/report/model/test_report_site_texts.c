/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites in words, as pages and the first screen have them. */
#include <stdlib.h>

#include "report/base/names.h"
#include "report/model/model.h"
#include "tests/unit/unit.h"

static void assert_text(char *text, const char *wanted)
{
	assert_string_equal(text, wanted);
	free(text);
}

static struct model_frame frame_of(const char *function)
{
	return (struct model_frame){
	        .python = true, .function = function, .file = "/home/me/train.py", .line = 57};
}

/* Where a function stands in another one its own name says enough. */
static void test_functions_within_functions(void **state)
{
	struct model_frame frame = frame_of("make.<locals>.Timed.__exit__");
	struct model_site site = {.frames = &frame, .frame_count = 1};

	assert_text(site_where(&site, true), "train.py:57 in Timed.__exit__");
	assert_text(site_where(&site, false), "train.py:57");
	assert_text(site_headline(&site, true),
	            "/home/me/train.py:57 in make.<locals>.Timed.__exit__");
	frame = frame_of("a.<locals>.b.<locals>.<lambda>");
	assert_text(site_where(&site, true), "train.py:57 in <lambda>");
	frame = frame_of("odd.<locals>.");
	assert_text(site_where(&site, true), "train.py:57 in odd.<locals>.");
	frame.function = NULL;
	assert_text(site_where(&site, true), "train.py:57 in ?");
}

static void test_threads_without_python(void **state)
{
	struct model_frame after = frame_of("make.<locals>.step");
	struct model_site site = {.thread = "pt_autograd_0", .after = &after};

	assert_text(site_where(&site, true), "backward pass after train.py:57 in step");
	assert_text(site_where(&site, false), "backward pass after train.py:57");
	site.range = "step/backward";
	assert_text(site_where(&site, false),
	            "NVTX range step/backward, backward thread pt_autograd_0, after train.py:57");
	site = (struct model_site){.thread = "loader", .after = &after};
	assert_text(site_where(&site, true), "thread loader, after train.py:57 in step");
	site.after = NULL;
	assert_text(site_where(&site, true), "thread loader");
}

static void test_calls(void **state)
{
	assert_string_equal(name_call("__cudaLaunchKernel"), "cudaLaunchKernel");
	assert_string_equal(name_call("cudaMalloc"), "cudaMalloc");
	assert_string_equal(name_call("__other"), "__other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_functions_within_functions),
	        cmocka_unit_test(test_threads_without_python),
	        cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
