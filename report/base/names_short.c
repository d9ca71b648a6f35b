/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"

#define ARGUMENTS_MOST 64u /* of a template that are told apart */
#define BRIEF_MOST     96u /* letters of an only argument that is shown as it is */
#define ANON           "(anonymous namespace)"

/* A part of a name. */
struct span {
	const char *from, *to;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool after_operator(const char *start, const char *at)
{
	return at - start >= 8 && !strncmp(at - 8, "operator", 8) &&
	       (at - start == 8 || !is_word(at[-9]));
}

/* Just after the bracket that closes the one at s; the end of the string where none does. */
static const char *closing(const char *s, char open, char close)
{
	int depth = 0;

	for (; *s; s++) {
		if (*s == '>' && s[-1] == '-')
			continue;
		if (*s == open)
			depth++;
		else if (*s == close && !--depth)
			return s + 1;
	}
	return s;
}

/* The signs of an operator's name at s, "()" of operator()(...). */
static size_t operator_signs(const char *start, const char *s)
{
	size_t n = after_operator(start, s) ? strspn(s, "<>()-=") : 0;

	return n > 2 && *s == '(' ? 2 : n;
}

/* ---- the operation inside template arguments ---- */

static bool ends_in(struct span word, const char *end)
{
	size_t n = strlen(end);

	return (size_t)(word.to - word.from) > n && !strncmp(word.to - n, end, n);
}

static bool holds(struct span s, const char *what)
{
	size_t n = strlen(what);

	for (const char *p = s.from; p + n <= s.to; p++)
		if (!strncmp(p, what, n))
			return true;
	return false;
}

/* AddFunctor, CUDAFunctor_add, sum_functor, MeanOps. */
static bool is_functor(struct span word)
{
	return holds(word, "Functor") || holds(word, "functor") || ends_in(word, "Op") ||
	       ends_in(word, "Ops");
}

/* Without the scopes that its words stand in: "at::native::F<c10::Half>" is "F<Half>". */
static char *without_scopes(struct span s)
{
	char *out = alloc_zeroed((size_t)(s.to - s.from) + 1, 1), *to = out, *word = out;

	for (const char *p = s.from; p < s.to;) {
		if (!strncmp(p, ANON "::", sizeof(ANON) + 1)) {
			p += sizeof(ANON) + 1;
		} else if (p + 1 < s.to && p[0] == ':' && p[1] == ':' && to > word) {
			to = word;
			p += 2;
		} else {
			*to++ = *p;
			word = is_word(*p) ? word : to;
			p++;
		}
	}
	*to = '\0';
	return out;
}

/* The parameters of the last lambda in what follows a function's parameters: "(float)"; none:
 * empty. */
static struct span lambda_of(const char *s, const char *end)
{
	struct span found = {s, s};
	int depth = 0;

	for (; s < end && depth >= 0 && (depth || *s != ','); s++) {
		if (!strncmp(s, "{lambda(", 8)) {
			found.from = s + 7;
			found.to = closing(s + 7, '(', ')');
		}
		depth += (*s == '(' || *s == '{' || *s == '<') -
		         (*s == ')' || *s == '}' || *s == '>');
	}
	return found.to > end ? (struct span){s, s} : found;
}

/* "tanh(float)" of tanh_kernel_cuda(...)::{lambda()#2}::operator()() const::{lambda(float)#1} */
static char *lambda_text(struct span word, const char *end)
{
	static const char *const common[] = {"_cuda", "_impl", "_kernel"};
	struct span parameters = lambda_of(closing(word.to, '(', ')'), end);

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (ends_in(word, common[i]))
			word.to -= strlen(common[i]);
	char *types = parameters.to - parameters.from > 2 ? without_scopes(parameters) : NULL;
	char *text =
	        alloc_format("%.*s%s", (int)(word.to - word.from), word.from, types ? types : "");
	free(types);
	return text;
}

static char *functor_text(struct span word, const char *end)
{
	const char *to = *word.to == '<' ? closing(word.to, '<', '>') : word.to;

	return without_scopes((struct span){word.from, to < end ? to : end});
}

static bool has_lambda(struct span word)
{
	return *word.to == '(' && !strncmp(closing(word.to, '(', ')'), "::{lambda", 9);
}

/* The innermost operation in template arguments, of equals the first; NULL: none (free it). */
static char *operation(struct span s)
{
	struct span best = {NULL, NULL};
	int depth = 0, deepest = -1;

	for (const char *p = s.from; p < s.to;) {
		size_t signs = operator_signs(s.from, p);
		struct span word = {p, p};
		if (signs) {
			p += signs;
		} else if (is_word(*p)) {
			while (word.to < s.to && is_word(*word.to))
				word.to++;
			if (depth > deepest && (is_functor(word) || has_lambda(word))) {
				best = word;
				deepest = depth;
			}
			p = word.to;
		} else if (*p == '(' || *p == '{') {
			p = closing(p, *p, *p == '(' ? ')' : '}');
		} else {
			depth += (*p == '<') - (*p == '>' && p > s.from && p[-1] != '-');
			p++;
		}
	}
	if (!best.from)
		return NULL;
	return is_functor(best) ? functor_text(best, s.to) : lambda_text(best, s.to);
}

/* ---- template arguments ---- */

/* One argument alone says what the template is of: a type or a number. */
static bool shown_alone(struct span inside)
{
	size_t n = (size_t)(inside.to - inside.from);

	return n && n <= BRIEF_MOST && !memchr(inside.from, ',', n) &&
	       !memchr(inside.from, '{', n) && !memchr(inside.from, '(', n);
}

/* What stands for a template's arguments, with their brackets (free it). */
static char *brief_arguments(struct span group)
{
	struct span inside = {group.from + 1, group.to - 1};

	if (group.to - group.from <= 5)
		return alloc_copy(group.from, (size_t)(group.to - group.from));
	while (inside.to > inside.from && inside.to[-1] == ' ')
		inside.to--;
	char *what = shown_alone(inside) ? without_scopes(inside) : operation(inside);
	char *text = alloc_format("<%s>", what ? what : "...");
	free(what);
	return text;
}

/* The parts of a name: what stands ahead of each bracket is copied, brackets go to `arguments`. */
struct shortening {
	char *text, *name; /* `name`: behind a return type */
	size_t bytes;
	struct span last;           /* template arguments; from NULL: none */
	size_t last_at, last_bytes; /* where what stands for them is in `text` */
	bool has_operator;
};

static void put(struct shortening *o, const char *text, size_t bytes)
{
	memcpy(o->text + o->bytes, text, bytes);
	o->bytes += bytes;
}

static void put_group(struct shortening *o, struct span group)
{
	char *brief = brief_arguments(group);

	o->last = group;
	o->last_at = o->bytes;
	o->last_bytes = strlen(brief);
	put(o, brief, o->last_bytes);
	free(brief);
}

static const char *put_next(struct shortening *o, const char *full, const char *s)
{
	size_t signs = operator_signs(full, s);

	o->has_operator |= after_operator(full, s);
	if (signs) {
		put(o, s, signs);
		return s + signs;
	}
	if (*s == '<') {
		struct span group = {s, closing(s, '<', '>')};
		if (group.to[-1] == '>')
			put_group(o, group);
		else
			put(o, s, (size_t)(group.to - s));
		return group.to;
	}
	if (*s == '{') {
		const char *end = closing(s, '{', '}');
		put(o, s, (size_t)(end - s));
		return end;
	}
	if (*s == '(' && !strncmp(s, ANON, sizeof(ANON) - 1)) {
		put(o, "(anon)", 6);
		return s + sizeof(ANON) - 1;
	}
	if (*s == '(' && s > full)
		return NULL;
	put(o, s, 1);
	if (*s == ' ' && !o->has_operator)
		o->name = o->text + o->bytes; /* a return type went before */
	return s + 1;
}

/* What stands for brackets may be longer than they are by "...": three letters of each six. */
static struct shortening shorten(const char *full)
{
	struct shortening o = {.text = alloc_zeroed(2 * strlen(full) + 8, 1)};

	o.name = o.text;
	for (const char *s = full; s && *s;)
		s = put_next(&o, full, s);
	if (!*o.name) {
		o.name = o.text;
	} else if (o.name > o.text + o.last_at) {
		o.last.from = NULL; /* of the return type */
	}
	return o;
}

char *name_short(const char *full)
{
	struct shortening o = shorten(full);
	char *brief = alloc_string(o.name);

	free(o.text);
	return brief;
}

/* ---- names of one table ---- */

struct row {
	const char *full;
	char *brief;
	size_t index;
};

static int by_brief(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->brief, y->brief);

	return order ? order : strcmp(x->full, y->full);
}

/* Splits a template's arguments; how many there are, of which `to` has the first ones. */
static size_t split(struct span group, struct span to[ARGUMENTS_MOST])
{
	const char *from = group.from + 1, *end = group.to - 1;
	size_t count = 0;
	int depth = 0;

	for (const char *p = from; p <= end;) {
		size_t signs = operator_signs(group.from, p);
		if (p == end || (*p == ',' && !depth)) {
			if (count < ARGUMENTS_MOST)
				to[count] = (struct span){from, p};
			count++;
			from = p + 1 + (p[1] == ' ');
			p++;
		} else if (signs) {
			p += signs;
		} else if (*p == '(' || *p == '{') {
			const char *after = closing(p, *p, *p == '(' ? ')' : '}');
			p = after < end ? after : end;
		} else {
			depth += (*p == '<') - (*p == '>' && p[-1] != '-');
			p++;
		}
	}
	return count < ARGUMENTS_MOST ? count : ARGUMENTS_MOST;
}

static bool same(struct span a, struct span b)
{
	return a.to - a.from == b.to - b.from && !strncmp(a.from, b.from, (size_t)(a.to - a.from));
}

struct differing {
	bool argument[ARGUMENTS_MOST];
};

/* Which arguments are not the same in all rows of a group. */
static struct differing compare(const struct row *rows, size_t count)
{
	struct shortening first = shorten(rows[0].full);
	struct span a[ARGUMENTS_MOST], b[ARGUMENTS_MOST];
	size_t arguments = first.last.from ? split(first.last, a) : 0;
	struct differing d = {{false}};

	for (size_t i = 1; i < count; i++) {
		struct shortening o = shorten(rows[i].full);
		size_t n = o.last.from ? split(o.last, b) : 0;
		for (size_t k = 0; k < ARGUMENTS_MOST; k++)
			d.argument[k] |= (k < n) != (k < arguments) || (k < n && !same(a[k], b[k]));
		free(o.text);
	}
	free(first.text);
	return d;
}

static void append_argument(char **list, struct span argument, bool differs)
{
	char *what = differs ? without_scopes(argument) : operation(argument);
	bool gap = !what && *list && !strcmp(*list + strlen(*list) - 3, "...");

	if (!gap)
		alloc_append(list, "%s%s", *list ? ", " : "", what ? what : "...");
	free(what);
}

/* The row's name with the arguments that differ, and the operation. */
static char *with_differing(const char *full, const struct differing *d)
{
	struct shortening o = shorten(full);
	struct span arguments[ARGUMENTS_MOST];
	size_t count = o.last.from ? split(o.last, arguments) : 0;
	char *list = NULL, *text;

	for (size_t i = 0; i < count; i++)
		append_argument(&list, arguments[i], d->argument[i]);
	if (list)
		text = alloc_format("%.*s<%s>%s", (int)(o.text + o.last_at - o.name), o.name, list,
		                    o.text + o.last_at + o.last_bytes);
	else
		text = alloc_string(o.name);
	free(list);
	free(o.text);
	return text;
}

/* The rows from `at` on that are called the same. */
static size_t alike(const struct row *rows, size_t count, size_t at)
{
	size_t n = 1;

	while (at + n < count && !strcmp(rows[at].brief, rows[at + n].brief))
		n++;
	return n;
}

static void rename_row(struct row *row, char *name)
{
	free(row->brief);
	row->brief = name;
}

static bool is_shortened(const char *name)
{
	return strchr(name, '(') && name[0] != '(';
}

/* A second try for names that came out the same: what differs between them. */
static void tell_apart(struct row *rows, size_t count)
{
	qsort(rows, count, sizeof(*rows), by_brief);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(rows, count, i);
		if (n < 2)
			continue;
		struct differing d = compare(rows + i, n);
		for (size_t k = i; k < i + n; k++)
			if (is_shortened(rows[k].full))
				rename_row(&rows[k], with_differing(rows[k].full, &d));
	}
}

/* The last resort: the full names of those that still are the same, then of all. */
static void give_full(struct row *rows, size_t count, bool all)
{
	bool more = false;

	qsort(rows, count, sizeof(*rows), by_brief);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(rows, count, i);
		more |= n > 1;
		for (size_t k = i; k < i + n && n > 1 && !all; k++)
			rename_row(&rows[k], alloc_string(rows[k].full));
	}
	for (size_t k = 0; k < count && more && all; k++)
		rename_row(&rows[k], alloc_string(rows[k].full));
}

void name_short_all(const char *const *full, char **brief, size_t count)
{
	struct row *rows = alloc_zeroed(count + 1, sizeof(*rows));

	/* What the demangler wrote has a parameter list; other names are shown as they are. */
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){
		        full[i],
		        is_shortened(full[i]) ? name_short(full[i]) : alloc_string(full[i]), i};
	tell_apart(rows, count);
	give_full(rows, count, false);
	give_full(rows, count, true);
	for (size_t i = 0; i < count; i++)
		brief[rows[i].index] = rows[i].brief;
	free(rows);
}
