/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recordings a command is about: the files named, those of a folder, those of a run. For the
 * commands.
 */
#ifndef REPORT_FIND_H
#define REPORT_FIND_H

#include <stdbool.h>
#include <stddef.h>

struct find_list {
	char **paths;
	size_t count;
	/* of folders: "PATH: why" of what is called a recording and cannot be read; recordings of
	 * other runs beside the newest */
	char **unreadable, **others;
	size_t unreadable_count, other_count;
};

/*
 * What the user named (files and folders, or nothing: the folder he is in) as a list of files of
 * one run. On error one line was written and it returns -1. Says on stderr what it chose where
 * there was a choice, and what it could not read.
 */
int find_recordings(struct find_list *list, char *const *names, size_t count);
/* The recordings of a run in a folder, whatever they are called. */
void find_run(struct find_list *list, const char *folder, const char *run_id);
/* What of a folder may belong to the run and is not in the list: files that cannot be read, and
 * recordings that say they are of another run but are damaged. NULL = nothing (free it). */
char *find_missing(const struct find_list *list);
void find_free(struct find_list *list);

#endif
