/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export_sqlite.h"

#include <math.h>

#include "report/base/progress.h"

int export_sqlite(const struct export_job *job)
{
	struct sqlite_export x = {.job = job, .base = INFINITY};
	const struct model *m = job->model;
	int rc = 0;

	for (size_t i = 0; i < m->process_count; i++)
		x.base = fmin(x.base, m->processes[i].start_realtime);
	if (isfinite(x.base))
		x.base = floor(x.base);
	database_open(&x.db, job->path, job->name);
	sqlite_strings_start(&x);
	sqlite_create(&x);
	for (size_t i = 0; i < m->process_count && !rc; i++) {
		export_progress(job, i);
		rc = sqlite_process(&x, i);
	}
	if (!rc) {
		sqlite_own(&x);
		sqlite_targets(&x);
	}
	progress_stage("writing %s: indexes", job->name);
	sqlite_indexes(&x);
	sqlite_strings_end(&x);
	return database_close(&x.db) ? -1 : rc;
}
