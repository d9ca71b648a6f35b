/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/text.h"
#include "report/base/text_layout.h"
#include "report/output/export/export_tables.h"

static void put_text(FILE *to, const char *text)
{
	char *safe = text_safe(text ? text : "", text ? strlen(text) : 0);

	text_put_markdown(to, safe);
	free(safe);
}

static void write_table(const struct export_table *t, bool first, const struct export_job *job)
{
	FILE *to = job->to;

	if (first)
		fputs("# cudaspy export\n", to);
	fputs("\n## ", to);
	put_text(to, t->name);
	fputs("\n\n|", to);
	for (size_t k = 0; k < t->column_count; k++) {
		putc(' ', to);
		put_text(to, t->columns[k]);
		fputs(" |", to);
	}
	fputs("\n|", to);
	for (size_t k = 0; k < t->column_count; k++)
		fputs(" --- |", to);
	putc('\n', to);
	for (size_t i = 0; i < t->row_count; i++) {
		putc('|', to);
		for (size_t k = 0; k < t->column_count; k++) {
			char *text = export_cell_text(export_cell(t, i, k));
			putc(' ', to);
			put_text(to, text);
			fputs(" |", to);
			free(text);
		}
		putc('\n', to);
	}
}

int export_markdown(const struct export_job *job)
{
	return export_tables_each(job, write_table);
}
