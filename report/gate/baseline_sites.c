/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites in a baseline: of its first recording that knows them, what took most time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/baseline_internal.h"

#define SITES_MOST 256

static int by_time(const void *a, const void *b)
{
	const struct figures_site *const *x = a, *const *y = b;

	return (*x)->api_time > (*y)->api_time ? -1 : (*x)->api_time < (*y)->api_time;
}

/* As they stand in the list: the file changes little from one run to the next. */
static int by_place(const void *a, const void *b)
{
	const struct figures_site *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

static json_t *site(const struct figures_site *s)
{
	json_t *o = json_object();

	json_put(o, "kind", json_text(site_kind_names[s->kind]));
	json_put(o, "api", json_text(s->api));
	json_put(o, "where", json_text(s->where));
	json_put(o, "thread", json_text(s->thread));
	json_put(o, "file", json_text(s->file));
	json_put(o, "function", json_text(s->function));
	json_put(o, "module", json_text(s->module));
	json_put(o, "line", json_count(s->line));
	json_put(o, "python", json_boolean(s->python));
	json_put(o, "whole", json_boolean(s->whole));
	json_put(o, "estimated", json_boolean(s->estimated));
	json_put(o, "calls", json_ns(s->calls));
	json_put(o, "api_ns", json_ns(s->api_time));
	json_put(o, "wasted_ns", json_ns(s->wasted));
	json_put(o, "bytes", json_ns(s->bytes));
	json_put(o, "pageable_bytes", json_ns(s->pageable_bytes));
	return o;
}

void baseline_put_sites(json_t *root, const struct run_set *s)
{
	const struct figures_sites *from = NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < s->count && !from; i++)
		if (s->runs[i].sites.known)
			from = &s->runs[i].sites;
	if (!from) {
		json_decref(list);
		return;
	}
	const struct figures_site **order = alloc_zeroed(from->count, sizeof(*order));
	for (size_t i = 0; i < from->count; i++)
		order[i] = &from->items[i];
	if (from->count)
		qsort(order, from->count, sizeof(*order), by_time);
	size_t n = from->count < SITES_MOST ? from->count : SITES_MOST;
	if (n)
		qsort(order, n, sizeof(*order), by_place);
	for (size_t i = 0; i < n; i++)
		json_push(list, site(order[i]));
	free(order);
	json_put(root, "sites", list);
}

static int kind_of(const char *name)
{
	for (int i = 0; name && i < SITE_KINDS; i++)
		if (!strcmp(site_kind_names[i], name))
			return i;
	return -1;
}

/* What is no number, or is missing, is not known. */
static double number_at(const json_t *o, const char *key)
{
	double v;

	return baseline_number(json_object_get(o, key), 0, 1, &v) ? v : NAN;
}

static char *text_at(const json_t *o, const char *key)
{
	return baseline_text(json_object_get(o, key));
}

void baseline_read_sites(struct figures_sites *to, const json_t *root)
{
	const json_t *list = json_object_get(root, "sites");

	to->known = json_is_array(list);
	for (size_t i = 0; i < json_array_size(list) && i < SITES_MOST; i++) {
		const json_t *o = json_array_get(list, i);
		int kind = kind_of(json_string_value(json_object_get(o, "kind")));
		double line = number_at(o, "line"), calls = number_at(o, "calls"),
		       bytes = number_at(o, "bytes"), pageable = number_at(o, "pageable_bytes");
		char *api = text_at(o, "api"), *where = text_at(o, "where");
		if (kind < 0 || !api || !where) {
			free(api);
			free(where);
			continue;
		}
		ALLOC_ROOM(to->items, to->count);
		struct figures_site *s = &to->items[to->count++];
		*s = (struct figures_site){
		        .kind = (enum model_site_kind)kind,
		        .api = api,
		        .where = where,
		        .thread = text_at(o, "thread"),
		        .file = text_at(o, "file"),
		        .function = text_at(o, "function"),
		        .module = text_at(o, "module"),
		        .line = line >= 0 && line < 1e9 ? (uint32_t)line : 0,
		        .python = json_is_true(json_object_get(o, "python")),
		        .whole = json_is_true(json_object_get(o, "whole")),
		        .estimated = json_is_true(json_object_get(o, "estimated")),
		        .calls = isfinite(calls) ? calls : 0,
		        .api_time = number_at(o, "api_ns"),
		        .wasted = number_at(o, "wasted_ns"),
		        .bytes = isfinite(bytes) ? bytes : 0,
		        .pageable_bytes = isfinite(pageable) ? pageable : 0,
		};
		s->key = figures_site_key(s);
	}
	figures_sort_sites(to);
}
