/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in the kernel's small files. Not strtoull(): headers of glibc 2.38 and newer make it a
 * symbol that older systems lack.
 */
#ifndef SPY_NUMBERS_H
#define SPY_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The number at `*at`, which moves behind it; false where there is none. */
static inline bool number_next(const char **at, uint64_t *n)
{
	const char *p = *at;

	while (*p == ' ')
		p++;
	if (*p < '0' || *p > '9')
		return false;
	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		*n = *n * 10 + (uint64_t)(*p - '0');
	*at = p;
	return true;
}

/* Of a text with a name and a number in each line. */
static inline bool number_of(const char *text, const char *name, uint64_t *n)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ' ') {
			line += length;
			return number_next(&line, n);
		}
	}
	return false;
}

#endif
