/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/base/alloc.h"
#include "report/output/export/export.h"

#define GZIP_LEVEL  1         /* several times as fast as the usual level, for a tenth more bytes */
#define GZIP_WINDOW (15 + 16) /* the largest, in gzip's form */
#define GZIP_CHUNK  65536u

struct gzip {
	z_stream z;
	FILE *to;
	unsigned char out[GZIP_CHUNK];
};

/* What the compressor gives; at the end all that it still holds. */
static bool pass_on(struct gzip *g, int flush)
{
	int rc;

	do {
		g->z.next_out = g->out;
		g->z.avail_out = sizeof(g->out);
		rc = deflate(&g->z, flush);
		size_t bytes = sizeof(g->out) - g->z.avail_out;
		if (fwrite(g->out, 1, bytes, g->to) != bytes)
			return false;
	} while (g->z.avail_out == 0 || (flush == Z_FINISH && rc == Z_OK));
	return true;
}

static ssize_t gzip_write(void *cookie, const char *data, size_t bytes)
{
	struct gzip *g = cookie;
	size_t most = bytes < (1u << 30) ? bytes : 1u << 30;

	g->z.next_in = (unsigned char *)data;
	g->z.avail_in = (unsigned)most;
	return pass_on(g, Z_NO_FLUSH) ? (ssize_t)most : 0;
}

static int gzip_close(void *cookie)
{
	struct gzip *g = cookie;

	g->z.next_in = NULL;
	g->z.avail_in = 0;
	bool good = pass_on(g, Z_FINISH);
	int why = errno;
	deflateEnd(&g->z);
	free(g);
	errno = why;
	return good ? 0 : EOF;
}

FILE *export_gzip(FILE *to)
{
	struct gzip *g = alloc_zeroed(1, sizeof(*g));

	g->to = to;
	/* No name and no time in the header: the same export gives the same bytes. */
	if (deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		alloc_failed();
	FILE *f = fopencookie(g, "w",
	                      (cookie_io_functions_t){.write = gzip_write, .close = gzip_close});
	if (!f)
		alloc_failed();
	setvbuf(f, NULL, _IOFBF, GZIP_CHUNK);
	return f;
}
