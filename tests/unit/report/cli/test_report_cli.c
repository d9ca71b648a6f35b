/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define CUDASPY BUILD_FOLDER "/cudaspy"

static char folder[512];

struct output {
	int status;
	char out[65536], err[8192];
};
static struct output o;

static void slurp(const char *name, char *to, size_t room)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	to[fread(to, 1, room - 1, f)] = '\0';
	fclose(f);
}

/* Runs a shell command in the folder of this test. */
static void sh(const char *command)
{
	char line[2048];

	snprintf(line, sizeof(line), "cd %s && { %s ; } >.out 2>.err", folder, command);
	int status = system(line);
	o.status = WEXITSTATUS(status);
	slurp(".out", o.out, sizeof(o.out));
	slurp(".err", o.err, sizeof(o.err));
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %s; stderr: %s", part, text, o.err);
}

/* One line on stderr, nothing on stdout, exit status 2. */
static void complains(const char *command, const char *part)
{
	sh(command);
	assert_int_equal(o.status, 2);
	assert_string_equal(o.out, "");
	has(o.err, part);
	assert_ptr_equal(strchr(o.err, '\n'), o.err + strlen(o.err) - 1);
}

static void write_run(const char *name, const char *run_id, uint64_t pid)
{
	struct made m;
	char path[600];

	made_sample(&m, MADE_AREAS);
	memset(made_header(&m)->run_id, 0, sizeof(made_header(&m)->run_id));
	strcpy(made_header(&m)->run_id, run_id);
	made_header(&m)->pid = pid;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	made_write(&m, path);
	made_free(&m);
}

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), BUILD_FOLDER "/tests/unit/cli.XXXXXX");
	unsetenv("CUDASPY_RUN_ID");
	unsetenv("CUDASPY_OUT");
	unsetenv("CUDASPY_LIB");
	unsetenv("COLUMNS");
	/* A sanitized build must come first among the preloaded libraries; here something else is
	 * on purpose. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void test_usage(void **state)
{
	sh(CUDASPY " help");
	assert_int_equal(o.status, 0);
	has(o.out, "report");
	sh(CUDASPY " --version");
	assert_int_equal(o.status, 0);
	has(o.out, "cudaspy ");
	sh(CUDASPY " help report && " CUDASPY " run --help");
	assert_int_equal(o.status, 0);
	has(o.out, "--full-names");
	has(o.out, "--trace-max");
	complains(CUDASPY, "no command");
	complains(CUDASPY " reprot", "did you mean report?");
	complains(CUDASPY " report --frmat=json", "did you mean --format?");
	complains(CUDASPY " report --json", "did you mean --format json?");
	complains(CUDASPY " check --junit", "did you mean --format junit?");
	complains(CUDASPY " report --default", "see cudaspy report --help");
	complains(CUDASPY " report --format jso", "did you mean json?");
	complains(CUDASPY " report --limit x", "--limit x");
	complains(CUDASPY " report -z", "-z");
	complains(CUDASPY " report --format", "needs a value");
	complains(CUDASPY " report --full-names=1", "takes no value");
	complains(CUDASPY " run", "no command given");
	complains(CUDASPY " run --gpu al -- true", "--gpu al");
}

static void test_choice_of_files(void **state)
{
	complains(CUDASPY " report", "no recording");
	complains(CUDASPY " report .", "no recording");
	complains(CUDASPY " report none.cudaspy", "none.cudaspy: No such file");
	write_run("a.cudaspy", "run-one", 1);
	write_run("b.cudaspy", "run-one", 2);
	sh("touch -d '2020-01-01' a.cudaspy && " CUDASPY " report");
	assert_int_equal(o.status, 0);
	has(o.err, "b.cudaspy");
	sh(CUDASPY " report a.cudaspy");
	assert_int_equal(o.status, 0);
	assert_string_equal(o.err, "");
	sh(CUDASPY " report -f json a.cudaspy b.cudaspy");
	assert_int_equal(o.status, 0);
	has(o.out, "\"calls\": 58");
	sh(CUDASPY " report .");
	assert_int_equal(o.status, 0);
	assert_string_equal(o.err, "");
	has(o.out, "2 processes");
	complains(CUDASPY " report a.cudaspy ./a.cudaspy", "same file");
	write_run("c.cudaspy", "run-two", 3);
	complains(CUDASPY " report a.cudaspy c.cudaspy", "different runs");
	sh("touch -d '2020-01-01' a.cudaspy b.cudaspy && " CUDASPY " report --all .");
	assert_int_equal(o.status, 0);
	has(o.err, "several runs");
	has(o.out, "process     3 on");
	sh("echo no recording >foreign.cudaspy; " CUDASPY " report foreign.cudaspy");
	assert_int_equal(o.status, 2);
	has(o.err, "not a cudaspy recording");
	sh("cp a.cudaspy -- --help; " CUDASPY " report -- --help");
	assert_int_equal(o.status, 0);
}

/* Without the backslashes of Markdown. */
static void with_names(const char *format, const char *how)
{
	char command[256];

	snprintf(command, sizeof(command),
	         "COLUMNS=160 " CUDASPY " report w.cudaspy -f %s --names %s | tr -d '\\\\'", format,
	         how);
	sh(command);
}

/* Of w.cudaspy. */
static void check_names(void)
{
	static const char full[] =
	        "void vector_add<float>(float const*, float const*, float*, int)";
	static const char mangled[] = "_Z10vector_addIfEvPKT_S2_PS0_i";
	static const char *const formats[] = {"text --all", "md", "csv --table kernels"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		with_names(formats[i], "full");
		has(o.out, full);
		with_names(formats[i], "short");
		has(o.out, "vector_add<float>");
		assert_null(strstr(o.out, full));
		with_names(formats[i], "mangled");
		has(o.out, mangled);
		assert_null(strstr(o.out, "vector_add<float>"));
	}
	complains(CUDASPY " report w.cudaspy -f json --names mangled",
	          "--names changes nothing in --format json");
	sh(CUDASPY " report w.cudaspy -f json");
	has(o.out, full);
	assert_null(strstr(o.out, mangled));
	complains(CUDASPY " report w.cudaspy --names fulll", "did you mean full?");
}

static void test_writing(void **state)
{
	write_run("w.cudaspy", "run-w", 1);
	sh(CUDASPY " report w.cudaspy -o out.json -f json");
	assert_int_equal(o.status, 0);
	assert_string_equal(o.out, "");
	sh("cat out.json");
	has(o.out, "cudaspy.report/1");
	/* a report that fails leaves the file of an earlier one */
	sh(CUDASPY " report none -o out.json; cat out.json");
	has(o.out, "cudaspy.report/1");
	complains(CUDASPY " report w.cudaspy -o /nonexistent/x", "/nonexistent/x");
	sh("test -c /dev/full || exit 77; " CUDASPY " report w.cudaspy >/dev/full");
	if (o.status != 77) {
		assert_int_equal(o.status, 2);
		has(o.err, "No space left");
		sh(CUDASPY " help >/dev/full");
		assert_int_equal(o.status, 2);
	}
	/* a reader that goes away is nothing to complain of */
	sh("{ " CUDASPY " report w.cudaspy; echo $? >status; } | true; sleep 0.2; cat status");
	assert_string_equal(o.err, "");
	sh(CUDASPY " report -f csv --table kernels -n 1 w.cudaspy");
	assert_int_equal(o.status, 0);
	has(o.out, "\"void vector_add<float>(float const*, float const*, float*, int)\",15,");
	assert_null(strstr(o.out, "scale"));
	sh(CUDASPY " report --all --sort name -n all --full-names --threads all w.cudaspy");
	has(o.out, "void vector_add<float>(float const*, float const*, float*, int)");
	has(o.out, "4712 worker");
	check_names();
}

/* What the command gets to see; a file takes the library's place, which the loader warns of and
 * goes on. */
static void test_run(void **state)
{
	sh("mkdir x && touch libfake.so && CUDASPY_LIB=$PWD/libfake.so " CUDASPY
	   " run --gpu sample --keep 8 --trace --trace-max 1G --range 1:2 --ring 64 --budget 2 -q "
	   "-o "
	   "x/%p.cudaspy "
	   "-- sh -c 'env; exit 7' --gpu on");
	assert_int_equal(o.status, 7);
	has(o.out, "/libfake.so\n");
	has(o.out, "CUDASPY_GPU=sample\n");
	has(o.out, "CUDASPY_KEEP=8\n");
	has(o.out, "CUDASPY_TRACE=1\n");
	has(o.out, "CUDASPY_TRACE_MAX=1G\n");
	has(o.out, "CUDASPY_RANGE=1:2\n");
	has(o.out, "CUDASPY_RING=64\n");
	has(o.out, "CUDASPY_BUDGET=2\n");
	has(o.out, "CUDASPY_QUIET=1\n");
	has(o.out, "/x/%p.cudaspy\n");
	has(o.out, "CUDASPY_OUT=/");
	const char *id = strstr(o.out, "CUDASPY_RUN_ID=");
	assert_non_null(id);
	assert_int_equal(strspn(id + 15, "0123456789abcdef"), 16);
	sh("CUDASPY_RUN_ID=mine LD_PRELOAD=libm.so.6 CUDASPY_LIB=$PWD/libfake.so " CUDASPY
	   " run env");
	has(o.out, "/libfake.so:libm.so.6\n");
	has(o.out, "CUDASPY_RUN_ID=mine\n");
	sh("CUDASPY_LIB=$PWD/libfake.so " CUDASPY " run -- no-such-command");
	assert_int_equal(o.status, 127);
	has(o.err, "no-such-command: command not found");
	sh("CUDASPY_LIB=$PWD/libfake.so " CUDASPY " run -- ./libfake.so");
	assert_int_equal(o.status, 126);
	complains("CUDASPY_LIB=/nonexistent/lib.so " CUDASPY " run -- true",
	          "libcudaspy.so not found");
	complains("mkdir -p 'a b' && cp libfake.so 'a b' && CUDASPY_LIB=\"$PWD/a "
	          "b/libfake.so\" " CUDASPY " run true",
	          "cannot be preloaded");
}

static void test_run_report(void **state)
{
	write_run("r.cudaspy", "run-r", 1);
	sh("touch libfake.so; CUDASPY_RUN_ID=run-r CUDASPY_LIB=$PWD/libfake.so " CUDASPY
	   " run --report -- sh -c 'exit 3'");
	assert_int_equal(o.status, 3);
	has(o.out, "vector_add<float>");
	has(o.out, "cudaspy report --all");
	sh("CUDASPY_RUN_ID=run-none CUDASPY_LIB=$PWD/libfake.so " CUDASPY " run --report -- true");
	assert_int_equal(o.status, 0);
	has(o.err, "no recording");
	sh("CUDASPY_LIB=$PWD/libfake.so " CUDASPY " run --report -- sh -c 'kill -9 $$'");
	assert_int_equal(o.status, 128 + SIGKILL);
	sh("CUDASPY_LIB=$PWD/libfake.so " CUDASPY " run --report -- ./libfake.so");
	assert_int_equal(o.status, 126);
	/* a signal sent to cudaspy reaches the command */
	sh("CUDASPY_LIB=$PWD/libfake.so " CUDASPY
	   " run --report -- sh -c 'trap \"echo got it; exit 5\" TERM; touch ready; while :; do "
	   "sleep 0.05; done' & "
	   "p=$!; while ! test -e ready; do sleep 0.05; done; kill -TERM $p; wait $p");
	assert_int_equal(o.status, 5);
	has(o.out, "got it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_usage, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_choice_of_files, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_writing, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_run, make_folder, remove_folder),
	        cmocka_unit_test_setup_teardown(test_run_report, make_folder, remove_folder),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
