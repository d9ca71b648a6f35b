/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/output/csv/csv.h"

/* A spreadsheet would work it out; tabs and carriage returns, which do the same, are escaped. */
static bool is_formula(const char *text)
{
	char *end;

	if (!*text || !strchr("=+-@", *text))
		return false;
	strtod(text, &end);
	bool number = end > text && !*end && !text[strspn(text, "+-.0123456789eE")];
	return !number;
}

void csv_text(FILE *to, const char *text)
{
	char *safe = text_safe(text ? text : "", text ? strlen(text) : 0);
	bool formula = is_formula(safe);

	if (formula || strpbrk(safe, ",\"\r\n")) {
		fputs(formula ? "\"'" : "\"", to);
		for (const char *s = safe; *s; s++) {
			if (*s == '"')
				putc('"', to);
			putc(*s, to);
		}
		putc('"', to);
	} else {
		fputs(safe, to);
	}
	free(safe);
}
