/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/cli/target.h"
#include "tests/unit/unit.h"

#define FOLDER BUILD_FOLDER "/tests/unit/"

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* Compiles an empty program with the compiler's options; skips the test where that is not possible.
 */
static void compile(const char *options, const char *path)
{
	char command[1024];
	const char *cc = getenv("CC");

	snprintf(command, sizeof(command),
	         "echo 'int main(void) { return 0; }' | %s -x c - %s -o %s 2>/dev/null",
	         cc ? cc : "cc", options, path);
	if (system(command)) {
		print_message("skip: cannot compile with %s\n", options);
		skip();
	}
}

static void test_dynamic(void **state)
{
	struct target t;

	compile("", FOLDER "target-dynamic");
	target_examine(&t, FOLDER "target-dynamic");
	assert_string_equal(t.path, FOLDER "target-dynamic");
	assert_null(t.unobserved);
	assert_null(t.sanitizer);
	target_free(&t);
}

static void test_static(void **state)
{
	struct target t;

	compile("-static", FOLDER "target-static");
	target_examine(&t, FOLDER "target-static");
	assert_non_null(t.unobserved);
	assert_non_null(strstr(t.unobserved, "static"));
	target_free(&t);
}

static void test_sanitized(void **state)
{
	struct target t;

	compile("-fsanitize=address", FOLDER "target-asan");
	target_examine(&t, FOLDER "target-asan");
	assert_null(t.unobserved);
	if (!t.sanitizer) {
		target_free(&t);
		skip(); /* a compiler that links it statically */
	}
	assert_int_equal(strncmp(t.sanitizer, "lib", 3), 0);
	assert_non_null(strstr(t.sanitizer, "asan"));
	target_free(&t);
}

static void test_setuid(void **state)
{
	struct target t;

	if (geteuid()) /* another user's file is needed */
		skip();
	compile("", FOLDER "target-setuid");
	assert_int_equal(chown(FOLDER "target-setuid", 12345, 12345), 0);
	assert_int_equal(chmod(FOLDER "target-setuid", 04755), 0);
	target_examine(&t, FOLDER "target-setuid");
	assert_non_null(t.unobserved);
	assert_non_null(strstr(t.unobserved, "set-user-ID"));
	target_free(&t);
	unlink(FOLDER "target-setuid");
}

/* A script's interpreter is what is loaded; of env, the program that env starts. */
static void test_script(void **state)
{
	struct target t;

	compile("-static", FOLDER "target-static");
	write_file(FOLDER "target-script", "#! " FOLDER "target-static -x\n", 0755);
	target_examine(&t, FOLDER "target-script");
	assert_string_equal(t.program, FOLDER "target-static");
	assert_non_null(t.unobserved);
	target_free(&t);
	write_file(FOLDER "target-script", "#!/usr/bin/env -S A=1 " FOLDER "target-static\n", 0755);
	target_examine(&t, FOLDER "target-script");
	assert_string_equal(t.program, FOLDER "target-static");
	target_free(&t);
	/* one that is its own interpreter ends */
	write_file(FOLDER "target-loop", "#!" FOLDER "target-loop\n", 0755);
	target_examine(&t, FOLDER "target-loop");
	assert_null(t.unobserved);
	target_free(&t);
}

static void test_path(void **state)
{
	struct target t;

	target_examine(&t, "sh");
	assert_non_null(t.path);
	assert_non_null(strstr(t.path, "/sh"));
	target_free(&t);
	target_examine(&t, "no-such-command-anywhere");
	assert_null(t.path);
	target_free(&t);
}

/* Files that only begin like a program. */
static void test_damaged(void **state)
{
	struct target t;
	char elf[64] = "\177ELF\2\1\1";

	for (size_t bytes = 1; bytes < 4096; bytes = bytes * 3 + 1) {
		FILE *from = fopen(FOLDER "target-dynamic", "r"),
		     *to = fopen(FOLDER "target-cut", "w");
		assert_non_null(from);
		for (size_t i = 0; i < bytes; i++)
			putc(getc(from), to);
		fclose(from);
		fclose(to);
		chmod(FOLDER "target-cut", 0755);
		target_examine(&t, FOLDER "target-cut");
		target_free(&t);
	}
	memset(elf + 16, 0xff, 48);
	FILE *to = fopen(FOLDER "target-cut", "w");
	fwrite(elf, 1, sizeof(elf), to);
	fclose(to);
	target_examine(&t, FOLDER "target-cut");
	target_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_dynamic),   cmocka_unit_test(test_static),
	        cmocka_unit_test(test_sanitized), cmocka_unit_test(test_setuid),
	        cmocka_unit_test(test_script),    cmocka_unit_test(test_path),
	        cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
