/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/names.h"
#include "report/output/export/export_sqlite.h"

#define DEFAULT_STREAM 7  /* CUPTI's number of the default stream */
#define FIRST_STREAM   13 /* ... of the first that was made */
#define CONTEXT        1
#define ID_BITS        24 /* of a pid, and of a thread below it */
#define ID_MASK        ((1 << ID_BITS) - 1)

struct kernel_names {
	bool known;
	int64_t full, brief, mangled;
};

struct process_rows {
	struct sqlite_export *x;
	const struct recording *recording;
	struct events *events;
	struct clock clock;
	const struct tf_work *works;
	uint64_t load;
	double base; /* ns to be added to those since load */
	int64_t pid;
	int64_t *calls; /* by call id: the id of its name; 0 = not asked for yet */
	struct kernel_names *kernels;
	int64_t *threads; /* global thread id; 0 = not named yet */
};

/* Two processes of a run may have one pid, on two machines: the machine stands above it. */
static int64_t global_pid(const struct model *m, size_t process)
{
	const char *host = m->processes[process].host;
	int64_t machine = 0;

	for (size_t i = 0; i < process; i++) {
		const char *other = m->processes[i].host;
		if (host && other && !strcmp(host, other))
			break;
		machine++;
	}
	/* All of a machine have the number of its first process. */
	for (size_t i = 0; i < process; i++) {
		const char *other = m->processes[i].host;
		if (host && other && !strcmp(host, other)) {
			machine = (int64_t)i;
			break;
		}
	}
	return machine << 2 * ID_BITS | (int64_t)(m->processes[process].pid & ID_MASK) << ID_BITS;
}

static int64_t time_of(const struct process_rows *p, uint64_t tick)
{
	double ns =
	        (tick > p->load ? (double)(tick - p->load) : 0) * p->clock.ns_per_tick + p->base;

	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

static int64_t thread_of(struct process_rows *p, uint32_t thread)
{
	int64_t *id = &p->threads[thread];
	struct database_table *t = &p->x->tables[SQLITE_THREADS];
	const struct tf_thread *from;

	if (*id)
		return *id;
	from = recording_thread(p->recording, thread);
	*id = p->pid | (int64_t)((from ? from->tid : thread) & ID_MASK);
	if (from && from->name[0]) {
		row_int(t, sqlite_text(p->x, from->name, strnlen(from->name, sizeof(from->name))));
		row_int(t, 0);
		row_int(t, *id);
		row_end(t);
	}
	return *id;
}

/* What nsys calls it: without the underscores that the runtime's header has for a launch. */
static int64_t call_name(struct process_rows *p, uint16_t call)
{
	int64_t *id = &p->calls[call];
	const struct tf_call *c;

	if (*id)
		return *id;
	c = tf_entry(&p->recording->map, &tf_header(&p->recording->map)->calls, call, sizeof(*c));
	const char *name = c ? c->name : "(unknown call)";
	size_t bytes = c ? strnlen(c->name, sizeof(c->name)) : strlen(name);
	if (bytes > 6 && !memcmp(name, "__cuda", 6)) {
		name += 2;
		bytes -= 2;
	}
	return *id = sqlite_text(p->x, name, bytes);
}

static const struct kernel_names *kernel_names(struct process_rows *p, uint32_t kernel)
{
	static const char *const unknown = "(unknown kernel)";
	const struct recording *r = p->recording;
	uint32_t bytes = 0;

	if (kernel >= TF_KERNELS_MAX)
		kernel = 0;
	struct kernel_names *n = &p->kernels[kernel];
	if (n->known)
		return n;
	n->known = true;
	const struct tf_kernel *k =
	        kernel < r->kernels
	                ? tf_entry(&r->map, &tf_header(&r->map)->kernels, kernel, sizeof(*k))
	                : NULL;
	const char *mangled = k ? tf_text(&r->map, k->name, &bytes) : NULL;
	if (!mangled || !bytes) {
		mangled = kernel == TF_KERNEL_OTHER ? "(other)" : unknown;
		bytes = (uint32_t)strlen(mangled);
	}
	char *full = name_demangle(mangled, bytes);
	n->full = sqlite_text(p->x, full, strlen(full));
	n->brief = sqlite_short_name(p->x, full);
	n->mangled = sqlite_text(p->x, mangled, bytes);
	free(full);
	return n;
}

static int64_t stream_of(const struct process_rows *p, uint32_t stream)
{
	return events_stream_is_default(p->events, stream) ? DEFAULT_STREAM
	                                                   : FIRST_STREAM + (int64_t)stream;
}

/* ---- calls ---- */

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

static void add_sync(struct process_rows *p, const struct events_call *c, int type)
{
	struct database_table *t = &p->x->tables[SQLITE_SYNCS];
	bool of_event = type <= 2;

	row_int(t, time_of(p, c->record->start));
	row_int(t, time_of(p, c->record->end));
	row_int(t, c->device);
	row_int(t, CONTEXT);
	if (c->stream == EVENTS_NONE || type == 4)
		row_null(t);
	else
		row_int(t, stream_of(p, c->stream));
	row_int(t, c->number);
	row_int(t, p->pid);
	row_int(t, type);
	if (of_event)
		row_int(t, (int64_t)c->record->event.event);
	row_end(t);
}

/* Those within another call are its own, as in nsys, but for what gave the GPU work. */
static void add_call(void *to, const struct events_call *c)
{
	struct process_rows *p = to;
	struct database_table *t = &p->x->tables[SQLITE_CALLS];
	const struct tf_record *r = c->record;
	int type;

	if (c->part && !c->works)
		return;
	row_int(t, time_of(p, r->start));
	row_int(t, time_of(p, r->end));
	row_int(t, c->level == SPY_LEVEL_RUNTIME ? 0 : 1);
	row_int(t, thread_of(p, c->thread));
	row_int(t, c->number);
	row_int(t, call_name(p, r->call));
	row_int(t, r->result);
	row_end(t);
	type = r->result || r->flags & TF_NO_ARGS ? 0 : sync_type(c->role);
	if (type)
		add_sync(p, c, type);
}

/* ---- work ---- */

static void head(struct process_rows *p, struct database_table *t, const struct events_work *w)
{
	row_int(t, time_of(p, w->start));
	row_int(t, time_of(p, w->end));
	row_int(t, w->device);
	row_int(t, CONTEXT);
	if (w->record)
		row_int(t, stream_of(p, w->stream));
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

static void add_kernel(struct process_rows *p, const struct events_work *w)
{
	struct database_table *t = &p->x->tables[SQLITE_KERNELS];
	const struct kernel_names *names = kernel_names(p, w->kernel);
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

static void add_copy(struct process_rows *p, const struct events_work *w)
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

static void add_set(struct process_rows *p, const struct events_work *w)
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

static void add_graph(struct process_rows *p, const struct events_work *w)
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

static void add_work(void *to, const struct events_work *w)
{
	struct process_rows *p = to;

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

static void add_range(void *to, const struct events_range *r)
{
	struct process_rows *p = to;
	const struct tf_map *map = &p->recording->map;
	const struct tf_nvtx_range *range =
	        tf_entry(map, &tf_header(map)->ranges, r->range, sizeof(*range));
	struct database_table *t = &p->x->tables[SQLITE_RANGES];
	uint32_t bytes = 0;
	const char *text = range ? tf_text(map, range->name, &bytes) : NULL;

	row_int(t, time_of(p, r->record->start));
	row_int(t, time_of(p, r->record->end));
	row_int(t, r->record->flags & TF_RANGE_STARTED ? 60 : 59);
	row_null(t);
	row_int(t, text ? sqlite_text(p->x, text, bytes) : sqlite_text(p->x, "(other ranges)", 14));
	if (r->thread == EVENTS_NONE)
		row_null(t);
	else
		row_int(t, thread_of(p, r->thread));
	row_end(t);
}

/* ---- one process ---- */

static void cover(struct process_rows *p, const struct model_process *process,
                  const struct events_figures *f)
{
	struct database_table *t = &p->x->tables[SQLITE_COVERED];
	const int64_t from = time_of(p, f->from), until = time_of(p, f->until);

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

static void add_rows(struct process_rows *p, struct recording *r,
                     const struct model_process *process)
{
	const struct events_to to = {p, add_call, add_work, add_range};
	struct events_figures figures;

	p->calls = alloc_zeroed((size_t)r->calls + 1, sizeof(*p->calls));
	p->threads = alloc_zeroed((size_t)r->threads + 1, sizeof(*p->threads));
	p->kernels = alloc_zeroed(TF_KERNELS_MAX, sizeof(*p->kernels));
	p->works = tf_at(&r->map, tf_header(&r->map)->works, TF_WORKS * sizeof(*p->works));
	p->events = events_open(r, &p->clock, p->x->number);
	events_tell(p->events, &to, &figures);
	p->x->number = events_last(p->events);
	cover(p, process, &figures);
	events_close(p->events);
	free(p->calls);
	free(p->threads);
	free(p->kernels);
}

int sqlite_process(struct sqlite_export *x, size_t index)
{
	const struct model_process *process = &x->job->model->processes[index];
	struct warnings warnings = {0}; /* the model has them */
	char error[READER_ERROR_BYTES];
	struct recording r;

	if (recording_open(&r, process->path, &warnings, error)) {
		complain("%s: %s", process->path, error);
		warnings_free(&warnings);
		return -1;
	}
	struct process_rows p = {
	        .x = x,
	        .recording = &r,
	        .load = tf_header(&r.map)->load,
	        .base = fmax(0, process->start_realtime - x->base),
	        .pid = global_pid(x->job->model, index),
	};
	clock_init(&p.clock, &r);
	if (isfinite(p.clock.ns_per_tick) && isfinite(p.base))
		add_rows(&p, &r, process);
	bool shrank = recording_shrank(&r);
	if (shrank)
		complain("%s: it became shorter while it was read", process->path);
	clock_free(&p.clock);
	recording_close(&r);
	warnings_free(&warnings);
	return shrank ? -1 : 0;
}
