#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/pattern.h"

/*
 * The C library copies what is repeated: `a++++++...` and `((a{99}){99}){99}` take all memory there
 * is. What a pattern unfolds to is limited before it is compiled.
 */
#define UNFOLDED_MOST 100000.0
#define GROUPS_MOST   50u

/* Behind a bracket expression, of which `at` is the first character inside. */
static const char *behind_bracket(const char *at)
{
	at += *at == '^';
	at += *at == ']'; /* first, it stands for itself */
	for (; *at && *at != ']'; at++)
		if (at[0] == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
			const char end[] = {at[1], ']', '\0'};
			const char *stop = strstr(at + 2, end);
			at = stop ? stop + 1 : at;
		}
	return at + (*at == ']');
}

/* How often `{2,5}` repeats at most; `*at` goes behind it. */
static double times_of(const char **at)
{
	double most = 1;
	char *end;

	for (*at += 1; **at && **at != '}'; *at = end > *at ? end : *at + 1) {
		end = (char *)*at;
		if (isdigit((unsigned char)**at)) {
			double n = (double)strtoul(*at, &end, 10);
			most = n > most ? n : most;
		}
	}
	*at += **at == '}';
	return most + 1;
}

/* How many characters, roughly, a pattern is with its repetitions written out. */
static double unfolded(const char *at)
{
	double sums[GROUPS_MOST + 1] = {0}, last = 0;
	unsigned depth = 0;

	while (*at) {
		char c = *at++;
		if (c == '(' && depth == GROUPS_MOST)
			return UNFOLDED_MOST * 2;
		if (c == '(') {
			sums[++depth] = 0;
			last = 0;
		} else if (c == ')' && depth) {
			last = sums[depth--] + 1;
			sums[depth] += last;
		} else if (c == '+' || c == '*' || c == '?' || c == '{') {
			double times = 2;
			if (c == '{') {
				at--;
				times = times_of(&at);
			}
			sums[depth] += last * (times - 1);
			last *= times;
		} else {
			at = c == '[' ? behind_bracket(at) : at + (c == '\\' && *at);
			last = 1;
			sums[depth] += last;
		}
		if (!(sums[depth] <= UNFOLDED_MOST))
			return UNFOLDED_MOST * 2;
	}
	return sums[0];
}

int pattern_compile(regex_t *to, const char *text, char why[PATTERN_ERROR_BYTES])
{
	if (unfolded(text) > UNFOLDED_MOST) {
		snprintf(why, PATTERN_ERROR_BYTES, "it repeats repetitions too often");
		return -1;
	}
	int rc = regcomp(to, text, REG_EXTENDED | REG_NOSUB);
	if (rc)
		regerror(rc, to, why, PATTERN_ERROR_BYTES);
	return rc ? -1 : 0;
}
