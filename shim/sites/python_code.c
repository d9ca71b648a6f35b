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

#define TEXT_BYTES  4096u
#define FIRST_BYTES 384u /* of an object are read at once: most texts and tables are shorter */

/* Of an object its head, and as much behind it as is there at once; how many bytes, 0 = none. */
static uint32_t read_first(uintptr_t object, uint8_t to[FIRST_BYTES], uint32_t head)
{
	if (object % 8)
		return 0;
	if (read_at(object, to, FIRST_BYTES))
		return FIRST_BYTES;
	return read_at(object, to, head) ? head : 0;
}

/* Bytes [from, from + bytes) of an object of which `have` were read. */
static bool read_rest(uintptr_t object, const uint8_t *first, uint32_t have, uint32_t from,
                      uint8_t *to, uint32_t bytes)
{
	uint32_t known = have <= from ? 0 : have - from < bytes ? have - from : bytes;

	memcpy(to, first + from, known);
	return known == bytes || read_at(object + from + known, to + known, bytes - known);
}

/* A str of Python, cut where there is no room; how many bytes, -1 = it is none. */
static int read_text(uintptr_t text, char to[TEXT_BYTES])
{
	const struct python_layout *l = &python_here.layout;
	uint8_t first[FIRST_BYTES], characters[TEXT_BYTES];
	uint32_t state, used = 0, have = read_first(text, first, l->text_ascii);

	if (!have || word_of(first, l->object_type) != (uintptr_t)python_here.symbols.text_type)
		return -1;
	memcpy(&state, first + l->text_state, sizeof(state));
	uint32_t kind = (state & l->text_kind) / (l->text_kind & -l->text_kind);
	uint64_t length = word_of(first, l->text_length);
	if (!(state & l->text_is_compact) || (kind != 1 && kind != 2 && kind != 4) ||
	    length > 1u << 30)
		return -1;
	uint32_t bytes = (uint32_t)(length < TEXT_BYTES / 4 ? length : TEXT_BYTES / 4) * kind;
	uint32_t from = state & l->text_is_ascii ? l->text_ascii : l->text_compact;
	if (!read_rest(text, first, have, from, characters, bytes))
		return -1;
	for (uint32_t i = 0; i < bytes; i += kind) {
		uint32_t c = 0;
		memcpy(&c, characters + i, kind);
		used += put_utf8(to + used, c);
	}
	return (int)used;
}

/* Of an empty one, which 3.9 has for functions of one line, `*offset` is 0; false: it is no table.
 */
static bool keep_lines(uintptr_t table, uint64_t *offset)
{
	const struct python_layout *l = &python_here.layout;
	uint8_t first[FIRST_BYTES], bytes[TF_STRING_MAX];
	uint32_t have = read_first(table, first, l->bytes_data);

	if (!have || word_of(first, l->object_type) != (uintptr_t)python_here.symbols.bytes_type)
		return false;
	uint64_t n = word_of(first, l->object_size);
	n = n < TF_STRING_MAX ? n : TF_STRING_MAX;
	if (!read_rest(table, first, have, l->bytes_data, bytes, (uint32_t)n))
		return false;
	*offset = recording_text((const char *)bytes, n);
	return *offset || !n;
}

/* ---- code objects ---- */

/* A code object, and the texts that make it one. */
struct code {
	uint8_t bytes[PYTHON_CODE_BYTES];
	char file[TEXT_BYTES], name[TEXT_BYTES];
	int file_bytes, name_bytes;
};

static bool read_all(uintptr_t code, uint32_t at, struct code *to)
{
	const struct python_layout *l = &python_here.layout;

	if (!read_code(code, to->bytes))
		return false;
	if (l->code_units != PYTHON_NONE) {
		uint64_t units = word_of(to->bytes, l->object_size);
		if (!units || units > UNITS_MOST || at / 2 > units)
			return false;
	}
	/* Whatever stands in them: programs name what they make as they like. */
	to->file_bytes = read_text(word_of(to->bytes, l->code_file), to->file);
	to->name_bytes = read_text(word_of(to->bytes, l->code_name), to->name);
	return to->file_bytes >= 0 && to->name_bytes >= 0;
}

bool python_is_code(uintptr_t code, uint32_t at)
{
	struct code c;

	return read_all(code, at, &c);
}

bool python_describe(uintptr_t code, struct tf_code *to)
{
	const struct python_layout *l = &python_here.layout;
	struct code c;
	uint32_t first;

	if (!read_all(code, 0, &c))
		return false;
	memcpy(&first, c.bytes + l->code_first_line, sizeof(first));
	to->first_line = first;
	to->python = l->version;
	to->file = recording_text(c.file, (uint64_t)c.file_bytes);
	to->name = recording_text(c.name, (uint64_t)c.name_bytes);
	return (to->file || !c.file_bytes) && (to->name || !c.name_bytes) &&
	       keep_lines(word_of(c.bytes, l->code_lines), &to->lines);
}
