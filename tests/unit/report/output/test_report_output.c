/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/output/text/out_page.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

/* Keys that scripts may rely on, in the order of the contract: all there, unknown ones null. */
static const char *const keys[] = {
        "",
        "schema generated_by run_id run ranks start_time wall_ns window_ns startup_ns totals lost "
        "overhead "
        "host gpu verdict apis "
        "kernels copies graphs streams steps ranges findings processes gaps warnings",
        "run",
        "id id_source processes",
        "totals",
        "calls failed launches graph_launches captured copies pageable_copies copy_bytes sets "
        "syncs "
        "implicit_syncs allocs",
        "lost",
        "records share",
        "overhead",
        "per_call_ns calls_ns samples_ns graphs_ns collector_ns share own_share "
        "own_judged_share own_share_budget",
        "host",
        "launch_ns back_pressure_ns contention_ns sync_useful_ns sync_wasted_ns copy_ns alloc_ns "
        "module_ns "
        "other_cuda_ns outside_ns threads launch_api_ns sync_ns sampling_ns window_ns",
        "host.threads.0",
        "launch_ns back_pressure_ns contention_ns sync_useful_ns sync_wasted_ns copy_ns alloc_ns "
        "module_ns other_cuda_ns outside_ns tid name absent_ns sampling_ns cpu_wait_ns cpu_cores",
        "environment.cpu.0",
        "pid host cores online_cores limited quota_cores quota_periods throttled_periods "
        "throttled_ns",
        "gpu",
        "mode estimated partial busy_ns busy_low_ns busy_high_ns busy_share comm_ns idle_ns "
        "idle_by "
        "window_ns kernels_busy_ns copies_busy_ns overlap_ns overlap_possible_ns "
        "unknown_work_share work launch_ns launch_p50_ns first_launches first_ns queue_p50_ns "
        "queue_total_ns queue_count launch_per_gpu unplaced_records calibration untimed devices",
        "gpu.work",
        "all kernels graphs copies sets",
        "gpu.work.all",
        "gpu_total_ns gpu_mean_ns gpu_low_ns gpu_high_ns gpu_known_share samples",
        "gpu.calibration",
        "empty_idle empty_busy null_idle null_busy",
        "gpu.calibration.null_idle",
        "pairs mean_ns deviation_ns",
        "gpu.idle_by",
        "launch sync copy alloc module outside dependency unknown sampling",
        "gpu.devices.0",
        "index name host processes busy_ns busy_low_ns busy_high_ns busy_share comm_ns idle_ns "
        "idle_by busy_slices",
        "verdict",
        "class confidence reason second first gain_share second_gain_share window_ns startup_ns",
        "apis.0",
        "name level class calls failed total_ns mean_ns p50_ns p90_ns p99_ns max_ns",
        "kernels.0",
        "name launches api_total_ns api_p50_ns queue_p50_ns gpu_total_ns gpu_mean_ns gpu_low_ns "
        "gpu_high_ns "
        "samples shapes grid block gpu_known_share first_launches first_ns launch_ns "
        "queue_total_ns queue_count launch_per_gpu gpu_share window_share registers "
        "static_shared_bytes occupancy",
        "copies.0",
        "direction host_memory async count bytes api_total_ns gpu_total_ns gpu_mean_ns "
        "gpu_low_ns "
        "gpu_high_ns gpu_known_share samples gpu_bytes_per_s",
        "graphs.0",
        "id launches api_total_ns instantiate_ns updates alive gpu_total_ns gpu_mean_ns "
        "gpu_low_ns gpu_high_ns gpu_known_share samples",
        "processes.0",
        "pid rank host command state in_flight driver_version runtime_versions devices run_id",
        "processes.0.devices.0",
        "name memory_bytes simulated",
        "gaps.0",
        "kind name version count",
        NULL,
};

/* The value at a path of keys and indexes. */
static json_t *at(json_t *value, const char *path)
{
	char copy[128], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *word = strtok_r(copy, ".", &rest); word; word = strtok_r(NULL, ".", &rest))
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(word))
		                             : json_object_get(value, word);
	if (!value)
		fail_msg("nothing at %s", path);
	return value;
}

static void test_json_keys(void **state)
{
	struct made made;
	struct rendered r;

	made_sample(&made, MADE_AREAS);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	json_t *root = json_loads(r.json, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	for (int i = 0; keys[i]; i += 2) {
		char list[1024], *rest = NULL;
		snprintf(list, sizeof(list), "%s", keys[i + 1]);
		for (char *key = strtok_r(list, " ", &rest); key; key = strtok_r(NULL, " ", &rest))
			if (!json_object_get(at(root, keys[i]), key))
				fail_msg("no key %s in '%s'", key, keys[i]);
	}
	assert_string_equal(json_string_value(at(root, "schema")), "cudaspy.report/1");
	assert_string_equal(json_string_value(at(root, "start_time")), "2025-08-21T09:15:27.123Z");
	assert_int_equal(json_integer_value(at(root, "totals.calls")), 29);
	assert_int_equal(json_integer_value(at(root, "window_ns")), 1450300);
	assert_true(json_is_null(at(root, "totals.implicit_syncs")));
	assert_true(json_is_null(at(root, "overhead.samples_ns")));
	assert_true(json_is_null(at(root, "host.launch_ns")));
	assert_true(json_is_null(at(root, "gpu.busy_ns")));
	assert_true(json_is_null(at(root, "kernels.0.samples")));
	assert_string_equal(json_string_value(at(root, "verdict.class")), "inconclusive");
	assert_int_equal(json_integer_value(at(root, "kernels.0.grid.0")), 64);
	assert_string_equal(json_string_value(at(root, "processes.0.state")), "complete");
	assert_string_equal(json_string_value(at(root, "processes.0.runtime_versions.0")), "13.0");
	json_decref(root);
	rendered_free(&r);
	made_free(&made);
}

/* Without a clock's rate every time is null; the counts are there. */
static void test_unknown_is_null(void **state)
{
	struct made made;
	struct rendered r;

	made_sample(&made, MADE_AREAS);
	made_header(&made)->clocks.count = 1;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	json_t *root = json_loads(r.json, 0, NULL);
	assert_non_null(root);
	static const char *const times[] = {"wall_ns",        "window_ns",
	                                    "startup_ns",     "apis.0.total_ns",
	                                    "apis.0.p50_ns",  "kernels.0.api_total_ns",
	                                    "host.copy_ns",   "overhead.calls_ns",
	                                    "overhead.share", NULL};
	for (int i = 0; times[i]; i++)
		if (!json_is_null(at(root, times[i])))
			fail_msg("%s is not null", times[i]);
	assert_int_equal(json_integer_value(at(root, "totals.calls")), 29);
	assert_int_equal(json_array_size(at(root, "warnings")), 1);
	assert_non_null(strstr(r.text, "n/a"));
	json_decref(root);
	rendered_free(&r);
	made_free(&made);
}

/* No line of the text is wider than the page. */
static void test_width(void **state)
{
	struct made made;
	struct rendered r;

	made_sample(&made, MADE_AREAS);
	made_kernel(&made, "a_name_that_is_by_far_too_long_for_any_table_of_eighty_columns_and_"
	                   "then_some_more_of_it");
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	for (const char *line = r.text; *line;) {
		size_t n = strcspn(line, "\n");
		if (n > 80)
			fail_msg("%zu columns: %.*s", n, (int)n, line);
		line += n + 1;
	}
	rendered_free(&r);
	made_free(&made);
}

static void test_text(void **state)
{
	static const char *const told[] = {
	        "simulated GPU",
	        "python3 train.py '--name=a b'",
	        "4711 on testhost",
	        "5.00ms wall",
	        "1.45ms window",
	        "500us of it in cuInit",
	        "driver 13.0",
	        "libcudart.so.13",
	        "complete",
	        "29 calls, all counted",
	        "40ns",
	        "cudaMalloc failed: 1 x cudaErrorMemoryAllocation",
	        "vector_add<float>",
	        "pageable",
	        "0x7f00beef",
	        "cuFutureCall",
	        "inconclusive",
	        NULL,
	};
	struct made made;
	struct rendered r;

	made_sample(&made, MADE_AREAS);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	for (int i = 0; told[i]; i++) {
		if (!strstr(r.text, told[i]))
			fail_msg("the text does not say: %s", told[i]);
	}
	assert_null(strchr(r.text, '\033'));
	size_t lines = 0;
	for (const char *c = r.screen; *c; c++)
		lines += *c == '\n';
	assert_in_range(lines, 5, 24);
	assert_non_null(strstr(r.screen, "verdict     inconclusive"));
	assert_non_null(strstr(r.screen, "vector_add<float>"));
	assert_in_range(strlen(r.brief), 500, OUT_BRIEF_BYTES);
	assert_non_null(strstr(r.brief, "python3 train.py '--name=a b'"));
	rendered_free(&r);
	made_free(&made);
}

/* Records that are lost and calls that are: neither hides the other. */
static void test_text_of_what_is_lost(void **state)
{
	for (int what = 1; what < 4; what++) {
		struct made made;
		struct rendered r;
		made_sample(&made, MADE_AREAS);
		made_header(&made)->lost_calls = what & 1 ? 7 : 0;
		uint64_t *at = tf_entry(&made.map, &made_header(&made)->threads, 0, sizeof(*at));
		struct tf_thread *t = tf_at(&made.map, *at, sizeof(*t));
		t->lost = what & 2 ? 5 : 0;
		assert_true(render(&r, made.map.base, made_bytes(&made)));
		assert_int_equal(strstr(r.text, "7 calls, which are in no figure") != NULL,
		                 what & 1);
		assert_int_equal(strstr(r.text, "lost        5 records of") != NULL, what >> 1);
		assert_null(strstr(r.text, "all counted"));
		assert_int_equal(strstr(r.text, "and sums do not") != NULL, what == 2);
		rendered_free(&r);
		made_free(&made);
	}
}

/* Names that a spreadsheet would take for formulas. */
static void test_formulas(void **state)
{
	static const struct {
		const char *name, *cell;
	} rows[] = {{"=1+1", "\"'=1+1\""},
	            {"@SUM(A1)", "\"'@SUM(A1)\""},
	            {"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
	            {"-2+3", "\"'-2+3\""},
	            {"=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""},
	            {"\t=1+1", "\\x09=1+1"},
	            {"\r=1+1", "\\x0d=1+1"},
	            {"-5", "-5"},
	            {"+2.5e3", "+2.5e3"},
	            {"-inf", "\"'-inf\""},
	            {"a=b", "a=b"},
	            {"-", "\"'-\""}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rendered r;
		struct made m;
		made_sample(&m, 0);
		struct tf_kernel *k = tf_entry(&m.map, &made_header(&m)->kernels, 2, sizeof(*k));
		k->name = made_string(&m, rows[i].name, strlen(rows[i].name));
		assert_true(render(&r, m.map.base, made_bytes(&m)));
		char *cell = strstr(r.csv, rows[i].cell);
		if (!cell || cell[-1] != '\n' || cell[strlen(rows[i].cell)] != ',')
			fail_msg("no %s in %s", rows[i].cell, r.csv);
		rendered_free(&r);
		made_free(&m);
	}
}

/* Names that would act on a terminal, on Markdown, on CSV, and that are no UTF-8. */
static void test_hostile_names(void **state)
{
	struct made made;
	struct rendered r;

	made_sample(&made, MADE_AREAS);
	struct tf_header *h = made_header(&made);
	uint16_t launch =
	        made_call(&made, "cuLaunch\033]0;owned\007", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k\033[2J|<b>,\"quoted\"\xff\xe2\x80\xae");
	uint64_t *first = tf_entry(&made.map, &h->threads, 0, sizeof(*first));
	struct tf_thread *t = tf_at(&made.map, *first, sizeof(*t));
	made_launch(&made, t, launch, kernel, 1, 7000000, 7900000);
	h->command = made_string(&made, "a\nb\x9b", 4);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	const char *const outputs[] = {r.text, r.markdown, r.json, r.csv};
	for (int i = 0; i < 4; i++) {
		for (const unsigned char *s = (const unsigned char *)outputs[i]; *s; s++)
			if ((*s < 0x20 && *s != '\n' && *s != '\r') || *s >= 0x7f)
				fail_msg("byte %02x in output %d", *s, i);
	}
	assert_non_null(strstr(r.text, "k\\x1b[2J|<b>"));
	assert_non_null(strstr(r.text, "'a\\x0ab\\x9b'"));
	assert_non_null(strstr(r.markdown, "\\|\\<b\\>"));
	assert_non_null(strstr(r.csv, "\"k\\x1b[2J|<b>,\"\"quoted\"\""));
	json_t *root = json_loads(r.json, 0, NULL);
	assert_non_null(root);
	bool found = false;
	for (size_t i = 0; i < json_array_size(at(root, "kernels")); i++)
		found |= !strcmp(json_string_value(json_object_get(
		                         json_array_get(at(root, "kernels"), i), "name")),
		                 "k\033[2J|<b>,\"quoted\"\\xff\xe2\x80\xae");
	assert_true(found);
	json_decref(root);
	rendered_free(&r);
	made_free(&made);
}

/* The loop's time of a step is without the first ones, which warm up; the table has them. */
static void test_steps_that_warm_up(void **state)
{
	static const struct {
		double warm;
		const char *told;
	} rows[] = {
	        {0, "100 steps/s.\n"},
	        {1, "100 steps/s, without the first, which warms up; the figures above are with "
	            "it.\n"},
	        {3, "100 steps/s, without the first 3, which warm up; the figures above are with "
	            "them.\n"},
	};
	const struct out_options options = {0};
	struct model m = {
	        .steps = {.source = STEPS_FOUND, .confidence = "high", .judged_per_s = 100}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		size_t bytes;
		struct text_layout page = {.to = open_memstream(&text, &bytes), .width = 200};
		m.steps.warm = rows[i].warm;
		out_page_steps(&m, &options, &page);
		fclose(page.to);
		assert_non_null(strstr(text, rows[i].told));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_json_keys),
	        cmocka_unit_test(test_unknown_is_null),
	        cmocka_unit_test(test_width),
	        cmocka_unit_test(test_text),
	        cmocka_unit_test(test_text_of_what_is_lost),
	        cmocka_unit_test(test_hostile_names),
	        cmocka_unit_test(test_formulas),
	        cmocka_unit_test(test_steps_that_warm_up),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
