/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text_layout.h"
#include "report/base/text.h"

#define LABEL_WIDTH TEXT_LAYOUT_LABEL

const char *text_layout_colour(const struct text_layout *page, enum text_colour colour)
{
	static const char *const escapes[] = {
	        [TEXT_PLAIN] = "\033[0m", [TEXT_BOLD] = "\033[1m",   [TEXT_DIM] = "\033[2m",
	        [TEXT_RED] = "\033[31m",  [TEXT_GREEN] = "\033[32m", [TEXT_YELLOW] = "\033[33m",
	        [TEXT_CYAN] = "\033[36m",
	};

	return page->colour ? escapes[colour] : "";
}

void text_put_markdown(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>#|~&", *text))
			putc('\\', to);
		putc(*text, to);
	}
}

/* Bytes of what is not to be parted: a word, and the unit or the per cent sign of a number. */
static size_t unparted(const char *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t bytes = strcspn(text, " ");

	if (!bytes || text[bytes] != ' ')
		return bytes;
	const char *behind = text + bytes + 1;
	size_t next = strcspn(behind, " "), letters = strcspn(behind, " ,.;:()");
	if (*behind == '%' && letters == 1)
		return bytes + 1 + next;
	if (text[bytes - 1] < '0' || text[bytes - 1] > '9')
		return bytes;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (letters == strlen(units[i]) && !strncmp(behind, units[i], letters))
			return bytes + 1 + next;
	return bytes;
}

/* A word that is longer than a line: a path goes on below, of a name the middle goes. Returns the
 * column behind it. */
static size_t put_long(struct text_layout *page, const char *word, size_t indent)
{
	size_t room = page->width > indent + 4 ? page->width - indent : 4;

	if (!strchr(word, '/')) {
		char *fit = text_fit(word, room);
		fputs(fit, page->to);
		free(fit);
		return indent + room;
	}
	while (text_width(word) > room) {
		size_t bytes = text_bytes(word, room);
		fprintf(page->to, "%.*s\n%*s", (int)bytes, word, (int)indent, "");
		word += bytes;
	}
	fputs(word, page->to);
	return indent + text_width(word);
}

/* Text wrapped to the page's width, from column `at` on, continued `indent` columns in. */
static void put_wrapped(struct text_layout *page, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t bytes = unparted(text);
		char *word = alloc_copy(text, bytes);
		size_t width = text_width(word);
		if (at > indent && at + 1 + width > page->width) {
			fprintf(page->to, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', page->to);
			at++;
		}
		if (at + width > page->width && !page->whole_names) {
			at = put_long(page, word, at);
		} else {
			fputs(word, page->to);
			at += width;
		}
		free(word);
		text += bytes;
		text += *text == ' ';
	}
	putc('\n', page->to);
}

void text_layout_heading(struct text_layout *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	if (page->markdown) {
		fputs("\n## ", page->to);
		text_put_markdown(page->to, text);
		fputs("\n\n", page->to);
	} else {
		fprintf(page->to, "\n%s", text_layout_colour(page, TEXT_BOLD));
		put_wrapped(page, text, 0, 2);
		fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	}
	free(text);
}

void text_layout_plain(struct text_layout *page, const char *text)
{
	char *safe = text_safe(text, strlen(text));

	put_wrapped(page, safe, 0, 0);
	free(safe);
}

void text_layout_line(struct text_layout *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	if (page->markdown) {
		text_put_markdown(page->to, text);
		fputs("\n\n", page->to);
	} else {
		fputs("  ", page->to);
		put_wrapped(page, text, 2, 2);
	}
	free(text);
}

static void put_fact(struct text_layout *page, const char *label, char *text,
                     enum text_colour colour)
{
	if (page->markdown) {
		fprintf(page->to, "- **%s**: ", label);
		text_put_markdown(page->to, text);
		putc('\n', page->to);
	} else {
		int pad = LABEL_WIDTH - (int)strlen(label);
		fprintf(page->to, "%s%s%s%*s", text_layout_colour(page, colour), label,
		        text_layout_colour(page, TEXT_PLAIN), pad > 1 ? pad : 1, "");
		put_wrapped(page, text, LABEL_WIDTH, LABEL_WIDTH);
	}
	free(text);
}

void text_layout_fact(struct text_layout *page, const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, TEXT_BOLD);
}

void text_layout_fact_in(struct text_layout *page, enum text_colour colour, const char *label,
                         const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, colour);
}

void text_layout_alarm(struct text_layout *page, const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, TEXT_RED);
}

void text_layout_more(struct text_layout *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_safe_format(format, args);
	va_end(args);
	if (page->markdown) {
		fputs("  ", page->to);
		text_put_markdown(page->to, text);
		putc('\n', page->to);
	} else {
		fprintf(page->to, "%*s", LABEL_WIDTH, "");
		put_wrapped(page, text, LABEL_WIDTH, LABEL_WIDTH);
	}
	free(text);
}

void text_layout_blank(struct text_layout *page)
{
	putc('\n', page->to);
}
