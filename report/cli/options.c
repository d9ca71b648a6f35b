/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/help_text.h"
#include "report/cli/options.h"

static int wrong_option(const struct option_reader *r, const char *name)
{
	const char *names[64], *choice = NULL;
	size_t count = 0;

	for (const struct option_row *row = r->rows; row->name && count < 63; row++) {
		names[count++] = row->name;
		for (size_t i = 0; row->choices && row->choices[i] && !choice; i++)
			choice = strcmp(row->choices[i], name) ? NULL : row->name;
	}
	names[count] = NULL;
	const char *meant = suggest(name, names);
	if (choice)
		complain("%s: unknown option --%s; did you mean --%s %s?", r->command, name, choice,
		         name);
	else if (meant)
		complain("%s: unknown option --%s; did you mean --%s?", r->command, name, meant);
	else
		complain("%s: unknown option --%s; see cudaspy %s --help", r->command, name,
		         r->command);
	return OPTION_WRONG;
}

/* The row of a long option: its name, or a beginning of it that no other has. -1 = none. */
static int find_long(const struct option_reader *r, const char *name, size_t bytes)
{
	int found = -1;

	for (int i = 0; r->rows[i].name; i++) {
		if (strncmp(r->rows[i].name, name, bytes))
			continue;
		if (strlen(r->rows[i].name) == bytes)
			return i;
		found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

static int take_value(struct option_reader *r, int row, const char **value)
{
	if (r->at < r->count) {
		*value = r->args[r->at++];
		return row;
	}
	complain("%s: option --%s needs a value (%s)", r->command, r->rows[row].name,
	         r->rows[row].value);
	return OPTION_WRONG;
}

static int long_option(struct option_reader *r, const char *text, const char **value)
{
	size_t bytes = strcspn(text, "=");
	int row = find_long(r, text, bytes);

	if (row < 0) {
		char *name = alloc_copy(text, bytes);
		wrong_option(r, name);
		free(name);
		return OPTION_WRONG;
	}
	if (text[bytes] == '=') {
		if (!r->rows[row].value) {
			complain("%s: option --%s takes no value", r->command, r->rows[row].name);
			return OPTION_WRONG;
		}
		*value = text + bytes + 1;
		return row;
	}
	return r->rows[row].value ? take_value(r, row, value) : row;
}

static int short_option(struct option_reader *r, const char **value)
{
	char letter = *r->letters++;

	for (int i = 0; r->rows[i].name; i++) {
		if (r->rows[i].letter != letter)
			continue;
		if (!r->rows[i].value)
			return i;
		if (*r->letters) {
			*value = r->letters;
			r->letters = "";
			return i;
		}
		return take_value(r, i, value);
	}
	complain("%s: unknown option -%c; see cudaspy %s --help", r->command, letter, r->command);
	return OPTION_WRONG;
}

static int next(struct option_reader *r, const char **value)
{
	*value = NULL;
	if (r->letters && *r->letters)
		return short_option(r, value);
	if (r->at >= r->count)
		return OPTION_END;
	const char *arg = r->args[r->at++];
	if (!r->only_operands && !strcmp(arg, "--")) {
		r->only_operands = true;
		return next(r, value);
	}
	if (r->only_operands || arg[0] != '-' || !arg[1]) {
		r->only_operands |= r->stop_at_operand;
		*value = arg;
		return OPTION_OPERAND;
	}
	if (arg[1] == '-')
		return long_option(r, arg + 2, value);
	r->letters = arg + 1;
	return short_option(r, value);
}

int option_folder(const char *command, const char *option, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	complain("%s: --%s %s: not a folder", command, option, path);
	return -1;
}

/* An empty name is a variable that was not set: no file has it. */
static bool is_empty_name(const struct option_reader *r, int option, const char *value)
{
	if (option == OPTION_OPERAND && !*value && !r->stop_at_operand)
		complain("%s: a name is empty", r->command);
	else if (option >= 0 && value && !*value && r->rows[option].value &&
	         !strcmp(r->rows[option].value, "FILE"))
		complain("%s: --%s: the name is empty", r->command, r->rows[option].name);
	else
		return false;
	return true;
}

int option_next(struct option_reader *r, const char **value)
{
	int option = next(r, value);

	if (is_empty_name(r, option, *value))
		return OPTION_WRONG;
	if (option >= 0 && option < 64)
		r->given |= UINT64_C(1) << option;
	if (option >= 0 && !strcmp(r->rows[option].name, "format"))
		r->format = *value;
	if (option >= 0 && !strcmp(r->rows[option].name, "table"))
		r->table = *value;
	return option;
}

static bool is_given(const struct option_reader *r, int option)
{
	return r->given >> option & 1;
}

/* "csv" is in "text csv", "csv:kernels" too where that is the table. */
static bool is_used(const char *formats, const char *format, const char *table)
{
	size_t bytes = strlen(format);

	if (*formats == '!')
		return !is_used(formats + 1, format, table);
	for (const char *at = formats; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, " ");
		if (!strncmp(at, format, bytes) &&
		    (word == bytes ||
		     (at[bytes] == ':' && table && word == bytes + 1 + strlen(table) &&
		      !strncmp(at + bytes + 1, table, strlen(table)))))
			return true;
		at += word;
	}
	return false;
}

/* "text, md and csv:kernels" of "text md csv:kernels" (free it). */
static char *listed(const char *formats)
{
	char *list = alloc_string("");

	while (*formats) {
		int bytes = (int)strcspn(formats, " ");
		bool last = !formats[bytes];
		alloc_append(&list, "%s%.*s", !*list ? "" : last ? " and " : ", ", bytes, formats);
		formats += bytes + !last;
	}
	return list;
}

int option_uses(const struct option_reader *r, const struct option_use *uses, const char *format,
                const char *table)
{
	format = r->format ? r->format : format;
	table = r->table ? r->table : table;
	for (; uses->formats; uses++) {
		if (!is_given(r, uses->option) || is_used(uses->formats, format, table))
			continue;
		bool of_table = table && !strcmp(format, "csv");
		bool others = *uses->formats == '!';
		char *list = listed(uses->formats + others);
		complain("%s: --%s changes nothing in --format %s%s%s: it is for %s%s", r->command,
		         r->rows[uses->option].name, format, of_table ? " --table " : "",
		         of_table ? table : "", others ? "all but " : "", list);
		free(list);
		return -1;
	}
	return 0;
}

int option_beside(const struct option_reader *r, int option, uint64_t allowed)
{
	uint64_t others = r->given & ~(allowed | OPTION_BIT(option));

	for (int i = 0; is_given(r, option) && others && r->rows[i].name; i++)
		if (others >> i & 1) {
			complain("%s: --%s changes nothing beside --%s", r->command,
			         r->rows[i].name, r->rows[option].name);
			return -1;
		}
	return 0;
}

static bool raw;

void option_raw(void)
{
	raw = true;
}

const char *option_output(const char *value)
{
	return strcmp(value, "-") ? value : NULL;
}

int option_choice(const char *command, const char *option, const char *word,
                  const char *const *choices)
{
	char list[512] = "";

	for (int i = 0; raw && choices[i]; i++)
		printf("word\t%s\t%s\t%s\n", command, option, choices[i]);
	if (raw)
		return -1;
	for (int i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], word))
			return i;
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", choices[i]);
	}
	const char *meant = suggest(word, choices);
	if (meant)
		complain("%s: --%s %s: unknown; did you mean %s? (%s)", command, option, word,
		         meant, list);
	else
		complain("%s: --%s %s: unknown; one of %s", command, option, word, list);
	return -1;
}

/* Line ends are blanks, of a usage a tab. */
static void put_raw(const char *text, char line_end)
{
	for (; *text; text++)
		putchar(*text == '\n' ? line_end : *text);
}

static void raw_help(const char *usage, const char *about, const struct option_row *rows)
{
	fputs("usage\t", stdout);
	put_raw(usage, '\t');
	fputs("\nabout\t", stdout);
	put_raw(about, ' ');
	putchar('\n');
	for (; rows->name; rows++)
		printf("option\t%s\t%.1s\t%s\t%s\n", rows->name, rows->letter ? &rows->letter : "",
		       rows->value ? rows->value : "", rows->help);
}

void option_help(const char *usage, const char *about, const struct option_row *rows)
{
	if (raw) {
		raw_help(usage, about, rows);
		return;
	}
	char *first = alloc_format("Usage: %s", usage);
	help_lines(first, 15);
	free(first);
	putchar('\n');
	help_paragraph(about);
	puts("\nOptions:");
	for (; rows->name; rows++) {
		char left[64], letter[8] = "    ";
		if (rows->letter)
			snprintf(letter, sizeof(letter), "-%c, ", rows->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, rows->name,
		         rows->value ? " " : "", rows->value ? rows->value : "");
		help_entry(left, 32, rows->help);
	}
}
