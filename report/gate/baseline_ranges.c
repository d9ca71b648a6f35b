/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/baseline_internal.h"
#include "report/base/text.h"

/* Ranges that a baseline holds: those that come first. A file with more is none to commit. */
#define RANGES_MOST   1000u
#define RANGES_LEVELS 8u /* outermost ones */

struct range_key {
	const struct run_set *side;
	size_t *const
	        *places; /* for each recording: where it has each range, RANGE_NONE = nowhere */
	size_t index;
	int work; /* COUNT, COUNTED, or a figure */
};
enum { COUNT = -2, COUNTED = -1 };

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Where the list has that range; its parent's place is known. */
static size_t find(const struct figures_ranges *r, size_t parent, const char *name,
                   const char *domain)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].parent == parent && !strcmp(r->items[i].name, name) &&
		    same(r->items[i].domain, domain))
			return i;
	return RANGE_NONE;
}

static double range_value(const struct figures *f, const void *what)
{
	const struct range_key *key = what;
	size_t at = key->places[f - key->side->runs][key->index];
	const struct figures_range *p = at == RANGE_NONE ? NULL : &f->ranges.items[at];

	return !p                     ? 0
	       : key->work == COUNT   ? p->count
	       : key->work == COUNTED ? p->counted
	                              : p->of[key->work];
}

/* Adds the ranges of a recording, borrowed, parents first; where it has each of the list (free it).
 */
static unsigned level_of(const struct figures_ranges *r, size_t i)
{
	unsigned level = 0;

	for (; level < RANGES_LEVELS && r->items[i].parent != RANGE_NONE; level++)
		i = r->items[i].parent;
	return level;
}

/* Adds the ranges of a recording, borrowed, parents first; where it has each of the list (free it).
 */
static size_t *collect(struct figures_ranges *all, const struct figures_ranges *from)
{
	size_t *place = alloc_zeroed(from->count, sizeof(*place)); /* in `all` */
	size_t *where = alloc_zeroed(RANGES_MOST, sizeof(*where));

	for (size_t i = 0; i < RANGES_MOST; i++)
		where[i] = RANGE_NONE;
	for (size_t i = 0; i < from->count; i++) {
		const struct figures_range *p = &from->items[i];
		size_t parent = p->parent == RANGE_NONE ? RANGE_NONE : place[p->parent];
		bool orphan = (p->parent != RANGE_NONE && parent == RANGE_NONE) ||
		              level_of(from, i) == RANGES_LEVELS;
		place[i] = orphan ? RANGE_NONE : find(all, parent, p->name, p->domain);
		if (!orphan && place[i] == RANGE_NONE && all->count < RANGES_MOST) {
			ALLOC_ROOM(all->items, all->count);
			place[i] = all->count;
			all->items[all->count++] = (struct figures_range){
			        .name = p->name, .domain = p->domain, .parent = parent};
		}
		if (place[i] != RANGE_NONE)
			where[place[i]] = i;
	}
	free(place);
	return where;
}

static bool is_zero(const json_t *v)
{
	return json_is_number(v) && json_number_value(v) == 0;
}

static json_t *range(const struct run_set *s, const struct figures_range *p, struct range_key key)
{
	json_t *o = json_object();

	json_put(o, "name", json_text(p->name));
	if (p->domain)
		json_put(o, "domain", json_text(p->domain));
	json_put(o, "parent", p->parent == RANGE_NONE ? json_null() : json_count(p->parent));
	key.work = COUNT;
	json_put(o, "count", baseline_values(s, range_value, &key));
	key.work = COUNTED;
	json_put(o, "counted", baseline_values(s, range_value, &key));
	for (size_t i = 0; i < METRICS; i++) {
		key.work = metric_work(&metrics[i]);
		json_t *v = key.work < 0 ? NULL : baseline_values(s, range_value, &key);
		if (v && !is_zero(v))
			json_put(o, metrics[i].name, v);
		else
			json_decref(v);
	}
	return o;
}

void baseline_put_ranges(json_t *root, const struct run_set *s)
{
	struct figures_ranges all = {0};
	size_t **places = alloc_zeroed(s->count, sizeof(*places));
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++)
		places[i] = collect(&all, &s->runs[i].ranges);
	for (size_t i = 0; i < all.count; i++)
		json_push(list, range(s, &all.items[i],
		                      (struct range_key){.side = s, .places = places, .index = i}));
	for (size_t i = 0; i < s->count; i++)
		free(places[i]);
	free(places);
	free(all.items);
	if (json_array_size(list))
		json_put(root, "ranges", list);
	else
		json_decref(list);
}

static const char *read_range(struct figures_range *to, const json_t *o, size_t place, size_t index,
                              size_t count)
{
	const char *name = json_string_value(json_object_get(o, "name"));
	const json_t *parent = json_object_get(o, "parent");

	if (!name)
		return "name";
	if (json_is_integer(parent)
	            ? json_integer_value(parent) < 0 || (size_t)json_integer_value(parent) >= place
	            : parent && !json_is_null(parent))
		return "parent";
	to->parent = json_is_integer(parent) ? (size_t)json_integer_value(parent) : RANGE_NONE;
	if (!baseline_number(json_object_get(o, "count"), index, count, &to->count))
		return "count";
	if (!baseline_number(json_object_get(o, "counted"), index, count, &to->counted))
		return "counted";
	for (size_t i = 0; i < METRICS; i++) {
		int work = metric_work(&metrics[i]);
		const json_t *value = json_object_get(o, metrics[i].name);
		if (work >= 0 && value && !baseline_number(value, index, count, &to->of[work]))
			return metrics[i].name;
	}
	to->name = text_original(name);
	to->domain = baseline_text(json_object_get(o, "domain"));
	return NULL;
}

const char *baseline_read_ranges(struct figures_ranges *to, const json_t *root, size_t index,
                                 size_t count)
{
	const json_t *list = json_object_get(root, "ranges");

	if (list && !json_is_array(list))
		return "ranges";
	for (size_t i = 0; i < json_array_size(list); i++) {
		ALLOC_ROOM(to->items, to->count);
		to->items[i] = (struct figures_range){0};
		const char *bad =
		        read_range(&to->items[i], json_array_get(list, i), i, index, count);
		if (bad)
			return bad;
		to->count++;
	}
	return NULL;
}
