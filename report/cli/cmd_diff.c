/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/cli/commands.h"
#include "report/cli/report_request.h"
#include "report/gate/baseline.h"
#include "report/output/out_diff.h"
#include "report/base/complain.h"
#include "report/cli/options.h"

enum { BASE, NEW, ALL, STEPS, SKIP_STEPS, STEPS_FROM, FORMAT, LIMIT, FULL_NAMES, OUTPUT, HELP };

static const char *const format_names[] = {"text", "md", "json", "html", NULL};

static const struct option_row rows[] = {
        [BASE] = {"base", 'b', "FILE...", "recordings before; what follows belongs to them"},
        [NEW] = {"new", 'n', "FILE...", "recordings after; what follows belongs to them"},
        [ALL] = {"all", 'a', NULL, "rows that did not change too, and every row of a table"},
        [STEPS] = {"steps", 0, "N", "a run has N steps: totals are divided by it"},
        [SKIP_STEPS] = {"skip-steps", 0, "N", "leave the first N steps of a process out"},
        [STEPS_FROM] = {"steps-from", 0, "NAME", "the steps are the NVTX ranges of this name"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default), md, json or html", format_names},
        [LIMIT] = {"limit", 'l', "N", "rows of a table at most, or all (default 15; json: all)"},
        [FULL_NAMES] = {"full-names", 0, NULL, "whole kernel names, however long"},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const struct option_use uses[] = {
        {ALL, "text md"},
        {FULL_NAMES, "text md"},
        {0},
};

static void (*const formats[])(const struct compare_result *, const struct headline *,
                               const struct out_options *) = {
        out_diff_text, out_diff_markdown, out_diff_json, NULL /* html: write_page() */};

struct names {
	char **items;
	size_t count;
};

struct request {
	struct names before, after, bare; /* bare: what neither --base nor --new came before */
	struct names *into;
	struct report_request look;
	double steps; /* 0 = not said */
	struct run_set_options options;
	const char *output;
	void (*write)(const struct compare_result *, const struct headline *,
	              const struct out_options *);
	bool page;
};

static void add_name(struct names *n, const char *name)
{
	ALLOC_ROOM(n->items, n->count);
	n->items[n->count++] = (char *)name;
}

/* A whole number from `least` on; -1 when one line was written. */
static long long read_number(const char *option, const char *value, long long least)
{
	char *end;
	long long n = strtoll(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !*end && n >= least && n < 1000000000000ll)
		return n;
	complain("diff: --%s %s: no whole number from %lld on", option, value, least);
	return -1;
}

/* One option; -1 when one line was written. */
static int read_option(struct request *r, int option, const char *value)
{
	long long n = 0;
	int choice;

	switch (option) {
	case BASE:
	case NEW:
		r->into = option == BASE ? &r->before : &r->after;
		add_name(r->into, value);
		break;
	case ALL:
		r->look.out.same = true;
		break;
	case STEPS:
		n = read_number("steps", value, 1);
		r->steps = (double)n;
		break;
	case SKIP_STEPS:
		n = read_number("skip-steps", value, 0);
		r->options.skip_steps = (uint64_t)n;
		break;
	case STEPS_FROM:
		r->options.steps_from = value;
		break;
	case FORMAT:
		choice = option_choice("diff", "format", value, format_names);
		r->write = choice < 0 ? NULL : formats[choice];
		r->page = choice >= 0 && !r->write;
		return choice < 0 ? -1 : 0;
	case LIMIT:
		n = strcmp(value, "all") ? read_number("limit", value, 0) : 0;
		r->look.out.limit = strcmp(value, "all") ? (size_t)n : SIZE_MAX;
		r->look.out.limit_given = true;
		break;
	case FULL_NAMES:
		r->look.out.names = NAMES_FULL;
		break;
	case OUTPUT:
		r->output = option_output(value);
		r->look.out.colour = false;
		break;
	}
	return n < 0 ? -1 : 0;
}

/* diff A B, or --base ... --new ...; -1 when one line was written. */
static int sort_names(struct request *r)
{
	if (r->bare.count == 2 && !r->before.count && !r->after.count) {
		add_name(&r->before, r->bare.items[0]);
		add_name(&r->after, r->bare.items[1]);
	} else if (r->bare.count) {
		complain("diff: name two recordings, or use --base FILE... --new FILE...");
		return -1;
	}
	if (r->before.count && r->after.count) {
		if (!(r->steps > 0) || (!r->options.skip_steps && !r->options.steps_from))
			return 0;
		complain("diff: --steps divides whole runs: not together with --skip-steps or "
		         "--steps-from");
		return -1;
	}
	complain("diff: nothing to compare %s: name two recordings, or use --base FILE... --new "
	         "FILE...",
	         r->before.count ? "with" : "from");
	return -1;
}

/* Recordings are never written over; nor is what else is read here. */
static bool over_input(const char *output, const struct names *of)
{
	for (size_t i = 0; i < of->count; i++)
		if (out_over_input(output, of->items[i], "baseline"))
			return true;
	return false;
}

/* Of each side its first recording, where it is none of a baseline, is on the page too. */
static int write_page(const struct request *r, const struct compare_result *c,
                      const struct headline *h)
{
	const char *names[] = {r->before.items[0], r->after.items[0]};
	char *sides[2] = {0};
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++) {
		bool recorded = !baseline_is(names[i]);
		sides[i] = recorded ? pipeline_side(names[i], &r->options) : NULL;
		rc = recorded && !sides[i] ? -1 : 0;
	}
	if (!rc)
		out_diff_html(c, h, &r->look.out, sides[0], sides[1]);
	free(sides[0]);
	free(sides[1]);
	return rc;
}

static int diff(struct request *r)
{
	struct compare_result c = {.steps = r->steps};
	int status = EXIT_TROUBLE;
	struct out_file file;

	r->options.load = pipeline_figures;
	if (!sort_names(r) && !over_input(r->output, &r->before) &&
	    !over_input(r->output, &r->after) &&
	    !run_set_add_all(&c.before, r->before.items, r->before.count, &r->options) &&
	    !run_set_add_all(&c.after, r->after.items, r->after.count, &r->options)) {
		struct headline h;
		if (r->look.out.same && !r->look.out.limit_given)
			r->look.out.limit = SIZE_MAX;
		compare(&c);
		headline_make(&h, &c, NULL, "before", "after");
		r->look.out.to = out_begin(&file);
		int rc = r->page ? write_page(r, &c, &h) : 0;
		if (r->write)
			r->write(&c, &h, &r->look.out);
		headline_free(&h);
		status = rc ? out_drop(&file) : out_end(&file, r->output);
	}
	comparison_free(&c);
	return status;
}

static void request_free(struct request *r)
{
	free(r->before.items);
	free(r->after.items);
	free(r->bare.items);
}

int cmd_diff(int count, char **args)
{
	struct option_reader reader = {
	        .command = "diff", .rows = rows, .args = args, .count = count};
	struct request r = {.write = out_diff_text};
	int option, status = EXIT_TROUBLE;
	const char *value;

	signal(SIGPIPE, SIG_IGN);
	report_defaults(&r.look);
	r.into = &r.bare;
	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND) {
			add_name(r.into, value);
		} else if (option == HELP) {
			option_help("cudaspy diff [OPTIONS] BEFORE AFTER\n"
			            "       cudaspy diff [OPTIONS] --base FILE... --new FILE...",
			            "Says what changed from some recordings to others. Counts are "
			            "exact; times are\njudged where three recordings a side or "
			            "more are given. A file may be a baseline\nof cudaspy check, a "
			            "folder is one run.",
			            rows);
			status = out_close(stdout, "standard output");
			break;
		} else if (option == OPTION_WRONG || read_option(&r, option, value)) {
			break;
		}
	}
	if (option == OPTION_END && !option_uses(&reader, uses, "text", NULL))
		status = diff(&r);
	request_free(&r);
	return status;
}
