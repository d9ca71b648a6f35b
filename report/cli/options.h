/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options: one table for each command, from which they are read, shown by --help and
 * suggested when misspelt. For the commands.
 */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_row {
	const char *name;  /* long; the table ends with NULL */
	char letter;       /* short form, or 0 */
	const char *value; /* what it takes, for the help; NULL = nothing */
	const char *help;
	const char *const *choices; /* what its value may be, ends with NULL; NULL = anything */
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
	uint64_t given;       /* bit i: the option of row i was */
	const char *format;   /* value of --format, and of --table; NULL = not given */
	const char *table;
};

/* Where an option changes something: the formats, a blank apart; of CSV also "csv:TABLE"; with
 * a ! before, all but those. Options without a row do so in all of them. The table ends with
 * formats NULL. */
struct option_use {
	int option;
	const char *formats;
};
/* Whether one was given that would be ignored: -1, and one line was written. `format` and `table`
 * are those that there are without one. */
int option_uses(const struct option_reader *reader, const struct option_use *uses,
                const char *format, const char *table);
/* Of an option that does something else than the command does: which may stand beside it (bits).
 * -1 when another one does, and one line was written. */
int option_beside(const struct option_reader *reader, int option, uint64_t allowed);
#define OPTION_BIT(option) (UINT64_C(1) << (option))

/*
 * The next option's index in the table, its value in *value; OPTION_OPERAND with the operand in
 * *value; OPTION_END; or OPTION_WRONG when one line was written.
 */
enum { OPTION_END = -1, OPTION_OPERAND = -2, OPTION_WRONG = -3 };
int option_next(struct option_reader *reader, const char **value);

/* The file to write to; NULL for "-", which is standard output. */
const char *option_output(const char *value);

/* The index of `word` in a list that ends with NULL; -1 when it is not in it and one line was
 * written. */
int option_choice(const char *command, const char *option, const char *word,
                  const char *const *choices);

/* 0 where there is such a folder; -1 when one line was written. */
int option_folder(const char *command, const char *option, const char *path);

/* The next option_help() and option_choice() write for programs, as `cudaspy help --raw` has it:
 * lines of fields with tabs between. */
void option_raw(void);

/* Usage, what the command does, its options; on stdout. */
void option_help(const char *usage, const char *about, const struct option_row *rows);

#endif
