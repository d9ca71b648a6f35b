/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU did: kernels, copies, sets, launches of graphs. */
#include "report/output/export/export_sqlite_rows.h"

static void head(struct sqlite_rows *p, struct database_table *t, const struct events_work *w)
{
	row_int(t, sqlite_time(p, w->start));
	row_int(t, sqlite_time(p, w->end));
	row_int(t, w->device);
	row_int(t, SQLITE_CONTEXT);
	if (w->record)
		row_int(t, sqlite_stream(p, w->stream));
	else
		row_null(t);
	if (w->record)
		row_int(t, w->number);
	else
		row_null(t);
	row_int(t, p->pid);
}

static void tail(struct database_table *t, const struct events_work *w)
{
	if (w->node)
		row_int(t, 1);
	else
		row_null(t);
	row_int(t, w->timed);
	row_end(t);
}

static void add_kernel(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_KERNELS];
	const struct sqlite_kernel *names = sqlite_kernel(p, w->kernel);
	const struct tf_work *k = p->works && w->cls < TF_WORKS ? &p->works[w->cls] : NULL;

	head(p, t, w);
	row_int(t, names->full);
	row_int(t, names->brief);
	row_int(t, names->mangled);
	if (k && k->kind == TF_WORK_KERNEL) {
		const uint32_t shape[] = {k->grid_x,  k->grid_y,  k->grid_z,
		                          k->block_x, k->block_y, k->block_z};
		for (int i = 0; i < 6; i++)
			row_int(t, shape[i]);
		if (k->registers)
			row_int(t, k->static_shared);
		else
			row_null(t);
		row_int(t, k->shared_bytes);
		if (k->registers)
			row_int(t, k->registers);
		else
			row_null(t);
	} else {
		for (int i = 0; i < 9; i++)
			row_null(t);
	}
	tail(t, w);
}

static int memory_kind(unsigned memory)
{
	switch (memory) {
	case SPY_MEM_PAGEABLE:
		return 0;
	case SPY_MEM_PINNED:
		return 1;
	case SPY_MEM_DEVICE:
		return 2;
	case SPY_MEM_MANAGED:
		return 4;
	default:
		return 7;
	}
}

static void add_copy(struct sqlite_rows *p, const struct events_work *w)
{
	static const int kinds[SPY_DIR_COUNT] = {[SPY_DIR_HTOD] = 1,
	                                         [SPY_DIR_DTOH] = 2,
	                                         [SPY_DIR_DTOD] = 8,
	                                         [SPY_DIR_HTOH] = 9,
	                                         [SPY_DIR_PTOP] = 10};
	struct database_table *t = &p->x->tables[SQLITE_COPIES];
	const struct tf_record *r = w->node ? NULL : w->record;
	unsigned direction =
	        r && r->copy.direction < SPY_DIR_COUNT ? r->copy.direction : SPY_DIR_UNKNOWN;
	int host = r ? memory_kind(r->copy.memory) : 7;
	bool known = direction != SPY_DIR_UNKNOWN;

	head(p, t, w);
	if (r)
		row_count(t, r->copy.bytes);
	else
		row_null(t);
	row_int(t, kinds[direction]);
	row_int(t, direction == SPY_DIR_HTOD || direction == SPY_DIR_HTOH ? host : known ? 2 : 7);
	row_int(t, direction == SPY_DIR_DTOH || direction == SPY_DIR_HTOH ? host : known ? 2 : 7);
	if (r)
		row_int(t, r->copy.items ? r->copy.items : 1);
	else
		row_null(t);
	tail(t, w);
}

static void add_set(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_SETS];

	head(p, t, w);
	row_null(t);
	if (w->record && !w->node)
		row_count(t, w->record->copy.bytes);
	else
		row_null(t);
	row_int(t, 2);
	tail(t, w);
}

static void add_graph(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_GRAPHS];

	head(p, t, w);
	if (w->record)
		row_int(t, w->record->graph.graph);
	else
		row_null(t);
	if (w->record)
		row_int(t, w->record->graph.graph);
	else
		row_null(t);
	row_int(t, w->timed);
	row_end(t);
}

void sqlite_add_work(void *to, const struct events_work *w)
{
	struct sqlite_rows *p = to;

	switch (w->kind) {
	case TF_WORK_COPY:
		add_copy(p, w);
		break;
	case TF_WORK_SET:
		add_set(p, w);
		break;
	case TF_WORK_GRAPH:
		add_graph(p, w);
		break;
	default:
		add_kernel(p, w);
	}
}
