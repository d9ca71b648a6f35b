/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a terminal is wide, whether it has colours, and a page through a pager, as git does it:
 * $PAGER, else less, and less leaves alone what fits on the screen. For the commands.
 */
#ifndef REPORT_TERMINAL_H
#define REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* COLUMNS, else the terminal's, else 80. */
size_t terminal_width(int fd);
bool terminal_has_colours(int fd);
/* Whether standard output is a terminal and a pager is wanted there (PAGER is not empty or cat). */
bool pager_is_wanted(void);
/* Shows it and waits until the reader has had enough. False: there is no such pager, and nothing
 * was written. */
bool pager_show(const char *text, size_t bytes);

#endif
