/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the files that make the rows of one process hang together: export_sqlite_events.c opens the
 * recording, export_sqlite_calls.c and export_sqlite_work.c make rows of what it tells,
 * export_sqlite_ids.c what they name. For these alone.
 */
#ifndef REPORT_EXPORT_SQLITE_ROWS_H
#define REPORT_EXPORT_SQLITE_ROWS_H

#include "report/output/export/export_sqlite.h"

#define SQLITE_CONTEXT 1
#define SQLITE_ID_BITS 24 /* of a pid, and of a thread below it */
#define SQLITE_ID_MASK ((1 << SQLITE_ID_BITS) - 1)

struct sqlite_kernel {
	bool known;
	int64_t full, brief, mangled;
};

struct sqlite_rows {
	struct sqlite_export *x;
	struct events *events;
	struct events_clock clock;
	double base; /* ns to be added to those since load */
	int64_t pid;
	int64_t *calls; /* by call id: the id of its name; 0 = not asked for yet */
	struct sqlite_kernel *kernels;
	int64_t *threads; /* global thread id; 0 = not named yet */
};

/* ns since the export's time 0. */
int64_t sqlite_time(const struct sqlite_rows *p, uint64_t tick);
int64_t sqlite_thread(struct sqlite_rows *p, uint32_t thread);
int64_t sqlite_call(struct sqlite_rows *p, uint16_t call);
const struct sqlite_kernel *sqlite_kernel(struct sqlite_rows *p, uint32_t kernel);

/* As struct events_to has them; `to`: struct sqlite_rows. */
void sqlite_add_call(void *to, const struct events_call *c);
void sqlite_add_work(void *to, const struct events_work *w);
void sqlite_add_range(void *to, const struct events_range *r);

#endif
