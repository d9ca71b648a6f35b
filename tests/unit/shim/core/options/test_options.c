/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/core/options/options.h"
#include "tests/unit/shim_stubs.h"

#define MIB (1ull << 20)

static const char *const names[] = {
        "CUDASPY_BUDGET", "CUDASPY_CLOCK", "CUDASPY_GPU",  "CUDASPY_KEEP",  "CUDASPY_OUT",
        "CUDASPY_QUIET",  "CUDASPY_RANGE", "CUDASPY_RING", "CUDASPY_TRACE", "CUDASPY_TRACE_MAX"};

static int forget(void **state)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	stub_said[0] = 0;
	stub_lines = 0;
	return 0;
}

/* What a field of the options is after one variable was set; the others keep their defaults. */
static void read_with(const char *name, const char *value)
{
	forget(NULL);
	setenv(name, value, 1);
	memset(&spy_options, 0, sizeof(spy_options));
	options_read();
}

static void assert_defaults(void)
{
	assert_string_equal(spy_options.out, "cudaspy-%h-%p.cudaspy");
	assert_int_equal(spy_options.gpu, TF_GPU_SAMPLE);
	assert_int_equal(spy_options.range, TF_RANGE_ALL);
	assert_int_equal(spy_options.keep_bytes, 32 * MIB);
	assert_int_equal(spy_options.trace_max_bytes, 0);
	assert_int_equal(spy_options.ring_records, 65536);
	assert_near(spy_options.budget_percent, 1, 0);
	assert_int_equal(spy_options.quiet, 0);
}

static void test_defaults(void **state)
{
	options_read();
	assert_defaults();
	assert_int_equal(stub_lines, 0);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *name, *value;
		const uint64_t *field;
		uint64_t wanted;
	} rows[] = {
	        {"CUDASPY_KEEP", "0", &spy_options.keep_bytes, 0},
	        {"CUDASPY_KEEP", "1", &spy_options.keep_bytes, MIB},
	        {"CUDASPY_KEEP", "1.5", &spy_options.keep_bytes, MIB + MIB / 2},
	        {"CUDASPY_KEEP", "65536", &spy_options.keep_bytes, 65536 * MIB},
	        {"CUDASPY_KEEP", "500K", &spy_options.keep_bytes, 500 * 1024},
	        {"CUDASPY_KEEP", "500k", &spy_options.keep_bytes, 500 * 1024},
	        {"CUDASPY_KEEP", "8M", &spy_options.keep_bytes, 8 * MIB},
	        {"CUDASPY_KEEP", "8MB", &spy_options.keep_bytes, 8 * MIB},
	        {"CUDASPY_KEEP", "8MiB", &spy_options.keep_bytes, 8 * MIB},
	        {"CUDASPY_KEEP", "2g", &spy_options.keep_bytes, 2048 * MIB},
	        {"CUDASPY_RING", "64", &spy_options.ring_records, 64},
	        {"CUDASPY_RING", "65", &spy_options.ring_records, 64}, /* down to a power of two */
	        {"CUDASPY_RING", "127", &spy_options.ring_records, 64},
	        {"CUDASPY_RING", "128", &spy_options.ring_records, 128},
	        {"CUDASPY_RING", "100000", &spy_options.ring_records, 65536},
	        {"CUDASPY_RING", "16777216", &spy_options.ring_records, 1 << 24},
	        {"CUDASPY_TRACE", "0", &spy_options.trace_max_bytes, 0},
	        {"CUDASPY_TRACE", "1", &spy_options.trace_max_bytes, 4096 * MIB},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_with(rows[i].name, rows[i].value);
		if (*rows[i].field != rows[i].wanted || stub_lines)
			fail_msg("%s=%s: %llu; %s", rows[i].name, rows[i].value,
			         (unsigned long long)*rows[i].field, stub_said);
	}
}

static void test_trace_max(void **state)
{
	static const struct {
		const char *value;
		uint64_t wanted;
	} rows[] = {{"2", 2048 * MIB},
	            {"0.5", 512 * MIB},
	            {"500M", 500 * MIB},
	            {"1M", MIB},
	            {"1T", MIB * MIB}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		read_with("CUDASPY_TRACE_MAX", rows[i].value);
		assert_int_equal(spy_options.trace_max_bytes,
		                 0); /* a limit alone switches nothing on */
		setenv("CUDASPY_TRACE", "1", 1);
		options_read();
		assert_int_equal(spy_options.trace_max_bytes, rows[i].wanted);
		assert_int_equal(stub_lines, 0);
	}
}

static void test_words(void **state)
{
	read_with("CUDASPY_GPU", "off");
	assert_int_equal(spy_options.gpu, TF_GPU_OFF);
	read_with("CUDASPY_GPU", "sample");
	assert_int_equal(spy_options.gpu, TF_GPU_SAMPLE);
	read_with("CUDASPY_GPU", "cupti");
	assert_int_equal(spy_options.gpu, TF_GPU_CUPTI);
	read_with("CUDASPY_QUIET", "1");
	assert_int_equal(spy_options.quiet, 1);
	read_with("CUDASPY_CLOCK", "monotonic");
	assert_int_equal(spy_options.no_counter, 1);
	read_with("CUDASPY_CLOCK", "auto");
	assert_int_equal(spy_options.no_counter, 0);
	read_with("CUDASPY_BUDGET", "0.25");
	assert_near(spy_options.budget_percent, 0.25, 1e-9);
	read_with("CUDASPY_BUDGET", "50");
	assert_near(spy_options.budget_percent, 50, 0);
	read_with("CUDASPY_OUT", "/some/where/%h");
	assert_string_equal(spy_options.out, "/some/where/%h");
	read_with("CUDASPY_OUT", "%h-%p-%r-%t-100%%");
	assert_string_equal(spy_options.out, "%h-%p-%r-%t-100%%");
	assert_int_equal(stub_lines, 0);
}

static void test_ranges(void **state)
{
	read_with("CUDASPY_RANGE", "profiler");
	assert_int_equal(spy_options.range, TF_RANGE_PROFILER);
	read_with("CUDASPY_RANGE", "2:10");
	assert_int_equal(spy_options.range, TF_RANGE_TIME);
	assert_near(spy_options.range_delay_s, 2, 0);
	assert_near(spy_options.range_duration_s, 10, 0);
	read_with("CUDASPY_RANGE", "0:0.125");
	assert_near(spy_options.range_delay_s, 0, 0);
	assert_near(spy_options.range_duration_s, 0.125, 1e-9);
	read_with("CUDASPY_RANGE", "all");
	assert_int_equal(spy_options.range, TF_RANGE_ALL);
	assert_int_equal(stub_lines, 0);
}

/* A wrong value: one line that names variable and value, and the default. */
static void test_wrong_values(void **state)
{
	static const struct {
		const char *name;
		const char *values[12];
	} rows[] = {
	        {"CUDASPY_BUDGET", {"", "0", "-1", "50.5", "51", "x", "1%", " 1", "1 "}},
	        {"CUDASPY_CLOCK", {"", "Auto", "tsc", "1"}},
	        {"CUDASPY_GPU", {"", "Off", "on", "samples", "0"}},
	        {"CUDASPY_KEEP",
	         {"", "-1", "x", "65537", "12Q", "1 ", "1e3", "0x10", "8MiBs", "M",
	          "99999999999999999"}},
	        {"CUDASPY_OUT", {"", "%z", "x%", "run-%P", "%h%", "%%%", "a % b"}},
	        {"CUDASPY_QUIET", {"", "2", "yes", "01", "true"}},
	        {"CUDASPY_RANGE",
	         {"", "All", "1", ":1", "1:", "1:0", "-1:2", "1:2x", "1:2:3", "profile"}},
	        {"CUDASPY_RING", {"", "0", "63", "16777217", "1k", "-64", "sixty"}},
	        {"CUDASPY_TRACE", {"", "2", "yes", "11"}},
	        {"CUDASPY_TRACE_MAX", {"", "0", "100K", "-4G", "2000T", "4GG", "none"}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (const char *const *value = rows[i].values; *value; value++) {
			read_with(rows[i].name, *value);
			if (stub_lines != 1 || !strstr(stub_said, rows[i].name) ||
			    !strstr(stub_said, *value))
				fail_msg("%s=%s: %u lines: %s", rows[i].name, *value, stub_lines,
				         stub_said);
			assert_defaults();
		}
}

static void test_a_long_wrong_value(void **state)
{
	char value[4096];

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	read_with("CUDASPY_GPU", value);
	assert_int_equal(stub_lines, 1);
	assert_in_range(strlen(stub_said), 80, 250);
	assert_defaults();
}

/* ---- the template
 * ----------------------------------------------------------------------------------------------------
 */

static void assert_expands(const char *tmpl, const char *wanted)
{
	char text[512];

	assert_true(options_expand(tmpl, text, sizeof(text)));
	assert_string_equal(text, wanted);
}

static void test_expand(void **state)
{
	char host[256], pid[32], text[64];

	assert_int_equal(gethostname(host, sizeof(host)), 0);
	snprintf(pid, sizeof(pid), "a%db", (int)getpid());
	unsetenv("RANK");
	assert_expands("plain.cudaspy", "plain.cudaspy");
	assert_expands("%h", host);
	assert_expands("a%pb", pid);
	assert_expands("%r", "0");
	assert_expands("100%%", "100%");
	assert_expands("%q%", "%q%"); /* unknown ones, and one at the end, stand for themselves */
	setenv("RANK", "7", 1);
	assert_expands("%r-%r", "7-7");
	setenv("RANK", "../7", 1); /* never out of the folder */
	assert_expands("%r", ".._7");
	unsetenv("RANK");
	assert_true(options_expand("%t", text, sizeof(text)));
	assert_in_range(strtoll(text, NULL, 10), time(NULL) - 60, time(NULL) + 1);
	assert_false(options_expand("", text, sizeof(text)));
}

static void test_expand_into_little_room(void **state)
{
	char text[6] = "12345";

	assert_true(options_expand("abcde", text, sizeof(text)));
	assert_string_equal(text, "abcde");
	assert_false(options_expand("abcdef", text, sizeof(text)));
	setenv("RANK", "123456", 1);
	assert_false(options_expand("%r", text, sizeof(text)));
	unsetenv("RANK");
}

static void test_rank(void **state)
{
	static const char *const launchers[] = {"JAX_PROCESS_ID",
	                                        "SLURM_PROCID",
	                                        "MV2_COMM_WORLD_RANK",
	                                        "PMI_RANK",
	                                        "PMIX_RANK",
	                                        "OMPI_COMM_WORLD_RANK",
	                                        "RANK"};

	for (unsigned i = 0; i < 7; i++)
		unsetenv(launchers[i]);
	assert_string_equal(options_rank(), "");
	for (unsigned i = 0; i < 7; i++) { /* each goes before those above it */
		char value[2] = {(char)('0' + i), 0};
		setenv(launchers[i], value, 1);
		assert_string_equal(options_rank(), value);
	}
	setenv("RANK", "a-rank-that-is-no-rank-at-all", 1);
	assert_string_equal(options_rank(), "5");
	setenv("OMPI_COMM_WORLD_RANK", "", 1);
	assert_string_equal(options_rank(), "4");
	for (unsigned i = 0; i < 7; i++)
		unsetenv(launchers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_defaults, forget),
	        cmocka_unit_test_setup(test_numbers, forget),
	        cmocka_unit_test_setup(test_trace_max, forget),
	        cmocka_unit_test_setup(test_words, forget),
	        cmocka_unit_test_setup(test_ranges, forget),
	        cmocka_unit_test_setup(test_wrong_values, forget),
	        cmocka_unit_test_setup(test_a_long_wrong_value, forget),
	        cmocka_unit_test(test_expand),
	        cmocka_unit_test(test_expand_into_little_room),
	        cmocka_unit_test(test_rank),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
