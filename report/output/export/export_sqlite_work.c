/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU did: kernels, copies, sets, launches of graphs. */
#include "report/output/export/export_sqlite_rows.h"

static void head(struct sqlite_rows *p, struct database_table *t, const struct events_work *w)
{
	row_int(t, sqlite_time(p, w->start));
	row_int(t, sqlite_time(p, w->end));
	row_int(t, w->device);
	row_int(t, SQLITE_CONTEXT);
	row_known(t, w->known, w->known ? events_stream_number(p->events, w->stream) : 0);
	row_known(t, w->known, w->number);
	row_int(t, p->pid);
}

static void tail(struct database_table *t, const struct events_work *w)
{
	row_known(t, w->node, 1);
	row_int(t, w->timed);
	row_end(t);
}

static void add_kernel(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_KERNELS];
	const struct sqlite_kernel *names = sqlite_kernel(p, w->kernel);
	struct events_shape k;

	head(p, t, w);
	row_int(t, names->full);
	row_int(t, names->brief);
	row_int(t, names->mangled);
	if (events_shape(p->events, w->cls, &k)) {
		for (int i = 0; i < 3; i++)
			row_int(t, k.grid[i]);
		for (int i = 0; i < 3; i++)
			row_int(t, k.block[i]);
		row_known(t, k.registers, k.static_shared);
		row_int(t, k.shared_bytes);
		row_known(t, k.registers, k.registers);
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
	const bool of_call = w->known && !w->node;
	unsigned direction =
	        of_call && w->direction < SPY_DIR_COUNT ? w->direction : SPY_DIR_UNKNOWN;
	int host = of_call ? memory_kind(w->memory) : 7;
	bool known = direction != SPY_DIR_UNKNOWN;

	head(p, t, w);
	row_known(t, of_call, w->bytes);
	row_int(t, kinds[direction]);
	row_int(t, direction == SPY_DIR_HTOD || direction == SPY_DIR_HTOH ? host : known ? 2 : 7);
	row_int(t, direction == SPY_DIR_DTOH || direction == SPY_DIR_HTOH ? host : known ? 2 : 7);
	row_known(t, of_call, w->items ? w->items : 1);
	tail(t, w);
}

static void add_set(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_SETS];

	head(p, t, w);
	row_null(t);
	row_known(t, w->known && !w->node, w->bytes);
	row_int(t, 2);
	tail(t, w);
}

static void add_graph(struct sqlite_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_GRAPHS];

	head(p, t, w);
	for (int i = 0; i < 2; i++) /* the graph, and the executable one */
		row_known(t, w->graph != EVENTS_NONE, w->graph);
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
