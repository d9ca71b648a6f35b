/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/base/text_table.h"

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
	table->cells[table->cell_count++] = text_safe_format(format, args);
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

/* Whether some that differ came to look the same all the same. */
static bool still_alike(const struct text_layout_table *t, struct fitted *rows, size_t count)
{
	bool same = true;

	qsort(rows, count, sizeof(*rows), by_text);
	for (size_t i = 0; i < count && same;)
		i += alike(t, rows, count, i, &same);
	return !same;
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
		if (!same) {
			fit_apart(t, rows + i, n, width);
			same = t->always_fit || !still_alike(t, rows + i, n);
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
                      size_t gap, size_t last_gap, const struct text_layout *page)
{
	size_t last = t->column_count - 1;

	fputs("  ", page->to);
	for (size_t c = 0; c <= last; c++) {
		put_padded(page->to, cells[c], widths[c], t->columns[c].left, c == last);
		if (c == last)
			putc('\n', page->to);
		else
			fprintf(page->to, "%*s", (int)(c + 1 == last ? last_gap : gap), "");
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
	print_row(&figures, heads, widths, 1, 1, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	if (!page->whole_names)
		fit_last(t, page->width - 2);
	for (size_t i = 0; i + columns <= t->cell_count; i += columns) {
		fprintf(page->to, "  %s\n", t->cells[i + last]);
		print_row(&figures, t->cells + i, widths, 1, 1, page);
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
	/* Two blanks between the columns where the page is wide enough, else one. Words behind
	 * figures are never one blank away ("mean  kernel"), but where that takes room they need.
	 */
	size_t gap = taken + last + widths[last] <= page->width ? 2 : 1, last_gap = gap;
	if (last && t->columns[last].left && !t->columns[last - 1].left &&
	    (t->always_fit || taken + 1 + widths[last] <= page->width))
		last_gap = 2;
	taken += (gap - 1) * last + last_gap - gap;
	size_t room = page->width > taken + 8 ? page->width - taken : 8;
	if (t->columns[last].left && widths[last] > room)
		widths[last] = room;
	if (t->columns[last].left && !page->whole_names)
		fit_last(t, widths[last]);
	fputs(text_layout_colour(page, TEXT_BOLD), page->to);
	print_row(t, heads, widths, gap, last_gap, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	for (size_t i = 0; i + t->column_count <= t->cell_count; i += t->column_count)
		print_row(t, t->cells + i, widths, gap, last_gap, page);
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
