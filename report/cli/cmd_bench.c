/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/text.h"
#include "report/cli/bench_run.h"
#include "report/cli/commands.h"
#include "report/cli/report_request.h"
#include "report/cli/options.h"
#include "report/output/out_bench.h"

enum {
	RUNS,
	WARMUP,
	BARE,
	KEEP,
	GPU,
	STEPS,
	SKIP_STEPS,
	STEPS_FROM,
	IGNORE_FAILURE,
	SEPARATOR,
	FORMAT,
	OUTPUT,
	HELP
};

static const char *const format_names[] = {"text", "json", "csv", "md", NULL};

static const struct option_row rows[] = {
        [RUNS] = {"runs", 'n', "N", "how often each command is run and measured (default 10)"},
        [WARMUP] = {"warmup", 'w', "N", "runs before, which are not measured (default 1)"},
        [BARE] = {"bare", 0, NULL, "run each command without the shim too: what recording costs"},
        [KEEP] = {"keep", 'k', "DIR", "keep the recordings there, and what the commands print"},
        [GPU] = {"gpu", 0, "MODE", "sample, cupti or off (CUDASPY_GPU)"},
        [STEPS] = {"steps", 0, "N", "a run has N steps: totals are divided by it"},
        [SKIP_STEPS] = {"skip-steps", 0, "N", "leave the first N steps of a process out"},
        [STEPS_FROM] = {"steps-from", 0, "NAME", "the steps are the NVTX ranges of this name"},
        [IGNORE_FAILURE] = {"ignore-failure", 'i', NULL, "go on when a command fails"},
        [SEPARATOR] = {"separator", 0, "WORD",
                       "what stands between the commands (default --); empty: there is one"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv or md", format_names},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static void (*const formats[])(const struct bench *, const struct out_options *) = {
        out_bench_text, out_bench_json, out_bench_csv, out_bench_markdown};
static const char *const gpu_modes[] = {"sample", "cupti", "off", NULL};

struct request {
	struct bench bench;
	struct bench_plan plan;
	const char *separator, *output;
	struct report_request look;
	void (*write)(const struct bench *, const struct out_options *);
};

/* A whole number; -1 when one line was written. */
static int read_number(const char *option, const char *value, double least, double *to)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	*to = (double)n;
	if (*value >= '0' && *value <= '9' && !*end && *to >= least && *to < 1e12)
		return 0;
	complain("bench: --%s %s: no whole number from %.0f on", option, value, least);
	return -1;
}

static int read_format(struct request *r, const char *value)
{
	int choice = option_choice("bench", "format", value, format_names);

	r->write = choice < 0 ? NULL : formats[choice];
	return choice < 0 ? -1 : 0;
}

/* One option; -1 when one line was written. */
static int read_option(struct request *r, int option, const char *value)
{
	double n = 0;
	int rc = 0;

	switch (option) {
	case RUNS:
		rc = read_number("runs", value, 1, &n);
		r->bench.runs = (size_t)n;
		break;
	case WARMUP:
		rc = read_number("warmup", value, 0, &n);
		r->bench.warmup = (size_t)n;
		break;
	case BARE:
		r->bench.bare = true;
		break;
	case KEEP:
		r->bench.keep = value;
		break;
	case GPU:
		if (option_choice("bench", "gpu", value, gpu_modes) < 0)
			return -1;
		if (setenv("CUDASPY_GPU", value, 1))
			alloc_failed();
		break;
	case STEPS:
		rc = read_number("steps", value, 1, &r->bench.found.steps);
		break;
	case SKIP_STEPS:
		rc = read_number("skip-steps", value, 0, &n);
		r->plan.figures.skip_steps = (uint64_t)n;
		break;
	case STEPS_FROM:
		r->plan.figures.steps_from = value;
		break;
	case IGNORE_FAILURE:
		r->plan.ignore_failure = true;
		break;
	case SEPARATOR:
		r->separator = value;
		break;
	case FORMAT:
		return read_format(r, value);
	case OUTPUT:
		r->output = option_output(value);
		r->look.out.colour = false;
		break;
	}
	return rc;
}

static char *command_text(char *const *command)
{
	char *line = NULL, *text;
	size_t bytes = 0;
	FILE *to = open_memstream(&line, &bytes);

	if (!to)
		alloc_failed();
	for (; *command; command++)
		fwrite(*command, 1, strlen(*command) + 1, to);
	if (fclose(to))
		alloc_failed();
	text = text_command(line, bytes);
	free(line);
	return text;
}

/* What follows the options: a command, or two with the separator between. */
static int read_commands(struct request *r, char **args)
{
	static const char *const labels[] = {"A", "B"};
	struct bench *b = &r->bench;
	size_t n = 0;

	r->plan.commands[n++] = args;
	for (char **a = args; *a; a++) {
		if (!*r->separator || strcmp(*a, r->separator) != 0)
			continue;
		if (n == BENCH_SIDES) {
			complain("bench: more than two commands; --separator WORD where a command "
			         "has a %s of its own",
			         r->separator);
			return -1;
		}
		*a = NULL;
		r->plan.commands[n++] = a + 1;
	}
	for (size_t i = 0; i < n; i++) {
		if (!*r->plan.commands[i]) {
			complain("bench: command %s is empty", labels[i]);
			return -1;
		}
		b->sides[i].label = labels[i];
		b->sides[i].command = command_text(r->plan.commands[i]);
	}
	b->side_count = n;
	if (!(b->found.steps > 0) || (!r->plan.figures.skip_steps && !r->plan.figures.steps_from))
		return 0;
	complain("bench: --steps divides whole runs: not together with --skip-steps or "
	         "--steps-from");
	return -1;
}

static int bench(struct request *r, char **args)
{
	struct out_file file;
	int status;

	if (read_commands(r, args))
		return EXIT_TROUBLE;
	r->plan.figures.load = pipeline_figures;
	status = bench_run(&r->bench, &r->plan);
	if (status == EXIT_DONE) {
		signal(SIGPIPE, SIG_IGN); /* of the commands it was not */
		bench_judge(&r->bench);
		r->look.out.to = out_begin(&file);
		r->write(&r->bench, &r->look.out);
		status = out_end(&file, r->output);
	}
	return status;
}

static int help(void)
{
	option_help("cudaspy bench [OPTIONS] [--] COMMAND [ARGUMENTS...]\n"
	            "                     [-- COMMAND [ARGUMENTS...]]",
	            "Runs a command, or two in turns (A B, B A, ...), each time recording its CUDA "
	            "calls,\nand says what each takes, calls and is slow for, by how much they "
	            "differ, and\nwhether that is more than noise. A command that fails ends it "
	            "with its status.",
	            rows);
	return out_close(stdout, "standard output");
}

int cmd_bench(int count, char **args)
{
	struct option_reader reader = {.command = "bench",
	                               .rows = rows,
	                               .args = args,
	                               .count = count,
	                               .stop_at_operand = true};
	struct request r = {
	        .bench = {.runs = 10, .warmup = 1}, .separator = "--", .write = out_bench_text};
	int option, status = EXIT_TROUBLE;
	const char *value;

	report_defaults(&r.look);
	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND) {
			status = bench(&r, args + reader.at - 1);
			break;
		}
		if (option == HELP) {
			status = help();
			break;
		}
		if (option == OPTION_WRONG || read_option(&r, option, value))
			break;
	}
	if (option == OPTION_END)
		complain("bench: no command given; see cudaspy bench --help");
	bench_free(&r.bench);
	return status;
}
