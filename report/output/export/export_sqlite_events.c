/* SPDX-License-Identifier: Apache-2.0 */
/* One process: its recording is opened, and told as rows. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/export/export_sqlite_rows.h"

static void cover(struct sqlite_rows *p, const struct model_process *process,
                  const struct events_figures *f)
{
	struct database_table *t = &p->x->tables[SQLITE_COVERED];
	const int64_t from = sqlite_time(p, f->from), until = sqlite_time(p, f->until);

	row_count(t, process->pid);
	row_text(t, process->rank);
	row_int(t, f->whole);
	if (f->until) {
		row_int(t, from);
		row_int(t, until);
		if (!p->x->until || (uint64_t)from < p->x->from)
			p->x->from = (uint64_t)from;
		if ((uint64_t)until > p->x->until)
			p->x->until = (uint64_t)until;
	} else {
		row_null(t);
		row_null(t);
	}
	row_count(t, f->records);
	row_count(t, f->calls);
	row_count(t, f->works);
	row_count(t, f->unplaced);
	row_count(t, f->left_out);
	row_count(t, process->calls);
	row_end(t);
}

static void add_rows(struct sqlite_rows *p, const struct model_process *process)
{
	const struct events_to to = {p, sqlite_add_call, sqlite_add_work, sqlite_add_range};
	struct events_figures figures;

	p->calls = alloc_zeroed((size_t)events_calls(p->events) + 1, sizeof(*p->calls));
	p->threads = alloc_zeroed((size_t)events_threads(p->events) + 1, sizeof(*p->threads));
	p->kernels = alloc_zeroed(EVENTS_KERNELS, sizeof(*p->kernels));
	events_tell(p->events, &to, &figures);
	p->x->number = events_last(p->events);
	cover(p, process, &figures);
	free(p->calls);
	free(p->threads);
	free(p->kernels);
}

int sqlite_process(struct sqlite_export *x, size_t index)
{
	const struct model_process *process = &x->job->model->processes[index];
	struct events *events = events_open(process->path, x->number);

	if (!events)
		return -1;
	struct sqlite_rows p = {
	        .x = x,
	        .events = events,
	        .clock = events_clock(events),
	        .base = fmax(0, process->start_realtime - x->base),
	        .pid = sqlite_global_pid(x->job->model, index),
	};
	if (isfinite(p.clock.ns_per_tick) && isfinite(p.base))
		add_rows(&p, process);
	return events_close(events);
}
