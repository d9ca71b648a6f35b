/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a page, as text or as Markdown: columns as wide as their cells, the last one cut to
 * what the page leaves it. Where the page is too narrow even so, the name of each row stands above
 * its figures, and these on as many lines as they take. For the text and Markdown outputs. */
#ifndef REPORT_TEXT_TABLE_H
#define REPORT_TEXT_TABLE_H

#include "report/base/text_layout.h"

struct text_layout_column {
	const char *head;
	bool left; /* aligned left; else right */
};

#define TABLE_COLUMNS 16
struct text_layout_table {
	const struct text_layout_column *columns;
	size_t column_count;
	char **cells; /* row by row */
	size_t cell_count;
	bool always_fit; /* the last column's texts are shortened also where some then differ little
	                  */
	bool names_above; /* the last column's texts stand on lines of their own, where the page is
	                     narrow: below TEXT_LAYOUT_WIDE */
};
#define TEXT_LAYOUT_WIDE 120

/* The last column takes what width is left; its texts are shortened in the middle to fit. */
void table_start(struct text_layout_table *table, const struct text_layout_column *columns,
                 size_t count);
void table_cell(struct text_layout_table *table, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Writes the table and empties it. */
void table_print(struct text_layout_table *table, struct text_layout *page);

#endif
