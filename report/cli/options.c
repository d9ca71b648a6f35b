/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/options.h"

static int wrong_option(const struct option_reader *r, const char *name)
{
	const char *names[64];
	size_t count = 0;

	for (const struct option_row *row = r->rows; row->name && count < 63; row++)
		names[count++] = row->name;
	names[count] = NULL;
	const char *meant = suggest(name, names);
	if (meant)
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

int option_next(struct option_reader *r, const char **value)
{
	*value = NULL;
	if (r->letters && *r->letters)
		return short_option(r, value);
	if (r->at >= r->count)
		return OPTION_END;
	const char *arg = r->args[r->at++];
	if (!r->only_operands && !strcmp(arg, "--")) {
		r->only_operands = true;
		return option_next(r, value);
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

int option_choice(const char *command, const char *option, const char *word,
                  const char *const *choices)
{
	char list[256] = "";

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

void option_help(const char *usage, const char *about, const struct option_row *rows)
{
	printf("Usage: %s\n\n%s\n\nOptions:\n", usage, about);
	for (; rows->name; rows++) {
		char left[64], letter[8] = "    ";
		if (rows->letter)
			snprintf(letter, sizeof(letter), "-%c, ", rows->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, rows->name,
		         rows->value ? " " : "", rows->value ? rows->value : "");
		printf("  %-28s  %s\n", left, rows->help);
	}
}
