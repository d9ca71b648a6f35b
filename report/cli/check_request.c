/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/cli/check_request.h"
#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/cli/options.h"

enum {
	BASELINE,
	CONFIG,
	LIMIT,
	EXPECT_KERNEL,
	STEPS,
	SKIP_STEPS,
	STEPS_FROM,
	ALLOW_KILLED,
	SAVE,
	FORMAT,
	OUTPUT,
	SOURCE_ROOT,
	EXPLAIN,
	LIST,
	HELP
};

static const char *const format_names[] = {"text", "json", "md", "junit", "github", NULL};

static const struct option_row rows[] = {
        [BASELINE] = {"baseline", 'b', "FILE", "compare with this recording, folder or baseline"},
        [CONFIG] = {"config", 'c', "FILE", "read rules from FILE (default: ./cudaspy.toml)"},
        [LIMIT] = {"limit", 'l', "RULE", "judge by RULE; may be given several times"},
        [EXPECT_KERNEL] = {"expect-kernel", 0, "REGEX",
                           "fail unless a kernel of that name ran; may be given several times"},
        [STEPS] = {"steps", 0, "N", "a run has N steps: totals are divided by it"},
        [SKIP_STEPS] = {"skip-steps", 0, "N", "leave the first N steps of a process out"},
        [STEPS_FROM] = {"steps-from", 0, "NAME", "the steps are the NVTX ranges of this name"},
        [ALLOW_KILLED] = {"allow-killed", 0, NULL, "judge killed and running processes too"},
        [SAVE] = {"save-baseline", 0, "FILE", "judge nothing, write a baseline of the recordings"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, md, junit or github",
                    format_names},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [SOURCE_ROOT] = {"source-root", 0, "FOLDER", "where recorded source files lie here"},
        [EXPLAIN] = {"explain", 0, "RULE", "say what RULE means, judge nothing"},
        [LIST] = {"metrics", 0, NULL, "list what rules can be about"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const struct option_use uses[] = {
        {SOURCE_ROOT, "json github"},
        {0},
};

static void (*const formats[])(const struct out_check *, const struct out_options *) = {
        out_check_text, out_check_json, out_check_markdown, out_check_junit, out_check_github};

static int read_steps(struct check_request *r, bool skip, const char *value)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || (!n && !skip) || n > 1000000000000ull) {
		complain("check: --%s %s: no whole number%s", skip ? "skip-steps" : "steps", value,
		         skip ? "" : " from 1 on");
		return -1;
	}
	if (skip)
		r->config.skip_steps = n;
	else
		r->config.steps = (double)n;
	r->config.steps_given = true;
	return 0;
}

/* One option; -1 when the error was written. */
static int read_option(struct check_request *r, int option, const char *value)
{
	int choice;

	switch (option) {
	case BASELINE:
		r->baseline = value;
		return 0;
	case CONFIG:
		r->config_file = value;
		return 0;
	case LIMIT:
		r->limits[r->limit_count++] = (char *)value;
		return 0;
	case EXPECT_KERNEL:
		r->expected++;
		return config_expect(&r->config, value);
	case STEPS:
	case SKIP_STEPS:
		return read_steps(r, option == SKIP_STEPS, value);
	case STEPS_FROM:
		free(r->config.steps_from);
		r->config.steps_from = alloc_string(value);
		r->config.steps_given = true;
		return 0;
	case ALLOW_KILLED:
		r->config.allow_killed = true;
		return 0;
	case SAVE:
		r->save = value;
		return 0;
	case FORMAT:
		choice = option_choice("check", "format", value, format_names);
		r->write = choice < 0 ? NULL : formats[choice];
		return choice < 0 ? -1 : 0;
	case OUTPUT:
		r->output = option_output(value);
		return 0;
	case SOURCE_ROOT:
		r->config.source_root = value;
		return option_folder("check", "source-root", value);
	case EXPLAIN:
		r->explain = value;
		return 0;
	case LIST:
		r->list = true;
		return 0;
	}
	return -1;
}

enum check_asked check_request_read(struct check_request *r, int count, char **args)
{
	struct option_reader reader = {
	        .command = "check", .rows = rows, .args = args, .count = count};
	const char *value;
	int option;

	*r = (struct check_request){.write = out_check_text,
	                            .names = alloc_zeroed((size_t)count + 1, sizeof(*r->names)),
	                            .limits = alloc_zeroed((size_t)count + 1, sizeof(*r->limits))};
	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND)
			r->names[r->count++] = (char *)value;
		else if (option == HELP)
			return CHECK_HELP;
		else if (option == OPTION_WRONG || read_option(r, option, value))
			return CHECK_WRONG;
	}
	if (option_uses(&reader, uses, "text", NULL) || option_beside(&reader, LIST, 0) ||
	    option_beside(&reader, EXPLAIN, 0) ||
	    option_beside(&reader, SAVE,
	                  OPTION_BIT(STEPS) | OPTION_BIT(SKIP_STEPS) | OPTION_BIT(STEPS_FROM) |
	                          OPTION_BIT(ALLOW_KILLED)))
		return CHECK_WRONG;
	if (r->count && (r->list || r->explain)) {
		complain("check: %s: --%s judges no recording", r->names[0],
		         rows[r->list ? LIST : EXPLAIN].name);
		return CHECK_WRONG;
	}
	return config_steps_agree(&r->config) ? CHECK_WRONG : CHECK_JUDGE;
}

/* "rules.toml:3:5", or "check" of one of the command line (free it). */
static char *where(const struct rule *r)
{
	return r->file ? alloc_format("%s:%u:%u", r->file, r->line, r->column)
	               : alloc_string("check");
}

/* A rule against the baseline, and no baseline. */
static int has_baseline(const struct check_request *r)
{
	for (size_t i = 0; i < r->config.rule_count; i++) {
		const struct rule *rule = &r->config.rules[i];
		if (!rule->relative || r->baseline)
			continue;
		char *at = where(rule);
		complain("%s: %s is against a baseline%s", at, rule->text,
		         rule->file ? ", and there is none" : ": --baseline FILE");
		free(at);
		return -1;
	}
	return 0;
}

static void say_what_holds_always(const struct config *c)
{
	for (size_t i = 0; i < c->rule_count; i++) {
		if (!rule_holds_always(&c->rules[i]))
			continue;
		char *at = where(&c->rules[i]);
		complain("%s: no run can fail the rule %s", at, c->rules[i].text);
		free(at);
	}
}

int check_request_rules(struct check_request *r)
{
	const char *file = r->config_file;

	if (!file && !r->limit_count && !access("cudaspy.toml", F_OK)) {
		file = "cudaspy.toml";
		complain("rules are those of cudaspy.toml in this folder");
	}
	if (file && config_read(&r->config, file))
		return -1;
	for (size_t i = 0; i < r->limit_count; i++)
		if (config_limit(&r->config, r->limits[i]))
			return -1;
	if (!r->baseline && r->config.baseline) {
		r->baseline = r->config.baseline;
		if (access(r->baseline, R_OK)) {
			complain("%s:%u:%u: baseline %s: %s", file, r->config.baseline_line,
			         r->config.baseline_column, r->baseline, strerror(errno));
			return -1;
		}
	}
	if (r->config.rule_count == r->expected) {
		if (!r->baseline && !r->expected) {
			complain("check: neither a rule nor a baseline: see cudaspy check --help");
			return -1;
		}
		if (r->baseline)
			config_default_rules(&r->config);
	}
	if (out_over_input(r->output, file, "rules") ||
	    out_over_input(r->output, r->baseline, "baseline"))
		return -1;
	say_what_holds_always(&r->config);
	return has_baseline(r);
}

int check_request_help(void)
{
	option_help("cudaspy check [--baseline FILE] [--config FILE] [--limit RULE]...\n"
	            "                     [--expect-kernel REGEX]... FILE...\n"
	            "       cudaspy check --save-baseline FILE RECORDING...",
	            "Judges recordings by rules, such as 'launches <= +0' (against the "
	            "baseline),\n'pageable_copies = 0' or 'launch_p50_ns <= +15%'. Without a "
	            "rule no count may\nrise. Several FILEs are repeats; a folder is one run. "
	            "Exit status: 0 all rules\npassed, 1 one failed, 2 wrong usage or input, 3 "
	            "none failed but one has no answer.",
	            rows);
	return out_close(stdout, "standard output");
}

void check_request_free(struct check_request *r)
{
	config_free(&r->config);
	free(r->names);
	free(r->limits);
	*r = (struct check_request){0};
}
