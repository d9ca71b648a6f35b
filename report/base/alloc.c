/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"

void alloc_failed(void)
{
	fputs("cudaspy: out of memory\n", stderr);
	exit(2);
}

void *alloc_zeroed(size_t items, size_t bytes)
{
	void *p = calloc(items ? items : 1, bytes ? bytes : 1);

	if (!p)
		alloc_failed();
	return p;
}

char *alloc_copy(const char *text, size_t bytes)
{
	char *copy = alloc_zeroed(bytes + 1, 1);

	memcpy(copy, text, bytes);
	return copy;
}

char *alloc_string(const char *text)
{
	return text ? alloc_copy(text, strlen(text)) : NULL;
}

char *alloc_vformat(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		alloc_failed();
	return text;
}

char *alloc_format(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = alloc_vformat(format, args);
	va_end(args);
	return text;
}

void alloc_append(char **text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *more = alloc_vformat(format, args);
	va_end(args);
	char *longer = alloc_format("%s%s", *text ? *text : "", more);
	free(*text);
	free(more);
	*text = longer;
}

/* The room doubles whenever the count is a power of two, so that no capacity has to be kept beside
 * it. */
void *alloc_grown(void *items, size_t count, size_t bytes)
{
	if (count & (count - 1))
		return items;
	size_t room = count ? 2 * count : 1;
	if (room > SIZE_MAX / 2 / bytes)
		alloc_failed();
	items = realloc(items, room * bytes);
	if (!items)
		alloc_failed();
	return items;
}
