/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/python_lines.h"

#include <stdbool.h>

#include "shim/core/format/trace_tables.h"

#define NO_LINE    INT64_MIN
#define LINES_MOST 100000000 /* beyond it a table is damaged */

/* 3.9, co_lnotab: pairs of a step in bytes and one in lines, signed. */
static int64_t line_of_steps(const uint8_t *p, size_t bytes, int64_t line, uint64_t at)
{
	uint64_t here = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		here += p[i];
		if (here > at)
			break;
		line += (int8_t)p[i + 1];
	}
	/* One so long was cut. */
	return bytes < TF_STRING_MAX || here > at ? line : NO_LINE;
}

/* 3.10, co_linetable: the step in lines comes first, -128 is of no line. */
static int64_t line_of_ranges(const uint8_t *p, size_t bytes, int64_t line, uint64_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		bool none = p[i + 1] == 0x80;
		end += p[i];
		if (!none)
			line += (int8_t)p[i + 1];
		if (at < end)
			return none ? NO_LINE : line;
	}
	return NO_LINE;
}

/* Six bits a byte, the lowest first; the sign in the lowest bit. */
static int64_t signed_number(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < bytes && shift < 42; i++, shift += 6) {
		v |= (uint64_t)(p[i] & 63) << shift;
		if (!(p[i] & 64))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Since 3.11: entries that begin with a byte whose top bit is set, of up to eight instructions. */
enum { ENTRY_ONE_LINE = 10, ENTRY_LINE = 13, ENTRY_LONG = 14, ENTRY_NONE = 15 };

static int64_t line_of_entries(const uint8_t *p, size_t bytes, int64_t line, uint64_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i < bytes;) {
		unsigned form = p[i] >> 3 & 15;
		size_t next = i + 1;
		if (!(p[i] & 0x80))
			return NO_LINE;
		while (next < bytes && !(p[next] & 0x80))
			next++;
		end += ((p[i] & 7u) + 1) * 2;
		if (form == ENTRY_LINE || form == ENTRY_LONG)
			line += signed_number(p + i + 1, next - i - 1);
		else if (form >= ENTRY_ONE_LINE && form < ENTRY_LINE)
			line += form - ENTRY_ONE_LINE;
		if (at < end)
			return form == ENTRY_NONE ? NO_LINE : line;
		i = next;
	}
	return NO_LINE;
}

uint32_t python_line(uint32_t version, const uint8_t *table, size_t bytes, uint32_t first_line,
                     uint32_t at)
{
	int64_t line = NO_LINE;

	if (version >> 8 != 3 || (version & 255) < 9)
		return 0;
	if (version == 0x309)
		line = line_of_steps(table, bytes, first_line, at);
	else if (version == 0x30a)
		line = line_of_ranges(table, bytes, first_line, at);
	else
		line = line_of_entries(table, bytes, first_line, at);
	return line > 0 && line < LINES_MOST ? (uint32_t)line : 0;
}
