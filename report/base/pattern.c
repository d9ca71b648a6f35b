/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/pattern_internal.h"

/* With its repetitions written out. A name of 4 KiB takes so many nodes 50 ms. */
#define NODES_MOST   1500u
#define GROUPS_MOST  50u
#define REPEATS_MOST 255u /* as POSIX has it */
#define NESTED_MOST  8u   /* repetitions of repetitions */

struct parser {
	const char *at;
	char *why;
	bool wrong;
	unsigned depth;  /* of groups */
	unsigned nested; /* repetitions of repetitions, in what this group has so far */
	struct pattern_node *nodes;
	size_t count, room;
};

static void fail(struct parser *p, const char *format, ...)
{
	va_list args;

	if (p->wrong)
		return;
	va_start(args, format);
	vsnprintf(p->why, PATTERN_ERROR_BYTES, format, args);
	va_end(args);
	p->wrong = true;
}

/* ---- nodes ---- */

/* Room for `count` nodes more at `at`, where what stands there moves on. NULL: it is too large. */
static struct pattern_node *insert(struct parser *p, size_t at, size_t count)
{
	if (p->wrong)
		return NULL;
	if (count > NODES_MOST - p->count) {
		fail(p, "it repeats repetitions too often, or is too long");
		return NULL;
	}
	memmove(p->nodes + at + count, p->nodes + at, (p->count - at) * sizeof(*p->nodes));
	memset(p->nodes + at, 0, count * sizeof(*p->nodes));
	p->count += count;
	return p->nodes + at;
}

static struct pattern_node *append(struct parser *p, enum pattern_node_kind kind)
{
	struct pattern_node *n = insert(p, p->count, 1);

	if (n)
		*n = (struct pattern_node){.kind = kind, .next = 1};
	return n;
}

static void add_fork(struct parser *p, size_t at, int32_t next, int32_t other)
{
	struct pattern_node *n = insert(p, at, 1);

	if (n)
		*n = (struct pattern_node){.kind = NODE_FORK, .next = next, .other = other};
}

static void append_seam(struct parser *p, enum pattern_seam seam)
{
	struct pattern_node *n = append(p, NODE_SEAM);

	if (n)
		n->seam = seam;
}

/* ---- what stands for a character, or for none ---- */

static void append_byte(struct parser *p, unsigned char c)
{
	struct pattern_node *n = append(p, NODE_BYTE);

	if (n)
		pattern_set_byte(n->bytes, c);
}

static int is_word(int c)
{
	return pattern_is_word((unsigned char)c);
}

/* Behind the bracket that opens. */
static void parse_set(struct parser *p)
{
	uint64_t set[4] = {0};
	const char *why = pattern_read_set(&p->at, set);

	if (why)
		fail(p, "%s", why);
	struct pattern_node *n = append(p, NODE_BYTE);
	if (n)
		memcpy(n->bytes, set, sizeof(set));
}

static void append_class(struct parser *p, int (*is)(int), bool inverse)
{
	struct pattern_node *n = append(p, NODE_BYTE);

	if (n && is)
		pattern_set_class(n->bytes, is);
	if (n && inverse)
		pattern_set_inverse(n->bytes);
}

/* Behind the backslash. */
static void parse_escape(struct parser *p)
{
	char c = *p->at;

	if (!c) {
		fail(p, "trailing backslash");
		return;
	}
	p->at++;
	if (c == 'w' || c == 'W')
		append_class(p, is_word, c == 'W');
	else if (c == 's' || c == 'S')
		append_class(p, isspace, c == 'S');
	else if (c == 'b' || c == 'B')
		append_seam(p, c == 'b' ? SEAM_WORD : SEAM_NO_WORD);
	else if (c == '<' || c == '>')
		append_seam(p, c == '<' ? SEAM_WORD_START : SEAM_WORD_END);
	else if (c == '`' || c == '\'')
		append_seam(p, c == '`' ? SEAM_START : SEAM_END);
	else if (c >= '1' && c <= '9')
		fail(p, "\\%c: there are no back references", c);
	else if (isalnum((unsigned char)c))
		fail(p, "\\%c means nothing here%s", c, c == 'd' ? "; [0-9] is a digit" : "");
	else
		append_byte(p, (unsigned char)c);
}

static void parse_either(struct parser *p);

static void parse_group(struct parser *p)
{
	if (p->depth == GROUPS_MOST) {
		fail(p, "more than %u groups inside each other", GROUPS_MOST);
		return;
	}
	p->depth++;
	parse_either(p);
	p->depth--;
	if (*p->at == ')')
		p->at++;
	else
		fail(p, "unmatched (");
}

static void parse_atom(struct parser *p)
{
	char c = *p->at++;

	if (c == '(')
		parse_group(p);
	else if (c == '[')
		parse_set(p);
	else if (c == '\\')
		parse_escape(p);
	else if (c == '.')
		append_class(p, NULL, true);
	else if (c == '^' || c == '$')
		append_seam(p, c == '^' ? SEAM_START : SEAM_END);
	else if (c == '*' || c == '+' || c == '?' || c == '{')
		fail(p, "nothing stands before %c", c);
	else
		append_byte(p, (unsigned char)c);
}

/* ---- repetition ---- */

/* Another of what stands from `from` to `until`, at the end. */
static void copy(struct parser *p, size_t from, size_t until)
{
	size_t at = p->count;

	if (insert(p, at, until - from))
		memcpy(p->nodes + at, p->nodes + from, (until - from) * sizeof(*p->nodes));
}

/* What begins at `from` any number of times; or, unless `again`, once or not. */
static void make_optional(struct parser *p, size_t from, bool again)
{
	int32_t bytes = (int32_t)(p->count - from);

	add_fork(p, from, 1, bytes + 1 + again);
	if (again)
		add_fork(p, p->count, -(bytes + 1), -(bytes + 1));
}

static bool parse_number(struct parser *p, unsigned *to)
{
	if (!isdigit((unsigned char)*p->at))
		return false;
	for (*to = 0; isdigit((unsigned char)*p->at); p->at++)
		*to = *to > REPEATS_MOST ? *to : *to * 10 + (unsigned)(*p->at - '0');
	return true;
}

/* {2}, {2,}, {,5}, {2,5}, behind the brace, of what begins at `from`. */
static void parse_count(struct parser *p, size_t from)
{
	unsigned least = 0, most = 0;
	bool has_least = parse_number(p, &least), has_most = false, comma = *p->at == ',';
	size_t until = p->count;

	if (comma) {
		p->at++;
		has_most = parse_number(p, &most);
	} else {
		most = least;
		has_most = has_least;
	}
	if (*p->at != '}' || (!has_least && !comma) || (has_most && most < least) ||
	    least > REPEATS_MOST || most > REPEATS_MOST) {
		fail(p, "{ } must hold a number up to %u, or two", REPEATS_MOST);
		return;
	}
	p->at++;
	for (unsigned i = 0; i < least; i++)
		copy(p, from, until);
	for (unsigned i = least; has_most && i < most; i++) {
		size_t one = p->count;
		copy(p, from, until);
		make_optional(p, one, false);
	}
	if (!has_most) {
		size_t one = p->count;
		copy(p, from, until);
		make_optional(p, one, true);
	}
	if (p->wrong)
		return;
	/* The one that was copied goes. */
	memmove(p->nodes + from, p->nodes + until, (p->count - until) * sizeof(*p->nodes));
	p->count -= until - from;
}

static void parse_repeated(struct parser *p)
{
	size_t from = p->count;
	unsigned beside = p->nested;

	p->nested = 0;
	parse_atom(p);
	while (!p->wrong && *p->at && strchr("*+?{", *p->at)) {
		char c = *p->at++;
		if (++p->nested > NESTED_MOST)
			fail(p, "it repeats repetitions too often");
		if (c == '{') {
			parse_count(p, from);
		} else if (c == '+') {
			int32_t bytes = (int32_t)(p->count - from);
			add_fork(p, p->count, -bytes, 1);
		} else {
			make_optional(p, from, c == '*');
		}
	}
	p->nested = p->nested > beside ? p->nested : beside;
}

/* a|b|c, each of them perhaps nothing. */
static void parse_either(struct parser *p)
{
	size_t from = p->count;

	/* Outside of a group a bracket that closes none stands for itself. */
	while (!p->wrong && *p->at && *p->at != '|' && !(*p->at == ')' && p->depth))
		parse_repeated(p);
	if (p->wrong || *p->at != '|')
		return;
	p->at++;
	add_fork(p, from, 1, (int32_t)(p->count - from) + 2);
	size_t end = p->count;
	add_fork(p, end, 0, 0);
	parse_either(p);
	if (!p->wrong)
		p->nodes[end].next = p->nodes[end].other = (int32_t)(p->count - end);
}

int pattern_compile(struct pattern_regex *to, const char *text, char why[PATTERN_ERROR_BYTES])
{
	struct parser p = {
	        .at = text, .why = why, .nodes = alloc_zeroed(NODES_MOST, sizeof(*p.nodes))};

	parse_either(&p);
	append(&p, NODE_FOUND);
	if (p.wrong) {
		free(p.nodes);
		return -1;
	}
	struct pattern_node *fitting = realloc(p.nodes, p.count * sizeof(*p.nodes));
	*to = (struct pattern_regex){.nodes = fitting ? fitting : p.nodes, .count = p.count};
	to->scratch = pattern_scratch(to);
	return 0;
}

void pattern_free(struct pattern_regex *p)
{
	free(p->nodes);
	free(p->scratch);
	*p = (struct pattern_regex){0};
}
