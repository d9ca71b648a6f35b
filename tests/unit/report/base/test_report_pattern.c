/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: what they find is what the C library's find, in bounded time, and what they
 * are not is said. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/pattern.h"
#include "tests/unit/unit.h"

static bool finds(const char *pattern, const char *text)
{
	char why[PATTERN_ERROR_BYTES];
	struct pattern_regex r;

	if (pattern_compile(&r, pattern, why))
		fail_msg("%s: %s", pattern, why);
	bool found = pattern_finds(&r, text);
	assert_int_equal(pattern_finds(&r, text), found); /* and again */
	pattern_free(&r);
	return found;
}

static void test_forms(void **state)
{
	static const struct {
		const char *pattern, *yes, *no;
	} rows[] = {
	        {"gemm", "sgemm_128", "gem"},
	        {"^void flash::", "void flash::f", "a void flash::f"},
	        {"kernel$", "a_kernel", "kernels"},
	        {"^$", "", "x"},
	        {"a.c", "xabcx", "ac"},
	        {"ab*c", "ac", "adc"},
	        {"ab+c", "abbc", "ac"},
	        {"ab?c", "abc", "abbc"},
	        {"^a{2}$", "aa", "aaa"},
	        {"^a{2,}$", "aaaa", "a"},
	        {"^a{,2}$", "", "aaa"},
	        {"^a{2,3}$", "aaa", "aaaa"},
	        {"^(ab){2}$", "abab", "ab"},
	        {"^(a|bc|)d$", "bcd", "ad d"},
	        {"[abc]", "xcx", "xdx"},
	        {"[^abc]", "abcd", "abc"},
	        {"[]x]", "]", "a"},
	        {"[^]x]", "a", "]x"},
	        {"[a-cx-z]", "y", "d"},
	        {"[a-]", "-", "b"},
	        {"[[:digit:][:upper:]]", "aZ", "az"},
	        {"[[.-.]]", "-", "a"},
	        {"[[=a=]b]", "b", "c"},
	        {"\\.", "a.b", "ab"},
	        {"\\(x\\)", "f(x)", "x"},
	        {"\\w+<\\w+>", "k<float>", "k< >"},
	        {"\\bgemm\\b", "a gemm b", "sgemm"},
	        {"\\<gemm", "a gemm", "sgemm"},
	        {"gemm\\>", "sgemm", "gemms"},
	        {"\\Bgemm", "sgemm", "gemm"},
	        {"a\\sb", "a b", "ab"},
	        {"^\\S+$", "ab", "a b"},
	        {"^\\W$", "+", "a"},
	        {"`", "`", "a"},
	        {"\\`a", "ab", "ba"},
	        {"a\\'", "ba", "ab"},
	        {"a)", "xa)", "a"},
	        {"(a*)*b", "b", "a"},
	        {"x{0}y", "y", "x"},
	        {"gr\xc3\xb6", "gr\xc3\xb6sse", "gro"},
	        {"(^| )a( |$)", "b a", "ba"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!finds(rows[i].pattern, rows[i].yes))
			fail_msg("%s is not found in %s", rows[i].pattern, rows[i].yes);
		if (finds(rows[i].pattern, rows[i].no))
			fail_msg("%s is found in %s", rows[i].pattern, rows[i].no);
	}
}

static void test_what_they_are_not(void **state)
{
	static const struct {
		const char *pattern, *why;
	} rows[] = {
	        {"(a)\\1", "\\1: there are no back references"},
	        {"(a|b)*\\9", "\\9: there are no back references"},
	        {"\\d+", "\\d means nothing here; [0-9] is a digit"},
	        {"\\n", "\\n means nothing here"},
	        {"fl(", "unmatched ("},
	        {"(a|b", "unmatched ("},
	        {"[a", "unmatched ["},
	        {"[", "unmatched ["},
	        {"[]", "unmatched ["},
	        {"[[:alpha:", "unmatched ["},
	        {"[[:alfa:]]", "invalid character class name"},
	        {"[z-a]", "invalid range end"},
	        {"[[.ab.]]", "must hold one character"},
	        {"*a", "nothing stands before *"},
	        {"a|+b", "nothing stands before +"},
	        {"({2})", "nothing stands before {"},
	        {"a{2", "{ } must hold"},
	        {"a{3,2}", "{ } must hold"},
	        {"a{x}", "{ } must hold"},
	        {"a{256}", "{ } must hold"},
	        {"a{99999999999999999999}", "{ } must hold"},
	        {"a\\", "trailing backslash"},
	        {"((x{255}){255}){255}", "repeats repetitions too often"},
	};
	char why[PATTERN_ERROR_BYTES];
	struct pattern_regex r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(pattern_compile(&r, rows[i].pattern, why), -1);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].pattern, why);
	}
}

/* Long ones, and ones that nest, are refused and take no time, memory or stack. */
static void test_too_large(void **state)
{
	static const char *const pieces[] = {"(",  "a|",        "a?", "a*", "[a]",
	                                     ".",  "a{9}",      "(a", "|",  "a{0,255}",
	                                     "++", "[^x]{255}", "\\w"};
	char *text = malloc(1 << 20), why[PATTERN_ERROR_BYTES];
	struct pattern_regex r;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t bytes = strlen(pieces[i]);
		for (size_t at = 0; at + bytes < 1 << 20; at += bytes)
			memcpy(text + at, pieces[i], bytes + 1);
		if (!pattern_compile(&r, text, why))
			fail_msg("%.20s...", text);
	}
	free(text);
}

static unsigned seed = 1;
static unsigned drawn(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

static void draw(char *to, const char *const *pieces, unsigned count, unsigned most)
{
	*to = '\0';
	for (unsigned n = drawn(most) + 1; n--;)
		strcat(to, pieces[drawn(count)]);
}

/* The C library is the judge, of patterns that both take. */
static void test_against_the_c_library(void **state)
{
	static const char *const pieces[] = {
	        "a",     "b",    "c",   ".",    "*",           "+",   "?",     "|",    "(",
	        ")",     "^",    "$",   "[ab]", "[^a]",        "{2}", "{1,2}", "{,2}", "{2,}",
	        "(a|b)", "(ab)", "\\b", "\\w",  "[[:alpha:]]", "\\<", "\\>",   "-"};
	static const char *const letters[] = {"a", "b", "c", "-", "ab", " "};
	unsigned compared = 0, found = 0;

	for (int round = 0; round < 60000; round++) {
		char pattern[256], text[64], why[PATTERN_ERROR_BYTES];
		struct pattern_regex r;
		regex_t judge;
		draw(pattern, pieces, sizeof(pieces) / sizeof(pieces[0]), 7);
		if (pattern_compile(&r, pattern, why))
			continue;
		if (!regcomp(&judge, pattern, REG_EXTENDED | REG_NOSUB)) {
			for (int i = 0; i < 8; i++) {
				draw(text, letters, sizeof(letters) / sizeof(letters[0]), 8);
				text[i ? strlen(text) : 0] = '\0';
				bool here = pattern_finds(&r, text),
				     there = !regexec(&judge, text, 0, NULL, 0);
				if (here != there)
					fail_msg("/%s/ in '%s': %d, %d", pattern, text, here,
					         there);
				compared++;
				found += here;
			}
			regfree(&judge);
		}
		pattern_free(&r);
	}
	print_message("%u compared, %u found\n", compared, found);
	assert_true(compared > 100000 && found > 10000 && compared - found > 10000);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Patterns that take the C library seconds to hours, on names of 4 KiB: work grows with the text
 * and the pattern alone. */
static void test_worst_times(void **state)
{
	static const char *const patterns[] = {
	        "(a|b)*a(a|b){100}c", "(a|b)*a(a|b){255}c",   "((a*)*)*c",
	        "(a+)+(a+)+(a+)+c",   "(a?){250}a{250}c",     ".*.*.*.*.*.*.*.*.*.*c",
	        "(.*a){200}c",        "((a{1,25}){1,25})c",   "(x|.*)*y",
	        "(.+.+.+.+)+c",       "([ab]?.?[ab]?){200}c", "(a|aa|aaa|aaaa){80}c",
	        "(\\b|\\B|^|$|.)*c",  "(.{0,25}){25}c",       "((a|b)(a|b)?(a|b)?){90}c"};
	static char text[2][4097];
	uint64_t worst = 0;

	memset(text[0], 'a', 4096);
	for (int i = 0; i < 4096; i++)
		text[1][i] = "ab"[drawn(2)];
	for (size_t i = 0; i < 2 * sizeof(patterns) / sizeof(patterns[0]); i++) {
		char why[PATTERN_ERROR_BYTES];
		struct pattern_regex r;
		if (pattern_compile(&r, patterns[i / 2], why))
			fail_msg("%s: %s", patterns[i / 2], why);
		uint64_t start = cpu_ns();
		assert_false(pattern_finds(&r, text[i % 2]));
		uint64_t ns = cpu_ns() - start;
		worst = ns > worst ? ns : worst;
		pattern_free(&r);
	}
	print_message("worst: %.1f ms\n", (double)worst / 1e6);
	assert_true(worst < 20000000000u); /* without a bound, hours */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_forms),       cmocka_unit_test(test_what_they_are_not),
	        cmocka_unit_test(test_too_large),   cmocka_unit_test(test_against_the_c_library),
	        cmocka_unit_test(test_worst_times),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
