/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/cli/child.h"
#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/reader/find.h"
#include "report/cli/options.h"
#include "report/cli/run_output.h"
#include "report/cli/target.h"
#include "shim/core/options/options.h"

#define EXIT_NOT_EXECUTABLE 126 /* as shells and env have it */
#define EXIT_NOT_FOUND      127

/* 2 s in all. */
#define DYING_LOOKS   200
#define DYING_LOOK_NS 10000000

enum {
	OUTPUT,
	FORCE,
	GPU,
	RANGE,
	KEEP,
	TRACE,
	TRACE_MAX,
	RING,
	BUDGET,
	SITES,
	QUIET,
	REPORT,
	HTML,
	HELP
};

static const struct option_row rows[] = {
        [OUTPUT] = {"output", 'o', "FILE|FOLDER", "where recordings go (CUDASPY_OUT)"},
        [FORCE] = {"force", 0, NULL, "replace the recording that --output names"},
        [GPU] = {"gpu", 0, "MODE", "sample, cupti or off (CUDASPY_GPU)"},
        [RANGE] = {"range", 0, "RANGE", "all, profiler, or DELAY:DURATION in s (CUDASPY_RANGE)"},
        [KEEP] = {"keep", 0, "MIB", "of recent records to keep (CUDASPY_KEEP)"},
        [TRACE] = {"trace", 0, NULL, "keep every record (CUDASPY_TRACE=1)"},
        [TRACE_MAX] = {"trace-max", 0, "SIZE", "of what --trace keeps (CUDASPY_TRACE_MAX)"},
        [RING] = {"ring", 0, "RECORDS", "of a thread's ring at most (CUDASPY_RING)"},
        [BUDGET] = {"budget", 0, "PERCENT", "of a thread's time for sampling (CUDASPY_BUDGET)"},
        [SITES] = {"sites", 0, "WHICH", "on, all or off: where calls are made (CUDASPY_SITES)"},
        [QUIET] = {"quiet", 'q', NULL, "no closing line (CUDASPY_QUIET=1)"},
        [REPORT] = {"report", 'r', NULL, "print the report when the command has ended"},
        [HTML] = {"html", 0, NULL, "then write the report as a page beside the recording"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

/* The variable that stands for an option; its value is the option's, or 1. */
static const char *const variables[] = {
        [OUTPUT] = "CUDASPY_OUT",
        [GPU] = "CUDASPY_GPU",
        [RANGE] = "CUDASPY_RANGE",
        [KEEP] = "CUDASPY_KEEP",
        [TRACE] = "CUDASPY_TRACE",
        [TRACE_MAX] = "CUDASPY_TRACE_MAX",
        [RING] = "CUDASPY_RING",
        [BUDGET] = "CUDASPY_BUDGET",
        [SITES] = "CUDASPY_SITES",
        [QUIET] = "CUDASPY_QUIET",
        [HELP] = NULL,
};

static void set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		alloc_failed();
}

/* libcudaspy.so: as $CUDASPY_LIB says, beside this program, or in the lib folder beside its folder
 * (free it). */
static char *find_library(void)
{
	const char *named = getenv("CUDASPY_LIB");
	char self[PATH_MAX];

	if (named && *named)
		return access(named, R_OK) ? NULL : realpath(named, NULL);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	static const char *const places[] = {"libcudaspy.so", "../lib/libcudaspy.so",
	                                     "../lib64/libcudaspy.so"};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = alloc_format("%s/%s", self, places[i]);
		char *real = access(path, R_OK) ? NULL : realpath(path, NULL);
		free(path);
		if (real)
			return real;
	}
	return NULL;
}

/* The sanitizer first, as it insists; then this library; then what was preloaded before. */
static void set_preload(const char *library, const struct target *t)
{
	const char *before = getenv("LD_PRELOAD");
	bool has_before = before && *before;
	bool sanitizer = t->sanitizer && !(has_before && strstr(before, t->sanitizer));
	char *list = alloc_format("%s%s%s%s%s", sanitizer ? t->sanitizer : "", sanitizer ? ":" : "",
	                          library, has_before ? ":" : "", has_before ? before : "");

	/* A sanitizer already in the list stays in front of everything. */
	if (has_before && t->sanitizer && !sanitizer) {
		free(list);
		list = alloc_format("%s:%s", before, library);
	}
	set_variable("LD_PRELOAD", list);
	free(list);
}

/* Each instance of NVTX in the command looks there for a tool; whoever has set it keeps it. */
static void set_nvtx(const char *library)
{
	const char *before = getenv("NVTX_INJECTION64_PATH");

	if (!before || !*before)
		set_variable("NVTX_INJECTION64_PATH", library);
}

/* One id for all processes that the command starts. */
static void set_run_id(void)
{
	uint64_t random;
	char id[17];

	if (getenv("CUDASPY_RUN_ID") && *getenv("CUDASPY_RUN_ID"))
		return;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		random = ((uint64_t)now.tv_nsec << 34) ^ ((uint64_t)now.tv_sec << 20) ^
		         (uint64_t)getpid();
	}
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)random);
	set_variable("CUDASPY_RUN_ID", id);
}

/* A process that was killed with the command, or by it, may not have ended yet. */
static void wait_for_dying(const struct find_list *list)
{
	const struct timespec pause = {.tv_nsec = DYING_LOOK_NS};

	for (int look = 0; look < DYING_LOOKS; look++) {
		bool dying = false;
		for (size_t i = 0; i < list->count && !dying; i++)
			dying = recording_is_dying(list->paths[i]);
		if (!dying)
			return;
		nanosleep(&pause, NULL);
	}
}

/* A recording's name with another ending (free it). */
static char *page_name(const char *recording)
{
	size_t bytes = strlen(recording), ending = strlen(".cudaspy");
	bool ends = bytes > ending && !strcmp(recording + bytes - ending, ".cudaspy");
	char *stem = alloc_copy(recording, ends ? bytes - ending : bytes);
	char *name = alloc_format("%s.html", stem);

	free(stem);
	return name;
}

static void write_page(const struct find_list *list)
{
	struct report_request request;
	char *name = page_name(list->paths[0]);

	report_defaults(&request);
	report_as_page(&request);
	if (pipeline_report(&request, name, list->paths, list->count) == EXIT_DONE)
		complain("page: %s", name);
	report_forget(&request);
	free(name);
}

static void print_report(const bool *given)
{
	struct report_request request;
	struct find_list list;
	char *folder = run_output_folder();

	find_run(&list, folder, getenv("CUDASPY_RUN_ID"));
	wait_for_dying(&list);
	if (list.count && given[REPORT]) {
		report_defaults(&request);
		pipeline_report(&request, NULL, list.paths, list.count);
	}
	if (list.count && given[HTML])
		write_page(&list);
	if (!list.count)
		complain("run: no recording in %s: the command used no CUDA, or could not be "
		         "observed",
		         folder);
	find_free(&list);
	free(folder);
}

static int cannot_execute(const char *command, int why)
{
	bool missing = why == ENOENT || why == ENOTDIR;

	complain("run: %s: %s", command, missing ? "command not found" : strerror(why));
	return missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int check_run_id(void)
{
	const char *id = getenv("CUDASPY_RUN_ID");
	size_t most = sizeof(((struct tf_header *)NULL)->run_id) - 1;

	if (!id || strlen(id) <= most)
		return 0;
	complain("run: CUDASPY_RUN_ID=%.40s...: more than %zu characters", id, most);
	return -1;
}

/* What the shim would say only when the program runs. Options stand in variables of their own by
 * now. -1 when one line was written. */
static int check_variables(const bool *given)
{
	for (const struct spy_option *o = spy_option_rows; o->name; o++) {
		const char *value = getenv(o->name), *option = NULL;
		if (!value || o->read(value))
			continue;
		for (int i = OUTPUT; i < REPORT; i++)
			if (given[i] && variables[i] && !strcmp(variables[i], o->name))
				option = rows[i].name;
		if (option)
			complain("run: --%s %s is not %s", option, value, o->wanted);
		else
			complain("run: %s=%s is not %s", o->name, value, o->wanted);
		return -1;
	}
	return check_run_id();
}

static int run_command(char **command, const bool *given)
{
	struct target t;
	char *library = find_library();
	int status;

	if (!library) {
		complain(
		        "run: libcudaspy.so not found beside this program or as $CUDASPY_LIB says");
		return EXIT_TROUBLE;
	}
	if (strpbrk(library, " :")) {
		complain("run: %s: a path with a blank or a colon cannot be preloaded", library);
		free(library);
		return EXIT_TROUBLE;
	}
	target_examine(&t, command[0]);
	if (!t.path || access(t.path, X_OK)) {
		int why = t.path ? errno : ENOENT;
		target_free(&t);
		free(library);
		return cannot_execute(command[0], why);
	}
	if (t.foreign)
		complain("run: %s: %s", t.program, t.foreign);
	if (t.foreign || run_output_prepare(given[FORCE])) {
		target_free(&t);
		free(library);
		return EXIT_TROUBLE;
	}
	if (t.unobserved)
		complain("run: %s cannot be observed: %s", t.program, t.unobserved);
	set_preload(library, &t);
	set_nvtx(library);
	set_run_id();
	free(library);
	target_free(&t);
	if (!given[REPORT] && !given[HTML]) {
		execvp(command[0], command);
		return cannot_execute(command[0], errno);
	}
	int why = child_run(command, &status);
	if (why)
		return cannot_execute(command[0], why);
	print_report(given);
	return status;
}

int cmd_run(int count, char **args)
{
	struct option_reader reader = {.command = "run",
	                               .rows = rows,
	                               .args = args,
	                               .count = count,
	                               .stop_at_operand = true};
	const char *value;
	bool given[HELP + 1] = {false};
	int option;

	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_WRONG)
			return EXIT_TROUBLE;
		if (option == OPTION_OPERAND)
			return check_variables(given) ? EXIT_TROUBLE
			                              : run_command(args + reader.at - 1, given);
		if (option == HELP) {
			option_help("cudaspy run [OPTIONS] [--] COMMAND [ARGUMENTS...]",
			            "Runs COMMAND with libcudaspy.so preloaded. Each process that "
			            "uses CUDA leaves a\n"
			            "recording (*.cudaspy), for cudaspy report.",
			            rows);
			return out_close(stdout, "standard output");
		}
		if (option == GPU &&
		    option_choice("run", "gpu", value,
		                  (const char *const[]){"sample", "cupti", "off", NULL}) < 0)
			return EXIT_TROUBLE;
		given[option] = true;
		if (variables[option])
			set_variable(variables[option], value ? value : "1");
	}
	complain("run: no command given; see cudaspy run --help");
	return EXIT_TROUBLE;
}
