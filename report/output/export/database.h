/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SQLite database that is made in one go: tables, rows by prepared statements, one transaction.
 * The first error is kept and ends all that follows. Texts are bound, never part of a statement.
 * For the SQLite export.
 */
#ifndef REPORT_DATABASE_H
#define REPORT_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

struct database {
	struct sqlite3 *db;
	const char *name;                     /* for messages */
	bool failed;                          /* one line was written */
	const struct database_rows *gathered; /* that go into their table */
};

#define DATABASE_COLUMNS 32u /* of a long table, at most */

struct database_rows;

/* Without `one` and `rows`: rows go nowhere. */
struct database_table {
	struct database *of;
	struct sqlite3_stmt *one;   /* a row of a short table */
	struct database_rows *rows; /* of a long one */
	int64_t *cells;             /* of its row that is made */
	unsigned columns, at;       /* the next one of the row */
};

/* An empty file; always to be closed. */
void database_open(struct database *d, const char *path, const char *name);
/* Commits, and is 0; -1 when one line was written. */
int database_close(struct database *d);

/* Statements without texts of the recording. */
void database_exec(struct database *d, const char *sql);
/* `columns` as CREATE TABLE has them, a column a comma. */
void database_create(struct database *d, struct database_table *t, const char *name,
                     const char *columns);
/* The same for many rows of whole numbers, which go in many at a time; `columns` without brackets,
 * and until database_end(). */
void database_create_long(struct database *d, struct database_table *t, const char *name,
                          const char *columns);
/* An index of a long table, there after database_end(). Rows mostly come in its order, or it is
 * made behind them. */
void database_index(struct database_table *t, const char *index, const char *column);
void database_end(struct database_table *t);
/* "class" and the like as a name in a statement (free it). */
char *database_quoted(const char *name);

/* A row: its columns from left to right; those not bound are null. */
void row_int(struct database_table *t, int64_t v);
void row_count(struct database_table *t, uint64_t v);
void row_known(struct database_table *t, bool known, uint64_t v); /* NULL if it is not */
void row_real(struct database_table *t, double v);                /* null where it is not finite */
void row_ns(struct database_table *t, double ns);                 /* a whole number; the same */
void row_text(struct database_table *t, const char *text);        /* valid UTF-8, or NULL */
void row_bytes(struct database_table *t, const char *text,
               size_t bytes); /* lives until row_end() */
void row_null(struct database_table *t);
void row_end(struct database_table *t);

#endif
