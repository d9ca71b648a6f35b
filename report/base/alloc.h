/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation for the reporter: what these return is never NULL, running out of memory ends the
 * program with exit status 2. For every file of report/; what is returned is freed with free().
 */
#ifndef REPORT_ALLOC_H
#define REPORT_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

void *alloc_zeroed(size_t items, size_t bytes) __attribute__((malloc, alloc_size(1, 2)));
char *alloc_copy(const char *text, size_t bytes)
        __attribute__((malloc));      /* with a NUL at its end */
char *alloc_string(const char *text); /* NULL of NULL */
char *alloc_format(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));
/* Adds to a text that alloc_*() returned, or that is NULL. */
void alloc_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *alloc_vformat(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void *alloc_grown(void *items, size_t count, size_t bytes);
void alloc_failed(void) __attribute__((noreturn, cold));

/* Room for one more in an array of `count` items that is grown by nothing else. */
#define ALLOC_ROOM(items, count) ((items) = alloc_grown((items), (count), sizeof(*(items))))

#endif
