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
	/* One thread works on it: no locks, and no count of its memory that a lock guards. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open_v2(path, &d->db,
	                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                    NULL)) {
		failed(d);
		return;
	}
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

static struct sqlite3_stmt *insertion(struct database *d, const char *quoted, unsigned columns,
                                      unsigned rows)
{
	struct sqlite3_stmt *made = NULL;
	char *row = alloc_string("(?"), *sql = NULL;

	for (unsigned i = 1; i < columns; i++)
		alloc_append(&row, ",?");
	alloc_append(&sql, "INSERT INTO %s VALUES ", quoted);
	for (unsigned i = 0; i < rows; i++)
		alloc_append(&sql, i ? ",%s)" : "%s)", row);
	if (!d->failed &&
	    sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL))
		failed(d);
	free(row);
	free(sql);
	return made;
}

static void create(struct database *d, struct database_table *t, const char *name,
                   const char *columns, unsigned rows)
{
	char *quoted = database_quoted(name);
	char *sql = alloc_format("CREATE TABLE %s (%s)", quoted, columns);

	*t = (struct database_table){.of = d, .columns = count_columns(columns)};
	t->bound = alloc_zeroed(rows, sizeof(*t->bound));
	for (unsigned i = 0; i < rows; i++)
		t->bound[i].is_null = UINT64_MAX;
	database_exec(d, sql);
	t->one = insertion(d, quoted, t->columns, 1);
	if (rows > 1)
		t->many = insertion(d, quoted, t->columns, rows);
	free(sql);
	free(quoted);
}

void database_create(struct database *d, struct database_table *t, const char *name,
                     const char *columns)
{
	create(d, t, name, columns, 1);
}

void database_create_long(struct database *d, struct database_table *t, const char *name,
                          const char *columns)
{
	create(d, t, name, columns, DATABASE_ROWS);
}

static void insert(struct database_table *t, struct sqlite3_stmt *rows)
{
	if (rows && !t->of->failed && sqlite3_step(rows) != SQLITE_DONE)
		failed(t->of);
	sqlite3_reset(rows);
}

/* Rows that are too few to go in at once go one by one. */
static void insert_rest(struct database_table *t)
{
	for (unsigned row = 0; t->one && row < t->row; row++) {
		const struct database_bound *b = &t->bound[row];
		for (unsigned i = 0; i < t->columns; i++) {
			if (i < DATABASE_COLUMNS && b->is_last >> i & 1)
				sqlite3_bind_int64(t->one, (int)i + 1, b->last[i]);
			else
				sqlite3_bind_null(t->one, (int)i + 1);
		}
		insert(t, t->one);
	}
	t->row = 0;
}

void database_end(struct database_table *t)
{
	if (t->many)
		insert_rest(t);
	sqlite3_finalize(t->one);
	sqlite3_finalize(t->many);
	free(t->bound);
	t->one = t->many = NULL;
	t->bound = NULL;
}

static struct sqlite3_stmt *statement(const struct database_table *t)
{
	return t->many ? t->many : t->one;
}

static bool is_gone(const struct database_table *t)
{
	return !t->bound || !statement(t);
}

/* The place of the next column in its statement. */
static int next_place(struct database_table *t)
{
	return (int)(t->row * t->columns + ++t->at);
}

/* The bit of the next column, which is bound anew; 0: it is not followed. */
static uint64_t next_bit(struct database_table *t)
{
	struct database_bound *b = &t->bound[t->row];
	uint64_t bit = t->at < DATABASE_COLUMNS ? 1ull << t->at : 0;

	b->is_last &= ~bit;
	b->is_null &= ~bit;
	return bit;
}

/* To bind a number costs more than to see that it is the same: most columns seldom change. */
void row_int(struct database_table *t, int64_t v)
{
	const unsigned column = t->at;

	if (is_gone(t))
		return;
	struct database_bound *b = &t->bound[t->row];
	if (column < DATABASE_COLUMNS && b->is_last >> column & 1 && b->last[column] == v) {
		t->at++;
		return;
	}
	uint64_t bit = next_bit(t);
	if (bit) {
		b->is_last |= bit;
		b->last[column] = v;
	}
	sqlite3_bind_int64(statement(t), next_place(t), v);
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
	if (!isfinite(v)) {
		row_null(t);
	} else if (!is_gone(t)) {
		next_bit(t);
		sqlite3_bind_double(statement(t), next_place(t), v);
	}
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
	if (is_gone(t))
		return;
	next_bit(t);
	sqlite3_bind_text(statement(t), next_place(t), text, bytes < INT32_MAX ? (int)bytes : 0,
	                  SQLITE_STATIC);
}

void row_text(struct database_table *t, const char *text)
{
	char *valid = text ? text_utf8(text, strlen(text)) : NULL;

	if (!valid) {
		row_null(t);
	} else if (!is_gone(t)) {
		next_bit(t);
		sqlite3_bind_text(statement(t), next_place(t), valid, -1, SQLITE_TRANSIENT);
	}
	free(valid);
}

void row_null(struct database_table *t)
{
	if (is_gone(t))
		return;
	struct database_bound *b = &t->bound[t->row];
	if (t->at < DATABASE_COLUMNS && b->is_null >> t->at & 1) {
		t->at++;
		return;
	}
	uint64_t bit = next_bit(t);
	b->is_null |= bit;
	sqlite3_bind_null(statement(t), next_place(t));
}

void row_end(struct database_table *t)
{
	if (is_gone(t))
		return;
	while (t->at < t->columns)
		row_null(t);
	t->at = 0;
	if (!t->many) {
		insert(t, t->one);
	} else if (++t->row == DATABASE_ROWS) {
		insert(t, t->many);
		t->row = 0;
	}
}
