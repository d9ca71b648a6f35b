/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as plain tables: rows and columns, taken from the JSON report, so that names and
 * meanings are those of docs/JSON.md. For the exports.
 *
 * A list of objects is a table, called by its path: gpu.devices is gpu_devices. So is each object
 * of the report, with a single row; what stands at its top is the table `run`. An object within a
 * row gives columns of its own, `idle_by_launch`. A list of objects within a row is a table too,
 * whose first column is the number of that row, from 0: sites_frames has `sites_row`.
 */
#ifndef REPORT_EXPORT_TABLES_H
#define REPORT_EXPORT_TABLES_H

#include "report/base/json.h"
#include "report/output/export/export.h"

struct export_table {
	char *name;
	char **columns;
	size_t column_count;
	/* row by row, as many as its columns were then: `cells[row][column]`, NULL = not known */
	struct export_row {
		json_t **cells; /* texts, numbers, true and false */
		size_t count;
	} * rows;
	size_t row_count;
};

struct export_tables {
	json_t *report;
	struct export_table *items;
	size_t count;
	struct whatif_question *whatifs;
};

/* All tables of the run; what-ifs are those of every change that needs no kernel to be named. */
void export_tables_make(struct export_tables *to, const struct export_job *job);
void export_tables_free(struct export_tables *t);

/* The cell; NULL where it is not known. */
const json_t *export_cell(const struct export_table *t, size_t row, size_t column);
/* It as text (free it): numbers in full, true, false; NULL of NULL. */
char *export_cell_text(const json_t *cell);

/* Writes those asked for, each by `write`; -1 when the job names a table that there is not, and one
 * line was written. */
int export_tables_each(const struct export_job *job,
                       void (*write)(const struct export_table *t, bool first,
                                     const struct export_job *job));

#endif
