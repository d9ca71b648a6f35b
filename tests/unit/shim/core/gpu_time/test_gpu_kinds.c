/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/gpu_time/gpu_cache.h"
#include "shim/core/gpu_time/gpu_kinds.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static struct made made;

static int start(void **state)
{
	made_start(&made, 2u << 20, 1, MADE_AREAS);
	return 0;
}

static int end(void **state)
{
	made_free(&made);
	return 0;
}

static struct tf_device *device(const char *name, uint32_t null, uint32_t off, uint64_t when)
{
	made_device(&made, name, false);
	struct tf_table *all = &made_header(&made)->devices;
	struct tf_device *d = tf_entry(&made.map, all, all->count - 1, sizeof(*d));

	d->null_kernel_ns = null;
	d->off_ns = off;
	d->calibrated = when;
	return d;
}

static void expect(double null, double off, enum gpu_source source, uint64_t when, bool differ)
{
	struct gpu_figures f = gpu_kind_of(&made.map);

	assert_near(f.null_kernel_ns, null, 1e-9);
	assert_near(f.off_ns, off, 1e-9);
	assert_int_equal(f.source, source);
	assert_int_equal(f.calibrated, when);
	assert_int_equal(f.differ, differ);
}

/* Calibrated, else built in, else as others. */
static void test_precedence(void **state)
{
	expect(740, 320, GPU_UNMEASURED, 0, false);
	struct tf_device *d = device("NVIDIA H100 80GB HBM3", 0, 0, 0);
	expect(870, 250, GPU_BUILT_IN, 0, false);
	d->null_kernel_ns = 900;
	d->off_ns = 260;
	d->calibrated = 7;
	expect(900, 260, GPU_CALIBRATED, 7, false);
	strcpy(d->name, "NVIDIA A100-SXM4-40GB");
	expect(900, 260, GPU_CALIBRATED, 7, false);
	d->calibrated = 0;
	expect(740, 320, GPU_UNMEASURED, 0, false);
}

/* Of a damaged file: a figure that cannot be is none. */
static void test_figures_that_cannot_be(void **state)
{
	static const struct {
		uint32_t null, off;
	} rows[] = {{49, 250}, {20001, 250}, {UINT32_MAX, 250}, {900, 49}, {900, 10001}, {0, 0}};
	struct tf_device *d = device("NVIDIA H200", 0, 0, 9);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		d->null_kernel_ns = rows[i].null;
		d->off_ns = rows[i].off;
		expect(590, 250, GPU_BUILT_IN, 0, false);
	}
	memset(d->name, 'x', sizeof(d->name)); /* without an end */
	expect(740, 320, GPU_UNMEASURED, 0, false);
}

/* The middle, with an interval that holds all of them. */
static void test_several(void **state)
{
	device("NVIDIA H200", 600, 250, 20);
	device("NVIDIA H200", 600, 250, 20);
	expect(600, 250, GPU_CALIBRATED, 20, false);
	device("NVIDIA A100-SXM4-40GB", 1000, 300, 10);
	expect(800, 500, GPU_CALIBRATED, 10, true);
	device("NVIDIA H100 80GB HBM3", 0, 0, 0);
	expect(800, 500, GPU_BUILT_IN, 0, true);
	device("another", 0, 0, 0);
	expect(800, 520, GPU_UNMEASURED, 0, true);
}

static void expect_told(struct gpu_figures f, double apart, double variance, double null,
                        double off)
{
	gpu_kind_told(&f, apart, variance);
	assert_near(f.null_kernel_ns, null, 0.1);
	assert_near(f.off_ns, off, 0.1);
}

/* Of a kind that nobody measured: by how much longer a pair is with an empty kernel in it. */
static void test_what_a_run_tells(void **state)
{
	const struct gpu_figures other = {740, 320, GPU_UNMEASURED, 0, false};

	/* As on an H200 and on an H100: 590 and 870 by CUPTI. */
	expect_told(other, 1508, 0, (740 / 1.96 + 508) / (1 / 1.96 + 1), 275.3);
	expect_told(other, 1907, 0, (740 / 1.96 + 907) / (1 / 1.96 + 1), 275.3);
	/* Where that is known badly it hardly counts, and where it cannot be, not at all. */
	expect_told(other, 1508, 1e4, (740 / 1.96 + 508 / 2.0) / (1 / 1.96 + 0.5), 286.9);
	expect_told(other, 1508, 1e9, 740, 320);
	expect_told(other, 1508, INFINITY, 740, 320);
	expect_told(other, 1508, NAN, 740, 320);
	expect_told(other, 1049, 0, 740, 320);
	expect_told(other, 30000, 0, 740, 320);
	expect_told(other, NAN, 0, 740, 320);
	/* What CUPTI told of this kind stands, and so does the middle of several. */
	expect_told((struct gpu_figures){870, 250, GPU_BUILT_IN, 0, false}, 1508, 0, 870, 250);
	expect_told((struct gpu_figures){900, 260, GPU_CALIBRATED, 7, false}, 1508, 0, 900, 260);
	expect_told((struct gpu_figures){800, 520, GPU_UNMEASURED, 0, true}, 1508, 0, 800, 520);
}

/* ---- the user's file ---- */

#define ENTRY "driver 13000 clock_khz 1980000 null_ns 870 off_ns 250 time 1763888888 gpu NVIDIA X\n"

static void test_entries(void **state)
{
	static const char text[] = "# said\n\n" GPU_CACHE_HEAD "\n" ENTRY "driver 1\n" ENTRY;
	struct gpu_cache_reader r = gpu_cache_read(text, sizeof(text) - 1);
	struct gpu_cache_entry e;

	assert_true(gpu_cache_next(&r, &e));
	assert_string_equal(e.name, "NVIDIA X");
	assert_int_equal(e.driver, 13000);
	assert_int_equal(e.clock_khz, 1980000);
	assert_int_equal(e.null_kernel_ns, 870);
	assert_int_equal(e.off_ns, 250);
	assert_int_equal(e.time, 1763888888);
	assert_true(gpu_cache_is_of(&e, "NVIDIA X", 13000, 1980000));
	assert_false(gpu_cache_is_of(&e, "NVIDIA X2", 13000, 1980000));
	assert_false(gpu_cache_is_of(&e, "NVIDIA X", 13010, 1980000));
	assert_false(gpu_cache_is_of(&e, "NVIDIA X", 13000, 0));
	assert_true(gpu_cache_next(&r, &e));
	assert_false(gpu_cache_next(&r, &e));
	assert_int_equal(r.count, 2);
	assert_int_equal(r.bad, 1);
}

/* However it is cut, nothing behind its end is read: the sanitizer would say so. */
static void test_cut(void **state)
{
	static const char text[] = GPU_CACHE_HEAD "\n" ENTRY;

	for (uint32_t n = 0; n < sizeof(text) - 1; n++) {
		char *copy = malloc(n ? n : 1);
		struct gpu_cache_reader r;
		struct gpu_cache_entry e;
		memcpy(copy, text, n);
		r = gpu_cache_read(copy, n);
		assert_false(gpu_cache_next(&r, &e));
		assert_false(gpu_cache_next(&r, &e));
		free(copy);
	}
}

static void test_paths(void **state)
{
	char path[32];

	assert_true(gpu_cache_path("/x", "/home", path, sizeof(path)));
	assert_string_equal(path, "/x/cudaspy/gpus");
	assert_true(gpu_cache_path("x", "/home", path, sizeof(path)));
	assert_string_equal(path, "/home/.cache/cudaspy/gpus");
	assert_true(gpu_cache_path("", "/home", path, sizeof(path)));
	assert_true(gpu_cache_path(NULL, "/1234567890", path, sizeof(path)));
	assert_int_equal(strlen(path), 31);
	assert_false(gpu_cache_path(NULL, "/12345678901", path, sizeof(path)));
	assert_false(gpu_cache_path(NULL, "home", path, sizeof(path)));
	assert_false(gpu_cache_path(NULL, NULL, path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_precedence, start, end),
	        cmocka_unit_test_setup_teardown(test_figures_that_cannot_be, start, end),
	        cmocka_unit_test_setup_teardown(test_several, start, end),
	        cmocka_unit_test(test_what_a_run_tells),
	        cmocka_unit_test(test_entries),
	        cmocka_unit_test(test_cut),
	        cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests_name("gpu_kinds", tests, NULL, NULL);
}
