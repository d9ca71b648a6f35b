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

/* The same again for those of them that still look the same: what they begin with alike is more. */
static void set_apart(struct text_layout_table *t, struct fitted *rows, size_t count, size_t width)
{
	bool same;

	fit_apart(t, rows, count, width);
	qsort(rows, count, sizeof(*rows), by_text);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(t, rows, count, i, &same);
		if (!same && n < count)
			set_apart(t, rows + i, n, width);
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

/* Shortens a column to `width`, but where texts that differ would look the same. */
static void fit_column(struct text_layout_table *t, size_t column, size_t width)
{
	size_t columns = t->column_count, count = t->cell_count / columns;
	struct fitted *rows = alloc_zeroed(count + 1, sizeof(*rows));
	bool same;

	for (size_t i = 0; i < count; i++) {
		rows[i].cell = i * columns + column;
		rows[i].text = text_fit(t->cells[rows[i].cell], width);
	}
	qsort(rows, count, sizeof(*rows), by_text);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(t, rows, count, i, &same);
		if (!same) {
			/* Else the rest of a name may go on below, which tells more. */
			(t->always_fit ? set_apart : fit_apart)(t, rows + i, n, width);
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

/* The cell in the last column: what was left whole because it would look like another one goes on
 * below, from the same column on. */
static void put_last(const struct text_layout_table *t, const char *text, size_t width,
                     const struct text_layout *page)
{
	size_t c = t->column_count - 1, room = page->width > width ? page->width - width : 1;

	if (!t->columns[c].left || page->whole_names || text_width(text) <= room) {
		fprintf(page->to, "%s\n", text);
		return;
	}
	while (*text) {
		size_t bytes = text_bytes(text, room > 2 ? room : 2);
		fprintf(page->to, "%.*s\n", (int)bytes, text);
		text += bytes;
		if (*text)
			fprintf(page->to, "%*s", (int)width, "");
	}
}

static void print_row(const struct text_layout_table *t, char *const *cells, const size_t *widths,
                      size_t gap, size_t last_gap, const struct text_layout *page)
{
	size_t last = t->column_count - 1, at = 2;

	fputs("  ", page->to);
	for (size_t c = 0; c < last; c++) {
		put_padded(page->to, cells[c], widths[c], t->columns[c].left, false);
		size_t behind = c + 1 == last ? last_gap : gap;
		fprintf(page->to, "%*s", (int)behind, "");
		at += widths[c] + behind;
	}
	if (t->columns[last].left) {
		put_last(t, cells[last], at, page);
		return;
	}
	put_padded(page->to, cells[last], widths[last], false, true);
	putc('\n', page->to);
}

/* The widths of the columns, and of all of them with a blank in front of each. */
static size_t measure(const struct text_layout_table *t, char **heads, size_t *widths)
{
	size_t columns = t->column_count, sum = 1;

	for (size_t c = 0; c < columns; c++) {
		heads[c] = (char *)t->columns[c].head;
		widths[c] = text_width(heads[c]);
	}
	for (size_t i = 0; i < t->cell_count; i++)
		if (text_width(t->cells[i]) > widths[i % columns])
			widths[i % columns] = text_width(t->cells[i]);
	for (size_t c = 0; c < columns; c++)
		sum += widths[c] + 1;
	return sum;
}

/* A row without the column `name`, on as many lines as it takes. */
static void put_figures(const struct text_layout_table *t, char *const *cells, const size_t *widths,
                        size_t name, const struct text_layout *page)
{
	size_t at = 0, pad = 0, most = page->width > 3 ? page->width - 2 : 1;

	for (size_t c = 0; c < t->column_count; c++) {
		size_t width = widths[c] < most ? widths[c] : most;
		if (c == name)
			continue;
		if (at && at + 1 + width > page->width) {
			putc('\n', page->to);
			at = pad = 0;
		}
		char *fit = text_fit(cells[c], width);
		fprintf(page->to, "%*s%s", (int)pad, "", at ? " " : "  ");
		put_padded(page->to, fit, width, t->columns[c].left, true);
		pad = t->columns[c].left ? width - text_width(fit) : 0;
		at += (at ? 1 : 2) + width;
		free(fit);
	}
	putc('\n', page->to);
}

/* The column with a row's name: of texts the last one, or the first. TABLE_COLUMNS: none. */
static size_t name_column(const struct text_layout_table *t)
{
	size_t last = t->column_count - 1;

	return t->columns[last].left ? last : t->columns[0].left ? 0 : TABLE_COLUMNS;
}

/* The figures of each row under a line with its name. */
static void print_above(struct text_layout_table *t, const struct text_layout *page)
{
	const size_t columns = t->column_count, name = name_column(t);
	struct text_layout_table names = {.columns = &t->columns[name], .column_count = 1};
	size_t widths[TABLE_COLUMNS];
	char *heads[TABLE_COLUMNS];

	measure(t, heads, widths);
	fputs(text_layout_colour(page, TEXT_BOLD), page->to);
	if (name < columns) {
		char *fit = text_fit(heads[name], page->width - 2);
		fprintf(page->to, "  %s\n", fit);
		free(fit);
	}
	put_figures(t, heads, widths, name, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	if (name < columns && !page->whole_names)
		fit_column(t, name, page->width - 2);
	for (size_t i = 0; i + columns <= t->cell_count; i += columns) {
		if (name < columns) {
			fputs("  ", page->to);
			put_last(&names, t->cells[i + name], 2, page);
		}
		put_figures(t, t->cells + i, widths, name, page);
	}
}

#define ROOM_LEAST 8 /* columns for the last one's texts */

/* Whether the columns take more than the page is wide, however short the last one's texts are. */
static bool too_wide(const struct text_layout_table *t, const struct text_layout *page)
{
	size_t widths[TABLE_COLUMNS], last = t->column_count - 1;
	char *heads[TABLE_COLUMNS];
	size_t sum = measure(t, heads, widths);

	if (t->columns[last].left && widths[last] > ROOM_LEAST)
		sum -= widths[last] - ROOM_LEAST;
	return last && sum > page->width;
}

static void print_text(struct text_layout_table *t, const struct text_layout *page)
{
	size_t widths[TABLE_COLUMNS], last = t->column_count - 1;
	char *heads[TABLE_COLUMNS];
	size_t taken = measure(t, heads, widths) - widths[last];

	/* Two blanks between the columns where the page is wide enough, else one. Words behind
	 * figures are never one blank away ("mean  kernel"), but where that takes room they need.
	 */
	size_t gap = taken + last + widths[last] <= page->width ? 2 : 1, last_gap = gap;
	if (last && t->columns[last].left && !t->columns[last - 1].left &&
	    (t->always_fit || taken + 1 + widths[last] <= page->width))
		last_gap = 2;
	taken += (gap - 1) * last + last_gap - gap;
	size_t room = page->width > taken + ROOM_LEAST ? page->width - taken : ROOM_LEAST;
	char *head = NULL;
	if (t->columns[last].left && widths[last] > room) {
		widths[last] = room;
		heads[last] = head = text_fit(heads[last], room);
	}
	if (t->columns[last].left && !page->whole_names)
		fit_column(t, last, widths[last]);
	fputs(text_layout_colour(page, TEXT_BOLD), page->to);
	print_row(t, heads, widths, gap, last_gap, page);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
	for (size_t i = 0; i + t->column_count <= t->cell_count; i += t->column_count)
		print_row(t, t->cells + i, widths, gap, last_gap, page);
	free(head);
}

void table_print(struct text_layout_table *t, struct text_layout *page)
{
	if (page->markdown)
		print_markdown(t, page->to);
	else if ((t->names_above && page->width < TEXT_LAYOUT_WIDE) || too_wide(t, page))
		print_above(t, page);
	else
		print_text(t, page);
	for (size_t i = 0; i < t->cell_count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct text_layout_table){0};
}
