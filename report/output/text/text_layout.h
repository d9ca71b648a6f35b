/*
 * A page of headings, lines and tables, written as plain text for a terminal or as Markdown. All
 * that is written through it is made safe first, whoever it comes from. For the text and Markdown
 * outputs and the help.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct page {
	FILE *to;
	bool markdown;
	bool colour;
	bool whole_names; /* a row may be longer than the page is wide */
	size_t width;
};

void page_heading(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A paragraph of its own; continued lines are indented. */
void page_line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "label   text", the labels of a block aligned. */
void page_fact(struct page *page, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The same, to be looked at first. */
void page_alarm(struct page *page, const char *label, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* More of the fact or alarm before it, on lines of its own. */
void page_more(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_blank(struct page *page);

struct column {
	const char *head;
	bool left; /* aligned left; else right */
};

#define TABLE_COLUMNS 16
struct table {
	const struct column *columns;
	size_t column_count;
	char **cells; /* row by row */
	size_t cell_count;
	bool names_above; /* the last column's texts stand on lines of their own, where the page is
	                     narrow: below PAGE_WIDE */
};
#define PAGE_WIDE 120

/* The last column takes what width is left; its texts are shortened in the middle to fit. */
void table_start(struct table *table, const struct column *columns, size_t count);
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the table and empties it. */
void table_print(struct table *table, struct page *page);

#endif
