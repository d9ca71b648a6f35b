/* SPDX-License-Identifier: Apache-2.0 */
/* What threads did: calls, waits and NVTX ranges. */
#include "report/output/export/export_sqlite_rows.h"

static int sync_type(unsigned role)
{
	switch (role) {
	case CUDA_ROLE_SYNC_EVENT:
		return 1;
	case CUDA_ROLE_EVENT_WAIT:
		return 2;
	case CUDA_ROLE_SYNC_STREAM:
		return 3;
	case CUDA_ROLE_SYNC_ALL:
		return 4;
	default:
		return 0;
	}
}

static void add_sync(struct sqlite_rows *p, const struct events_call *c, int type)
{
	struct database_table *t = &p->x->tables[SQLITE_SYNCS];
	bool of_event = type <= 2;

	row_int(t, sqlite_time(p, c->start));
	row_int(t, sqlite_time(p, c->end));
	row_int(t, c->device);
	row_int(t, SQLITE_CONTEXT);
	if (c->stream == EVENTS_NONE || type == 4)
		row_null(t);
	else
		row_int(t, (int64_t)events_stream_number(p->events, c->stream));
	row_int(t, c->number);
	row_int(t, p->pid);
	row_int(t, type);
	if (of_event)
		row_int(t, (int64_t)c->event);
	row_end(t);
}

/* Those within another call are its own, as in nsys, but for what gave the GPU work. */
void sqlite_add_call(void *to, const struct events_call *c)
{
	struct sqlite_rows *p = to;
	struct database_table *t = &p->x->tables[SQLITE_CALLS];
	int type;

	if (c->part && !c->works)
		return;
	row_int(t, sqlite_time(p, c->start));
	row_int(t, sqlite_time(p, c->end));
	row_int(t, c->level == SPY_LEVEL_RUNTIME ? 0 : 1);
	row_int(t, sqlite_thread(p, c->thread));
	row_int(t, c->number);
	row_int(t, sqlite_call(p, c->name));
	row_int(t, c->result);
	row_end(t);
	type = c->result || !c->args ? 0 : sync_type(c->role);
	if (type)
		add_sync(p, c, type);
}

void sqlite_add_range(void *to, const struct events_range *r)
{
	struct sqlite_rows *p = to;
	struct database_table *t = &p->x->tables[SQLITE_RANGES];
	size_t bytes;
	const char *text = events_range_name(p->events, r->name, &bytes);

	row_int(t, sqlite_time(p, r->start));
	row_int(t, sqlite_time(p, r->end));
	row_int(t, r->started ? 60 : 59);
	row_null(t);
	row_int(t, text ? sqlite_text(p->x, text, bytes) : sqlite_text(p->x, "(other ranges)", 14));
	if (r->thread == EVENTS_NONE)
		row_null(t);
	else
		row_int(t, sqlite_thread(p, r->thread));
	row_end(t);
}
