/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of cudaspy: one row each, from which dispatch, help and suggestions come. For main
 * and the commands.
 */
#ifndef REPORT_COMMANDS_H
#define REPORT_COMMANDS_H

#include "report/pipeline.h"

struct command {
	const char *name; /* the table ends with NULL */
	int (*main)(int count,
	            char **args); /* arguments after the command's name; the exit status */
	const char *about;
};
extern const struct command commands[];

int cmd_bench(int count, char **args);
int cmd_calibrate(int count, char **args);
int cmd_check(int count, char **args);
int cmd_diff(int count, char **args);
int cmd_export(int count, char **args);
int cmd_report(int count, char **args);
int cmd_run(int count, char **args);

#endif
