#include <stdlib.h>

#include "report/alloc.h"
#include "report/reader_check.h"

#define RINGS_MOST   64 /* of a thread: each is larger than the one before */
#define RING_MOST    (1u << 26)
#define EXTENTS_MOST (1u << 22)
#define UNIT         64u /* everything in a recording begins at a multiple of it */

/* What stands somewhere in a recording. */
enum kind {
	HEADER,
	TABLE_PAGE,
	THREAD,
	RING,
	KERNEL_PAGE,
	TEXT,
	KERNEL_NAME,
	HISTOGRAM,
	AREA,
	RECORDS,
	KINDS
};

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
        [RECORDS] = "pages of kept records",
};

struct extent {
	uint64_t from, upto;
	enum kind kind;
};

struct layout {
	struct recording *recording;
	const struct tf_map *map;
	uint64_t end; /* of what may be pointed at */
	struct extent *extents;
	size_t count;
	uint64_t wrong[KINDS];   /* lead to no place, or to nonsense */
	uint64_t missing[KINDS]; /* ought to be there */
};

/* What stands there; NULL, and counted, where that cannot be. */
static const void *place(struct layout *l, enum kind kind, uint64_t at, uint64_t bytes)
{
	if (at % UNIT || at > l->end || bytes > l->end - at || l->count >= EXTENTS_MOST) {
		l->wrong[kind]++;
		return NULL;
	}
	ALLOC_ROOM(l->extents, l->count);
	l->extents[l->count++] = (struct extent){at, at + (bytes + UNIT - 1) / UNIT * UNIT, kind};
	return l->map->base + at;
}

static void place_text(struct layout *l, enum kind kind, uint64_t at)
{
	uint32_t bytes;

	if (!at)
		return;
	if (!tf_text(l->map, at, &bytes))
		l->wrong[kind]++;
	else
		place(l, kind, at, sizeof(struct tf_string) + bytes + 1);
}

static void place_histogram(struct layout *l, uint64_t at)
{
	const struct tf_hist *h = at ? place(l, HISTOGRAM, at, sizeof(*h)) : NULL;
	uint64_t sum = 0;

	for (uint32_t i = 0; h && i < TF_HIST_BUCKETS; i++)
		sum += h->buckets[i];
	/* A kill comes between the bucket and the sum. */
	if (h && sum != h->count && sum != h->count + 1)
		l->wrong[HISTOGRAM]++;
}

static void place_rings(struct layout *l, uint64_t at)
{
	for (int n = 0; at; n++) {
		const struct tf_ring *r = tf_at(l->map, at, sizeof(*r));
		uint64_t capacity = r ? r->capacity : 0;
		if (!capacity || capacity & (capacity - 1) || capacity > RING_MOST ||
		    n == RINGS_MOST || r->head - r->tail > capacity) {
			l->wrong[RING]++;
			return;
		}
		if (!place(l, RING, at, sizeof(*r) + capacity * sizeof(struct tf_record)))
			return;
		at = r->next;
	}
}

static void place_thread(struct layout *l, uint64_t at)
{
	uint64_t bytes = tf_header(l->map)->thread_bytes;
	const struct tf_thread *t = at ? place(l, THREAD, at, bytes) : NULL;

	if (!t) {
		l->missing[THREAD] += !at;
		return;
	}
	l->missing[RING] += !t->ring_first;
	l->wrong[THREAD] += !t->tid;
	place_rings(l, t->ring_first);
	for (uint32_t i = 0; i < TF_KERNEL_DIRS; i++)
		if (t->kernel_pages[i])
			place(l, KERNEL_PAGE, (uint64_t)t->kernel_pages[i] * UNIT,
			      TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat));
}

/* All pages that a table has, those not in use yet too. */
static void place_table(struct layout *l, const struct tf_table *t)
{
	for (uint32_t i = 0; i < TF_TABLE_PAGES; i++)
		if (t->pages[i])
			place(l, TABLE_PAGE, t->pages[i],
			      (uint64_t)t->page_entries * t->entry_bytes);
}

static void place_tables(struct layout *l)
{
	const struct tf_header *h = tf_header(l->map);
	const struct tf_table *const tables[] = {
	        &h->calls,   &h->threads,   &h->kernels, &h->graphs, &h->clocks,   &h->gaps,
	        &h->devices, &h->libraries, &h->streams, &h->ranges, &h->patterns, &h->steps};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		place_table(l, tables[i]);
}

static void place_entries(struct layout *l)
{
	const struct recording *r = l->recording;
	const struct tf_header *h = tf_header(l->map);

	for (uint32_t i = 0; i < r->calls; i++) {
		const struct tf_call *c = tf_entry(l->map, &h->calls, i, sizeof(*c));
		if (!c)
			continue;
		l->wrong[TABLE_PAGE] += !c->name[0] || c->class >= SPY_CLASS_COUNT;
		place_histogram(l, c->hist);
	}
	for (uint32_t i = 0; i < r->kernels; i++) {
		const struct tf_kernel *k = tf_entry(l->map, &h->kernels, i, sizeof(*k));
		if (!k)
			continue;
		l->missing[KERNEL_NAME] += !k->name && i != TF_KERNEL_UNKNOWN;
		place_text(l, KERNEL_NAME, k->name);
		place_histogram(l, k->hist);
		place_histogram(l, k->queue_hist);
	}
	for (uint32_t i = 0; i < r->ranges; i++) {
		const struct tf_nvtx_range *n = tf_entry(l->map, &h->ranges, i, sizeof(*n));
		if (!n)
			continue;
		l->wrong[TABLE_PAGE] += n->parent > i;
		place_text(l, TEXT, n->name);
		place_text(l, TEXT, n->domain);
		place_histogram(l, n->hist);
	}
	for (uint32_t i = 0; i < r->steps; i++) {
		const struct tf_step *s = tf_entry(l->map, &h->steps, i, sizeof(*s));
		if (!s)
			continue;
		l->wrong[TABLE_PAGE] += !s->start || s->end < s->start;
	}
	for (uint32_t i = 0; i < r->threads; i++) {
		const uint64_t *at = tf_entry(l->map, &h->threads, i, sizeof(*at));
		if (at)
			place_thread(l, *at);
	}
}

static void place_store(struct layout *l, uint64_t at)
{
	const struct tf_store *s = at ? place(l, AREA, at, sizeof(*s)) : NULL;

	if (s && (s->page_records > 1u << 24 || s->pages_max > TF_STORE_PAGES)) {
		l->wrong[AREA]++;
		return;
	}
	for (uint32_t i = 0; s && i < TF_STORE_PAGES; i++)
		if (s->pages[i])
			place(l, RECORDS, s->pages[i], s->page_records * sizeof(struct tf_record));
}

static void place_areas(struct layout *l)
{
	const struct tf_header *h = tf_header(l->map);
	const struct {
		uint64_t at, bytes;
		bool always;
	} areas[] = {{h->slices, sizeof(struct tf_slices), true},
	             {h->works, TF_WORKS * sizeof(struct tf_work), true},
	             {h->environment, sizeof(struct tf_environment), false}};

	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		if (areas[i].at)
			place(l, AREA, areas[i].at, areas[i].bytes);
		else
			l->missing[AREA] += areas[i].always;
	}
	l->missing[AREA] += !h->keep;
	place_store(l, h->keep);
	place_store(l, h->store);
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++)
		if (h->devices_time[i])
			place(l, AREA, h->devices_time[i], sizeof(struct tf_device_time));
	place_rings(l, h->activity_ring);
	place_text(l, TEXT, h->command);
	place_text(l, TEXT, h->working_folder);
	place_text(l, TEXT, h->out_path);
}

static int by_place(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->upto < y->upto ? -1 : x->upto > y->upto;
}

/* One text may serve several ranges; of everything else there is one. */
static bool clash(const struct extent *a, const struct extent *b)
{
	return b->from < a->upto &&
	       !(a->kind == TEXT && b->kind == TEXT && a->from == b->from && a->upto == b->upto);
}

static void find_clashes(struct layout *l)
{
	bool said[KINDS][KINDS] = {{false}};

	if (l->count)
		qsort(l->extents, l->count, sizeof(*l->extents), by_place);
	for (size_t i = 1; i < l->count; i++) {
		const struct extent *a = &l->extents[i - 1], *b = &l->extents[i];
		if (clash(a, b) && !said[a->kind][b->kind]) {
			warn(&l->recording->damage, "%s lie over %s", kind_names[b->kind],
			     a->kind == b->kind ? "one another" : kind_names[a->kind]);
			said[a->kind][b->kind] = true;
		}
		/* What reaches furthest is what the next one has to stay behind. */
		if (a->upto > b->upto)
			l->extents[i] = (struct extent){b->from, a->upto, a->kind};
	}
}

void reader_check_layout(struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	struct layout l = {.recording = r, .map = &r->map, .end = r->file_bytes};

	if (h->alloc_end < l.end)
		l.end = h->alloc_end;
	place(&l, HEADER, 0, h->header_bytes);
	place_tables(&l);
	place_areas(&l);
	place_entries(&l);
	for (int k = 0; k < KINDS; k++)
		if (l.wrong[k] || l.missing[k])
			warn(&r->damage, "%s are missing or damaged: %llu", kind_names[k],
			     (unsigned long long)(l.wrong[k] + l.missing[k]));
	find_clashes(&l);
	free(l.extents);
}
