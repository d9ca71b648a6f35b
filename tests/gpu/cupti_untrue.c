/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that cannot be true. CUPTI now and then gives a copy a start or an end that is
 * milliseconds off: then the copy lasts while other work of its own stream runs. (H200, driver 580:
 * the first of 521 device-to-device copies of 64 KiB beside graphs, 0.9 us each, has 15 or 30 ms.)
 * Work of one stream runs one after the other, but for kernels launched to begin before the last
 * one ends.
 */
#include <stdlib.h>
#include "tests/gpu/cupti_truth.h"

/* So much of the shorter one's time must two records share: less may be the clock's grain. */
#define SHARED 0.2

struct placed {
	struct raw_record *record;
	uint64_t overlap; /* ns that it shares with others, added up */
};

static int compare(const void *a, const void *b)
{
	const struct raw_record *x = ((const struct placed *)a)->record,
	                        *y = ((const struct placed *)b)->record;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool one_stream(const struct raw_record *a, const struct raw_record *b)
{
	return a->device == b->device && a->context == b->context && a->stream == b->stream;
}

/* ns that both last at once; a starts first. */
static uint64_t shared(const struct raw_record *a, const struct raw_record *b)
{
	uint64_t end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	if ((a->kind == RAW_KERNEL && b->kind == RAW_KERNEL) || end <= b->start_ns)
		return 0;
	return end - b->start_ns;
}

static bool excludes(const struct raw_record *a, const struct raw_record *b)
{
	uint64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;

	return (double)shared(a, b) > SHARED * (double)(x < y ? x : y);
}

/* Of two that exclude each other, the one that more speaks against. */
static void mark(struct placed *a, struct placed *b)
{
	if ((a->record->flags | b->record->flags) & RAW_UNTRUE || !excludes(a->record, b->record))
		return;
	(b->overlap > a->overlap ? b : a)->record->flags |= RAW_UNTRUE;
}

static void add(struct placed *a, struct placed *b)
{
	uint64_t ns = shared(a->record, b->record);

	a->overlap += ns;
	b->overlap += ns;
}

static void each_pair(struct placed *p, uint64_t n, void (*what)(struct placed *, struct placed *))
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t k = i + 1; k < n && one_stream(p[i].record, p[k].record) &&
		                         p[k].record->start_ns < p[i].record->end_ns;
		     k++)
			what(&p[i], &p[k]);
}

/* Nodes of a graph may run beside each other: the graph's own record counts. */
static bool is_placed(const struct raw_record *r)
{
	return !(r->flags & RAW_INVALID_TIME) &&
	       (r->kind == RAW_GRAPH || !(r->flags & RAW_IN_GRAPH));
}

void tally_find_untrue(struct tally *t)
{
	struct placed *p = malloc((t->kept_count + 1) * sizeof(*p));
	uint64_t n = 0;

	if (!p) {
		t->out_of_memory++;
		return;
	}
	for (uint64_t i = 0; i < t->kept_count; i++)
		if (is_placed(&t->kept[i]))
			p[n++] = (struct placed){.record = &t->kept[i]};
	qsort(p, n, sizeof(*p), compare);
	each_pair(p, n, add);
	each_pair(p, n, mark);
	for (uint64_t i = 0; i < n; i++)
		if (p[i].record->flags & RAW_UNTRUE)
			tally_untrue(t, p[i].record);
	free(p);
}
