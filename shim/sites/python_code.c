/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects: what is copied of them into the recording, once each. All is read by the kernel:
 * nothing here trusts an address. */
#include "shim/sites/python_internal.h"

#include <string.h>
#include "shim/base/recording_tables.h"
#include "shim/sites/peek.h"
#include "shim/sites/python_layouts.h"

#define UNITS_MOST (1u << 27) /* instructions of one code object */

const struct python_layout *python_layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(python_layouts) / sizeof(python_layouts[0]); i++)
		if (python_layouts[i].version == version)
			return &python_layouts[i];
	return NULL;
}

static bool read_at(uintptr_t at, void *to, size_t bytes)
{
	return peek(python_here.pid, at, to, bytes);
}

static bool read_code(uintptr_t code, uint8_t bytes[PYTHON_CODE_BYTES])
{
	uintptr_t type;

	memset(bytes, 0, PYTHON_CODE_BYTES);
	if (!read_at(code, bytes, python_here.layout.code_bytes))
		return false;
	memcpy(&type, bytes + python_here.layout.object_type, sizeof(type));
	return type == (uintptr_t)python_here.symbols.code_type;
}

static uintptr_t word_of(const uint8_t *bytes, unsigned offset)
{
	uintptr_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

/* ---- texts ---- */

/* One character in UTF-8; how many bytes. */
static unsigned put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

#define TEXT_BYTES 4096u

/* A str of Python, cut where there is no room; how many bytes, -1 = it is none. */
static int read_text(uintptr_t text, char to[TEXT_BYTES])
{
	const struct python_layout *l = &python_here.layout;
	uint8_t head[128], characters[TEXT_BYTES];
	uint32_t state, used = 0;

	if (text % 8 || !read_at(text, head, l->text_ascii) ||
	    word_of(head, l->object_type) != (uintptr_t)python_here.symbols.text_type)
		return -1;
	memcpy(&state, head + l->text_state, sizeof(state));
	uint32_t kind = (state & l->text_kind) / (l->text_kind & -l->text_kind);
	uint64_t length = word_of(head, l->text_length);
	if (!(state & l->text_is_compact) || (kind != 1 && kind != 2 && kind != 4) ||
	    length > 1u << 30)
		return -1;
	uint32_t bytes = (uint32_t)(length < TEXT_BYTES / 4 ? length : TEXT_BYTES / 4) * kind;
	uintptr_t from = text + (state & l->text_is_ascii ? l->text_ascii : l->text_compact);
	if (bytes && !read_at(from, characters, bytes))
		return -1;
	for (uint32_t i = 0; i < bytes; i += kind) {
		uint32_t c = 0;
		memcpy(&c, characters + i, kind);
		used += put_utf8(to + used, c);
	}
	return (int)used;
}

/* The string's place in the recording; 0 = there is none, or no room. */
static uint64_t keep_text(uintptr_t text)
{
	char bytes[TEXT_BYTES];
	int n = read_text(text, bytes);

	return n > 0 ? recording_text(bytes, (uint64_t)n) : 0;
}

/* Of an empty one, which 3.9 has for functions of one line, `*offset` is 0; false: it is no table.
 */
static bool keep_lines(uintptr_t table, uint64_t *offset)
{
	const struct python_layout *l = &python_here.layout;
	uint8_t head[64], bytes[TF_STRING_MAX];

	if (table % 8 || !read_at(table, head, l->bytes_data) ||
	    word_of(head, l->object_type) != (uintptr_t)python_here.symbols.bytes_type)
		return false;
	uint64_t n = word_of(head, l->object_size);
	n = n < TF_STRING_MAX ? n : TF_STRING_MAX;
	if (n && !read_at(table + l->bytes_data, bytes, n))
		return false;
	*offset = recording_text((const char *)bytes, n);
	return *offset || !n;
}

/* ---- code objects ---- */

bool python_is_code(uintptr_t code, uint32_t at)
{
	const struct python_layout *l = &python_here.layout;
	uint8_t bytes[PYTHON_CODE_BYTES];
	char text[TEXT_BYTES];

	if (!read_code(code, bytes))
		return false;
	if (l->code_units != PYTHON_NONE) {
		uint64_t units = word_of(bytes, l->object_size);
		if (!units || units > UNITS_MOST || at / 2 > units)
			return false;
	}
	int n = read_text(word_of(bytes, l->code_file), text);
	for (int i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return n > 0 && read_text(word_of(bytes, l->code_name), text) > 0;
}

bool python_describe(uintptr_t code, struct tf_code *to)
{
	const struct python_layout *l = &python_here.layout;
	uint8_t bytes[PYTHON_CODE_BYTES];
	uint32_t first;

	if (!python_is_code(code, 0) || !read_code(code, bytes))
		return false;
	memcpy(&first, bytes + l->code_first_line, sizeof(first));
	to->first_line = first;
	to->python = l->version;
	to->file = keep_text(word_of(bytes, l->code_file));
	to->name = keep_text(word_of(bytes, l->code_name));
	return to->file && to->name && keep_lines(word_of(bytes, l->code_lines), &to->lines);
}
