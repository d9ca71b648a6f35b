/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/html/html_page.h"

/* Rows of a list, and characters of a text, that are kept: less and less until all fits. */
#define MOST_ROWS 4096u
#define MOST_TEXT 4096u

/* A name's both ends tell more than its beginning alone. */
static json_t *shortened(const char *text, size_t bytes, size_t most)
{
	char *head = alloc_copy(text, most / 2);
	char *tail = alloc_copy(text + bytes - most / 2, most / 2);
	char *both = alloc_format("%s...%s", head, tail);
	json_t *to = json_text(both);

	free(head);
	free(tail);
	free(both);
	return to;
}

/* Cuts all lists and texts of a value; what it was made of goes. Returns what stands in its place.
 */
static json_t *cut(json_t *value, size_t rows, size_t text, bool *any)
{
	const char *key;
	json_t *item;
	void *next;
	size_t i;

	if (json_is_string(value) && json_string_length(value) > text) {
		*any = true;
		return shortened(json_string_value(value), json_string_length(value), text);
	}
	if (json_is_array(value)) {
		while (json_array_size(value) > rows) {
			*any = true;
			json_array_remove(value, json_array_size(value) - 1);
		}
		json_array_foreach(value, i, item)
		{
			json_t *now = cut(item, rows, text, any);
			if (now != item && json_array_set_new(value, i, now))
				alloc_failed();
		}
	}
	if (json_is_object(value))
		json_object_foreach_safe(value, next, key, item)
		{
			json_t *now = cut(item, rows, text, any);
			if (now != item && json_object_set_new(value, key, now))
				alloc_failed();
		}
	return value;
}

/* In a script element no text may end it or open a comment: JSON can write such characters another
 * way, and has them in texts alone. */
static size_t escape(FILE *to, const char *json)
{
	size_t bytes = 0;

	for (const char *c = json; *c; c++) {
		bool harmless = *c != '<' && *c != '>' && *c != '&';
		bytes += harmless ? 1 : 6;
		if (!to)
			continue;
		if (harmless)
			putc(*c, to);
		else
			fprintf(to, "\\u%04x", (unsigned)*c);
	}
	return bytes;
}

static char *dump(json_t *data)
{
	json_t *shared = html_shared(data);
	char *text = json_dumps(shared, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	json_decref(shared);
	if (!text)
		alloc_failed();
	return text;
}

void html_page_write(FILE *to, json_t *data)
{
	size_t room = HTML_PAGE_BYTES - strlen(html_head) - strlen(html_tail);
	char *text = dump(data);
	bool any = false;

	for (size_t rows = MOST_ROWS, most = MOST_TEXT; escape(NULL, text) > room && rows > 1;
	     rows /= 2, most -= most / 4) {
		json_put(data, "cut", json_object());
		json_put(json_object_get(data, "cut"), "rows", json_count(rows));
		json_put(json_object_get(data, "cut"), "characters", json_count(most));
		cut(data, rows, most, &any);
		free(text);
		text = dump(data);
	}
	fputs(html_head, to);
	escape(to, text);
	fputs(html_tail, to);
	free(text);
	json_decref(data);
}
