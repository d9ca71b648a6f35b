/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/base/text.h"

void complain(const char *format, ...)
{
	char line[4096], *safe;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	safe = text_safe(line, strlen(line));
	progress_hide();
	fprintf(stderr, "cudaspy: %s\n", safe);
	free(safe);
}

/* Edit distance, insertions and deletions and changes costing one each; words longer than the table
 * are far. */
static unsigned distance(const char *a, const char *b)
{
	enum { MOST = 32 };
	unsigned row[MOST + 1], n = (unsigned)strlen(a), m = (unsigned)strlen(b);

	if (n > MOST || m > MOST)
		return MOST;
	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned corner = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

const char *suggest(const char *word, const char *const *names)
{
	const char *best = NULL;
	unsigned least = (unsigned)strlen(word) / 2 + 1;

	for (; *names; names++) {
		unsigned d = distance(word, *names);
		if (strlen(word) >= 3 && !strncmp(word, *names, strlen(word)))
			d = 0;
		if (d < least && d < 4) {
			least = d;
			best = *names;
		}
	}
	return best;
}
