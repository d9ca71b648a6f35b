/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text_layout.h"
#include "report/base/text.h"

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define PLAIN "\033[0m"

#define LABEL_WIDTH 12 /* of the facts at the top */

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

/* Text wrapped to the page's width, from column `at` on, continued `indent` columns in. */
static void put_wrapped(struct text_layout *page, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t bytes = strcspn(text, " ");
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
		fprintf(page->to, "\n%s", page->colour ? BOLD : "");
		put_wrapped(page, text, 0, 2);
		fputs(page->colour ? PLAIN : "", page->to);
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

static void put_fact(struct text_layout *page, const char *label, char *text, const char *colour)
{
	if (page->markdown) {
		fprintf(page->to, "- **%s**: ", label);
		text_put_markdown(page->to, text);
		putc('\n', page->to);
	} else {
		int pad = LABEL_WIDTH - (int)strlen(label);
		fprintf(page->to, "%s%s%s%*s", page->colour ? colour : "", label,
		        page->colour ? PLAIN : "", pad > 1 ? pad : 1, "");
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
	put_fact(page, label, text, BOLD);
}

void text_layout_alarm(struct text_layout *page, const char *label, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = safe_format(format, args);
	va_end(args);
	put_fact(page, label, text, RED);
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
	fprintf(page->to, "%s  %s\n", page->colour ? BOLD : "", heads[last]);
	print_row(&figures, heads, widths, 1, page);
	fputs(page->colour ? PLAIN : "", page->to);
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
	if (page->colour)
		fputs(BOLD, page->to);
	print_row(t, heads, widths, gap, page);
	if (page->colour)
		fputs(PLAIN, page->to);
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
