/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options: one table for each command, from which they are read, shown by --help and
 * suggested when misspelt. For the commands.
 */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_row {
	const char *name;  /* long; the table ends with NULL */
	char letter;       /* short form, or 0 */
	const char *value; /* what it takes, for the help; NULL = nothing */
	const char *help;
};

struct option_reader {
	const char *command; /* for messages */
	const struct option_row *rows;
	char **args; /* after the command's name */
	int count;
	bool stop_at_operand; /* what follows the first operand is not ours */
	int at;               /* the next argument */
	const char *letters;  /* the rest of a group of short options */
	bool only_operands;   /* "--" was seen */
};

/*
 * The next option's index in the table, its value in *value; OPTION_OPERAND with the operand in
 * *value; OPTION_END; or OPTION_WRONG when one line was written.
 */
enum { OPTION_END = -1, OPTION_OPERAND = -2, OPTION_WRONG = -3 };
int option_next(struct option_reader *reader, const char **value);

/* The index of `word` in a list that ends with NULL; -1 when it is not in it and one line was
 * written. */
int option_choice(const char *command, const char *option, const char *word,
                  const char *const *choices);

/* 0 where there is such a folder; -1 when one line was written. */
int option_folder(const char *command, const char *option, const char *path);

/* Usage, what the command does, its options; on stdout. */
void option_help(const char *usage, const char *about, const struct option_row *rows);

#endif
