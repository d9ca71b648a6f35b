/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints, on standard output: no line is wider than the terminal. For the commands. */
#ifndef REPORT_HELP_TEXT_H
#define REPORT_HELP_TEXT_H

#include <stddef.h>

/* Lines that are given as such, "Usage: ..." for one; what does not fit goes on `indent` to the
 * right. */
void help_lines(const char *text, size_t indent);
/* A paragraph; line ends in it are blanks. */
void help_paragraph(const char *text);
/* "  what        about it", the text from `column` on, or below where that leaves it no room. */
void help_entry(const char *what, size_t column, const char *text);

#endif
