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
	assert_range(summary_range(2.54e6, 2.9e6), "2.54 to 2.90 ms");
	assert_range(summary_range(713e3, 1.02e6), "713 us to 1.02 ms");
	assert_range(summary_range(0, 106e3), "up to 106 us");
	assert_range(summary_range(NAN, 11.1e6), "about 11.1 ms"); /* a mean */
	assert_range(summary_range(2.99e6, 2.99e6), "about 2.99 ms");
	assert_range(summary_range(1, NAN), "n/a");
	assert_range(summary_range_percent(0.151, 0.368), "15.1 to 36.8 %");
	assert_range(summary_range_percent(0, 0.02), "0.0 to 2.0 %");
	assert_range(summary_range_percent(NAN, 0.5), "about 50.0 %");
	assert_range(summary_range_percent(0.1, NAN), "n/a");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_what_is_not_parted),
	        cmocka_unit_test(test_names_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
