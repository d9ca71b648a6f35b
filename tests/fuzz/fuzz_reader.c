/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any bytes as a recording and writes every output of it: nothing in a file may make the
 * reporter crash, hang, or hand a control character or broken UTF-8 on. For libFuzzer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/base/text.h"
#include "tests/fuzz/packed.h"
#include "tests/unit/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Only line ends may be left of what a text holds. */
static void must_be_clean(const char *text, const char *line_ends)
{
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, line_ends);
		if (!text_is_safe(s, n))
			abort();
		s += n;
		s += *s != '\0';
	}
}

/* Whatever a recording holds, the first screen is one, and the brief form fits. */
static void must_be_short(const struct rendered *r)
{
	size_t lines = 0;

	for (const char *c = r->screen; *c; c++)
		lines += *c == '\n';
	if (lines > 24 || strlen(r->brief) > OUT_BRIEF_BYTES)
		abort();
}

/* What a packed recording unfolds to (free it). */
static uint8_t *unfolded(const uint8_t *data, size_t bytes, size_t *whole)
{
	uint8_t *to = calloc(1, PACKED_MOST);
	struct packed_piece piece;

	*whole = 0;
	for (size_t at = PACKED_MAGIC; to && bytes - at >= sizeof(piece);) {
		memcpy(&piece, data + at, sizeof(piece));
		at += sizeof(piece);
		if (piece.bytes > bytes - at)
			piece.bytes = (uint32_t)(bytes - at);
		if (piece.zeros > PACKED_MOST - *whole ||
		    piece.bytes > PACKED_MOST - *whole - piece.zeros)
			break;
		*whole += piece.zeros;
		memcpy(to + *whole, data + at, piece.bytes);
		*whole += piece.bytes;
		at += piece.bytes;
	}
	return to;
}

static bool render_any(struct rendered *r, const uint8_t *data, size_t bytes)
{
	if (bytes < PACKED_MAGIC || memcmp(data, PACKED, PACKED_MAGIC) != 0)
		return render(r, data, bytes);
	size_t whole;
	uint8_t *recording = unfolded(data, bytes, &whole);
	bool rendered = recording && render(r, recording, whole);
	free(recording);
	return rendered;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct rendered r = {0};

	if (render_any(&r, data, bytes)) {
		must_be_clean(r.text, "\n");
		must_be_clean(r.screen, "\n");
		must_be_clean(r.brief, "\n");
		must_be_short(&r);
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
