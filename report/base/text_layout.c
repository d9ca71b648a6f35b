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

/* Formatted and made safe for the page (free it). */
static char *safe_format(const char *format, va_list args)
{
	char *raw = alloc_vformat(format, args), *safe = text_safe(raw, strlen(raw));

	free(raw);
	return safe;
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
		fputs(word, page->to);
		at += width;
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
	char *text = safe_format(format, args);
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

void text_layout_line(struct text_layout *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = safe_format(format, args);
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
	char *text = safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, TEXT_BOLD);
}

void text_layout_fact_in(struct text_layout *page, enum text_colour colour, const char *label,
                         const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, colour);
}

void text_layout_alarm(struct text_layout *page, const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, TEXT_RED);
}

void text_layout_more(struct text_layout *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = safe_format(format, args);
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

void table_start(struct text_layout_table *table, const struct text_layout_column *columns,
                 size_t count)
{
	*table = (struct text_layout_table){.columns = columns, .column_count = count};
}

void table_cell(struct text_layout_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ALLOC_ROOM(table->cells, table->cell_count);
	table->cells[table->cell_count++] = safe_format(format, args);
	va_end(args);
}

static void print_markdown(const struct text_layout_table *t, FILE *to)
{
	for (size_t i = 0; i < t->column_count; i++) {
		fputs("| ", to);
		text_put_markdown(to, t->columns[i].head);
		putc(' ', to);
	}
	fputs("|\n", to);
	for (size_t i = 0; i < t->column_count; i++)
		fputs(t->columns[i].left ? "|:--" : "|--:", to);
	fputs("|\n", to);
	for (size_t i = 0; i < t->cell_count; i++) {
		fputs("| ", to);
		text_put_markdown(to, t->cells[i]);
		fputs((i + 1) % t->column_count ? " " : " |\n", to);
	}
	putc('\n', to); /* else a paragraph that follows is one more row */
}

static void put_padded(FILE *to, const char *text, size_t width, bool left, bool last)
{
	int pad = (int)width - (int)text_width(text);

	if (pad < 0)
		pad = 0;
	fprintf(to, "%*s%s%*s", left ? 0 : pad, "", text, left && !last ? pad : 0, "");
}

struct fitted {
	char *text;
	size_t cell;
};

static int by_text(const void *a, const void *b)
{
	const struct fitted *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* The rows from `at` on that came to look the same; false in *same where they were not. */
static size_t alike(const struct text_layout_table *t, const struct fitted *rows, size_t count,
                    size_t at, bool *same)
{
	size_t n = 1;

	*same = true;
	for (; at + n < count && !strcmp(rows[at].text, rows[at + n].text); n++)
		*same &= !strcmp(t->cells[rows[at].cell], t->cells[rows[at + n].cell]);
	return n;
}

/* Bytes that all of these rows' texts begin with; no character is parted. */
static size_t common_beginning(const struct text_layout_table *t, const struct fitted *rows,
                               size_t count)
{
	const char *first = t->cells[rows[0].cell];
	size_t bytes = strlen(first);

	for (size_t i = 1; i < count; i++) {
		const char *other = t->cells[rows[i].cell];
		size_t n = 0;
		while (n < bytes && first[n] == other[n])
			n++;
		bytes = n;
	}
	while (bytes && ((unsigned char)first[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

#define BEGINNING                                                                                  \
	12 /* columns of a beginning that several texts have, in front of what differs             \
	    */

/* These were shortened to the same text: shown is where they begin to differ. */
static void fit_apart(struct text_layout_table *t, struct fitted *rows, size_t count, size_t width)
{
	size_t bytes = common_beginning(t, rows, count);

	if (width < 2 * BEGINNING || bytes < BEGINNING)
		return;
	for (size_t i = 0; i < count; i++) {
		const char *whole = t->cells[rows[i].cell];
		char *beginning = alloc_copy(whole, bytes), *short_one, *rest;
		size_t n = strlen(beginning);
		while (n && (text_width(beginning) > BEGINNING ||
		             ((unsigned char)whole[n] & 0xc0) == 0x80))
			beginning[--n] = 0;
		rest = text_fit(whole + bytes, width - text_width(beginning) - 2);
		short_one = alloc_format("%s..%s", beginning, rest);
		free(rest);
		free(beginning);
		free(rows[i].text);
		rows[i].text = short_one;
	}
}

/* Shortens the last column to `width`, but where texts that differ would look the same. */
static void fit_last(struct text_layout_table *t, size_t width)
{
	size_t columns = t->column_count, count = t->cell_count / columns;
	struct fitted *rows = alloc_zeroed(count + 1, sizeof(*rows));
	bool same;

	for (size_t i = 0; i < count; i++) {
		rows[i].cell = i * columns + columns - 1;
		rows[i].text = text_fit(t->cells[rows[i].cell], width);
	}
	qsort(rows, count, sizeof(*rows), by_text);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(t, rows, count, i, &same);
		if (!same && t->always_fit) {
			fit_apart(t, rows + i, n, width);
			same = true;
		}
		for (size_t k = i; k < i + n; k++) {
			char **cell = &t->cells[rows[k].cell], *other = same ? *cell : rows[k].text;
			if (same)
				*cell = rows[k].text;
			rows[k].text = other;
		}
	}
	for (size_t i = 0; i < count; i++)
		free(rows[i].text);
	free(rows);
}

static void print_row(const struct text_layout_table *t, char *const *cells, const size_t *widths,
                      size_t gap, const struct text_layout *page)
{
	size_t last = t->column_count - 1;

	fputs("  ", page->to);
	for (size_t c = 0; c <= last; c++) {
		put_padded(page->to, cells[c], widths[c], t->columns[c].left, c == last);
		if (c == last)
			putc('\n', page->to);
		else
			fprintf(page->to, "%*s", (int)gap, "");
	}
}

/* The figures of each row under a line with what its last column says. */
static void print_above(struct text_layout_table *t, const struct text_layout *page)
{
	struct text_layout_table figures = {.columns = t->columns,
	                                    .column_count = t->column_count - 1};
	const size_t columns = t->column_count, last = columns - 1;
	size_t widths[TABLE_COLUMNS];
	char *heads[TABLE_COLUMNS];

	for (size_t c = 0; c <= last; c++) {
		heads[c] = (char *)t->columns[c].head;
		widths[c] = text_width(heads[c]);
	}
	for (size_t i = 0; i < t->cell_count; i++)
		if (text_width(t->cells[i]) > widths[i % columns])
			widths[i % columns] = text_width(t->cells[i]);
	fprintf(page->to, "%s  %s\n", text_layout_colour(page, TEXT_BOLD), heads[last]);
	print_row(&figures, heads, widths, 1, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	if (!page->whole_names)
		fit_last(t, page->width - 2);
	for (size_t i = 0; i + columns <= t->cell_count; i += columns) {
		fprintf(page->to, "  %s\n", t->cells[i + last]);
		print_row(&figures, t->cells + i, widths, 1, page);
	}
}

static void print_text(struct text_layout_table *t, const struct text_layout *page)
{
	size_t widths[TABLE_COLUMNS], taken = 2, last = t->column_count - 1;
	char *heads[TABLE_COLUMNS];

	for (size_t c = 0; c <= last; c++) {
		heads[c] = (char *)t->columns[c].head;
		widths[c] = text_width(heads[c]);
	}
	for (size_t i = 0; i < t->cell_count; i++) {
		size_t width = text_width(t->cells[i]);
		if (width > widths[i % t->column_count])
			widths[i % t->column_count] = width;
	}
	for (size_t c = 0; c < last; c++)
		taken += widths[c] + 1;
	/* Two blanks between the columns where the page is wide enough, else one. */
	size_t gap = taken + last + widths[last] <= page->width ? 2 : 1;
	taken += (gap - 1) * last;
	size_t room = page->width > taken + 8 ? page->width - taken : 8;
	if (t->columns[last].left && widths[last] > room)
		widths[last] = room;
	if (t->columns[last].left && !page->whole_names)
		fit_last(t, widths[last]);
	fputs(text_layout_colour(page, TEXT_BOLD), page->to);
	print_row(t, heads, widths, gap, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	for (size_t i = 0; i + t->column_count <= t->cell_count; i += t->column_count)
		print_row(t, t->cells + i, widths, gap, page);
}

void table_print(struct text_layout_table *t, struct text_layout *page)
{
	if (page->markdown)
		print_markdown(t, page->to);
	else if (t->names_above && page->width < TEXT_LAYOUT_WIDE)
		print_above(t, page);
	else
		print_text(t, page);
	for (size_t i = 0; i < t->cell_count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct text_layout_table){0};
}
