/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/cli/help_raw.h"
#include "report/cli/help_text.h"

static int cmd_version(int count, char **args);
static int cmd_help(int count, char **args);

const struct command commands[] = {
        {"report", cmd_report, "print what recordings say: the newest here, or the ones named"},
        {"diff", cmd_diff, "say what changed from some recordings to others"},
        {"check", cmd_check, "judge recordings by rules, for CI: exit status 0, 1 or 3"},
        {"export", cmd_export, "write what recordings say for other tools, or as tables"},
        {"run", cmd_run, "run a command and record its CUDA calls"},
        {"bench", cmd_bench,
         "run one command or two in turns, say what each takes and how they differ"},
        {"calibrate", cmd_calibrate, "measure once what a sample costs on these GPUs"},
        {"version", cmd_version, "print the version"},
        {"help", cmd_help, "print this list, or the options of a command"},
        {NULL, NULL, NULL},
};

static const struct command *find_command(const char *name)
{
	const char *names[16];
	size_t n = 0;

	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
		if (n < 15)
			names[n++] = c->name;
	}
	names[n] = NULL;
	const char *meant = suggest(name, names);
	if (meant)
		complain("unknown command %s; did you mean %s?", name, meant);
	else
		complain("unknown command %s; see cudaspy help", name);
	return NULL;
}

static int wants_help(int count, char **args)
{
	return count == 1 && (!strcmp(args[0], "--help") || !strcmp(args[0], "-h"));
}

static int cmd_version(int count, char **args)
{
	if (wants_help(count, args)) {
		puts("Usage: cudaspy version\n\nPrints the version.");
	} else if (count) {
		complain("version: takes no arguments");
		return EXIT_TROUBLE;
	} else {
		puts("cudaspy " CUDASPY_VERSION);
	}
	return out_close(stdout, "standard output");
}

static int cmd_help(int count, char **args)
{
	if (count == 1 && !strcmp(args[0], "--raw"))
		return help_raw(commands);
	if (count && !wants_help(count, args)) {
		const struct command *c = find_command(args[0]);
		char *help[] = {"--help", NULL};
		return c ? c->main(1, help) : EXIT_TROUBLE;
	}
	help_paragraph("cudaspy tells why the GPU of an unmodified program is not busy.");
	puts("\nUsage: cudaspy COMMAND [OPTIONS] ...\n\nCommands:");
	for (const struct command *c = commands; c->name; c++)
		help_entry(c->name, 13, c->about);
	puts("");
	help_lines("cudaspy COMMAND --help tells a command's options.\n"
	           "cudaspy help --raw prints all of it for programs.\n"
	           "Exit status: 0 done, 2 wrong usage, or input or output failed; of check: 1 a "
	           "rule failed, 3 no answer; of run: the command's own.",
	           0);
	return out_close(stdout, "standard output");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		complain("no command given; see cudaspy help");
		return EXIT_TROUBLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_help(0, NULL);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return cmd_version(0, NULL);
	if (argv[1][0] == '-') {
		complain("unknown option %s; see cudaspy help", argv[1]);
		return EXIT_TROUBLE;
	}
	const struct command *c = find_command(argv[1]);
	return c ? c->main(argc - 2, argv + 2) : EXIT_TROUBLE;
}
