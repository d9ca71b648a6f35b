/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "report/base/pattern_internal.h"

void pattern_set_byte(uint64_t set[4], unsigned char c)
{
	set[c / 64] |= 1ull << c % 64;
}

void pattern_set_class(uint64_t set[4], int (*is)(int))
{
	for (int c = 0; c < 256; c++)
		if (is(c))
			pattern_set_byte(set, (unsigned char)c);
}

void pattern_set_inverse(uint64_t set[4])
{
	for (int i = 0; i < 4; i++)
		set[i] = ~set[i];
	set[0] &= ~1ull; /* the end of the text */
}

bool pattern_is_word(unsigned char c)
{
	return isalnum(c) || c == '_';
}

/* [:alpha:], behind the colon. */
static const char *read_class(const char **at, uint64_t set[4])
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
	               {"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph},
	               {"lower", islower}, {"print", isprint}, {"punct", ispunct},
	               {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};
	const char *end = strstr(*at, ":]");

	if (!end)
		return "unmatched [ or [:";
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t bytes = strlen(classes[i].name);
		if ((size_t)(end - *at) != bytes || memcmp(*at, classes[i].name, bytes))
			continue;
		pattern_set_class(set, classes[i].is);
		*at = end + 2;
		return NULL;
	}
	return "invalid character class name";
}

/* One end of a range, or a character alone; [.x.] and [=x=] stand for theirs. */
static const char *read_member(const char **at, unsigned char *to)
{
	const char *s = *at;
	bool named = s[0] == '[' && (s[1] == '.' || s[1] == '=');

	if (named && (!s[2] || s[3] != s[1] || s[4] != ']'))
		return s[1] == '.' ? "[. .] must hold one character"
		                   : "[= =] must hold one character";
	*to = (unsigned char)(named ? s[2] : s[0]);
	*at += named ? 5 : 1;
	return NULL;
}

/* A character, or those from one to another. */
static const char *read_range(const char **at, uint64_t set[4])
{
	unsigned char low = 0, high;
	const char *why = read_member(at, &low);

	high = low;
	if (!why && (*at)[0] == '-' && (*at)[1] && (*at)[1] != ']') {
		++*at;
		why = read_member(at, &high);
	}
	for (int c = low; !why && c <= high; c++)
		pattern_set_byte(set, (unsigned char)c);
	return why ? why : high < low ? "invalid range end" : NULL;
}

const char *pattern_read_set(const char **at, uint64_t set[4])
{
	bool inverse = **at == '^', first = true;
	const char *why = NULL;

	for (*at += inverse; !why && (first || **at != ']'); first = false) {
		if (!**at)
			return "unmatched [";
		if ((*at)[0] == '[' && (*at)[1] == ':') {
			*at += 2;
			why = read_class(at, set);
		} else {
			why = read_range(at, set);
		}
	}
	*at += !why;
	if (inverse)
		pattern_set_inverse(set);
	return why;
}
