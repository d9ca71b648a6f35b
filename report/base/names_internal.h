/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel's name in its parts. For names_short.c, and names_apart.c, which tells several apart.
 */
#ifndef REPORT_NAMES_INTERNAL_H
#define REPORT_NAMES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a name. */
struct name_span {
	const char *from, *to;
};

/* The parts of a name: what stands ahead of each bracket is copied, brackets go to `arguments`. */
struct name_shortening {
	char *text, *name; /* `name`: behind a return type */
	size_t bytes;
	struct name_span last;      /* template arguments; from NULL: none */
	size_t last_at, last_bytes; /* where what stands for them is in `text` */
	bool has_operator;
};

/* In short; free its text. */
struct name_shortening name_shorten(const char *full);
/* The innermost operation in template arguments, of equals the first; NULL: none (free it). */
char *name_operation(struct name_span s);
/* In full without ABI tags, as Numba gives its kernels a hash of their types (free it). */
char *name_without_tags(const char *full);
/* Without the scopes that its words stand in: "at::native::F<c10::Half>" is "F<Half>" (free it). */
char *name_without_scopes(struct name_span s);
/* Just after the bracket that closes the one at s; the end of the string where none does. */
const char *name_closing(const char *s, char open, char close);
/* How many signs of an operator's name are at s, "()" of operator()(...); `start`: the name's. */
size_t name_operator_signs(const char *start, const char *s);

#endif
