/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_gpu_pairs.h"
#include "report/model/model_internal.h"

/* A kernel of which less than this share of launches is of classes never timed is estimated whole
 * from the others. */
#define UNTIMED_LEAST 0.05

/* Classes that share an exact count: of a kernel, of graphs, of a kind of copy, of sets. */
struct group {
	double exact; /* pieces of work, or bytes of copies, by the exact counters */
	double found; /* in the classes, which lack what was lost */
	double timed; /* of these in classes whose time is known */
	bool counted; /* CUPTI's records were counted: they stand for themselves */
};

struct works_part {
	struct model_part *part;
	struct tf_work *works; /* those of the table that are used */
	uint32_t count;
	uint32_t *place;               /* of each in the table */
	struct model_work_time *times; /* beside them */
	struct group *kernels;         /* by id */
	struct group copies[TF_COPY_KINDS], graphs, sets;
	struct model_work_share *shares; /* beside the classes, of those that count */
};

static bool is_counted(const struct tf_work *w)
{
	return w->kind > TF_WORK_NONE && w->kind < TF_WORK_EMPTY && (w->count || w->exact_count);
}

static uint32_t copy_kind(const struct tf_work *w)
{
	return w->direction < SPY_DIR_COUNT && w->memory < SPY_MEM_COUNT
	               ? TF_COPY_KIND(w->direction, w->memory, w->async)
	               : TF_COPY_KINDS;
}

/* The group of a class; NULL where nothing of the model is behind it. */
static struct group *group_of(struct works_part *k, const struct tf_work *w)
{
	switch (w->kind) {
	case TF_WORK_KERNEL:
		return w->id < k->part->kernel_end && k->part->kernel_row[w->id] != UINT32_MAX
		               ? &k->kernels[w->id]
		               : NULL;
	case TF_WORK_GRAPH:
		return &k->graphs;
	case TF_WORK_COPY:
		return copy_kind(w) < TF_COPY_KINDS ? &k->copies[copy_kind(w)] : NULL;
	case TF_WORK_SET:
		return &k->sets;
	}
	return NULL;
}

/* What a class counts by: copies by bytes, since a batch is one record of many copies. */
static double size_of(const struct works_part *k, const struct tf_work *w)
{
	const struct group *g = w->kind == TF_WORK_COPY ? &k->copies[copy_kind(w)] : NULL;

	return g && g->exact > 0 ? (double)w->bytes : (double)w->count;
}

static void add_exact(struct works_part *k)
{
	const struct recording *r = k->part->recording;

	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (!t)
			continue;
		k->graphs.exact += (double)t->items[SPY_CLASS_GRAPH_LAUNCH];
		k->sets.exact += (double)t->items[SPY_CLASS_SET];
		for (uint32_t kind = 0; kind < TF_COPY_KINDS; kind++)
			k->copies[kind].exact += (double)t->copies[kind].bytes;
	}
}

/* Notes a class that has no time. */
static void note_untimed(struct works_part *k, const struct tf_work *w)
{
	struct model *m = k->part->model;
	struct model_gpu *gpu = &m->gpu;
	const struct tf_graph *graph =
	        w->kind == TF_WORK_GRAPH ? model_graph(k->part, w->id) : NULL;
	size_t least = 0;
	struct model_untimed u = {
	        .name = w->kind == TF_WORK_KERNEL ? m->kernels[k->part->kernel_row[w->id]].name
	                                          : NULL,
	        .kind = w->kind,
	        .grid = {w->grid_x, w->grid_y, w->grid_z},
	        .block = {w->block_x, w->block_y, w->block_z},
	        .handle = graph ? graph->handle : 0,
	        .alike = w->kind == TF_WORK_GRAPH && w->id & TF_GRAPH_ALIKE,
	        .direction = w->direction,
	        .memory = w->memory,
	        .bytes = w->bytes,
	        .count = w->count,
	};

	gpu->untimed_classes++;
	gpu->untimed_pieces += (double)w->count;
	if (gpu->untimed_count < UNTIMED_MOST) {
		ALLOC_ROOM(gpu->untimed, gpu->untimed_count);
		gpu->untimed[gpu->untimed_count++] = u;
		return;
	}
	for (size_t i = 1; i < gpu->untimed_count; i++)
		if (gpu->untimed[i].count < gpu->untimed[least].count)
			least = i;
	if (gpu->untimed[least].count < u.count)
		gpu->untimed[least] = u;
}

/* Where the class's time is added to. */
static struct model_gpu_sum *sum_of(struct works_part *k, const struct tf_work *w)
{
	struct model *m = k->part->model;

	if (w->kind == TF_WORK_KERNEL)
		return &m->kernels[k->part->kernel_row[w->id]].gpu.sum;
	if (w->kind == TF_WORK_SET)
		return &m->gpu.sets.sum;
	if (w->kind == TF_WORK_COPY)
		return &model_copy(m, copy_kind(w))->gpu.sum;
	return &m->gpu.graphs.sum;
}

/* Of a class counted by CUPTI, whose record of a piece now and then does not come, or finds no call
 * of ours: a few are taken at the mean of the rest. */
static struct model_work_share counted_share(const struct tf_work *w, double pieces)
{
	double counted = (double)w->exact_count;
	bool few = counted < pieces && pieces - counted <= UNTIMED_LEAST * pieces;

	return (struct model_work_share){.pieces = fmax(pieces, counted),
	                                 .known = few ? pieces : counted};
}

/* A small rest was never timed: the others stand for it, and it may be off by all of it. */
static struct model_work_share sampled_share(const struct group *g, double pieces)
{
	double timed = g->found > 0 ? g->timed / g->found : 1;
	struct model_work_share s = {.pieces = pieces, .known = pieces};

	if (timed < 1 && 1 - timed < UNTIMED_LEAST) {
		s.known = pieces / timed;
		s.rest = s.known - pieces;
	}
	return s;
}

static struct model_work_share share_of(const struct tf_work *w, const struct group *g)
{
	/* The records may have been thinned: the exact count says what they stand for. */
	double scale = g->exact > 0 && g->found > 0 ? g->exact / g->found : 1;
	double pieces = (double)w->count * scale;

	return g->counted ? counted_share(w, pieces) : sampled_share(g, pieces);
}

static void add_class(struct works_part *k, uint32_t i)
{
	const struct tf_work *w = &k->works[i];
	const struct model_work_time *t = &k->times[i];
	const struct group *g = group_of(k, w);

	/* Copies from host to host are none of the GPU's. */
	if (!g || (w->kind == TF_WORK_COPY && w->direction == SPY_DIR_HTOH))
		return;
	model_add_class(k->part, w, t);
	if (t->by_calls)
		CLAMP_ADD(k->part->model->gpu.by_calls, t->samples);
	struct model_work_share *s = &k->shares[i];
	*s = share_of(w, g);
	k->part->works[k->place[i]] = (struct model_part_work){s->pieces, t->known ? t->mean : NAN};
	model_gpu_sum_share(sum_of(k, w), t, s, 1);
	if (w->kind == TF_WORK_COPY && t->known && w->count)
		model_copy(k->part->model, copy_kind(w))->timed_bytes +=
		        (double)w->bytes / (double)w->count * s->known;
	if (g->counted)
		return;
	k->part->pieces += s->pieces;
	if (!t->known)
		note_untimed(k, w);
	else
		k->part->pieces_known += s->pieces;
}

static void add_calibration(struct model_gpu *gpu, const struct tf_work *w)
{
	for (int i = 0; i < TF_PAIRS; i++) {
		struct tf_pairs *to = w->kind == TF_WORK_EMPTY  ? &gpu->empty_sum[i]
		                      : w->kind == TF_WORK_NULL ? &gpu->null_sum[i]
		                                                : NULL;
		if (!to || !model_pairs_good(&w->pairs[i]))
			continue;
		if (__builtin_add_overflow(to->count, w->pairs[i].count, &to->count))
			to->count = UINT32_MAX;
		to->sum_ns += w->pairs[i].sum_ns;
		to->sum_squares += w->pairs[i].sum_squares;
	}
}

static void warn_of_damage(const struct works_part *k)
{
	uint32_t damaged = 0;

	for (uint32_t i = 0; i < k->count; i++)
		for (int r = 0; r < TF_PAIRS; r++)
			damaged += k->works[i].pairs[r].count &&
			           !model_pairs_good(&k->works[i].pairs[r]);
	if (damaged)
		warn(k->part->recording->warnings,
		     "samples of %u classes of GPU work are damaged and left out", damaged);
}

/* Kernels whose launches are in no class. */
static void add_classless(struct works_part *k)
{
	for (uint32_t i = 0; i < k->part->kernel_end; i++)
		if (k->part->kernel_row[i] != UINT32_MAX && !(k->kernels[i].found > 0))
			k->part->model->kernels[k->part->kernel_row[i]].gpu.sum.pieces +=
			        k->kernels[i].exact;
}

/* The classes of the table that stand for something; false where it is missing. */
static bool find_used(struct works_part *k)
{
	const struct model_part *p = k->part;
	const struct tf_work *all = p->header->works ? tf_at(&p->recording->map, p->header->works,
	                                                     TF_WORKS * sizeof(*all))
	                                             : NULL;

	if (!all)
		return false;
	k->works = alloc_zeroed(TF_WORKS, sizeof(*k->works));
	k->place = alloc_zeroed(TF_WORKS, sizeof(*k->place));
	k->part->works = alloc_zeroed(TF_WORKS, sizeof(*k->part->works));
	for (uint32_t i = 0; i < TF_WORKS; i++)
		if (all[i].kind) {
			k->place[k->count] = i;
			k->works[k->count++] = all[i];
		}
	return true;
}

/* The groups that the classes make up, and each class's time. */
static void find_groups(struct works_part *k, const struct model_calibration *c)
{
	add_exact(k);
	for (uint32_t i = 0; i < k->part->kernel_end; i++)
		k->kernels[i].exact = (double)k->part->kernel_launches[i];
	for (uint32_t i = 0; i < k->count; i++) {
		const struct tf_work *w = &k->works[i];
		struct group *g = is_counted(w) ? group_of(k, w) : NULL;
		if (!g)
			continue;
		k->times[i] = model_work_time(w, c);
		g->found += size_of(k, w);
		g->timed += k->times[i].known ? size_of(k, w) : 0;
		g->counted |= k->times[i].exact;
	}
}

const char *const model_kind_source_names[] = {[KIND_UNMEASURED] = "not measured",
                                               [KIND_BUILT_IN] = "built-in",
                                               [KIND_CALIBRATED] = "calibrated"};

/* Of several processes those of the least known devices. */
static void add_kind(struct model_gpu_kind *to, const struct gpu_figures *f)
{
	static const enum model_kind_source sources[] = {[GPU_UNMEASURED] = KIND_UNMEASURED,
	                                                 [GPU_BUILT_IN] = KIND_BUILT_IN,
	                                                 [GPU_CALIBRATED] = KIND_CALIBRATED};
	enum model_kind_source source = sources[f->source];

	if (to->null_kernel > 0 && source > to->source)
		return;
	if (to->null_kernel > 0 && source == to->source && f->off_ns <= to->off)
		return;
	*to = (struct model_gpu_kind){.null_kernel = f->null_kernel_ns,
	                              .off = f->off_ns,
	                              .source = source,
	                              .calibrated =
	                                      f->calibrated ? (double)f->calibrated * 1e9 : NAN,
	                              .differ = f->differ};
}

void model_add_works(struct model_part *p)
{
	struct model_calibration c;
	struct works_part k = {.part = p};

	if (p->header->gpu_mode == TF_GPU_OFF || p->header->gpu_mode > TF_GPU_CUPTI ||
	    !find_used(&k))
		return;
	k.times = alloc_zeroed(k.count, sizeof(*k.times));
	k.shares = alloc_zeroed(k.count, sizeof(*k.shares));
	k.kernels = alloc_zeroed(p->kernel_end, sizeof(*k.kernels));
	warn_of_damage(&k);
	model_calibrate(&c, &p->recording->map, k.works, k.count);
	add_kind(&p->model->gpu.kind, &c.costs.kind);
	find_groups(&k, &c);
	for (uint32_t i = 0; i < k.count; i++) {
		add_calibration(&p->model->gpu, &k.works[i]);
		if (is_counted(&k.works[i]))
			add_class(&k, i);
	}
	add_classless(&k);
	model_add_graph_rows(p, k.works, k.times, k.shares, k.count);
	free(k.works);
	free(k.place);
	free(k.times);
	free(k.shares);
	free(k.kernels);
}
