/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/commands.h"
#include "report/cli/help_text.h"
#include "report/cli/options.h"
#include "report/output/export/export.h"
#include "report/reader/find.h"

enum { FORMAT, TABLE, STEPS_FROM, OUTPUT, HELP };

static const struct option_row rows[] = {
        [FORMAT] = {"format", 'f', "FORMAT", "what to make: one of those below"},
        [TABLE] = {"table", 't', "TABLE", "csv, md: this table alone"},
        [STEPS_FROM] = {"steps-from", 0, "NAME", "the steps are the NVTX ranges of this name"},
        [OUTPUT] = {"output", 'o', "FILE",
                    "write to FILE; text is compressed where it ends in .gz"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const struct option_use uses[] = {
        {STEPS_FROM, "!pprof folded"}, /* of the whole run, by place */
        {0},
};

struct request {
	struct export_request export;
	const char *output;
	char **names; /* of recordings */
	size_t count;
};

/* A format that is none of ours, and asked for; -1. */
static int no_parquet(void)
{
	complain("export: --format parquet: not made here; DuckDB, pandas and polars make it of "
	         "--format sqlite or csv (docs/EXPORTS.md has the line)");
	return -1;
}

#define FORMATS_MOST 31u

/* One option; -1 when one line was written. */
static int read_option(struct request *r, int option, const char *value)
{
	const char *names[FORMATS_MOST + 1] = {NULL};
	int choice;

	switch (option) {
	case FORMAT:
		if (value && !strcmp(value, "parquet"))
			return no_parquet();
		for (size_t i = 0; i < FORMATS_MOST && export_formats[i].name; i++)
			names[i] = export_formats[i].name;
		choice = option_choice("export", "format", value, names);
		if (choice < 0)
			return -1;
		r->export.format = &export_formats[choice];
		break;
	case TABLE:
		r->export.table = value;
		break;
	case STEPS_FROM:
		r->export.steps_from = value;
		break;
	case OUTPUT:
		r->output = option_output(value);
		break;
	}
	return 0;
}

/* What stands on the command line but does not go together; -1 when one line was written. */
static int hold(const struct request *r)
{
	if (!r->export.format) {
		complain("export: no --format is given; see cudaspy help export");
		return -1;
	}
	if (r->export.table && !r->export.format->tables) {
		complain("export: --table goes with csv and md, not with %s",
		         r->export.format->name);
		return -1;
	}
	return 0;
}

static int export(struct request *r)
{
	struct find_list list = {0};
	int status = EXIT_TROUBLE;

	if (hold(r))
		return EXIT_TROUBLE;
	if (!find_recordings(&list, r->names, r->count))
		status = pipeline_export(&r->export, r->output, list.paths, list.count);
	find_free(&list);
	return status;
}

static int help(void)
{
	option_help("cudaspy export --format FORMAT [-o FILE] [FILE|FOLDER...]",
	            "Writes what recordings say in the form of other tools, or as tables. Nothing "
	            "named: the\nnewest *.cudaspy in this folder.",
	            rows);
	puts("\nFormats:");
	for (const struct export_format *f = export_formats; f->name; f++)
		help_entry(f->name, 17, f->about);
	return out_close(stdout, "standard output");
}

int cmd_export(int count, char **args)
{
	struct option_reader reader = {
	        .command = "export", .rows = rows, .args = args, .count = count};
	struct request r = {.names = alloc_zeroed((size_t)count + 1, sizeof(*r.names))};
	int option, status = EXIT_TROUBLE;
	const char *value;

	/* A reader that goes away is an error of writing, not the end of this process. */
	signal(SIGPIPE, SIG_IGN);
	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND) {
			r.names[r.count++] = (char *)value;
		} else if (option == HELP) {
			status = help();
			break;
		} else if (option == OPTION_WRONG || read_option(&r, option, value)) {
			break;
		}
	}
	if (option == OPTION_END && !option_uses(&reader, uses, "", NULL))
		status = export(&r);
	free(r.names);
	return status;
}
