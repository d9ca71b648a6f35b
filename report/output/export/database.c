/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/database.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/text.h"
#include "report/output/export/database_rows.h"

static void failed(struct database *d)
{
	if (!d->failed)
		complain("%s: %s", d->name, d->db ? sqlite3_errmsg(d->db) : "out of memory");
	d->failed = true;
}

void database_open(struct database *d, const char *path, const char *name)
{
	*d = (struct database){.name = name};
	/* One thread works on it: no locks, and no count of its memory that a lock guards. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open_v2(path, &d->db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL)) {
		failed(d);
		return;
	}
	if (database_rows_module(d))
		failed(d);
	/* The file is nobody's until it is whole: it needs no journal, and no wait for the disk.
	 * Rows go to its end, so that few pages are needed again. What sorts an index has as much
	 * memory as the pages have: more of both is no faster. */
	database_exec(d, "PRAGMA page_size = 16384;"
	                 "PRAGMA journal_mode = OFF;"
	                 "PRAGMA synchronous = OFF;"
	                 "PRAGMA locking_mode = EXCLUSIVE;"
	                 "PRAGMA cache_size = -16384;"
	                 "BEGIN;");
}

int database_close(struct database *d)
{
	database_exec(d, "COMMIT;");
	if (sqlite3_close(d->db) && !d->failed)
		failed(d);
	return d->failed ? -1 : 0;
}

void database_exec(struct database *d, const char *sql)
{
	if (!d->failed && sqlite3_exec(d->db, sql, NULL, NULL, NULL))
		failed(d);
}

char *database_quoted(const char *name)
{
	char *sql = sqlite3_mprintf("\"%w\"", name);

	if (!sql)
		alloc_failed();
	char *copy = alloc_string(sql);
	sqlite3_free(sql);
	return copy;
}

/* Commas that are in no brackets, and one more. */
static unsigned count_columns(const char *columns)
{
	unsigned count = 1, depth = 0;

	for (; *columns; columns++) {
		depth += *columns == '(';
		depth -= *columns == ')';
		count += *columns == ',' && !depth;
	}
	return count;
}

static struct sqlite3_stmt *insertion(struct database *d, const char *quoted, unsigned columns)
{
	struct sqlite3_stmt *made = NULL;
	char *sql = alloc_format("INSERT INTO %s VALUES (?", quoted);

	for (unsigned i = 1; i < columns; i++)
		alloc_append(&sql, ",?");
	alloc_append(&sql, ")");
	if (!d->failed &&
	    sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL))
		failed(d);
	free(sql);
	return made;
}

/* Its quoted name (free it). */
static char *create(struct database *d, struct database_table *t, const char *name,
                    const char *columns)
{
	char *quoted = database_quoted(name);
	char *sql = alloc_format("CREATE TABLE %s (%s)", quoted, columns);

	*t = (struct database_table){.of = d, .columns = count_columns(columns)};
	database_exec(d, sql);
	free(sql);
	return quoted;
}

void database_create(struct database *d, struct database_table *t, const char *name,
                     const char *columns)
{
	char *quoted = create(d, t, name, columns);

	t->one = insertion(d, quoted, t->columns);
	free(quoted);
}

void database_create_long(struct database *d, struct database_table *t, const char *name,
                          const char *columns)
{
	char *quoted = create(d, t, name, columns);

	t->rows = database_rows_make(columns, quoted, t->columns);
	t->cells = t->rows->cells;
}

static void insert_rows(struct database_table *t)
{
	if (t->of->failed)
		t->rows->count = 0;
	else if (database_rows_insert(t->of, t->rows))
		failed(t->of);
	t->cells = t->rows->cells;
}

void database_index(struct database_table *t, const char *index, const char *column)
{
	if (!t->of->failed && database_rows_index(t->of, t->rows, index, column))
		failed(t->of);
}

void database_end(struct database_table *t)
{
	if (t->rows) {
		insert_rows(t);
		if (!t->of->failed && database_rows_end(t->of, t->rows))
			failed(t->of);
		database_rows_free(t->rows);
	}
	sqlite3_finalize(t->one);
	t->one = NULL;
	t->rows = NULL;
	t->cells = NULL;
}

void row_int(struct database_table *t, int64_t v)
{
	if (t->cells)
		t->cells[t->at++ * DATABASE_STRIDE] = v;
	else if (t->one)
		sqlite3_bind_int64(t->one, (int)++t->at, v);
}

void row_known(struct database_table *t, bool known, uint64_t v)
{
	if (known)
		row_count(t, v);
	else
		row_null(t);
}

void row_count(struct database_table *t, uint64_t v)
{
	row_int(t, v < INT64_MAX ? (int64_t)v : INT64_MAX);
}

void row_real(struct database_table *t, double v)
{
	if (!isfinite(v))
		row_null(t);
	else if (t->one)
		sqlite3_bind_double(t->one, (int)++t->at, v);
}

void row_ns(struct database_table *t, double ns)
{
	if (!isfinite(ns))
		row_null(t);
	else
		row_int(t, ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : llround(ns));
}

void row_bytes(struct database_table *t, const char *text, size_t bytes)
{
	if (t->one)
		sqlite3_bind_text(t->one, (int)++t->at, text, bytes < INT32_MAX ? (int)bytes : 0,
		                  SQLITE_STATIC);
}

void row_text(struct database_table *t, const char *text)
{
	char *valid = text ? text_utf8(text, strlen(text)) : NULL;

	if (!valid)
		row_null(t);
	else if (t->one)
		sqlite3_bind_text(t->one, (int)++t->at, valid, -1, SQLITE_TRANSIENT);
	free(valid);
}

void row_null(struct database_table *t)
{
	if (t->cells) {
		t->rows->nulls[t->rows->count] |= 1ull << t->at;
		t->cells[t->at++ * DATABASE_STRIDE] = 0;
	} else if (t->one) {
		sqlite3_bind_null(t->one, (int)++t->at);
	}
}

void row_end(struct database_table *t)
{
	if (!t->one && !t->rows)
		return;
	while (t->at < t->columns)
		row_null(t);
	t->at = 0;
	if (t->rows) {
		t->cells++;
		if (++t->rows->count == DATABASE_ROWS)
			insert_rows(t);
		return;
	}
	if (!t->of->failed && sqlite3_step(t->one) != SQLITE_DONE)
		failed(t->of);
	sqlite3_reset(t->one);
}
