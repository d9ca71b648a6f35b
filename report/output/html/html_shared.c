/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that stand in the page's data more than once are written once, in a list: a source line is
 * on many stacks, a kernel's name in many tables. The page puts them back (05-data.js).
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/html/html_page.h"

#define LEAST_BYTES 24u /* as JSON: of less nothing is gained */

struct sharing {
	json_t *times;   /* by a value's JSON: how often it stands there */
	json_t *numbers; /* and its number in the list */
	json_t *list;
};

static bool is_leaf(json_t *value)
{
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return json_is_string(value);
	json_object_foreach(value, key,
	                    item) if (json_is_object(item) || json_is_array(item)) return false;
	return true;
}

/* The JSON of a text, or of an object of plain values, that is worth sharing (free it), or NULL. */
static char *as_key(json_t *value)
{
	if (!is_leaf(value))
		return NULL;
	char *key = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (!key)
		alloc_failed();
	if (strlen(key) >= LEAST_BYTES)
		return key;
	free(key);
	return NULL;
}

static void count(struct sharing *s, json_t *value)
{
	char *key = as_key(value);
	json_int_t times = key ? json_integer_value(json_object_get(s->times, key)) : 0;
	const char *name;
	json_t *item;
	size_t i;

	if (key)
		json_put(s->times, key, json_integer(times + 1));
	free(key);
	if (times) /* what is in it stands in the list once */
		return;
	if (json_is_object(value))
		json_object_foreach(value, name, item) count(s, item);
	json_array_foreach(value, i, item) count(s, item);
}

static json_t *packed(struct sharing *s, json_t *value);

static json_t *packed_inside(struct sharing *s, json_t *value)
{
	const char *name;
	json_t *item, *to;
	size_t i;

	if (json_is_object(value)) {
		to = json_object();
		json_object_foreach(value, name, item) json_put(to, name, packed(s, item));
		return to;
	}
	if (!json_is_array(value))
		return json_incref(value);
	to = json_array();
	json_array_foreach(value, i, item) json_push(to, packed(s, item));
	return to;
}

static json_t *packed(struct sharing *s, json_t *value)
{
	char *key = as_key(value);

	if (!key || json_integer_value(json_object_get(s->times, key)) < 2) {
		free(key);
		return packed_inside(s, value);
	}
	json_t *number = json_object_get(s->numbers, key), *to = json_object();
	if (!number) {
		json_t *item = packed_inside(s, value);
		json_put(s->numbers, key, json_count(json_array_size(s->list)));
		json_push(s->list, item);
		number = json_object_get(s->numbers, key);
	}
	json_put(to, "=", json_incref(number));
	free(key);
	return to;
}

json_t *html_shared(json_t *data)
{
	struct sharing s = {json_object(), json_object(), json_array()};

	count(&s, data);
	json_t *to = packed(&s, data);
	json_put(to, "shared", s.list);
	json_decref(s.times);
	json_decref(s.numbers);
	return to;
}
