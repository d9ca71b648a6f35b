/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that users name, read whole: settings and baselines. A pipe or a device that nobody feeds
 * would be waited for without end: only regular files are read, and descriptors that somebody
 * handed over.
 */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Its bytes and a NUL (free them); NULL when one line was written. `most`: it is shorter than that.
 */
char *file_read(const char *path, size_t most, size_t *bytes);
/* The first of its bytes; 0 = none, or it cannot be read. Says nothing. */
size_t file_begins(const char *path, char *to, size_t room);

bool file_is_there(const char *path); /* a regular one */
bool file_is_folder(const char *path);
bool file_is_same(const char *a, const char *b); /* both are there, and one file */
/* What is behind the last slash, of a path that ends in one the whole; NULL of NULL. */
const char *file_base_name(const char *path);

#endif
