/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text_table.h"
#include "report/output/summary.h"
#include "tests/unit/unit.h"

static void assert_range(char *text, const char *wanted)
{
	assert_string_equal(text, wanted);
	free(text);
}

static void test_ranges(void **state)
{
	assert_range(summary_range(2.6e6, 2.54e6, 2.9e6), "2.54 to 2.90 ms");
	assert_range(summary_range(800e3, 713e3, 1.02e6), "713 us to 1.02 ms");
	assert_range(summary_range(0, 0, 106e3), "up to 106 us");
	assert_range(summary_range(NAN, 0, 106e3), "up to 106 us");
	assert_range(summary_range(106e3, 0, 106e3), "up to 106 us");
	assert_range(summary_range(2.1e6, 0, 27.5e6), "2.10, up to 27.5 ms");
	assert_range(summary_range(439e3, -1, 7.71e6), "439 us, up to 7.71 ms");
	assert_range(summary_range(11.1e6, NAN, 11.1e6), "about 11.1 ms");
	assert_range(summary_range(2.99e6, 2.99e6, 2.99e6), "about 2.99 ms");
	assert_range(summary_range(1, 1, NAN), "n/a");
	assert_range(summary_range_percent(0.151, 0.368), "15.1 to 36.8 %");
	assert_range(summary_range_percent(0, 0.02), "0.0 to 2.0 %");
	assert_range(summary_range_percent(NAN, 0.5), "about 50.0 %");
	assert_range(summary_range_percent(0.1, NAN), "n/a");
}

/* The steps that warm a loop up are told apart where they take a part of it that shows. */
static void test_warming_up(void **state)
{
	struct model_phase loop = {.steps = 1920, .time = 1406e6, .part_count = 1, .threads = 1};
	struct model m = {.phase = &loop, .host_window = 1041e6, .phase_steps = 1440};
	struct analysis a = {.of = &m};

	assert_range(summary_warm(&a, &loop), " (the first 480, 365 ms, left out)");
	assert_near(summary_step_judged(&a, &loop), 722.9e3, 1e-3);
	m.host_window = 1380e6;
	assert_range(summary_warm(&a, &loop), "");
	m.phase = NULL;
	assert_range(summary_warm(&a, &loop), "");
}

/* Of a step that ends with a wait, and holds so many times what repeats within it. */
static void test_alike_parts(void **state)
{
	struct model_loop loop = {.level_count = 2, .step_level = 1};
	struct model_level *part = &loop.levels[0], *step = &loop.levels[1];
	struct model_phase p = {.found = true, .threads = 1};
	struct model m = {.loops = &loop, .loop_count = 1};

	*part = (struct model_level){.cls = SPY_CLASS_LAUNCH, .events = 14.13};
	*step = (struct model_level){.cls = SPY_CLASS_SYNC, .events = 282};
	assert_range(summary_parts(&m, &p, 180e6), ", each of 20 alike parts of 9.00 ms");
	part->events = 13.7; /* 20.6: not so many times */
	assert_range(summary_parts(&m, &p, 180e6), "");
	part->events = 280;
	assert_range(summary_parts(&m, &p, 180e6), "");
	part->events = 141;
	assert_range(summary_parts(&m, &p, 180e6), ", each of 2 alike parts of 90.0 ms");
	/* 25 times four kernels, and five pieces behind them: 144 parts had them five times, six
	 * times would have been their share. */
	*part = (struct model_level){.cls = SPY_CLASS_LAUNCH, .events = 600.0 / 144, .seen = 144};
	step->events = 105;
	assert_range(summary_parts(&m, &p, 180e6), ", each of 25 alike parts of 7.20 ms");
	part->seen = 288; /* that often it is no chance */
	assert_range(summary_parts(&m, &p, 180e6), "");
	/* 37.1 times 22 pieces, nearly, is not 37 times 21 and 38 besides. */
	*part = (struct model_level){.cls = SPY_CLASS_LAUNCH, .events = 21.967, .seen = 186};
	step->events = 815;
	assert_range(summary_parts(&m, &p, 180e6), "");
	part->cls = SPY_CLASS_COPY;
	assert_range(summary_parts(&m, &p, 180e6), "");
	part->cls = step->cls = SPY_CLASS_LAUNCH; /* a layer of a network is no part that matters */
	assert_range(summary_parts(&m, &p, 180e6), "");
	step->cls = SPY_CLASS_COPY;
	p.threads = 2;
	assert_range(summary_parts(&m, &p, 180e6), "");
	p = (struct model_phase){.threads = 1}; /* by ranges */
	assert_range(summary_parts(&m, &p, 180e6), "");
}

/* A number stays with its unit, and no line begins with a per cent sign. */
static void test_what_is_not_parted(void **state)
{
	char *text = NULL;
	size_t bytes;
	struct text_layout page = {.to = open_memstream(&text, &bytes), .width = 60};

	for (int i = 0; i < 20; i++)
		text_layout_line(&page, "%.*s took 15.4 %%, 5.95 us each (0.3 %%) of the window",
		                 25 + i, "a long word that moves the end of the line by and by");
	fclose(page.to);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *word = line + strspn(line, " ");
		assert_true(strlen(line) <= 60);
		assert_int_not_equal(*word, '%');
		assert_int_not_equal(strncmp(word, "us", 2), 0);
	}
	free(text);
}

static char *table_of(const char *const *names, size_t count, bool always_fit)
{
	static const struct text_layout_column columns[] = {{"n", false}, {"name", true}};
	char *text = NULL;
	size_t bytes;
	struct text_layout page = {.to = open_memstream(&text, &bytes), .width = 60};
	struct text_layout_table t;

	table_start(&t, columns, 2);
	t.always_fit = always_fit;
	for (size_t i = 0; i < count; i++) {
		table_cell(&t, "%zu", i);
		table_cell(&t, "%s", names[i]);
	}
	table_print(&t, &page);
	fclose(page.to);
	return text;
}

static void assert_apart(const char *const *names, size_t rows, bool always_fit)
{
	char *text = table_of(names, rows, always_fit), lines[5][100];
	size_t count = 0;

	for (char *line = strtok(text, "\n"); line && count < 5; line = strtok(NULL, "\n"))
		snprintf(lines[count++], sizeof(lines[0]), "%s", line);
	assert_int_equal(count, rows + 1);
	for (size_t i = 0; i < count; i++)
		assert_true(strlen(lines[i]) <= 60);
	assert_string_not_equal(lines[1] + 5, lines[2] + 5);
	assert_non_null(strstr(lines[1], "..128x32x8"));
	assert_non_null(strstr(lines[2], "..32x32x8"));
	free(text);
}

/* Long names that begin and end alike are shown from where they differ, and none is too long. */
static void test_names_alike(void **state)
{
	static const char *const names[] = {
	        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x32x8_stage3_warpsize1x2x1_"
	        "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_"
	        "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	        "\xc3\xa4\xc3\xa4\xc3\xa4", "short"};

	assert_apart(names, 4, true);
	assert_apart(names, 4, false);
}

/* Of more than two each is told from each, wherever they part. */
static void test_many_names_alike(void **state)
{
	static const char *const names[] = {
	        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8_stage3_warpsize1x4x1_"
	        "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x128x8_stage3_warpsize1x4x1_"
	        "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_stage3_warpsize2x2x1_"
	        "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8_stage3_warpsize1x4x1_"
	        "ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);

	char *text = table_of(names, count, true), *lines[16];
	size_t n = 0;
	for (char *line = strtok(text, "\n"); line && n < 16; line = strtok(NULL, "\n"))
		lines[n++] = line;
	assert_int_equal(n, count + 1);
	for (size_t i = 1; i <= count; i++)
		for (size_t k = 1; k < i; k++)
			assert_string_not_equal(lines[i] + 5, lines[k] + 5);
	free(text);
}

/* ---- the changes that help most ---- */

static struct finding finding(const char *what, enum verdict_class cls, enum whatif change,
                              double speedup)
{
	return (struct finding){.id = what,
	                        .brief = what,
	                        .cls = cls,
	                        .change = change,
	                        .severity = SEVERITY_HIGH,
	                        .speedup = speedup,
	                        .speedup_low = speedup / 1.2,
	                        .speedup_high = speedup * 1.2,
	                        .saved_most = NAN};
}

/* What the first screen says of these findings, by what each saves; the last one is NULL. */
static void assert_changes(enum verdict_class cls, double gain, struct finding *items, size_t count,
                           const char *const *wanted)
{
	struct model m = {0};
	struct analysis a = {
	        .phase = PHASE_NONE,
	        .verdict = {.cls = cls, .first = cls, .second = VERDICT_CLASSES, .gain = gain},
	        .findings = {.items = items, .count = count}};
	struct summary s;
	size_t i = 0;

	summary_make(&s, &m, &a);
	for (; wanted[i]; i++) {
		assert_true(i < s.change_count);
		assert_string_equal(s.changes[i].what, wanted[i]);
	}
	assert_int_equal(s.change_count, i);
	summary_free(&s);
}

/* Of this run's time none of the host's changes saves what the GPU is surely busy for; others may.
 */
static void test_savings_end_at_the_gpu(void **state)
{
	static const struct {
		enum verdict_class cls;
		double high;
	} rows[] = {{VERDICT_LAUNCH, 0.55},
	            {VERDICT_SYNC, 0.55},
	            {VERDICT_ALLOC, 0.55},
	            {VERDICT_HOST, 0.55},
	            {VERDICT_COPY, 7 / 12.0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding item = finding("change", rows[i].cls, WHATIF_NO_SYNC, 2);
		struct model m = {0};
		struct analysis a = {.phase = PHASE_NONE,
		                     .verdict = {.cls = VERDICT_NONE, .busy_low = 0.45},
		                     .findings = {.items = &item, .count = 1}};
		struct summary s;
		summary_make(&s, &m, &a);
		assert_near(s.changes[0].high, rows[i].high, 1e-9);
		assert_near(s.changes[0].mean, 0.5, 1e-9);
		summary_free(&s);
		a.verdict.busy_low = 0.7; /* it is not less than what is told in the middle */
		summary_make(&s, &m, &a);
		assert_near(s.changes[0].high, rows[i].cls == VERDICT_COPY ? rows[i].high : 0.5,
		            1e-9);
		summary_free(&s);
		/* Nor does any save more than it takes away, whatever another run gains. */
		a.verdict.busy_low = 0;
		item.saved_most = 0.53;
		summary_make(&s, &m, &a);
		assert_near(s.changes[0].high, 0.53, 1e-9);
		summary_free(&s);
	}
}

/* Two changes may leave the same, the GPU's work: both are told. One change twice is not. */
static void test_changes_that_save_the_same(void **state)
{
	struct finding items[] = {finding("more cores", VERDICT_HOST, WHATIF_CPU, 2),
	                          finding("graphs", VERDICT_LAUNCH, WHATIF_GRAPHS, 2),
	                          finding("more graphs", VERDICT_LAUNCH, WHATIF_GRAPHS, 2)};

	assert_changes(VERDICT_LAUNCH, 0.5, items, 3,
	               (const char *const[]){"more cores", "graphs", NULL});
}

/* A finding of the verdict's class has its gain where nothing predicts its own; what another change
 * would predict has not. */
static void test_a_gain_that_is_not_a_finding_s(void **state)
{
	struct finding polls = finding("no loop of queries", VERDICT_SYNC, WHATIFS, NAN),
	               starved = finding("more cores", VERDICT_HOST, WHATIF_CPU, NAN);

	assert_changes(VERDICT_SYNC, 0.5, &polls, 1,
	               (const char *const[]){"no loop of queries", NULL});
	assert_changes(
	        VERDICT_HOST, 0.5, &starved, 1,
	        (const char *const[]){"less of the host's work outside CUDA", "more cores", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_warming_up),
	        cmocka_unit_test(test_alike_parts),
	        cmocka_unit_test(test_what_is_not_parted),
	        cmocka_unit_test(test_names_alike),
	        cmocka_unit_test(test_many_names_alike),
	        cmocka_unit_test(test_savings_end_at_the_gpu),
	        cmocka_unit_test(test_changes_that_save_the_same),
	        cmocka_unit_test(test_a_gain_that_is_not_a_finding_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
