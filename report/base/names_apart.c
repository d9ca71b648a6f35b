/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/names_internal.h"

#define ARGUMENTS_MOST 64u /* of a template that are told apart */

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
static size_t split(struct name_span group, struct name_span to[ARGUMENTS_MOST])
{
	const char *from = group.from + 1, *end = group.to - 1;
	size_t count = 0;
	int depth = 0;

	for (const char *p = from; p <= end;) {
		size_t signs = name_operator_signs(group.from, p);
		if (p == end || (*p == ',' && !depth)) {
			if (count < ARGUMENTS_MOST)
				to[count] = (struct name_span){from, p};
			count++;
			from = p + 1 + (p[1] == ' ');
			p++;
		} else if (signs) {
			p += signs;
		} else if (*p == '(' || *p == '{') {
			const char *after = name_closing(p, *p, *p == '(' ? ')' : '}');
			p = after < end ? after : end;
		} else {
			depth += (*p == '<') - (*p == '>' && p[-1] != '-');
			p++;
		}
	}
	return count < ARGUMENTS_MOST ? count : ARGUMENTS_MOST;
}

static bool same(struct name_span a, struct name_span b)
{
	return a.to - a.from == b.to - b.from && !strncmp(a.from, b.from, (size_t)(a.to - a.from));
}

struct differing {
	bool argument[ARGUMENTS_MOST];
};

/* Which arguments are not the same in all rows of a group. */
static struct differing compare(const struct row *rows, size_t count)
{
	struct name_shortening first = name_shorten(rows[0].full);
	struct name_span a[ARGUMENTS_MOST], b[ARGUMENTS_MOST];
	size_t arguments = first.last.from ? split(first.last, a) : 0;
	struct differing d = {{false}};

	for (size_t i = 1; i < count; i++) {
		struct name_shortening o = name_shorten(rows[i].full);
		size_t n = o.last.from ? split(o.last, b) : 0;
		for (size_t k = 0; k < ARGUMENTS_MOST; k++)
			d.argument[k] |= (k < n) != (k < arguments) || (k < n && !same(a[k], b[k]));
		free(o.text);
	}
	free(first.text);
	return d;
}

static void append_argument(char **list, struct name_span argument, bool differs)
{
	char *what = differs ? name_without_scopes(argument) : name_operation(argument);
	size_t bytes = *list ? strlen(*list) : 0;
	bool gap = !what && bytes >= 3 && !strcmp(*list + bytes - 3, "...");

	if (!gap)
		alloc_append(list, "%s%s", *list ? ", " : "", what ? what : "...");
	free(what);
}

/* The row's name with the arguments that differ, and the operation. */
static char *with_differing(const char *full, const struct differing *d)
{
	struct name_shortening o = name_shorten(full);
	struct name_span arguments[ARGUMENTS_MOST];
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

/* A longer form of the names that still are the same, or, where there are such, of all. */
static void lengthen(struct row *rows, size_t count, char *(*form)(const char *), bool all)
{
	bool more = false;

	qsort(rows, count, sizeof(*rows), by_brief);
	for (size_t i = 0, n; i < count; i += n) {
		n = alike(rows, count, i);
		more |= n > 1;
		for (size_t k = i; k < i + n && n > 1 && !all; k++)
			rename_row(&rows[k], form(rows[k].full));
	}
	for (size_t k = 0; k < count && more && all; k++)
		rename_row(&rows[k], form(rows[k].full));
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
	lengthen(rows, count, name_without_tags, false);
	lengthen(rows, count, alloc_string, false);
	lengthen(rows, count, alloc_string, true);
	for (size_t i = 0; i < count; i++)
		brief[rows[i].index] = rows[i].brief;
	free(rows);
}
