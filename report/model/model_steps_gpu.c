/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

/* Of the pieces of work given in a step, how many must have a known time. */
#define KNOWN_LEAST 0.95

struct given {     /* sums of what was given up to a call, itself included */
	double at; /* its entry */
	double ns, pieces, known;
};

/*
 * GPU work given by one thread, or by all that have no steps of their own: these work for the one
 * that has (a framework's backward thread). As sums, so that a step's are two look-ups.
 */
struct giver {
	uint64_t tid; /* of the thread with steps; unused of the rest's */
	struct given *sums;
	size_t count;
};

static void giver_add(struct giver *g, const struct call_event *a)
{
	double items = (double)a->items;

	ALLOC_ROOM(g->sums, g->count);
	struct given sum = g->count ? g->sums[g->count - 1] : (struct given){0};
	sum.at = a->start;
	sum.pieces += items;
	if (!isnan(a->gpu)) {
		sum.ns += a->gpu * items;
		sum.known += items;
	}
	g->sums[g->count++] = sum;
}

/* The sums of the calls before `ns`. */
static struct given giver_before(const struct giver *g, double ns)
{
	size_t low = 0, high = g->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->sums[middle].at < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? g->sums[low - 1] : (struct given){0};
}

static void giver_take(const struct giver *g, double from, double until, struct given *to)
{
	struct given a = giver_before(g, from), b = giver_before(g, until);

	to->ns += b.ns - a.ns;
	to->pieces += b.pieces - a.pieces;
	to->known += b.known - a.known;
}

static void givers_free(struct giver *givers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(givers[i].sums);
	free(givers);
}

/* One for each thread of the rows; the last for all other threads. */
static struct giver *givers_of(const struct model_step *rows, size_t row_count, size_t *count)
{
	struct giver *givers = NULL;

	*count = 0;
	for (size_t i = 0; i < row_count; i++) {
		size_t k = *count;
		while (k-- > 0 && givers[k].tid != rows[i].tid)
			;
		if (k < *count)
			continue;
		ALLOC_ROOM(givers, *count);
		givers[(*count)++] = (struct giver){.tid = rows[i].tid};
	}
	ALLOC_ROOM(givers, *count);
	givers[(*count)++] = (struct giver){0};
	return givers;
}

void model_add_steps_gpu(struct model_part *p, size_t first_row)
{
	struct model *m = p->model;
	const struct call_log *h = &p->process->call_log;
	size_t row_count = m->step_row_count - first_row, count;

	if (!row_count || !h->count || !p->timed)
		return;
	struct model_step *rows = m->step_rows + first_row;
	struct giver *givers = givers_of(rows, row_count, &count);
	size_t *of_thread = alloc_zeroed(h->thread_count + 1, sizeof(*of_thread));
	for (size_t i = 0; i < h->thread_count; i++)
		while (of_thread[i] + 1 < count && givers[of_thread[i]].tid != h->threads[i].tid)
			of_thread[i]++;
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *a = &h->call_events[i];
		if (a->kind != TF_WORK_NONE && !a->result && !(a->flags & TF_CAPTURED))
			giver_add(&givers[of_thread[a->thread]], a);
	}
	for (size_t i = 0; i < row_count; i++) {
		struct model_step *row = &rows[i];
		struct given given = {0};
		if (!(row->start >= h->from && row->end <= h->until))
			continue;
		for (size_t k = 0; k < count; k++)
			if (!row->tid || k + 1 == count || givers[k].tid == row->tid)
				giver_take(&givers[k], row->start, row->end, &given);
		if (given.known >= KNOWN_LEAST * given.pieces)
			row->work.gpu_ns = given.ns;
	}
	free(of_thread);
	givers_free(givers, count);
}
