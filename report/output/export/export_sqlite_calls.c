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

	row_int(t, sqlite_time(p, c->record->start));
	row_int(t, sqlite_time(p, c->record->end));
	row_int(t, c->device);
	row_int(t, SQLITE_CONTEXT);
	if (c->stream == EVENTS_NONE || type == 4)
		row_null(t);
	else
		row_int(t, sqlite_stream(p, c->stream));
	row_int(t, c->number);
	row_int(t, p->pid);
	row_int(t, type);
	if (of_event)
		row_int(t, (int64_t)c->record->event.event);
	row_end(t);
}

/* Those within another call are its own, as in nsys, but for what gave the GPU work. */
void sqlite_add_call(void *to, const struct events_call *c)
{
	struct sqlite_rows *p = to;
	struct database_table *t = &p->x->tables[SQLITE_CALLS];
	const struct tf_record *r = c->record;
	int type;

	if (c->part && !c->works)
		return;
	row_int(t, sqlite_time(p, r->start));
	row_int(t, sqlite_time(p, r->end));
	row_int(t, c->level == SPY_LEVEL_RUNTIME ? 0 : 1);
	row_int(t, sqlite_thread(p, c->thread));
	row_int(t, c->number);
	row_int(t, sqlite_call(p, r->call));
	row_int(t, r->result);
	row_end(t);
	type = r->result || r->flags & TF_NO_ARGS ? 0 : sync_type(c->role);
	if (type)
		add_sync(p, c, type);
}

void sqlite_add_range(void *to, const struct events_range *r)
{
	struct sqlite_rows *p = to;
	const struct tf_map *map = &p->recording->map;
	const struct tf_nvtx_range *range =
	        tf_entry(map, &tf_header(map)->ranges, r->range, sizeof(*range));
	struct database_table *t = &p->x->tables[SQLITE_RANGES];
	uint32_t bytes = 0;
	const char *text = range ? tf_text(map, range->name, &bytes) : NULL;

	row_int(t, sqlite_time(p, r->record->start));
	row_int(t, sqlite_time(p, r->record->end));
	row_int(t, r->record->flags & TF_RANGE_STARTED ? 60 : 59);
	row_null(t);
	row_int(t, text ? sqlite_text(p->x, text, bytes) : sqlite_text(p->x, "(other ranges)", 14));
	if (r->thread == EVENTS_NONE)
		row_null(t);
	else
		row_int(t, sqlite_thread(p, r->thread));
	row_end(t);
}
