/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite export: tables of the shape that nsys exports where they mean the same, and the
 * report's tables beside them. For export_sqlite*.c alone.
 */
#ifndef REPORT_EXPORT_SQLITE_H
#define REPORT_EXPORT_SQLITE_H

#include "report/model/events/events.h"
#include "report/output/export/database.h"
#include "report/output/export/export.h"
#include "report/output/export/interned.h"

enum sqlite_table {
	SQLITE_CALLS, /* CUPTI_ACTIVITY_KIND_RUNTIME */
	SQLITE_KERNELS,
	SQLITE_COPIES,
	SQLITE_SETS,
	SQLITE_GRAPHS, /* launches of graphs, one piece each */
	SQLITE_SYNCS,
	SQLITE_RANGES,
	SQLITE_THREADS,
	SQLITE_COVERED,
	SQLITE_TABLES
};

struct sqlite_export {
	const struct export_job *job;
	struct database db;
	struct database_table strings, tables[SQLITE_TABLES];
	struct interned texts; /* of StringIds */
	/* The model's kernels by name, for what they are called in short. */
	const struct model_kernel **kernels;
	double base;          /* CLOCK_REALTIME, ns, of time 0 */
	uint32_t number;      /* of the last call */
	uint64_t from, until; /* ns that the rows reach over */
};

/* export_sqlite_strings.c: the id of a text, made if need be. */
int64_t sqlite_text(struct sqlite_export *x, const char *text, size_t bytes);
/* Of a row in StringIds that is a kernel's short name. */
int64_t sqlite_short_name(struct sqlite_export *x, const char *full);
void sqlite_strings_start(struct sqlite_export *x);
void sqlite_strings_end(struct sqlite_export *x);

/* export_sqlite_shape.c: the tables of nsys' shape, and what they are joined with. */
void sqlite_create(struct sqlite_export *x);
void sqlite_targets(struct sqlite_export *x);
void sqlite_indexes(struct sqlite_export *x);

/* export_sqlite_events.c, with _calls, _work and _ids: the rows of one process; -1 when one line
 * was written. */
int sqlite_process(struct sqlite_export *x, size_t process);
/* Two processes of a run may have one pid, on two machines: the machine stands above it. */
int64_t sqlite_global_pid(const struct model *m, size_t process);

/* export_sqlite_own.c: the report's tables. */
void sqlite_own(struct sqlite_export *x);

#endif
