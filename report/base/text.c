/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"

/* Length of the UTF-8 sequence at s, its character in *code; 0 where there is none. Shortest forms
 * only. */
static size_t sequence(const unsigned char *s, size_t n, uint32_t *code)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = s[0] < 0x80   ? 1
	               : s[0] < 0xc2 ? 0
	               : s[0] < 0xe0 ? 2
	               : s[0] < 0xf0 ? 3
	               : s[0] < 0xf5 ? 4
	                             : 0;

	if (!bytes || bytes > n)
		return 0;
	uint32_t c = bytes == 1 ? s[0] : s[0] & (0xffu >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return bytes;
}

/* Characters that act on a terminal, or are not seen, or change the order in which others are seen.
 */
static bool is_harmful(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
	       (c >= 0xfff0 && c <= 0xfffb) || c >= 0xe0000;
}

/* The bytes of the next character, if it is one that may be seen; else 0. */
static size_t shown(const unsigned char *s, size_t n, bool harmful_too)
{
	uint32_t code;
	size_t bytes = n ? sequence(s, n, &code) : 0;

	return bytes && code != 0x7f && !(harmful_too && is_harmful(code)) ? bytes : 0;
}

/* "xNN" */
static bool reads_as_byte(const unsigned char *s, size_t n)
{
	return n >= 3 && s[0] == 'x' && isxdigit(s[1]) && isxdigit(s[2]);
}

/* A backslash that with what follows would read as an escape of ours. */
static bool is_ambiguous(const unsigned char *s, size_t n, bool harmful_too)
{
	return s[0] == '\\' && n > 1 &&
	       (s[1] == '\\' || reads_as_byte(s + 1, n - 1) || !shown(s + 1, n - 1, harmful_too));
}

static char *escaped(const char *text, size_t bytes, bool harmful_too)
{
	const unsigned char *s = (const unsigned char *)text;
	char *out = alloc_zeroed(4 * bytes + 1, 1), *at = out;

	for (size_t i = 0; i < bytes;) {
		size_t n = shown(s + i, bytes - i, harmful_too);
		if (!n) {
			uint32_t code;
			n = sequence(s + i, bytes - i, &code);
			n = n ? n : 1;
			for (size_t k = 0; k < n; k++)
				at += sprintf(at, "\\x%02x", s[i + k]);
		} else {
			if (is_ambiguous(s + i, bytes - i, harmful_too))
				*at++ = '\\';
			memcpy(at, s + i, n);
			at += n;
		}
		i += n;
	}
	return out;
}

bool text_is_safe(const char *text, size_t bytes)
{
	for (size_t i = 0, n; i < bytes; i += n)
		if (!(n = shown((const unsigned char *)text + i, bytes - i, true)))
			return false;
	return true;
}

char *text_safe(const char *text, size_t bytes)
{
	return escaped(text, bytes, true);
}

char *text_utf8(const char *text, size_t bytes)
{
	return escaped(text, bytes, false);
}

static int digit(unsigned char c)
{
	return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

char *text_original(const char *escaped)
{
	const unsigned char *s = (const unsigned char *)escaped;
	size_t left = strlen(escaped);
	char *out = alloc_zeroed(left + 1, 1), *at = out;

	while (left) {
		size_t n = 1;
		if (left > 1 && s[0] == '\\' && s[1] == '\\') {
			*at++ = '\\';
			n = 2;
		} else if (s[0] == '\\' && reads_as_byte(s + 1, left - 1)) {
			*at++ = (char)(digit(s[2]) << 4 | digit(s[3]));
			n = 4;
		} else {
			*at++ = (char)*s;
		}
		s += n;
		left -= n;
	}
	return out;
}

/* Characters that a terminal gives no column of their own, or two (first, last, columns): the
 * blocks of Unicode where nearly all are so. */
static const struct {
	unsigned first, last, columns;
} not_one[] = {
        {0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},
        {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0x33ff, 2},   {0x3400, 0x4dbf, 2},
        {0x4e00, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
        {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

/* Columns of the character at `text`, and its bytes. */
static size_t columns_at(const char *text, size_t *bytes)
{
	unsigned char first = (unsigned char)*text;
	unsigned code = first < 0x80   ? first
	                : first < 0xe0 ? first & 0x1f
	                : first < 0xf0 ? first & 0xf
	                               : first & 7;

	for (*bytes = 1; ((unsigned char)text[*bytes] & 0xc0) == 0x80; ++*bytes)
		code = code << 6 | ((unsigned char)text[*bytes] & 0x3f);
	for (size_t i = 0; code >= not_one[0].first && i < sizeof(not_one) / sizeof(not_one[0]);
	     i++)
		if (code >= not_one[i].first && code <= not_one[i].last)
			return not_one[i].columns;
	return 1;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (size_t bytes; *text; text += bytes)
		width += columns_at(text, &bytes);
	return width;
}

size_t text_bytes(const char *text, size_t columns)
{
	size_t at = 0, width = 0;

	for (size_t bytes; text[at]; at += bytes) {
		width += columns_at(text + at, &bytes);
		if (width > columns)
			break;
	}
	return at;
}

char *text_fit(const char *text, size_t columns)
{
	size_t width = text_width(text), bytes;

	if (width <= columns || columns < 4)
		return alloc_copy(text, text_bytes(text, columns));
	size_t left = (columns - 2 + 1) / 2, right = columns - 2 - left;
	const char *end = text;
	for (size_t one; *end && (one = columns_at(end, &bytes), !one || width > right);
	     end += bytes)
		width -= one;
	return alloc_format("%.*s..%s", (int)text_bytes(text, left), text, end);
}

static void quote(FILE *to, const char *word)
{
	static const char plain[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=:,+@%^";

	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, to);
		return;
	}
	putc('\'', to);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", to);
		else
			putc(*word, to);
	}
	putc('\'', to);
}

char *text_command(const char *arguments, size_t bytes)
{
	char *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);

	if (!to)
		alloc_failed();
	for (size_t i = 0; i < bytes; i += strlen(arguments + i) + 1) {
		if (i)
			putc(' ', to);
		quote(to, arguments + i);
	}
	if (fclose(to))
		alloc_failed();
	return line;
}

char *text_safe_format(const char *format, va_list args)
{
	char *raw = alloc_vformat(format, args), *safe = text_safe(raw, strlen(raw));

	free(raw);
	return safe;
}
