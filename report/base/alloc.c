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

char *alloc_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	int n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		alloc_failed();
	return text;
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
