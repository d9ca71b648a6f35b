/*
 * Reads any bytes as a recording and writes every output of it: nothing in a file may make the
 * reporter crash, hang, or hand a control character or broken UTF-8 on. For libFuzzer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/text.h"
#include "tests/unit/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Only line ends may be left of what a text holds, and sanitizing it again must not change it. */
static void must_be_clean(const char *text, const char *line_ends)
{
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, line_ends);
		char *again = text_safe(s, n);
		if (strlen(again) != n || memcmp(again, s, n))
			abort();
		free(again);
		s += n;
		s += *s != '\0';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct rendered r;

	if (render(&r, data, bytes)) {
		must_be_clean(r.text, "\n");
		must_be_clean(r.markdown, "\n");
		must_be_clean(r.json, "\n");
		must_be_clean(r.csv, "\r\n");
	}
	rendered_free(&r);
	/* The same bytes as a kernel's name: they would seldom get so far by way of a recording. */
	char *full = name_demangle((const char *)data, bytes), *brief = name_short(full);
	free(full);
	free(brief);
	return 0;
}
