/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/text.h"
#include "report/output/export/export_tables.h"
#include "report/output/json/out_json.h"

/* Tables are called by their number while they are made: the array moves as it grows. */
static size_t add_table(struct export_tables *to, const char *name)
{
	for (size_t i = 0; i < to->count; i++)
		if (!strcmp(to->items[i].name, name))
			return i;
	ALLOC_ROOM(to->items, to->count);
	to->items[to->count] = (struct export_table){.name = alloc_string(name)};
	return to->count++;
}

static void add_row(struct export_table *t)
{
	ALLOC_ROOM(t->rows, t->row_count);
	t->rows[t->row_count++] = (struct export_row){0};
}

/* Rows of one list have their keys in one order: the column is mostly the one behind the last. */
static size_t column_of(struct export_table *t, const char *name, size_t guess)
{
	if (guess < t->column_count && !strcmp(t->columns[guess], name))
		return guess;
	for (size_t i = 0; i < t->column_count; i++)
		if (!strcmp(t->columns[i], name))
			return i;
	ALLOC_ROOM(t->columns, t->column_count);
	t->columns[t->column_count] = alloc_string(name);
	return t->column_count++;
}

static size_t put_cell(struct export_table *t, size_t at, const char *name, json_t *value)
{
	struct export_row *row = &t->rows[at];
	size_t column = column_of(t, name, 0);

	while (row->count <= column) {
		ALLOC_ROOM(row->cells, row->count);
		row->cells[row->count++] = NULL;
	}
	if (!json_is_null(value))
		row->cells[column] = json_incref(value);
	return column;
}

static char *joined(const char *a, const char *b)
{
	return *a ? alloc_format("%s_%s", a, b) : alloc_string(b);
}

/* A list of numbers or texts, in one cell: "256;1;1". */
static json_t *joined_list(json_t *list)
{
	char *all = alloc_string("");
	size_t i;
	json_t *value;

	json_array_foreach(list, i, value)
	{
		char *text = export_cell_text(value);
		alloc_append(&all, "%s%s", i ? ";" : "", text ? text : "");
		free(text);
	}
	json_t *cell = json_string(all);
	free(all);
	return cell;
}

static void add_list(struct export_tables *to, const char *name, const char *owner,
                     size_t owner_row, json_t *list);

static bool has_rows(json_t *value)
{
	return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

/* The members of an object, as cells of a row. */
static void add_members(struct export_tables *to, size_t table, size_t row, const char *prefix,
                        json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		char *name = joined(prefix, key);
		if (json_is_object(value)) {
			add_members(to, table, row, name, value);
		} else if (has_rows(value)) {
			const char *owner = to->items[table].name;
			char *inner = joined(owner, name);
			add_list(to, inner, owner, row, value);
			free(inner);
		} else if (json_is_array(value)) {
			json_t *cell = joined_list(value);
			put_cell(&to->items[table], row, name, cell);
			json_decref(cell);
		} else {
			put_cell(&to->items[table], row, name, value);
		}
		free(name);
	}
}

/* A list of objects: a row for each. `owner`: the table whose row it belongs to, NULL = none. */
static void add_list(struct export_tables *to, const char *name, const char *owner,
                     size_t owner_row, json_t *list)
{
	char *key = owner ? joined(owner, "row") : NULL;
	size_t table = add_table(to, name), i;
	json_t *value;

	json_array_foreach(list, i, value)
	{
		struct export_table *t = &to->items[table];
		size_t row = t->row_count;
		add_row(t);
		if (key) {
			json_t *number = json_integer((json_int_t)owner_row);
			put_cell(t, row, key, number);
			json_decref(number);
		}
		add_members(to, table, row, "", value);
	}
	free(key);
}

/* The objects at the top of the report have a table each, with one row. */
static void add_object(struct export_tables *to, const char *name, json_t *object)
{
	size_t table = add_table(to, name);
	const char *key;
	json_t *value;

	add_row(&to->items[table]);
	json_object_foreach(object, key, value)
	{
		if (!has_rows(value)) {
			json_t *one = json_pack("{s:O}", key, value);
			add_members(to, table, 0, "", one);
			json_decref(one);
			continue;
		}
		char *inner = joined(name, key);
		add_list(to, inner, NULL, 0, value);
		free(inner);
	}
}

static void add_texts(struct export_tables *to, const char *name, json_t *list)
{
	size_t table = add_table(to, name), i;
	json_t *value;

	json_array_foreach(list, i, value)
	{
		add_row(&to->items[table]);
		put_cell(&to->items[table], i, "text", value);
	}
}

/* Of the run as a whole: what stands at the top of the report, and what `run` holds. */
static void add_report(struct export_tables *to)
{
	size_t run = add_table(to, "run");
	const char *key;
	json_t *value;

	add_row(&to->items[run]);
	json_object_foreach(to->report, key, value)
	{
		if (!strcmp(key, "run"))
			add_members(to, run, 0, "", value);
		else if (json_is_object(value))
			add_object(to, key, value);
		else if (has_rows(value))
			add_list(to, key, NULL, 0, value);
		else if (!json_is_array(value))
			put_cell(&to->items[run], 0, key, value);
		else if (json_array_size(value))
			add_texts(to, key, value);
	}
}

void export_tables_make(struct export_tables *to, const struct export_job *job)
{
	struct out_options options = *job->options;
	char error[WHATIF_TEXT];

	*to = (struct export_tables){0};
	to->whatifs = alloc_zeroed(WHATIF_STEP, sizeof(*to->whatifs));
	for (enum whatif i = 0; i < WHATIF_STEP; i++)
		if (!whatif_parse(&to->whatifs[options.whatif_count], whatif_names[i], error))
			options.whatif_count++;
	options.whatifs = to->whatifs;
	options.sites = true;
	options.limit = SIZE_MAX;
	options.limit_given = true;
	to->report = out_json_report(job->model, job->analysis, &options);
	add_report(to);
}

static void table_free(struct export_table *t)
{
	for (size_t i = 0; i < t->row_count; i++) {
		for (size_t k = 0; k < t->rows[i].count; k++)
			json_decref(t->rows[i].cells[k]);
		free(t->rows[i].cells);
	}
	for (size_t i = 0; i < t->column_count; i++)
		free(t->columns[i]);
	free(t->rows);
	free(t->columns);
	free(t->name);
}

void export_tables_free(struct export_tables *t)
{
	for (size_t i = 0; i < t->count; i++)
		table_free(&t->items[i]);
	json_decref(t->report);
	free(t->items);
	free(t->whatifs);
	*t = (struct export_tables){0};
}

const json_t *export_cell(const struct export_table *t, size_t row, size_t column)
{
	return column < t->rows[row].count ? t->rows[row].cells[column] : NULL;
}

char *export_cell_text(const json_t *cell)
{
	if (json_is_string(cell))
		return text_original(json_string_value(cell));
	if (json_is_integer(cell))
		return alloc_format("%" JSON_INTEGER_FORMAT, json_integer_value(cell));
	if (json_is_real(cell))
		return alloc_format("%.9g", json_real_value(cell));
	if (json_is_boolean(cell))
		return alloc_string(json_is_true(cell) ? "true" : "false");
	return NULL;
}

/* -1: there is no such table, which it says. */
static int find_table(const struct export_tables *t, const char *name, size_t *to)
{
	const char **names = alloc_zeroed(t->count + 1, sizeof(*names));
	char *list = NULL;

	for (size_t i = 0; i < t->count; i++) {
		names[i] = t->items[i].name;
		alloc_append(&list, "%s%s", i ? ", " : "", names[i]);
		if (!strcmp(names[i], name)) {
			*to = i;
			free(list);
			free(names);
			return 0;
		}
	}
	const char *meant = suggest(name, names);
	if (meant)
		complain("export: --table %s: this run has none; did you mean %s?", name, meant);
	else
		complain("export: --table %s: this run has none; it has %s", name, list);
	free(list);
	free(names);
	return -1;
}

int export_tables_each(const struct export_job *job,
                       void (*write)(const struct export_table *t, bool first,
                                     const struct export_job *job))
{
	struct export_tables tables;
	size_t only = 0;
	int rc = 0;

	export_tables_make(&tables, job);
	if (job->table)
		rc = find_table(&tables, job->table, &only);
	for (size_t i = 0; !rc && i < tables.count; i++)
		if (job->table ? i == only : tables.items[i].row_count > 0)
			write(&tables.items[i], job->table || i == 0, job);
	export_tables_free(&tables);
	return rc;
}
