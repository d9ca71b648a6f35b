/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/database_rows.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"

/* ---- the virtual table ---- */

struct gathered {
	struct sqlite3_vtab base;
	const struct database *of;
};

struct cursor {
	struct sqlite3_vtab_cursor base;
	const struct database_rows *rows;
	unsigned row;
};

static int connect(sqlite3 *db, void *of, int argc, const char *const *argv, sqlite3_vtab **made,
                   char **error)
{
	char *sql = alloc_string("CREATE TABLE x(c0");

	(void)argc, (void)argv, (void)error;
	for (unsigned i = 1; i < DATABASE_COLUMNS; i++)
		alloc_append(&sql, ",c%u", i);
	alloc_append(&sql, ")");
	const int rc = sqlite3_declare_vtab(db, sql);
	free(sql);
	if (rc)
		return rc;
	struct gathered *g = alloc_zeroed(1, sizeof(*g));
	g->of = of;
	*made = &g->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = DATABASE_ROWS;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **made)
{
	struct cursor *c = alloc_zeroed(1, sizeof(*c));

	c->rows = ((struct gathered *)table)->of->gathered;
	*made = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *at, int index, const char *name, int argc,
                  sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)at;

	(void)index, (void)name, (void)argc, (void)argv;
	c->row = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *at)
{
	((struct cursor *)at)->row++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *at)
{
	const struct cursor *c = (struct cursor *)at;

	return c->row >= c->rows->count;
}

/* What has no result is null. */
static int column(sqlite3_vtab_cursor *at, sqlite3_context *to, int i)
{
	const struct cursor *c = (struct cursor *)at;

	if (!(c->rows->nulls[c->row] >> i & 1))
		sqlite3_result_int64(to, c->rows->cells[(unsigned)i * DATABASE_STRIDE + c->row]);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *at, sqlite3_int64 *id)
{
	*id = ((struct cursor *)at)->row;
	return SQLITE_OK;
}

int database_rows_module(struct database *d)
{
	static const sqlite3_module module = {
	        .xConnect = connect,
	        .xBestIndex = best_index,
	        .xDisconnect = disconnect,
	        .xOpen = open_cursor,
	        .xClose = close_cursor,
	        .xFilter = filter,
	        .xNext = next,
	        .xEof = eof,
	        .xColumn = column,
	        .xRowid = rowid,
	};

	return sqlite3_create_module_v2(d->db, DATABASE_GATHERED, &module, d, NULL);
}

/* ---- into the table ---- */

/* The number of the column that has this in its text; that of all columns if none has. */
static unsigned find_column(const char *names, const char *what)
{
	const char *found = strstr(names, what);
	unsigned number = !found;

	for (; found ? names < found : *names; names++)
		number += *names == ',';
	return number;
}

static bool is_same(const int64_t *cells, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		if (cells[i] != cells[0])
			return false;
	return true;
}

/* They are those that SQLite would give. */
static bool are_next(const int64_t *keys, unsigned count, int64_t highest)
{
	for (unsigned i = 0; i < count; i++)
		if ((uint64_t)keys[i] - (uint64_t)highest != i + 1ull)
			return false;
	return true;
}

static int64_t find_highest(const int64_t *keys, unsigned count, int64_t highest)
{
	for (unsigned i = 0; i < count; i++)
		if (keys[i] > highest)
			highest = keys[i];
	return highest;
}

static void find_way(const struct database_rows *r, struct database_way *way)
{
	const int64_t *keys = r->cells + (size_t)r->key * DATABASE_STRIDE;
	uint64_t some_null = 0;

	memset(way, 0, sizeof(*way));
	way->null = UINT64_MAX;
	for (unsigned i = 0; i < r->count; i++) {
		way->null &= r->nulls[i];
		some_null |= r->nulls[i];
	}
	for (unsigned i = 0; i < r->columns; i++) {
		const int64_t *cells = r->cells + (size_t)i * DATABASE_STRIDE;
		if ((some_null & ~way->null) >> i & 1 || !is_same(cells, r->count))
			continue;
		way->same |= 1ull << i;
		way->value[i] = cells[0];
	}
	if (r->key < r->columns && are_next(keys, r->count, r->highest))
		way->left_out = 1ull << r->key;
}

/* A number that is the same in all rows is part of the statement, which is cheaper than to ask for
 * it. Where the key is left out, SQLite puts a row at the end and looks for no place. */
static char *insertion(const struct database_rows *r)
{
	const struct database_way *way = &r->way;
	const char *name = r->names, *comma = "";
	char *into = NULL, *from = NULL;

	for (unsigned i = 0; i < r->columns; i++) {
		name += strspn(name, ", ");
		if (!(way->left_out >> i & 1)) {
			alloc_append(&into, "%s%.*s", comma, (int)strcspn(name, " "), name);
			alloc_append(&from, "%s", comma);
			if (!(way->same >> i & 1))
				alloc_append(&from, "c%u", i);
			else if (way->null >> i & 1)
				alloc_append(&from, "NULL");
			else
				alloc_append(&from, "%" PRId64, way->value[i]);
			comma = ",";
		}
		name += strcspn(name, ",");
	}
	char *sql = alloc_format("INSERT OR FAIL INTO %s(%s) SELECT %s FROM " DATABASE_GATHERED,
	                         r->table, into, from);
	free(into);
	free(from);
	return sql;
}

static int prepare(struct database *d, struct database_rows *r)
{
	struct database_way way;

	find_way(r, &way);
	if (r->insert && !memcmp(&way, &r->way, sizeof(way)))
		return SQLITE_OK;
	r->way = way;
	char *sql = insertion(r);
	sqlite3_finalize(r->insert);
	r->insert = NULL;
	int rc = sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &r->insert, NULL);
	free(sql);
	return rc;
}

/* ---- its index ---- */

static int exec(struct database *d, char *sql)
{
	int rc = sqlite3_exec(d->db, sql, NULL, NULL, NULL);

	free(sql);
	return rc;
}

static int make_index(struct database *d, const struct database_rows *r)
{
	return exec(d, alloc_format("CREATE INDEX %s ON %s(%s)", r->index, r->table, r->by));
}

/* Measured: to put a row at the end of an index takes half of what it takes to sort it in later,
 * to put it elsewhere as much or twice as much. Where a quarter of the rows would go elsewhere, the
 * index is put off. */
static int follow_order(struct database *d, struct database_rows *r)
{
	const int64_t *cells = r->cells + (size_t)r->by_column * DATABASE_STRIDE;
	unsigned behind = 0;

	if (!r->index || r->is_late)
		return SQLITE_OK;
	for (unsigned i = 0; i < r->count; i++) {
		behind += cells[i] < r->furthest;
		r->furthest = cells[i] < r->furthest ? r->furthest : cells[i];
	}
	if (behind <= r->count / 4)
		return SQLITE_OK;
	r->is_late = true;
	return exec(d, alloc_format("DROP INDEX %s", r->index));
}

int database_rows_index(struct database *d, struct database_rows *r, const char *index,
                        const char *by)
{
	r->index = index;
	r->by = by;
	r->by_column = find_column(r->names, by);
	return make_index(d, r);
}

int database_rows_end(struct database *d, struct database_rows *r)
{
	return r->is_late ? make_index(d, r) : SQLITE_OK;
}

int database_rows_insert(struct database *d, struct database_rows *r)
{
	int rc = follow_order(d, r);

	if (r->count && !rc)
		rc = prepare(d, r);
	if (r->count && !rc) {
		d->gathered = r;
		sqlite3_step(r->insert);
		rc = sqlite3_reset(r->insert);
		if (r->key < r->columns)
			r->highest = find_highest(r->cells + (size_t)r->key * DATABASE_STRIDE,
			                          r->count, r->highest);
	}
	memset(r->nulls, 0, sizeof(r->nulls));
	r->count = 0;
	return rc;
}

struct database_rows *database_rows_make(const char *names, char *table, unsigned columns)
{
	struct database_rows *r = alloc_zeroed(1, sizeof(*r));

	r->names = names;
	r->table = table;
	r->columns = columns;
	r->key = find_column(names, "PRIMARY KEY");
	r->cells = alloc_zeroed(columns, DATABASE_STRIDE * sizeof(*r->cells));
	return r;
}

void database_rows_free(struct database_rows *r)
{
	sqlite3_finalize(r->insert);
	free(r->table);
	free(r->cells);
	free(r);
}
