/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/base/names.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

/* More text than any program's kernels have: names beyond it, which a small hostile file can claim,
 * share a row. */
#define NAMES_MOST (64u << 20)

struct kernel_entry {
	char *name; /* the model's */
	uint32_t index;
	UT_hash_handle hh;
};

/* The model's row of a name, made when it is new. Takes both names; `mangled` may be NULL. */
static uint32_t kernel_row(struct model *m, char *name, char *mangled)
{
	struct kernel_entry *entry;

	HASH_FIND_STR(m->scratch->kernels_by_name, name, entry);
	if (entry) {
		free(name);
		free(mangled);
		return entry->index;
	}
	entry = alloc_zeroed(1, sizeof(*entry));
	entry->name = name;
	entry->index = (uint32_t)m->kernel_count;
	HASH_ADD_KEYPTR(hh, m->scratch->kernels_by_name, entry->name, strlen(entry->name), entry);
	ALLOC_ROOM(m->kernels, m->kernel_count);
	ALLOC_ROOM(m->scratch->kernel_spreads, m->kernel_count);
	ALLOC_ROOM(m->scratch->queue_spreads, m->kernel_count);
	m->scratch->kernel_spreads[m->kernel_count] = (struct model_spread){0};
	m->scratch->queue_spreads[m->kernel_count] = (struct model_spread){0};
	m->kernels[m->kernel_count++] = (struct model_kernel){.name = name, .mangled = mangled};
	return entry->index;
}

enum nameless { UNKNOWN, OTHER, DAMAGED, TOO_LONG, NAMELESS };
static const char *const nameless_names[NAMELESS] = {
        [UNKNOWN] = "(unknown)",
        [OTHER] = "(other)",
        [DAMAGED] = "(damaged name)",
        [TOO_LONG] = "(names too long)",
};

bool kernel_is_nameless(const char *name)
{
	for (int i = 0; i < NAMELESS; i++)
		if (!strcmp(name, nameless_names[i]))
			return true;
	return false;
}

static char *nameless(enum nameless which)
{
	return alloc_string(nameless_names[which]);
}

/* `mangled`: NULL where it is the name. */
static char *kernel_name(struct model_part *p, uint32_t id, const struct tf_kernel *kernel,
                         char **mangled)
{
	struct model_scratch *scratch = p->model->scratch;
	uint32_t bytes;

	*mangled = NULL;
	const char *text =
	        kernel && kernel->name ? tf_text(&p->recording->map, kernel->name, &bytes) : NULL;

	if (id == TF_KERNEL_UNKNOWN)
		return nameless(UNKNOWN);
	if (id == TF_KERNEL_OTHER)
		return nameless(OTHER);
	if (!text || !*text)
		return nameless(DAMAGED);
	if (scratch->name_bytes > NAMES_MOST)
		return nameless(TOO_LONG);
	char *name = name_demangle(text, bytes);
	*mangled = alloc_copy(text, strnlen(text, bytes));
	if (!strcmp(*mangled, name)) {
		free(*mangled);
		*mangled = NULL;
	}
	scratch->name_bytes += strlen(name) + (*mangled ? strlen(*mangled) : 0);
	return name;
}

static const struct tf_hist *hist_at(const struct model_part *p, uint64_t offset)
{
	return offset ? tf_at(&p->recording->map, offset, sizeof(struct tf_hist)) : NULL;
}

/* What the timeline says: how long launches stood in the queue. Without GPU times it guesses. */
static void add_queue(struct model_part *p, uint32_t row, const struct tf_kernel *kernel)
{
	struct model_kernel *k = &p->model->kernels[row];
	const struct tf_hist *hist = hist_at(p, kernel->queue_hist);

	if (!p->timed || !hist)
		return;
	spread_add(&p->model->scratch->queue_spreads[row], hist, p->clock.ns_per_tick);
	CLAMP_ADD(k->queued, kernel->queue_count);
	k->queue += clock_ns(&p->clock, kernel->queue_ticks);
}

uint32_t model_kernel_row(struct model_part *p, uint32_t id)
{
	const struct recording *r = p->recording;

	if (p->kernel_row[id] == UINT32_MAX) {
		const struct tf_kernel *kernel =
		        id < r->kernels
		                ? tf_entry(&r->map, &p->header->kernels, id, sizeof(*kernel))
		                : NULL;
		char *mangled, *name = kernel_name(p, id, kernel, &mangled);
		uint32_t row = p->kernel_row[id] = kernel_row(p->model, name, mangled);
		const struct tf_hist *hist = kernel ? hist_at(p, kernel->hist) : NULL;
		if (hist)
			spread_add(&p->model->scratch->kernel_spreads[row], hist,
			           p->clock.ns_per_tick);
		if (kernel)
			add_queue(p, row, kernel);
	}
	return p->kernel_row[id];
}

static void add_stat(struct model_part *p, uint32_t id, const struct tf_kernel_stat *s)
{
	uint32_t index = model_kernel_row(p, id); /* may move the rows */
	struct model_kernel *row = &p->model->kernels[index];

	CLAMP_ADD(p->kernel_launches[id], s->launches);
	if (id >= p->kernel_end)
		p->kernel_end = id + 1;
	CLAMP_ADD(row->launches, s->launches);
	CLAMP_ADD(row->captured, s->captured);
	CLAMP_ADD(row->failed, s->failed);
	row->total += clock_ns(&p->clock, s->sum_ticks);
	row->first += clock_ns(&p->clock, s->first_ticks);
	row->firsts += s->first_ticks != 0;
	row->max = fmax(row->max, clock_ns(&p->clock, s->max_ticks));
}

static void add_thread(struct model_part *p, const struct tf_thread *t)
{
	const struct tf_map *map = &p->recording->map;

	for (uint32_t dir = 0; dir < TF_KERNEL_DIRS; dir++) {
		uint64_t offset = (uint64_t)t->kernel_pages[dir] * 64;
		if (!offset)
			continue;
		const struct tf_kernel_stat *page =
		        tf_at(map, offset, TF_KERNEL_PAGE * sizeof(*page));
		for (uint32_t i = 0; page && i < TF_KERNEL_PAGE; i++)
			if (page[i].launches || page[i].captured || page[i].failed)
				add_stat(p, dir * TF_KERNEL_PAGE + i, &page[i]);
	}
}

static void add_shapes(struct model_part *p)
{
	const struct tf_header *h = p->header;
	const struct tf_work *works =
	        h->works ? tf_at(&p->recording->map, h->works, TF_WORKS * sizeof(*works)) : NULL;
	struct model_scratch *scratch = p->model->scratch;

	for (uint32_t i = 0; works && i < TF_WORKS; i++) {
		const struct tf_work *w = &works[i];
		if (w->kind != TF_WORK_KERNEL || !w->count || w->id >= TF_KERNELS_MAX ||
		    p->kernel_row[w->id] == UINT32_MAX)
			continue;
		ALLOC_ROOM(scratch->shapes, scratch->shape_count);
		scratch->shapes[scratch->shape_count++] = (struct model_shape){
		        .kernel = p->kernel_row[w->id],
		        .grid = {w->grid_x, w->grid_y, w->grid_z},
		        .block = {w->block_x, w->block_y, w->block_z},
		        .cluster = {w->cluster_x, w->cluster_y, w->cluster_z},
		        .shared_bytes = w->shared_bytes,
		        .launches = w->count,
		        .registers = w->registers,
		        .static_shared = w->static_shared,
		        .blocks_per_sm = w->blocks_per_sm,
		        .warps_per_sm = w->warps_per_sm,
		};
	}
}

void model_add_kernels(struct model_part *p)
{
	memset(p->kernel_row, 0xff, TF_KERNELS_MAX * sizeof(*p->kernel_row));
	for (uint32_t i = 0; i < p->recording->threads; i++) {
		const struct tf_thread *t = recording_thread(p->recording, i);
		if (t)
			add_thread(p, t);
	}
	add_shapes(p);
}

double shape_occupancy(const struct model_shape *s)
{
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];

	if (!s->registers || !s->warps_per_sm || !threads)
		return NAN;
	return fmin(1, (double)s->blocks_per_sm * ceil((double)threads / 32) / s->warps_per_sm);
}

static int by_shape(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct model_shape, shared_bytes) + sizeof(uint32_t));
}

/* The different shapes of each kernel, and the one launched most often. */
static void merge_shapes(struct model *m)
{
	struct model_shape *shapes = m->scratch->shapes;
	size_t count = m->scratch->shape_count;

	if (count)
		qsort(shapes, count, sizeof(*shapes), by_shape);
	for (size_t i = 0; i < count;) {
		struct model_shape sum = shapes[i];
		while (++i < count && !by_shape(&sum, &shapes[i])) {
			uint64_t launches = sum.launches;
			CLAMP_ADD(launches, shapes[i].launches);
			if (!sum.registers)
				sum = shapes[i];
			sum.launches = launches;
		}
		struct model_kernel *kernel = &m->kernels[sum.kernel];
		kernel->shapes++;
		if (sum.launches > kernel->most.launches)
			kernel->most = sum;
	}
	free(shapes);
	m->scratch->shapes = NULL;
}

/* The quantiles of one kernel; its histograms go into those of all of them. */
static void finish_spreads(struct model *m, size_t i)
{
	struct model_spread *api = &m->scratch->kernel_spreads[i],
	                    *queue = &m->scratch->queue_spreads[i];
	struct model_kernel *kernel = &m->kernels[i];

	kernel->q = spread_quantiles(api, kernel->max);
	kernel->queue_p50 = spread_quantiles(queue, INFINITY).p50;
	if (!queue->hist)
		kernel->queue = NAN;
	if (api->hist)
		spread_add(&m->scratch->launches, api->hist, api->ns_per_tick);
	if (queue->hist)
		spread_add(&m->scratch->queues, queue->hist, queue->ns_per_tick);
	free(api->hist);
	free(queue->hist);
}

static void name_briefly(struct model *m)
{
	const char **full = alloc_zeroed(m->kernel_count + 1, sizeof(*full));
	char **brief = alloc_zeroed(m->kernel_count + 1, sizeof(*brief));

	for (size_t i = 0; i < m->kernel_count; i++)
		full[i] = m->kernels[i].name;
	name_short_all(full, brief, m->kernel_count);
	for (size_t i = 0; i < m->kernel_count; i++)
		m->kernels[i].brief = brief[i];
	free(full);
	free(brief);
}

void model_finish_kernels(struct model *m)
{
	struct kernel_entry *entry, *next;

	if (!m->scratch)
		return;
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct model_kernel *kernel = &m->kernels[i];
		kernel->mean = kernel->launches ? kernel->total / (double)kernel->launches : NAN;
		finish_spreads(m, i);
	}
	m->gpu.launch_p50 = spread_quantiles(&m->scratch->launches, INFINITY).p50;
	m->gpu.queue_p50 = spread_quantiles(&m->scratch->queues, INFINITY).p50;
	name_briefly(m);
	free(m->scratch->launches.hist);
	free(m->scratch->queues.hist);
	merge_shapes(m);
	HASH_ITER(hh, m->scratch->kernels_by_name, entry, next)
	{
		HASH_DELETE(hh, m->scratch->kernels_by_name, entry);
		free(entry);
	}
	free(m->scratch->kernel_spreads);
	free(m->scratch->queue_spreads);
	m->scratch->kernel_spreads = m->scratch->queue_spreads = NULL;
}
