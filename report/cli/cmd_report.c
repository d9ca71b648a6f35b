/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/reader/find.h"
#include "report/cli/options.h"
#include "report/cli/report_request.h"
#include "report/cli/terminal.h"

enum {
	FORMAT,
	ALL,
	SECTION,
	TOP,
	SORT,
	LIMIT,
	TABLE,
	FULL_NAMES,
	NAMES,
	THREADS,
	SITES,
	ALL_FRAMES,
	SOURCE_ROOT,
	SKIP_STEPS,
	STEPS_FROM,
	PHASE,
	UNIT_PER_STEP,
	EXPECT_KERNEL,
	WHAT_IF,
	COLOR,
	NO_PAGER,
	OUTPUT,
	HELP
};

static const char *const format_names[] = {"text", "brief", "json", "csv", "md", "html", NULL};

static const struct option_row rows[] = {
        [FORMAT] = {"format", 'f', "FORMAT", "text (default), brief, json, csv, md or html",
                    format_names},
        [ALL] = {"all", 'a', NULL, "everything, not the first screen alone"},
        [SECTION] = {"section", 0, "NAME",
                     "this section alone, may be given again: run, findings, what-if, processes, "
                     "phases, timeline, gpu, streams, sites, host, steps, nvtx, kernels, "
                     "occupancy, apis, copies, calls, graphs, gaps"},
        [TOP] = {"top", 0, "N", "so many kernels on the first screen, rows in other tables"},
        [SORT] = {"sort", 's', "KEY",
                  "gpu (default; of json, csv, html total), total, calls, mean, p50, p99, max, "
                  "failed "
                  "or name"},
        [LIMIT] = {"limit", 'n', "N",
                   "rows of a table at most, or all (default 15; json and csv: all)"},
        [TABLE] = {"table", 0, "TABLE",
                   "of csv: apis (default), kernels, copies, threads or what-if"},
        [FULL_NAMES] = {"full-names", 0, NULL, "--names full: whole kernel names, however long"},
        [NAMES] = {"names", 0, "HOW",
                   "kernels are called full, short (csv: full) or mangled; json: full"},
        [THREADS] = {"threads", 0, "all", "every thread, not only those that matter"},
        [SITES] = {"sites", 0, NULL, "where calls were made, with whole stacks"},
        [ALL_FRAMES] = {"all-frames", 0, NULL, "--sites, with every frame of libraries"},
        [SOURCE_ROOT] = {"source-root", 0, "FOLDER", "where recorded source files lie here"},
        [SKIP_STEPS] = {"skip-steps", 0, "N", "leave the first N steps out of the steps' figures"},
        [STEPS_FROM] = {"steps-from", 0, "NAME", "the steps are the NVTX ranges of this name"},
        [PHASE] = {"phase", 0, "PHASE",
                   "judge all of the run, start or loop N, not the loop with most time"},
        [UNIT_PER_STEP] = {"unit-per-step", 0, "N",
                           "what a step deals with, samples say: prints the throughput"},
        [EXPECT_KERNEL] =
                {"expect-kernel", 0, "REGEX",
                 "say whether a kernel of that name ran; exit 1 if none did, 3 if that is "
                 "not known"},
        [WHAT_IF] = {"what-if", 0, "CHANGE",
                     "predict graphs, pinned, no-sync, no-alloc, overlap, host=0, "
                     "cpu-wait=0, fused, graphs-unchanged, kernel:REGEX=K or all of these; may "
                     "be given again"},
        [COLOR] = {"color", 0, "WHEN", "auto (default: on a terminal), always or never"},
        [NO_PAGER] = {"no-pager", 0, NULL, "no pager on a terminal (PAGER, default less)"},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const struct option_use uses[] = {
        {ALL, "text"},
        {SECTION, "text md"},
        {TOP, "!brief"},
        {LIMIT, "!brief"},
        {TABLE, "csv"},
        {SORT, "text md json html csv:apis csv:kernels"},
        {FULL_NAMES, "text md csv:kernels"},
        {NAMES, "text md csv:kernels"},
        {THREADS, "text md"},
        {SITES, "text md json html"},
        {ALL_FRAMES, "text md json html"},
        {SOURCE_ROOT, "text md json"},
        {SKIP_STEPS, "text brief md json html"},
        {STEPS_FROM, "text brief md json html csv:what-if"},
        {PHASE, "text brief md json html csv:what-if"},
        {UNIT_PER_STEP, "text md json html"},
        {WHAT_IF, "text md json html csv:what-if"},
        {COLOR, "text"},
        {NO_PAGER, "text"},
        {0},
};

static const char *const name_forms[] = {"full", "short", "mangled", NULL};
static const enum out_names forms[] = {NAMES_FULL, NAMES_SHORT, NAMES_MANGLED};
static const char *const colour_names[] = {"auto", "always", "never", NULL};
static void (*const formats[])(const struct model *, const struct analysis *,
                               const struct out_options *) = {out_screen, out_brief,    out_json,
                                                              out_csv,    out_markdown, out_html};

/* Those that no option of `request` is: what of text is written, and how. */
struct text_wanted {
	bool all, sorted, no_pager;
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
};

/* One option; -1 when one line was written. */
static int read_option(struct report_request *request, struct option_reader *reader, int option,
                       const char *value, const char **output, struct text_wanted *wanted)
{
	int choice = 0;

	switch (option) {
	case FORMAT:
		choice = option_choice("report", "format", value, format_names);
		request->write = choice < 0 ? NULL : formats[choice];
		break;
	case ALL:
		wanted->all = true;
		break;
	case SECTION:
		return report_read_section(request, value);
	case TOP:
		return report_read_limit(request, "top", value);
	case COLOR:
		choice = option_choice("report", "color", value, colour_names);
		wanted->colour = choice > 0 ? choice : COLOUR_AUTO;
		break;
	case NO_PAGER:
		wanted->no_pager = true;
		break;
	case SORT:
		choice = option_choice("report", "sort", value, sort_key_names);
		wanted->sorted = true;
		request->sort = choice < 0 ? SORT_TOTAL : (enum model_sort_key)choice;
		break;
	case TABLE:
		choice = option_choice("report", "table", value, out_table_names);
		request->out.table = choice < 0 ? TABLE_APIS : (enum out_table)choice;
		break;
	case THREADS:
		choice = option_choice("report", "threads", value,
		                       (const char *const[]){"all", NULL});
		request->out.all_threads = true;
		break;
	case SITES:
		request->out.sites = true;
		break;
	case ALL_FRAMES:
		request->out.sites = request->out.all_frames = true;
		break;
	case SOURCE_ROOT:
		request->source_root = value;
		return option_folder("report", "source-root", value);
	case LIMIT:
		return report_read_limit(request, "limit", value);
	case SKIP_STEPS:
		request->out.steps_asked = true;
		return report_read_skip(request, value);
	case STEPS_FROM:
		request->out.steps_asked = true;
		request->steps_from = value;
		break;
	case PHASE:
		return report_read_phase(request, reader, value);
	case UNIT_PER_STEP:
		request->out.steps_asked = true;
		return report_read_unit(request, value);
	case EXPECT_KERNEL:
		return report_read_expectation(request, value);
	case WHAT_IF:
		return report_read_whatif(request, value);
	case FULL_NAMES:
		request->out.names = NAMES_FULL;
		break;
	case NAMES:
		choice = option_choice("report", "names", value, name_forms);
		request->out.names = choice < 0 ? NAMES_AS_EVER : forms[choice];
		break;
	case OUTPUT:
		*output = option_output(value);
		break;
	}
	return choice < 0 ? -1 : 0;
}

/* How the options go together. */
static void settle(struct report_request *request, const struct text_wanted *wanted,
                   const char *output)
{
	bool is_text = request->write == out_screen;

	if (is_text && (wanted->all || request->out.sections))
		request->write = out_text;
	if (!wanted->sorted && !is_text && request->write != out_brief &&
	    request->write != out_markdown)
		request->sort = SORT_TOTAL;
	if (output) {
		request->out.colour = false;
		request->out.width = terminal_width(-1);
	} else if (is_text && !wanted->no_pager && pager_is_wanted()) {
		request->show = pager_show;
	}
	if (wanted->colour != COLOUR_AUTO)
		request->out.colour = wanted->colour == COLOUR_ALWAYS;
}

static int report_to(struct report_request *request, const char *output, char **names, size_t count)
{
	struct find_list list;
	int status = EXIT_TROUBLE;

	if (request->write == out_html)
		report_as_page(request);
	if (!find_recordings(&list, names, count))
		status = pipeline_report(request, output, list.paths, list.count);
	find_free(&list);
	return status;
}

int cmd_report(int count, char **args)
{
	struct option_reader reader = {
	        .command = "report", .rows = rows, .args = args, .count = count};
	struct report_request request;
	struct text_wanted wanted = {0};
	char **names = alloc_zeroed((size_t)count + 1, sizeof(*names));
	const char *value, *output = NULL;
	size_t named = 0;
	int option, status = EXIT_TROUBLE;

	/* A reader that goes away is an error of writing, not the end of this process. */
	signal(SIGPIPE, SIG_IGN);
	report_defaults(&request);
	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND) {
			names[named++] = (char *)value;
		} else if (option == HELP) {
			option_help(
			        "cudaspy report [OPTIONS] [FILE|FOLDER...]",
			        "Prints what recordings say. Nothing named: the newest *.cudaspy "
			        "in this folder.\n"
			        "A folder, or several files of one run, are reported as one run.",
			        rows);
			status = out_close(stdout, "standard output");
			goto done;
		} else if (option == OPTION_WRONG ||
		           read_option(&request, &reader, option, value, &output, &wanted)) {
			goto done;
		}
	}
	if (!option_uses(&reader, uses, "text", "apis")) {
		settle(&request, &wanted, output);
		status = report_to(&request, output, names, named);
	}
done:
	report_forget(&request);
	free(names);
	return status;
}
