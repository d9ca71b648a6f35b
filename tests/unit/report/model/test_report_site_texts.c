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

/* The line at which the program waits for it says more than the one before. */
static void test_threads_that_are_waited_for(void **state)
{
	struct model_frame after = frame_of("step"), meanwhile = frame_of("read");
	struct model_site site = {.thread = "python3", .after = &after, .meanwhile = &meanwhile};

	meanwhile.line = 60;
	assert_text(site_where(&site, true), "train.py:60 in read, by a library's thread");
	assert_text(site_where(&site, false), "train.py:60, by a library's thread");
	site.thread = "loader";
	assert_text(site_where(&site, false), "train.py:60, thread loader");
	site.thread = "pt_autograd_0";
	assert_text(site_where(&site, false), "train.py:60, backward pass");
	site.range = "step/backward";
	assert_text(site_where(&site, false),
	            "train.py:60, NVTX range step/backward, backward thread pt_autograd_0");
}

/* Work of the host's own lies between two lines, or ahead of one, of which the caller is told where
 * it is in the same file. */
static void test_ahead(void **state)
{
	struct model_frame since = {.python = true, .function = "make.<locals>.step", .line = 60},
	                   frames[2] = {frame_of("put"), frame_of("make.<locals>.step")};
	struct model_site site = {.frames = frames, .frame_count = 1};

	since.file = frames[0].file;
	assert_text(site_ahead(&site, &since, frames, true, true),
	            "between the calls at train.py:60 in step and :57 in put");
	assert_text(site_ahead(&site, &since, frames, false, true),
	            "between the calls at train.py:60 and :57");
	assert_text(site_ahead(&site, frames, frames, true, true),
	            "between two calls at train.py:57 in put");
	assert_text(site_ahead(&site, NULL, NULL, true, true), "ahead of train.py:57 in put");
	site.frame_count = 2;
	frames[1].line = 61;
	assert_text(
	        site_ahead(&site, &since, frames, true, true),
	        "between the calls at train.py:60 in step and :57 in put (called at :61 in step)");
	assert_text(site_ahead(&site, NULL, NULL, false, true),
	            "ahead of train.py:57 (called at :61)");
	assert_text(site_ahead(&site, NULL, NULL, false, false), "ahead of train.py:57");
	frames[1].file = since.file = "/home/me/run.py";
	assert_text(site_ahead(&site, &since, frames, false, true),
	            "between the calls at run.py:60 and train.py:57");
	/* Of a library's thread the lines are the program's own thread's. */
	site = (struct model_site){.thread = "python3", .after = &since};
	assert_text(site_ahead(&site, &since, &since, true, true),
	            "between two calls at run.py:60 in step");
	assert_text(site_ahead(&site, NULL, NULL, true, true),
	            "ahead of a library's thread after run.py:60 in step");
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
	        cmocka_unit_test(test_threads_that_are_waited_for),
	        cmocka_unit_test(test_threads_without_python),
	        cmocka_unit_test(test_ahead),
	        cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
