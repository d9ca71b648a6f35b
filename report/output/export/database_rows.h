/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a long table of numbers on their way into it: some are gathered, then one statement takes
 * them from a virtual table, which costs less than to bind each number. For database.c alone.
 */
#ifndef REPORT_DATABASE_ROWS_H
#define REPORT_DATABASE_ROWS_H

#include <stdint.h>

#include "report/output/export/database.h"

#define DATABASE_ROWS 1024u /* gathered: of the widest table they fit into a processor's cache */
/* From a cell to that of the next column. Of a power of two, a row's cells would drive one another
 * out of the nearest cache. */
#define DATABASE_STRIDE (DATABASE_ROWS + 8)

/* How rows are inserted. */
struct database_way {
	uint64_t left_out;               /* a column's bit: the key, which SQLite gives */
	uint64_t same;                   /* columns' bits: with one value for all rows */
	uint64_t null;                   /* of these: that is null */
	int64_t value[DATABASE_COLUMNS]; /* 0 where it is null, or not the same */
};

struct database_rows {
	const char *names; /* of its columns, with their types, as in CREATE TABLE */
	char *table;       /* its quoted name */
	struct sqlite3_stmt *insert;
	struct database_way way; /* of `insert` */
	unsigned columns, count;
	unsigned key;                  /* the column that is the primary key; `columns`: none */
	int64_t highest;               /* key of the rows that are in the table */
	const char *index;             /* its name, or NULL; */
	const char *by;                /* the column that it has, */
	unsigned by_column;            /* and which that is */
	int64_t furthest;              /* in the index */
	bool is_late;                  /* the index is made when all rows are there */
	int64_t *cells;                /* column by column */
	uint64_t nulls[DATABASE_ROWS]; /* a bit a column */
};

/* The virtual table, by its name in statements. */
#define DATABASE_GATHERED "gathered_rows"
int database_rows_module(struct database *d);

/* `names` and `table` as above; `table` is its own from here on. */
struct database_rows *database_rows_make(const char *names, char *table, unsigned columns);
/* An index, which is there at the end. */
int database_rows_index(struct database *d, struct database_rows *rows, const char *index,
                        const char *by);
/* What is gathered goes into the table. An SQLite error code. */
int database_rows_insert(struct database *d, struct database_rows *rows);
/* After the last rows. An SQLite error code. */
int database_rows_end(struct database *d, struct database_rows *rows);
void database_rows_free(struct database_rows *rows);

#endif
