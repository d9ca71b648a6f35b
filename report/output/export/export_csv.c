/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/output/csv/csv.h"
#include "report/output/export/export_tables.h"

/* One table has its head and its rows and nothing else, as programs read it. Of all of them each
 * stands behind a line with its name, an empty line between two. */
static void write_table(const struct export_table *t, bool first, const struct export_job *job)
{
	FILE *to = job->to;

	if (!first)
		fputs("\r\n", to);
	if (!job->table) {
		csv_text(to, t->name);
		fputs("\r\n", to);
	}
	for (size_t k = 0; k < t->column_count; k++) {
		fputs(k ? "," : "", to);
		csv_text(to, t->columns[k]);
	}
	fputs("\r\n", to);
	for (size_t i = 0; i < t->row_count; i++) {
		for (size_t k = 0; k < t->column_count; k++) {
			char *text = export_cell_text(export_cell(t, i, k));
			fputs(k ? "," : "", to);
			csv_text(to, text);
			free(text);
		}
		fputs("\r\n", to);
	}
}

int export_csv(const struct export_job *job)
{
	return export_tables_each(job, write_table);
}
