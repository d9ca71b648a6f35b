/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/cli/child.h"
#include "report/cli/commands.h"
#include "report/cli/report_request.h"
#include "report/base/complain.h"
#include "report/reader/find.h"
#include "report/reader/reader.h"
#include "report/cli/options.h"
#include "report/cli/run_output.h"
#include "report/cli/run_preload.h"
#include "report/cli/target.h"
#include "shim/core/options/options.h"

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

static void write_page(const struct find_list *list)
{
	struct report_request request;
	char *name = run_output_page(list->paths[0]);

	umask(077); /* for its owner alone, as the recording is */
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
	run_output_wait(&list);
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

static int check_run_id(void)
{
	static const char *const names[] = {"CUDASPY_RUN_ID", "CUDASPY_RUN"};

	for (int i = 0; i < 2; i++) {
		const char *id = getenv(names[i]);
		if (!id || strlen(id) <= RECORDING_RUN_ID_MOST)
			continue;
		complain("run: %s=%.40s...: more than %zu characters", names[i], id,
		         RECORDING_RUN_ID_MOST);
		return -1;
	}
	return 0;
}

/* Options stand in variables of their own by now. -1 when one line was written. */
static int check_variables(const bool *given)
{
	const struct spy_option *wrong = preload_wrong_variable();
	const char *option = NULL;

	for (int i = OUTPUT; i < REPORT && wrong; i++)
		if (given[i] && variables[i] && !strcmp(variables[i], wrong->name))
			option = rows[i].name;
	if (option)
		complain("run: --%s %s is not %s", option, getenv(wrong->name), wrong->wanted);
	else if (wrong)
		complain("run: %s=%s is not %s", wrong->name, getenv(wrong->name), wrong->wanted);
	return wrong ? -1 : check_run_id();
}

/* Options that need another one, or its variable. -1 when one line was written. */
static int check_alone(const bool *given)
{
	const char *trace = getenv("CUDASPY_TRACE"), *gpu = getenv("CUDASPY_GPU");
	const char *out = getenv("CUDASPY_OUT");

	if (given[FORCE] && !(out && *out))
		complain("run: --force changes nothing without --output");
	else if (given[TRACE_MAX] && !(trace && !strcmp(trace, "1")))
		complain("run: --trace-max changes nothing without --trace");
	else if (given[BUDGET] && gpu && !strcmp(gpu, "off"))
		complain("run: --budget changes nothing with --gpu off: nothing is sampled");
	else
		return 0;
	return -1;
}

static int run_command(char **command, const bool *given)
{
	struct target t;
	char *library = preload_library("run");

	if (!library)
		return EXIT_TROUBLE;
	target_examine(&t, command[0]);
	if (!t.path || access(t.path, X_OK)) {
		int why = t.path ? errno : ENOENT;
		target_free(&t);
		free(library);
		return preload_cannot_execute("run", command[0], why);
	}
	if (t.foreign)
		complain("run: %s: %s", t.program, t.foreign);
	if (t.foreign || run_output_prepare(given[FORCE], given[HTML])) {
		target_free(&t);
		free(library);
		return EXIT_TROUBLE;
	}
	if (t.unobserved)
		complain("run: %s cannot be observed: %s", t.program, t.unobserved);
	preload_set(library, &t);
	preload_run_id(false);
	free(library);
	target_free(&t);
	if (!given[REPORT] && !given[HTML]) {
		execvp(command[0], command);
		return preload_cannot_execute("run", command[0], errno);
	}
	struct child child = {.command = command};
	int why = child_run(&child);
	if (why)
		return preload_cannot_execute("run", command[0], why);
	print_report(given);
	return child.status;
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
			return check_variables(given) || check_alone(given)
			               ? EXIT_TROUBLE
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
			preload_variable(variables[option], value ? value : "1");
	}
	complain("run: no command given; see cudaspy run --help");
	return EXIT_TROUBLE;
}
