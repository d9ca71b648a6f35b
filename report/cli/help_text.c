/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/help_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/cli/terminal.h"

#define LEAST_TEXT 26u /* columns: a narrower one is hard to read */
#define BELOW      8u  /* where a text begins that stands below what it is about */

/* Words of one line from column `at` on, further ones `indent` to the right. */
static void put_words(const char *text, size_t bytes, size_t at, size_t indent)
{
	size_t width = terminal_width(STDOUT_FILENO);
	const char *end = text + bytes;
	bool first = true;

	while (text < end) {
		while (text < end && (*text == ' ' || *text == '\n'))
			text++;
		size_t word = 0;
		while (text + word < end && text[word] != ' ' && text[word] != '\n')
			word++;
		if (!word)
			break;
		if (!first && at + 1 + word > width) {
			printf("\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		printf("%s%.*s", first ? "" : " ", (int)word, text);
		at += word + !first;
		first = false;
		text += word;
	}
	putchar('\n');
}

void help_lines(const char *text, size_t indent)
{
	while (*text) {
		size_t bytes = strcspn(text, "\n"), left = strspn(text, " ");
		printf("%*s", (int)left, "");
		put_words(text + left, bytes - left, left, indent);
		text += bytes + (text[bytes] == '\n');
	}
}

void help_paragraph(const char *text)
{
	put_words(text, strlen(text), 0, 0);
}

void help_entry(const char *what, size_t column, const char *text)
{
	size_t used = 2 + strlen(what);

	printf("  %s", what);
	if (column + LEAST_TEXT > terminal_width(STDOUT_FILENO)) {
		printf("\n%*s", (int)BELOW, "");
		used = column = BELOW;
	} else {
		size_t gap = used + 2 > column ? 2 : column - used;
		printf("%*s", (int)gap, "");
		used += gap;
	}
	put_words(text, strlen(text), used, column);
}
