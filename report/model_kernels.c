#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/model_parts.h"
#include "report/names.h"

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

/* The model's row of a name, made when it is new. Takes the name. */
static uint32_t kernel_row(struct model *m, char *name)
{
	struct kernel_entry *entry;

	HASH_FIND_STR(m->scratch->kernels_by_name, name, entry);
	if (entry) {
		free(name);
		return entry->index;
	}
	entry = alloc_zeroed(1, sizeof(*entry));
	entry->name = name;
	entry->index = (uint32_t)m->kernel_count;
	HASH_ADD_KEYPTR(hh, m->scratch->kernels_by_name, entry->name, strlen(entry->name), entry);
	ALLOC_ROOM(m->kernels, m->kernel_count);
	ALLOC_ROOM(m->scratch->kernel_spreads, m->kernel_count);
	m->scratch->kernel_spreads[m->kernel_count] = (struct spread){0};
	m->kernels[m->kernel_count++] = (struct kernel){.name = name};
	return entry->index;
}

static char *kernel_name(struct model_part *p, uint32_t id, const struct tf_kernel *kernel)
{
	struct model_scratch *scratch = p->model->scratch;
	uint32_t bytes;
	const char *text =
	        kernel && kernel->name ? tf_text(&p->recording->map, kernel->name, &bytes) : NULL;

	if (id == TF_KERNEL_UNKNOWN)
		return alloc_copy("(unknown)", 9);
	if (id == TF_KERNEL_OTHER)
		return alloc_copy("(other)", 7);
	if (!text || !*text)
		return alloc_copy("(damaged name)", 14);
	if (scratch->name_bytes > NAMES_MOST)
		return alloc_copy("(names too long)", 16);
	char *name = name_demangle(text, bytes);
	scratch->name_bytes += strlen(name);
	return name;
}

struct kernel_part {
	struct model_part *part;
	uint32_t *row_of; /* the model's row of each kernel; UINT32_MAX = not launched */
};

static uint32_t row_of(struct kernel_part *k, uint32_t id)
{
	const struct recording *r = k->part->recording;

	if (k->row_of[id] == UINT32_MAX) {
		const struct tf_kernel *kernel =
		        id < r->kernels
		                ? tf_entry(&r->map, &k->part->header->kernels, id, sizeof(*kernel))
		                : NULL;
		k->row_of[id] = kernel_row(k->part->model, kernel_name(k->part, id, kernel));
		const struct tf_hist *hist =
		        kernel && kernel->hist ? tf_at(&r->map, kernel->hist, sizeof(*hist)) : NULL;
		if (hist)
			spread_add(&k->part->model->scratch->kernel_spreads[k->row_of[id]], hist,
			           k->part->clock.ns_per_tick);
	}
	return k->row_of[id];
}

static void add_stat(struct kernel_part *k, uint32_t id, const struct tf_kernel_stat *s)
{
	const struct clock *clock = &k->part->clock;
	uint32_t index = row_of(k, id); /* may move the rows */
	struct kernel *row = &k->part->model->kernels[index];

	CLAMP_ADD(row->launches, s->launches);
	CLAMP_ADD(row->captured, s->captured);
	CLAMP_ADD(row->failed, s->failed);
	row->total += clock_ns(clock, s->sum_ticks);
	row->first += clock_ns(clock, s->first_ticks);
	row->max = fmax(row->max, clock_ns(clock, s->max_ticks));
}

static void add_thread(struct kernel_part *k, const struct tf_thread *t)
{
	const struct tf_map *map = &k->part->recording->map;
	uint32_t damaged = 0;

	for (uint32_t dir = 0; dir < TF_KERNEL_DIRS; dir++) {
		uint64_t offset = (uint64_t)t->kernel_pages[dir] * 64;
		if (!offset)
			continue;
		const struct tf_kernel_stat *page =
		        tf_at(map, offset, TF_KERNEL_PAGE * sizeof(*page));
		if (!page) {
			damaged++;
			continue;
		}
		for (uint32_t i = 0; i < TF_KERNEL_PAGE; i++)
			if (page[i].launches || page[i].captured || page[i].failed)
				add_stat(k, dir * TF_KERNEL_PAGE + i, &page[i]);
	}
	if (damaged)
		warn(k->part->recording->warnings,
		     "thread %llu: launches of up to %u kernels are not in the file",
		     (unsigned long long)t->tid, damaged * TF_KERNEL_PAGE);
}

static void add_shapes(struct kernel_part *k)
{
	const struct tf_header *h = k->part->header;
	const struct tf_work *works =
	        h->works ? tf_at(&k->part->recording->map, h->works, TF_WORKS * sizeof(*works))
	                 : NULL;
	struct model_scratch *scratch = k->part->model->scratch;

	for (uint32_t i = 0; works && i < TF_WORKS; i++) {
		const struct tf_work *w = &works[i];
		if (w->kind != TF_WORK_KERNEL || !w->count || w->id >= TF_KERNELS_MAX ||
		    k->row_of[w->id] == UINT32_MAX)
			continue;
		ALLOC_ROOM(scratch->shapes, scratch->shape_count);
		scratch->shapes[scratch->shape_count++] = (struct shape){
		        .kernel = k->row_of[w->id],
		        .grid = {w->grid_x, w->grid_y, w->grid_z},
		        .block = {w->block_x, w->block_y, w->block_z},
		        .cluster = {w->cluster_x, w->cluster_y, w->cluster_z},
		        .shared_bytes = w->shared_bytes,
		        .launches = w->count,
		};
	}
}

void model_add_kernels(struct model_part *p)
{
	struct kernel_part k = {.part = p,
	                        .row_of = alloc_zeroed(TF_KERNELS_MAX, sizeof(*k.row_of))};

	memset(k.row_of, 0xff, TF_KERNELS_MAX * sizeof(*k.row_of));
	for (uint32_t i = 0; i < p->recording->threads; i++) {
		const struct tf_thread *t = recording_thread(p->recording, i);
		if (t)
			add_thread(&k, t);
	}
	add_shapes(&k);
	free(k.row_of);
}

static int by_shape(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct shape, shared_bytes) + sizeof(uint32_t));
}

/* The different shapes of each kernel, and the one launched most often. */
static void merge_shapes(struct model *m)
{
	struct shape *shapes = m->scratch->shapes;
	size_t count = m->scratch->shape_count;

	if (count)
		qsort(shapes, count, sizeof(*shapes), by_shape);
	for (size_t i = 0; i < count;) {
		struct shape sum = shapes[i];
		while (++i < count && !by_shape(&sum, &shapes[i]))
			CLAMP_ADD(sum.launches, shapes[i].launches);
		struct kernel *kernel = &m->kernels[sum.kernel];
		kernel->shapes++;
		if (sum.launches > kernel->most.launches)
			kernel->most = sum;
	}
	free(shapes);
	m->scratch->shapes = NULL;
}

void model_finish_kernels(struct model *m)
{
	struct kernel_entry *entry, *next;

	if (!m->scratch)
		return;
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct kernel *kernel = &m->kernels[i];
		kernel->mean = kernel->launches ? kernel->total / (double)kernel->launches : NAN;
		kernel->q = spread_quantiles(&m->scratch->kernel_spreads[i], kernel->max);
		free(m->scratch->kernel_spreads[i].hist);
	}
	merge_shapes(m);
	HASH_ITER(hh, m->scratch->kernels_by_name, entry, next)
	{
		HASH_DELETE(hh, m->scratch->kernels_by_name, entry);
		free(entry);
	}
	free(m->scratch->kernel_spreads);
	m->scratch->kernel_spreads = NULL;
}
