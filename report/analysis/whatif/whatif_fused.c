/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/model/framework.h"
#include "report/model/model.h"

/*
 * Rows of alike small kernels, as an optimizer gives them that goes over its tensors one by one:
 * each kernel is launched for many tensors at once, as PyTorch's foreach and fused optimizers do.
 * Of each tensor there may be one launch, or a group of a dozen.
 */

/* A row: so many launches at least, of so few kernels (a group, with variants by the tensors' sizes
 * and some of what came before it), nearly all of them so often. */
#define ROW_LEAST    200u
#define KERNEL_LEAST 20u
/*
 * The same kernels over tensors of many sizes are no loop over one tensor, in which each launch
 * needs the one before: so many shapes for each kernel.
 */
#define SHAPES_EACH 2u
#define ROW_SHAPES  (SHAPES_EACH * WHATIF_ROW_KERNELS)
/* A kernel that takes longer (ns) is no small one. */
#define SMALL 10e3
/*
 * Tensors that one launch takes: PyTorch's multi_tensor_apply takes 24 to 110 of them, by how many
 * lists it goes over, and 320 blocks.
 */
static const uint32_t tensors[] = {[HOPE_MIDDLE] = 64, [HOPE_MOST] = 512, [HOPE_LEAST] = 24};
/* Of the shortest kernel's time, what each costs however little it does: goes with the launch. */
static const double floors[] = {[HOPE_MIDDLE] = 0.8, [HOPE_MOST] = 0.85, [HOPE_LEAST] = 0.7};

/*
 * What the host still does for each tensor, of what a launch cost it: an AdamW of 400 tensors on an
 * H200 left some 5 us of 13 each with fused=True.
 */
static const double each_left[] = {[HOPE_MIDDLE] = 0.5, [HOPE_MOST] = 0.25, [HOPE_LEAST] = 1};

struct row { /* of one thread */
	uint32_t first, last, pieces, stream;
	uint32_t kernels;
	const char *names[WHATIF_ROW_KERNELS];
	uint32_t times[WHATIF_ROW_KERNELS];
	uint32_t shapes, works[ROW_SHAPES]; /* kernels with their shapes; more are not counted */
	double shortest, gpu, host;
	bool framework; /* PyTorch's own kernels */
};

static bool of_framework(const char *name)
{
	return strstr(name, "at::native::") != NULL;
}

/* PyTorch's name says which of its kernels go over the elements of a tensor: others depend on one
 * another where they are a network's layers, and what another program's kernels need is not known.
 */
static bool is_elementwise(const char *name)
{
	return of_framework(name) && strstr(name, "elementwise");
}

static const char *small_kernel(const struct replay *r, uint32_t i)
{
	const struct call_event *a = &r->given[i];
	const struct replay_act *act = &r->call_events[i];

	if (a->kind != TF_WORK_KERNEL || a->work == CALL_LOG_NONE || a->items != 1 || a->result ||
	    act->wait != REPLAY_NO_WAIT || a->flags & (CALL_EVENT_FIRST | CALL_EVENT_CAPTURED) ||
	    !(act->gpu < SMALL))
		return NULL;
	return r->call_log->works[a->work].kernel;
}

static void note_shape(struct row *row, uint32_t work)
{
	uint32_t k = 0;

	while (k < row->shapes && row->works[k] != work)
		k++;
	if (k == row->shapes && k < ROW_SHAPES)
		row->works[row->shapes++] = work;
}

/* False: it is one kernel too many for the row. */
static bool add(struct row *row, const struct replay *r, uint32_t i, const char *name)
{
	uint32_t k = 0;

	while (k < row->kernels && row->names[k] != name)
		k++;
	if (k == WHATIF_ROW_KERNELS || (row->pieces && (row->stream != r->given[i].stream ||
	                                                row->framework != of_framework(name))))
		return false;
	if (k == row->kernels) {
		row->names[row->kernels++] = name;
		row->times[k] = 0;
	}
	row->times[k]++;
	note_shape(row, r->given[i].work);
	if (!row->pieces++) {
		row->first = i;
		row->stream = r->given[i].stream;
		row->framework = of_framework(name);
		row->shortest = INFINITY;
		row->gpu = row->host = 0;
	}
	row->last = i;
	row->shortest = fmin(row->shortest, r->call_events[i].gpu);
	row->gpu += r->call_events[i].gpu;
	row->host += r->call_events[i].own + r->call_events[i].gap;
	return true;
}

/* What came before the row's kernels is no part of it. */
static void trim(const struct replay *r, struct row *row)
{
	const struct row was = *row;
	uint32_t first = was.first;

	for (; first != was.last; first = r->next[first]) {
		const char *name = small_kernel(r, first);
		uint32_t k = 0;
		while (name && was.names[k] != name)
			k++;
		if (name && was.times[k] >= KERNEL_LEAST)
			break;
	}
	if (first == was.first)
		return;
	*row = (struct row){0};
	for (uint32_t i = first;; i = r->next[i]) {
		const char *name = small_kernel(r, i);
		if (name)
			add(row, r, i, name);
		if (i == was.last)
			break;
	}
}

/* Nothing but their order says that its kernels need one another. */
static bool are_apart(const struct row *row)
{
	uint32_t often = 0;
	bool elementwise = true;

	for (uint32_t k = 0; k < row->kernels; k++) {
		if (row->times[k] < KERNEL_LEAST)
			continue;
		often++;
		elementwise &= is_elementwise(row->names[k]);
	}
	return elementwise || row->shapes >= SHAPES_EACH * often;
}

/* Whether most of its launches are of works that may be for a tensor each, as far as stacks tell.
 */
static bool is_per_tensor(const struct whatif_change *c, const struct replay *r,
                          const struct row *row)
{
	int64_t more = 0;

	for (uint32_t i = row->first;; i = r->next[i]) {
		if (small_kernel(r, i)) {
			int32_t stacks = c->per_tensor[r->given[i].work];
			more += (stacks > 0) - (stacks < 0);
		}
		if (i == row->last)
			return more > 0;
	}
}

/* Launches that are left of the row; 0 = it stays as it is. */
static uint32_t launches_left(const struct whatif_change *c, const struct replay *r,
                              const struct row *row)
{
	uint32_t each = tensors[c->hope], left = 0, often = 0;

	for (uint32_t k = 0; k < row->kernels; k++) {
		left += (row->times[k] + each - 1) / each;
		often += row->times[k] >= KERNEL_LEAST ? row->times[k] : 0;
	}
	if (c->per_tensor && !is_per_tensor(c, r, row))
		return 0;
	return row->pieces >= ROW_LEAST && often * 10 >= row->pieces * 9 && are_apart(row) ? left
	                                                                                   : 0;
}

static void fuse(struct whatif_change *c, const struct replay *r, struct replay_act *acts,
                 const struct row *row, uint32_t left)
{
	double floor = floors[c->hope] * row->shortest;
	double gpu = row->gpu - floor * (row->pieces - left);
	double each = each_left[c->hope];
	uint32_t piece = 0, kept = 0;

	for (uint32_t i = row->first;; i = r->next[i]) {
		struct replay_act *a = &acts[i];
		bool keep = small_kernel(r, i) &&
		            (uint64_t)piece * left >= (uint64_t)kept * row->pieces;
		piece += small_kernel(r, i) != NULL;
		if (keep) {
			kept++;
			a->gpu = gpu / left;
		} else {
			a->gap = a->ours = 0;
			if (small_kernel(r, i)) {
				a->own = a->gpu = a->lead = a->space = a->shift = 0;
				a->flags |= REPLAY_PART;
				c->changed++;
			}
		}
		if (i == row->last)
			break;
	}
	/* As many tensors as launches of each kernel. */
	acts[row->first].gap += each * row->host / row->kernels;
}

static void end_row(struct whatif_change *c, const struct replay *r, struct replay_act *acts,
                    struct row *row)
{
	if (row->pieces >= ROW_LEAST)
		trim(r, row);
	uint32_t left = launches_left(c, r, row);
	if (left)
		fuse(c, r, acts, row, left);
	*row = (struct row){0};
}

int32_t *whatif_find_per_tensor(const struct model *m, const struct model_process *p)
{
	const struct call_log *h = &p->call_log;
	int32_t *stacks = alloc_zeroed(h->work_count + 1, sizeof(*stacks));
	bool python = false, any = false;

	for (size_t i = 0; i < m->sites.count && !any; i++)
		any = m->sites.items[i].kind == SITE_LAUNCH &&
		      framework_is_optimizers(&m->sites.items[i]);
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *a = &h->call_events[i];
		uint32_t site =
		        a->site && a->site <= p->site_count ? p->site_of[a->site - 1] : UINT32_MAX;
		if (site == UINT32_MAX || a->work >= h->work_count)
			continue;
		const struct model_site *s = &m->sites.items[site];
		for (size_t k = 0; k < s->frame_count && !python; k++)
			python = s->frames[k].python;
		stacks[a->work] +=
		        framework_is_optimizers(s) || (any && !framework_is_networks(s)) ? 1 : -1;
	}
	if (python)
		return stacks;
	free(stacks);
	return NULL;
}

void change_fused(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	size_t threads = r->call_log->thread_count;
	struct row *rows = alloc_zeroed(threads, sizeof(*rows));

	for (uint32_t i = 0; i < r->count; i++) {
		struct row *row = &rows[r->given[i].thread];
		const char *name = small_kernel(r, i);
		bool ends = !name && (r->given[i].kind != TF_WORK_NONE ||
		                      r->call_events[i].wait != REPLAY_NO_WAIT);
		if (ends || (name && !add(row, r, i, name))) {
			end_row(c, r, call_events, row);
			if (name)
				add(row, r, i, name);
		}
	}
	for (size_t i = 0; i < threads; i++)
		end_row(c, r, call_events, &rows[i]);
	free(rows);
}
