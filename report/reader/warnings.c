/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/reader/warnings.h"

void warn(struct warnings *w, const char *format, ...)
{
	va_list args;
	char line[512];

	if (w->count >= WARNINGS_MOST) {
		w->left_out++;
		return;
	}
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ALLOC_ROOM(w->text, w->count);
	w->text[w->count++] = alloc_string(line);
}

void warnings_free(struct warnings *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->text[i]);
	free(w->text);
	*w = (struct warnings){0};
}

#define LINES_SHOWN 4

char *warnings_line(const struct warnings *w)
{
	char *line = NULL;
	size_t shown = w->count < LINES_SHOWN ? w->count : LINES_SHOWN,
	       rest = w->count - shown + w->left_out;

	for (size_t i = 0; i < shown; i++)
		alloc_append(&line, "%s%s", i ? "; " : "", w->text[i]);
	if (rest)
		alloc_append(&line, "; and %zu more", rest);
	return line;
}
