/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/database.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/text.h"

static void failed(struct database *d)
{
	if (!d->failed)
		complain("%s: %s", d->name, d->db ? sqlite3_errmsg(d->db) : "out of memory");
	d->failed = true;
}

void database_open(struct database *d, const char *path, const char *name)
{
	*d = (struct database){.name = name};
	if (sqlite3_open_v2(path, &d->db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL)) {
		failed(d);
		return;
	}
	/* The file is nobody's until it is whole: it needs no journal, and no wait for the disk. */
	database_exec(d, "PRAGMA page_size = 16384;"
	                 "PRAGMA journal_mode = OFF;"
	                 "PRAGMA synchronous = OFF;"
	                 "PRAGMA locking_mode = EXCLUSIVE;"
	                 "PRAGMA cache_size = -65536;"
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

void database_create(struct database *d, struct database_table *t, const char *name,
                     const char *columns)
{
	char *quoted = database_quoted(name);
	char *sql = alloc_format("CREATE TABLE %s (%s)", quoted, columns);

	*t = (struct database_table){
	        .of = d, .columns = count_columns(columns), .is_null = UINT64_MAX};
	database_exec(d, sql);
	free(sql);
	sql = alloc_format("INSERT INTO %s VALUES (?", quoted);
	for (unsigned i = 1; i < t->columns; i++)
		alloc_append(&sql, ",?");
	alloc_append(&sql, ")");
	if (!d->failed &&
	    sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &t->insert, NULL))
		failed(d);
	free(sql);
	free(quoted);
}

void database_end(struct database_table *t)
{
	sqlite3_finalize(t->insert);
	t->insert = NULL;
}

/* The bit of the next column, which is bound anew; 0: it is not followed. */
static uint64_t next_bit(struct database_table *t)
{
	unsigned column = t->at++;
	uint64_t bit = column < DATABASE_COLUMNS ? 1ull << column : 0;

	t->is_last &= ~bit;
	t->is_null &= ~bit;
	return bit;
}

/* To bind a number costs more than to see that it is the same: most columns seldom change. */
void row_int(struct database_table *t, int64_t v)
{
	const unsigned column = t->at;

	if (column < DATABASE_COLUMNS && t->is_last >> column & 1 && t->last[column] == v) {
		t->at++;
		return;
	}
	uint64_t bit = next_bit(t);
	if (bit) {
		t->is_last |= bit;
		t->last[column] = v;
	}
	if (t->insert)
		sqlite3_bind_int64(t->insert, (int)t->at, v);
}

void row_count(struct database_table *t, uint64_t v)
{
	row_int(t, v < INT64_MAX ? (int64_t)v : INT64_MAX);
}

void row_real(struct database_table *t, double v)
{
	if (!isfinite(v))
		row_null(t);
	else if (next_bit(t), t->insert)
		sqlite3_bind_double(t->insert, (int)t->at, v);
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
	next_bit(t);
	if (t->insert)
		sqlite3_bind_text(t->insert, (int)t->at, text, bytes < INT32_MAX ? (int)bytes : 0,
		                  SQLITE_STATIC);
}

void row_text(struct database_table *t, const char *text)
{
	char *valid = text ? text_utf8(text, strlen(text)) : NULL;

	if (!valid)
		row_null(t);
	else if (next_bit(t), t->insert)
		sqlite3_bind_text(t->insert, (int)t->at, valid, -1, SQLITE_TRANSIENT);
	free(valid);
}

void row_null(struct database_table *t)
{
	if (t->at < DATABASE_COLUMNS && t->is_null >> t->at & 1) {
		t->at++;
		return;
	}
	t->is_null |= next_bit(t);
	if (t->insert)
		sqlite3_bind_null(t->insert, (int)t->at);
}

void row_end(struct database_table *t)
{
	while (t->at < t->columns)
		row_null(t);
	t->at = 0;
	if (!t->insert || t->of->failed)
		return;
	if (sqlite3_step(t->insert) != SQLITE_DONE)
		failed(t->of);
	sqlite3_reset(t->insert);
}
