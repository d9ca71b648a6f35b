/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/error_names.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/base/units.h"
#include "shim/core/format/classes.h"
#include "tests/unit/unit.h"

static void expect(char *got, const char *wanted)
{
	assert_string_equal(got, wanted);
	free(got);
}

static void test_safe(void **state)
{
	expect(text_safe("plain <T>", 9), "plain <T>");
	expect(text_safe("a\tb\nc\033[31m", 10), "a\\x09b\\x0ac\\x1b[31m");
	expect(text_safe("nul\0in", 6), "nul\\x00in");
	expect(text_safe("\x7f", 1), "\\x7f");
	expect(text_safe("gr\xc3\xb6sse", 7), "gr\xc3\xb6sse");
	expect(text_safe("\xc2\x9b[2J", 5), "\\xc2\\x9b[2J"); /* C1: CSI */
	expect(text_safe("\xe2\x80\xae"
	                 "cba",
	                 6),
	       "\\xe2\\x80\\xae"
	       "cba");                                           /* right-to-left override */
	expect(text_safe("\xc0\xaf", 2), "\\xc0\\xaf");          /* overlong */
	expect(text_safe("\xed\xa0\x80", 3), "\\xed\\xa0\\x80"); /* a surrogate */
	expect(text_safe("\xf4\x90\x80\x80", 4), "\\xf4\\x90\\x80\\x80"); /* beyond Unicode */
	expect(text_safe("cut \xe2\x82", 6), "cut \\xe2\\x82");
	expect(text_safe("", 0), "");
}

/* What is shown can have come from one text alone. */
static void test_backslashes(void **state)
{
	expect(text_safe("a\\b", 3), "a\\b");
	expect(text_safe("\\x1b[31m", 8), "\\\\x1b[31m");
	expect(text_safe("\\\\x1b", 5), "\\\\\\\\x1b");
	expect(text_safe("\\\x1b", 2), "\\\\\\x1b");
	expect(text_safe("\\xg1 \\x", 7), "\\xg1 \\x");
	expect(text_safe("\\", 1), "\\");
	expect(text_safe("it'\\''s", 7), "it'\\''s");
	expect(text_utf8("\\xff\xff", 5), "\\\\xff\\xff");
}

static void test_every_text_can_be_had_back(void **state)
{
	static const char letters[] = "\\\\\\\\xx0a1F\x01\xff'";
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		char text[8];
		size_t n = 0;
		for (; n < sizeof(text); n++) {
			seed = seed * 1103515245 + 12345;
			text[n] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		char *safe = text_safe(text, n);
		assert_true(text_is_safe(safe, strlen(safe)));
		char *back = text_original(safe);
		if (strlen(back) != n || memcmp(back, text, n))
			fail_msg("%s", safe);
		free(back);
		free(safe);
	}
}

static void test_is_safe(void **state)
{
	assert_true(text_is_safe("gr\xc3\xb6sse \\ x", 11));
	assert_true(text_is_safe("", 0));
	assert_false(text_is_safe("a\n", 2));
	assert_false(text_is_safe("\x7f", 1));
	assert_false(text_is_safe("\xe2\x80\xae", 3));
	assert_false(text_is_safe("\xe2\x80", 2));
}

static void test_json_text(void **state)
{
	expect(text_utf8("a\tb\xc2\x9b", 5), "a\tb\xc2\x9b");
	expect(text_utf8("\xff\x7f", 2), "\\xff\\x7f");
}

static void test_fit(void **state)
{
	expect(text_fit("short", 8), "short");
	expect(text_fit("cudaStreamSynchronize", 12), "cudaS..onize");
	expect(text_fit("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6", 5),
	       "\xc3\xa4\xc3\xb6..\xc3\xb6");
	expect(text_fit("abc", 2), "ab");
	/* Two columns each; a mark stays with its letter, or goes with it. */
	expect(text_fit("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 7),
	       "\xe6\xbc\xa2..\xe5\xad\x97");
	expect(text_fit("e\xcc\x81"
	                "e\xcc\x81"
	                "e\xcc\x81"
	                "e\xcc\x81"
	                "e\xcc\x81",
	                4),
	       "e\xcc\x81..e\xcc\x81");
	assert_int_equal(text_width("a\xe6\xbc\xa2\xcc\x81\xf0\x9f\x98\x80"), 5);
	assert_int_equal(text_bytes("a\xe6\xbc\xa2z", 2), 1);
	assert_int_equal(text_bytes("a\xe6\xbc\xa2z", 3), 4);
}

static void test_command(void **state)
{
	static const char arguments[] = "python3\0a b\0it's\0";

	expect(text_command(arguments, sizeof(arguments) - 2), "python3 'a b' 'it'\\''s'");
	expect(text_command("x\0\0y", 4), "x '' y");
	expect(text_command("", 0), "");
}

static char *demangled(const char *mangled)
{
	return name_demangle(mangled, strlen(mangled));
}

static void test_demangle(void **state)
{
	expect(demangled("_Z10vector_addPKfS0_Pfi"),
	       "vector_add(float const*, float const*, float*, int)");
	expect(demangled("triton_poi_fused_0"), "triton_poi_fused_0");
	expect(demangled("_Znonsense!"), "_Znonsense!");
	expect(demangled("_Z"), "_Z");
	expect(demangled(""), "");
}

/* Each level names the one before it twice: 40 levels stand for 2^40 words. */
static void test_demangle_bomb(void **state)
{
	char name[2048] = "_Z1fI1AIiiE", *got;

	for (int i = 0; i < 40; i++) {
		char level[32];
		if (i)
			snprintf(level, sizeof(level), "S_IS%c_S%c_E",
			         i < 11 ? '0' + i - 1 : 'A' + i - 11,
			         i < 11 ? '0' + i - 1 : 'A' + i - 11);
		else
			snprintf(level, sizeof(level), "S_IS0_S0_E");
		strcat(name, level);
	}
	strcat(name, "EvT_");
	got = demangled(name);
	assert_true(strlen(got) <= NAME_DEMANGLED_MOST);
	free(got);
}

static void test_demangle_long(void **state)
{
	size_t bytes = 30000;
	char *name = malloc(bytes + 1);

	memset(name, 'I', bytes);
	memcpy(name, "_Z1f", 4);
	name[bytes] = '\0';
	char *got = name_demangle(name, bytes);
	assert_true(strlen(got) < 400);
	free(got);
	name[NAME_MANGLED_MOST - 1] = '\0'; /* short enough, too deep */
	expect(demangled(name), name);
	free(name);
}

static void test_short(void **state)
{
	expect(name_short("void vector_add<float>(float const*, int)"), "vector_add<float>");
	expect(name_short("void at::native::reduce_kernel<512, 1, F<(int)2> >(F<(int)2>)"),
	       "at::native::reduce_kernel<...>");
	expect(name_short("void (anonymous namespace)::k<int>(int)"), "(anon)::k<int>");
	expect(name_short("std::enable_if<true, void>::type ns::f<int, float>(int)"), "ns::f<...>");
	expect(name_short("void ns::F::operator()<int>(int) const"), "ns::F::operator()<int>");
	expect(name_short("void run<X::{lambda(int)#1}>(X)"), "run<...>");
	expect(name_short("plain"), "plain");
	expect(name_short(""), "");
	expect(name_short("<"), "<");
	expect(name_short("f(int, (char)3"), "f");
}

static void expect_time(double ns, const char *wanted)
{
	char to[UNIT_BYTES];

	assert_string_equal(unit_time(to, ns), wanted);
}

static void test_units(void **state)
{
	char to[UNIT_BYTES];

	expect_time(NAN, "n/a");
	expect_time(0, "0");
	expect_time(3.2, "3.2ns");
	expect_time(999, "999ns");
	expect_time(999.7, "1.00us");
	expect_time(12345, "12.3us");
	expect_time(99960, "100us");
	expect_time(999.6e3, "1.00ms");
	expect_time(1.8e12, "1800s");
	expect_time(1e30, "1e+21s");
	assert_string_equal(unit_time_apart(to, 1.8e12), "1800 s");
	assert_string_equal(unit_time_apart(to, 12345), "12.3 us");
	assert_string_equal(unit_time_apart(to, NAN), "n/a");
	assert_string_equal(unit_bytes(to, 1023), "1023B");
	assert_string_equal(unit_bytes(to, 1 << 20), "1.00MiB");
	assert_string_equal(unit_bytes(to, 1.9e19), "16.5EiB");
	assert_string_equal(unit_count(to, 14), "14");
	assert_string_equal(unit_count(to, 8.994), "8.99");
	assert_string_equal(unit_count(to, 999.4), "999");
	assert_string_equal(unit_count(to, 999.6), "1000");
	assert_string_equal(unit_count(to, 4890.5e3), "4890500");
	assert_string_equal(unit_count(to, 0), "0");
	assert_string_equal(unit_count(to, 0.0004), "<0.001");
	assert_string_equal(unit_count(to, NAN), "n/a");
	assert_string_equal(unit_percent(to, 1, 4), "25.0");
	assert_string_equal(unit_percent(to, 1, 1e6), "<0.1");
	assert_string_equal(unit_percent(to, 1, 0), "n/a");
	assert_string_equal(unit_percent(to, NAN, 1), "n/a");
	assert_string_equal(unit_change(to, 0.1009), "+10.1 %");
	assert_string_equal(unit_change(to, -0.5), "-50.0 %");
	assert_string_equal(unit_change(to, -0.0001), "+0.0 %");
	assert_string_equal(unit_change(to, 9.99), "+999.0 %");
	assert_string_equal(unit_change(to, 10), "x11.0");
	assert_string_equal(unit_change(to, 109.374), "x110");
	assert_string_equal(unit_change(to, 1093.74), ">x1000");
	assert_string_equal(unit_date(to, 1755767727123e6), "2025-08-21T09:15:27.123Z");
	assert_string_equal(unit_date(to, NAN), "n/a");
	assert_string_equal(unit_date(to, 1e300), "n/a");
}

static void test_error_names(void **state)
{
	assert_string_equal(error_name(SPY_LEVEL_DRIVER, 2), "CUDA_ERROR_OUT_OF_MEMORY");
	assert_string_equal(error_name(SPY_LEVEL_RUNTIME, 2), "cudaErrorMemoryAllocation");
	assert_null(error_name(SPY_LEVEL_DRIVER, 98)); /* the runtime's alone */
	assert_null(error_name(SPY_LEVEL_RUNTIME, 12345));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_safe),
	        cmocka_unit_test(test_json_text),
	        cmocka_unit_test(test_backslashes),
	        cmocka_unit_test(test_every_text_can_be_had_back),
	        cmocka_unit_test(test_is_safe),
	        cmocka_unit_test(test_fit),
	        cmocka_unit_test(test_command),
	        cmocka_unit_test(test_demangle),
	        cmocka_unit_test(test_demangle_bomb),
	        cmocka_unit_test(test_demangle_long),
	        cmocka_unit_test(test_short),
	        cmocka_unit_test(test_units),
	        cmocka_unit_test(test_error_names),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
