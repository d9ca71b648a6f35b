/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/output/export/export_sqlite.h"

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct model_kernel *const *)a)->name,
	              (*(const struct model_kernel *const *)b)->name);
}

static int with_name(const void *name, const void *b)
{
	return strcmp(name, (*(const struct model_kernel *const *)b)->name);
}

void sqlite_strings_start(struct sqlite_export *x)
{
	const struct model *m = x->job->model;

	database_create(&x->db, &x->strings, "StringIds",
	                "id INTEGER PRIMARY KEY, value TEXT NOT NULL");
	x->kernels = alloc_zeroed(m->kernel_count + 1, sizeof(*x->kernels));
	for (size_t i = 0; i < m->kernel_count; i++)
		x->kernels[i] = &m->kernels[i];
	qsort(x->kernels, m->kernel_count, sizeof(*x->kernels), by_name);
}

void sqlite_strings_end(struct sqlite_export *x)
{
	database_end(&x->strings);
	interned_free(&x->texts);
	free(x->kernels);
}

int64_t sqlite_text(struct sqlite_export *x, const char *text, size_t bytes)
{
	char *valid = text_utf8(text, bytes);
	bool new;
	uint64_t id = interned_number(&x->texts, valid, strlen(valid), &new);

	if (new) {
		row_count(&x->strings, id);
		row_bytes(&x->strings, valid, strlen(valid));
		row_end(&x->strings);
	}
	free(valid);
	return (int64_t)id;
}

int64_t sqlite_short_name(struct sqlite_export *x, const char *full)
{
	const struct model_kernel **found = bsearch(full, x->kernels, x->job->model->kernel_count,
	                                            sizeof(*x->kernels), with_name);
	const char *name = found ? (*found)->brief : full;

	return sqlite_text(x, name, strlen(name));
}
