/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of headings and lines, and tables (text_table.h), written as plain text for a terminal or
 * as Markdown. All that is written through it is made safe first, whoever it comes from. For the
 * text and Markdown outputs and the help.
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
/* The same at the left edge: a line of text that is not Markdown. */
void text_layout_plain(struct text_layout *page, const char *text);
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

#define TEXT_LAYOUT_LABEL 12 /* columns of the labels of facts */

#endif
