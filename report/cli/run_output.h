/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's recordings go, looked at before the command starts: what is wrong with a path shows
 * when there is still something to do about it. For
 * `run` and `bench`.
 */
#ifndef REPORT_RUN_OUTPUT_H
#define REPORT_RUN_OUTPUT_H

#include <stdbool.h>

#include "report/reader/find.h"

/*
 * Checks CUDASPY_OUT, whose value is right in itself: its folder is there (or is made, where the
 * path ends with a slash) and files can be made there, and a file named outright is not there yet,
 * or with `force` is a recording, which is removed. With `page` the same of the page that is
 * written beside it, whatever file it is. Makes the path absolute in the environment. -1 when one
 * line was written.
 */
int run_output_prepare(bool force, bool page);
/* The page's name: a recording's with another ending (free it). */
char *run_output_page(const char *recording);
/* The folder that the recordings go to (free it). */
char *run_output_folder(void);
/* Waits until what was killed with the command, or by it, has ended too; 2 s at most. */
void run_output_wait(const struct find_list *list);

#endif
