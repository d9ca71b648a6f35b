/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says goes through here before anybody sees it: names, paths and commands come
 * from the program that was recorded and may hold terminal escapes, broken UTF-8 or characters that
 * reverse the text. For every output.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A copy (free it) in which control characters (C0, C1, DEL), bytes that are no UTF-8, and
 * invisible or direction-changing characters are written \xNN, and a backslash that would read as
 * the beginning of one, or stands before another backslash, is doubled: what is shown can have come
 * from one text alone. One line; what it returns is valid UTF-8.
 */
char *text_safe(const char *text, size_t bytes);
/* The same of what is formatted (free it). */
char *text_safe_format(const char *format, va_list args);
/* The same for JSON, which has escapes of its own for all but DEL: that, and what is no UTF-8, is
 * written \xNN. */
char *text_utf8(const char *text, size_t bytes);
/* The text that either was made of (free it), as a C string: it ends where that had a NUL. Of any
 * other text, some text. */
char *text_original(const char *escaped);
/* Whether all of it may be shown: valid UTF-8 without the characters that text_safe() escapes. */
bool text_is_safe(const char *text, size_t bytes);
/* Columns that valid UTF-8 takes on a terminal. Of other bytes, some number. */
size_t text_width(const char *text);
/* Bytes of the characters of it that fit into so many columns. */
size_t text_bytes(const char *text, size_t columns);
/* A copy (free it) that takes `columns` at most, its middle replaced by "..". */
char *text_fit(const char *text, size_t columns);
/* A command's arguments, separated by NULs, as one line that a shell would read the same way (free
 * it). */
char *text_command(const char *arguments, size_t bytes);

#endif
