/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/reader/reader_check.h"
#include "report/reader/reader_layout.h"

#define EXTENTS_MOST (1u << 22)
/* That are not 0 where a process had not come to use what it took: of one thread with its ring, and
 * of each more, one behind the other, which has its ring, its number, its birth and the ring's
 * size.
 */
#define WORDS_BEGUN 16u
#define WORDS_MORE  4u

static const char *const kind_names[KINDS] = {
        [HEADER] = "the header",
        [TABLE_PAGE] = "pages of tables",
        [THREAD] = "threads",
        [RING] = "rings of records",
        [KERNEL_PAGE] = "threads' counts of kernels",
        [TEXT] = "texts",
        [KERNEL_NAME] = "names of kernels",
        [HISTOGRAM] = "distributions",
        [AREA] = "areas",
        [RECORDS] = "records",
};

/* What stands there; NULL, and counted, where that cannot be. */
const void *layout_place(struct reader_layout *l, enum layout_kind kind, uint64_t at,
                         uint64_t bytes)
{
	if (at % LAYOUT_UNIT || at > l->end || bytes > l->end - at || l->count >= EXTENTS_MOST) {
		l->wrong[kind]++;
		return NULL;
	}
	ALLOC_ROOM(l->extents, l->count);
	l->extents[l->count++] = (struct reader_extent){
	        at, at + (bytes + LAYOUT_UNIT - 1) / LAYOUT_UNIT * LAYOUT_UNIT, kind};
	return l->map->base + at;
}

bool layout_may_walk(struct reader_layout *l, enum layout_kind kind, uint64_t bytes)
{
	if (bytes > l->end - l->walked) {
		l->wrong[kind]++;
		return false;
	}
	l->walked += bytes;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct reader_extent *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->until < y->until ? -1 : x->until > y->until;
}

/* One text may serve several ranges; of everything else there is one. */
static bool clash(const struct reader_extent *a, const struct reader_extent *b)
{
	return b->from < a->until &&
	       !(a->kind == TEXT && b->kind == TEXT && a->from == b->from && a->until == b->until);
}

static void find_clashes(struct reader_layout *l)
{
	bool said[KINDS][KINDS] = {{false}};

	if (l->count)
		qsort(l->extents, l->count, sizeof(*l->extents), by_place);
	for (size_t i = 1; i < l->count; i++) {
		const struct reader_extent *a = &l->extents[i - 1], *b = &l->extents[i];
		if (clash(a, b) && !said[a->kind][b->kind]) {
			warn(&l->recording->damage, "%s lie over %s", kind_names[b->kind],
			     a->kind == b->kind ? "one another" : kind_names[a->kind]);
			said[a->kind][b->kind] = true;
		}
		/* What reaches furthest is what the next one has to stay behind. */
		if (a->until > b->until)
			l->extents[i] = (struct reader_extent){b->from, a->until, a->kind};
	}
}

/* Bytes of a new thread and its ring. */
static uint64_t thread_area(const struct tf_header *h)
{
	uint64_t records = h->ring_records < TF_RING_FIRST ? h->ring_records : TF_RING_FIRST;

	return h->thread_bytes + sizeof(struct tf_ring) + records * sizeof(struct tf_record);
}

/* What a process that was killed had not come to use: a thread that has its number, a ring that has
 * its size. */
static bool is_unused(const struct reader_layout *l, uint64_t from, uint64_t until)
{
	const uint64_t *words = (const uint64_t *)(l->map->base + from);
	const uint64_t threads = (until - from) / thread_area(tf_header(l->map));
	const uint64_t most = WORDS_BEGUN + (threads ? threads - 1 : 0) * WORDS_MORE;
	uint64_t used = 0;

	for (uint64_t i = 0; i < (until - from) / 8 && used <= most; i++)
		used += words[i] != 0;
	return used <= most;
}

/* Whatever was handed out is led to from somewhere; `extents` are in order. */
static void find_lost(struct reader_layout *l)
{
	const uint64_t *anomaly = tf_header(l->map)->anomaly;
	uint64_t lost = 0, end = 0;

	/* Where something was full, what it was made for found no place. */
	if (anomaly[SPY_ANOMALY_FILE_FULL] || anomaly[SPY_ANOMALY_THREADS_FULL])
		return;
	for (size_t i = 0; i <= l->count; i++) {
		uint64_t from = i < l->count ? l->extents[i].from : l->end;
		if (from > end && !is_unused(l, end, from))
			lost += from - end;
		end = i < l->count && l->extents[i].until > end ? l->extents[i].until : end;
	}
	if (lost)
		warn(&l->recording->damage, "nothing leads to %llu bytes of what was recorded",
		     (unsigned long long)lost);
}

void reader_check_layout(struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	struct reader_layout l = {.recording = r, .map = &r->map, .end = r->file_bytes};

	if (h->alloc_end < l.end)
		l.end = h->alloc_end;
	layout_all(&l);
	for (int k = 0; k < KINDS; k++)
		if (l.wrong[k] || l.missing[k])
			warn(&r->damage, "%s are missing or damaged: %llu", kind_names[k],
			     (unsigned long long)(l.wrong[k] + l.missing[k]));
	find_clashes(&l);
	find_lost(&l);
	free(l.extents);
}
