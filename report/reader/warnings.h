/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines about a recording that are shown with its report. For the reader and the model.
 */
#ifndef REPORT_WARNINGS_H
#define REPORT_WARNINGS_H

#include <stddef.h>

struct warnings {
	char **text;
	size_t count;
	size_t left_out; /* beyond the first WARNINGS_MOST */
};
#define WARNINGS_MOST 64
void warn(struct warnings *warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));
void warnings_free(struct warnings *warnings);
/* The lines as one, the first few of them; NULL = there are none (free it). */
char *warnings_line(const struct warnings *warnings);

#endif
