/*
 * The commands of cudaspy: one row each, from which dispatch, help and suggestions come. For main
 * and the commands.
 */
#ifndef REPORT_COMMANDS_H
#define REPORT_COMMANDS_H

#include "report/output/out.h"

struct command {
	const char *name; /* the table ends with NULL */
	int (*main)(int count,
	            char **args); /* arguments after the command's name; the exit status */
	const char *about;
};
extern const struct command commands[];

int cmd_check(int count, char **args);
int cmd_diff(int count, char **args);
int cmd_report(int count, char **args);
int cmd_run(int count, char **args);

struct report_request {
	struct out_options out;
	void (*write)(const struct model *m, const struct out_options *o);
	enum model_sort_key sort;
	uint64_t skip_steps;    /* first ones, of each process */
	const char *steps_from; /* NVTX ranges of this name are the steps; NULL = as found */
	struct expectation *expectations; /* also in `out` */
	size_t expectation_count;
	struct whatif_question *whatifs; /* out.whatifs */
};
/* What a report looks like when nothing is asked for. */
void report_defaults(struct report_request *request);
/* Reads the files, one run, and writes their report to `output` (NULL = standard output); the exit
 * status. */
int report_print(const struct report_request *request, const char *output, char *const *paths,
                 size_t count);
/* Reads the files of one run into a model, which is to be freed in any case; -1 when one line was
 * written. */
int report_read(struct model *m, char *const *paths, size_t count);
/* Writes a finished text to a file, or to standard output (NULL); the exit status. */
int report_put(const char *text, size_t bytes, const char *output);
/* Flushes and closes; EXIT_TROUBLE and one line when not all was written. Quiet when a pipe's
 * reader went away. */
int report_close(FILE *to, const char *name);

#endif
