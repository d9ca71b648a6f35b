/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/names_internal.h"

#define BRIEF_MOST 96u /* letters of an only argument that is shown as it is */
#define ANON       "(anonymous namespace)"

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
const char *name_closing(const char *s, char open, char close)
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
size_t name_operator_signs(const char *start, const char *s)
{
	size_t n = after_operator(start, s) ? strspn(s, "<>()-=") : 0;

	return n > 2 && *s == '(' ? 2 : n;
}

/* ---- the operation inside template arguments ---- */

static bool ends_in(struct name_span word, const char *end)
{
	size_t n = strlen(end);

	return (size_t)(word.to - word.from) > n && !strncmp(word.to - n, end, n);
}

static bool holds(struct name_span s, const char *what)
{
	size_t n = strlen(what);

	for (const char *p = s.from; p + n <= s.to; p++)
		if (!strncmp(p, what, n))
			return true;
	return false;
}

/* AddFunctor, CUDAFunctor_add, sum_functor, MeanOps. */
static bool is_functor(struct name_span word)
{
	return holds(word, "Functor") || holds(word, "functor") || ends_in(word, "Op") ||
	       ends_in(word, "Ops");
}

/* Without the scopes that its words stand in: "at::native::F<c10::Half>" is "F<Half>". */
char *name_without_scopes(struct name_span s)
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
static struct name_span lambda_of(const char *s, const char *end)
{
	struct name_span found = {s, s};
	int depth = 0;

	for (; s < end && depth >= 0 && (depth || *s != ','); s++) {
		if (!strncmp(s, "{lambda(", 8)) {
			found.from = s + 7;
			found.to = name_closing(s + 7, '(', ')');
		}
		depth += (*s == '(' || *s == '{' || *s == '<') -
		         (*s == ')' || *s == '}' || *s == '>');
	}
	return found.to > end ? (struct name_span){s, s} : found;
}

/* "tanh(float)" of tanh_kernel_cuda(...)::{lambda()#2}::operator()() const::{lambda(float)#1} */
static char *lambda_text(struct name_span word, const char *end)
{
	static const char *const common[] = {"_cuda", "_impl", "_kernel"};
	struct name_span parameters = lambda_of(name_closing(word.to, '(', ')'), end);

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (ends_in(word, common[i]))
			word.to -= strlen(common[i]);
	char *types = parameters.to - parameters.from > 2 ? name_without_scopes(parameters) : NULL;
	char *text =
	        alloc_format("%.*s%s", (int)(word.to - word.from), word.from, types ? types : "");
	free(types);
	return text;
}

static char *functor_text(struct name_span word, const char *end)
{
	const char *to = *word.to == '<' ? name_closing(word.to, '<', '>') : word.to;

	return name_without_scopes((struct name_span){word.from, to < end ? to : end});
}

static bool has_lambda(struct name_span word)
{
	return *word.to == '(' && !strncmp(name_closing(word.to, '(', ')'), "::{lambda", 9);
}

/* The innermost operation in template arguments, of equals the first; NULL: none (free it). */
char *name_operation(struct name_span s)
{
	struct name_span best = {NULL, NULL};
	int depth = 0, deepest = -1;

	for (const char *p = s.from; p < s.to;) {
		size_t signs = name_operator_signs(s.from, p);
		struct name_span word = {p, p};
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
			p = name_closing(p, *p, *p == '(' ? ')' : '}');
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
static bool shown_alone(struct name_span inside)
{
	size_t n = (size_t)(inside.to - inside.from);

	return n && n <= BRIEF_MOST && !memchr(inside.from, ',', n) &&
	       !memchr(inside.from, '{', n) && !memchr(inside.from, '(', n);
}

static struct name_span without_blanks(struct name_span s)
{
	while (s.to > s.from && s.to[-1] == ' ')
		s.to--;
	return s;
}

/*
 * CUTLASS' functions are of one class that is the kernel, or of a class that is of this one:
 * "cutlass::conv::kernel::ImplicitGemmConvolution<...>" is "ImplicitGemmConvolution<...>". NULL:
 * there is none (free it).
 */
static char *kernel_class(struct name_span inside)
{
	for (;;) {
		const char *open = memchr(inside.from, '<', (size_t)(inside.to - inside.from));
		if (!open || name_closing(open, '<', '>') != inside.to)
			return NULL;
		struct name_span name = {inside.from, open};
		if (memchr(name.from, ',', (size_t)(name.to - name.from)))
			return NULL;
		if (holds(name, "::kernel::")) {
			char *word = name_without_scopes(name),
			     *text = alloc_format("%s<...>", word);
			free(word);
			return text;
		}
		inside = without_blanks((struct name_span){open + 1, inside.to - 1});
	}
}

/* What stands for a template's arguments, with their brackets (free it). */
static char *brief_arguments(struct name_span group)
{
	if (group.to - group.from <= 5)
		return alloc_copy(group.from, (size_t)(group.to - group.from));
	struct name_span inside = without_blanks((struct name_span){group.from + 1, group.to - 1});
	char *what = shown_alone(inside) ? name_without_scopes(inside) : kernel_class(inside);
	what = what ? what : name_operation(inside);
	char *text = alloc_format("<%s>", what ? what : "...");
	free(what);
	return text;
}

static void put(struct name_shortening *o, const char *text, size_t bytes)
{
	memcpy(o->text + o->bytes, text, bytes);
	o->bytes += bytes;
}

static void put_group(struct name_shortening *o, struct name_span group)
{
	char *brief = brief_arguments(group);

	o->last = group;
	o->last_at = o->bytes;
	o->last_bytes = strlen(brief);
	put(o, brief, o->last_bytes);
	free(brief);
}

/* Just behind an ABI tag at s, "[abi:v3]": Numba puts a hash of the types there. NULL: none. */
static const char *behind_tag(const char *s)
{
	const char *end = strncmp(s, "[abi:", 5) ? NULL : strchr(s, ']');

	return end ? end + 1 : NULL;
}

char *name_without_tags(const char *full)
{
	char *out = alloc_zeroed(strlen(full) + 1, 1), *to = out;

	for (const char *s = full; *s;) {
		const char *behind = *s == '[' ? behind_tag(s) : NULL;
		if (!behind)
			*to++ = *s++;
		else
			s = behind;
	}
	return out;
}

static const char *put_next(struct name_shortening *o, const char *full, const char *s)
{
	size_t signs = name_operator_signs(full, s);

	o->has_operator |= after_operator(full, s);
	if (signs) {
		put(o, s, signs);
		return s + signs;
	}
	if (*s == '<') {
		struct name_span group = {s, name_closing(s, '<', '>')};
		if (group.to[-1] == '>')
			put_group(o, group);
		else
			put(o, s, (size_t)(group.to - s));
		return group.to;
	}
	if (*s == '[' && behind_tag(s))
		return behind_tag(s);
	if (*s == '{') {
		const char *end = name_closing(s, '{', '}');
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
struct name_shortening name_shorten(const char *full)
{
	struct name_shortening o = {.text = alloc_zeroed(2 * strlen(full) + 8, 1)};

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
	struct name_shortening o = name_shorten(full);
	char *brief = alloc_string(o.name);

	free(o.text);
	return brief;
}
