/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/output/out.h"

FILE *out_begin(struct out_file *f)
{
	f->to = open_memstream(&f->text, &f->bytes);
	if (!f->to)
		alloc_failed();
	return f->to;
}

/* Into the file, or to standard output (NULL). */
static int put(const struct out_file *f, const char *output)
{
	FILE *to = output ? fopen(output, "we") : stdout;

	if (!to) {
		complain("%s: %s", output, strerror(errno));
		return EXIT_TROUBLE;
	}
	setvbuf(to, NULL, _IONBF, 0);
	if (fwrite(f->text, 1, f->bytes, to) != f->bytes && errno == EPIPE)
		return EXIT_TROUBLE;
	return out_close(to, output ? output : "standard output");
}

int out_end(struct out_file *f, const char *output)
{
	if (fclose(f->to))
		alloc_failed();
	int status = put(f, output);
	free(f->text);
	return status;
}

int out_close(FILE *to, const char *name)
{
	bool bad = ferror(to);
	int why = errno;

	/* A disk may be full for the last block only, and say so only when the file is closed. */
	if (fflush(to)) {
		bad = true;
		why = errno;
	}
	if (fclose(to) && !bad) {
		bad = true;
		why = errno;
	}
	if (bad && why != EPIPE)
		complain("%s: %s", name, strerror(why));
	return bad ? EXIT_TROUBLE : EXIT_DONE;
}
