/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of headings, lines and tables, written as plain text for a terminal or as Markdown. All
 * that is written through it is made safe first, whoever it comes from. For the text and Markdown
 * outputs and the help.
 */
#ifndef REPORT_TEXT_LAYOUT_H
#define REPORT_TEXT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text_layout {
	FILE *to;
	bool markdown;
	bool colour;
	bool whole_names; /* a row may be longer than the page is wide */
	size_t width;
};

/* Markdown gives some characters a meaning; a backslash takes it away. */
void text_put_markdown(FILE *to, const char *text);
/* What begins a colour on this page, and ends it; "" on one without colours. */
enum text_colour { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW, TEXT_CYAN };
const char *text_layout_colour(const struct text_layout *page, enum text_colour colour);

void text_layout_heading(struct text_layout *page, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* A paragraph of its own; continued lines are indented. */
void text_layout_line(struct text_layout *page, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* "label   text", the labels of a block aligned. */
void text_layout_fact(struct text_layout *page, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The same with a label of this colour. */
void text_layout_fact_in(struct text_layout *page, enum text_colour colour, const char *label,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same, to be looked at first. */
void text_layout_alarm(struct text_layout *page, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* More of the fact or alarm before it, on lines of its own. */
void text_layout_more(struct text_layout *page, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void text_layout_blank(struct text_layout *page);

struct text_layout_column {
	const char *head;
	bool left; /* aligned left; else right */
};

#define TEXT_LAYOUT_LABEL 12 /* columns of the labels of facts */

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
