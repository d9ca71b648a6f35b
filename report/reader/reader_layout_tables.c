/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/reader/reader_layout.h"

static void place_text(struct reader_layout *l, enum layout_kind kind, uint64_t at)
{
	uint32_t bytes;

	if (!at)
		return;
	if (!tf_text(l->map, at, &bytes))
		l->wrong[kind]++;
	else
		layout_place(l, kind, at, sizeof(struct tf_string) + bytes + 1);
}

static void place_histogram(struct reader_layout *l, uint64_t at)
{
	const struct tf_hist *h = at ? layout_place(l, HISTOGRAM, at, sizeof(*h)) : NULL;
	uint64_t sum = 0;

	for (uint32_t i = 0; h && i < TF_HIST_BUCKETS; i++)
		sum += h->buckets[i];
	/* A kill comes between the bucket and the sum. */
	if (h && sum != h->count && sum != h->count + 1)
		l->wrong[HISTOGRAM]++;
}

/* All pages that a table has, those not in use yet too. */
static void place_table(struct reader_layout *l, const struct tf_table *t)
{
	for (uint32_t i = 0; i < TF_TABLE_PAGES; i++)
		if (t->pages[i])
			layout_place(l, TABLE_PAGE, t->pages[i],
			             (uint64_t)t->page_entries * t->entry_bytes);
}

/* An entry that is being made stands behind the last one; behind that there is nothing yet. */
static void check_rest(struct reader_layout *l, const struct tf_table *t)
{
	for (uint64_t i = (uint64_t)t->count + 1; i < TF_TABLE_PAGES * (uint64_t)t->page_entries;
	     i++) {
		const uint8_t *e = tf_entry(l->map, t, (uint32_t)i, t->entry_bytes);
		if (!e) /* nor its page */
			return;
		if (e[0] || memcmp(e, e + 1, t->entry_bytes - 1)) {
			l->missing[TABLE_PAGE]++;
			return;
		}
	}
}

static void place_tables(struct reader_layout *l)
{
	const struct tf_header *h = tf_header(l->map);
	const struct tf_table *const tables[] = {
	        &h->calls,   &h->threads,   &h->kernels, &h->graphs, &h->clocks, &h->gaps,
	        &h->devices, &h->libraries, &h->streams, &h->ranges, &h->loops,  &h->steps};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		place_table(l, tables[i]);
	/* The last of them are thinned: what stood there stays behind the end. */
	check_rest(l, &h->calls);
	check_rest(l, &h->threads);
	check_rest(l, &h->kernels);
	check_rest(l, &h->graphs);
	check_rest(l, &h->ranges);
	const struct tf_table *nodes = tf_at(l->map, h->graph_nodes, sizeof(*nodes));
	if (h->graph_nodes)
		layout_place(l, AREA, h->graph_nodes, sizeof(*nodes));
	if (nodes) {
		place_table(l, nodes);
		check_rest(l, nodes);
	}
}

/* No call has the name of another; of a page that stands twice all have. */
static bool is_named_before(const struct reader_layout *l, const struct tf_call *c, uint32_t index)
{
	const struct tf_table *calls = &tf_header(l->map)->calls;
	uint32_t step = 4096 / sizeof(*c);

	for (uint32_t i = index % step; i < index; i += step) {
		const struct tf_call *other = tf_entry(l->map, calls, i, sizeof(*other));
		if (other && !memcmp(other->name, c->name, sizeof(c->name)))
			return true;
	}
	return false;
}

static void place_entries(struct reader_layout *l)
{
	const struct recording *r = l->recording;
	const struct tf_header *h = tf_header(l->map);

	for (uint32_t i = 0; i < r->calls; i++) {
		const struct tf_call *c = tf_entry(l->map, &h->calls, i, sizeof(*c));
		if (!c)
			continue;
		l->wrong[TABLE_PAGE] += is_named_before(l, c, i);
		l->wrong[TABLE_PAGE] += !c->name[0] || c->cls >= SPY_CLASS_COUNT;
		place_histogram(l, c->hist);
	}
	/* Also the one that is being made. */
	for (uint32_t i = 0; i <= r->kernels; i++) {
		const struct tf_kernel *k = tf_entry(l->map, &h->kernels, i, sizeof(*k));
		if (!k)
			continue;
		l->missing[KERNEL_NAME] += !k->name && i != TF_KERNEL_UNKNOWN && i < r->kernels;
		place_text(l, KERNEL_NAME, k->name);
		place_histogram(l, k->hist);
		place_histogram(l, k->queue_hist);
	}
	for (uint32_t i = 0; i <= r->ranges; i++) {
		const struct tf_nvtx_range *n = tf_entry(l->map, &h->ranges, i, sizeof(*n));
		if (!n)
			continue;
		l->wrong[TABLE_PAGE] += n->parent > i;
		place_text(l, TEXT, n->name);
		place_text(l, TEXT, n->domain);
		place_histogram(l, n->hist);
	}
	for (uint32_t i = 0; i < r->loops; i++) {
		const struct tf_loop *loop = tf_entry(l->map, &h->loops, i, sizeof(*loop));
		if (loop)
			place_histogram(l, loop->hist);
	}
	for (uint32_t i = 0; i < r->steps; i++) {
		const struct tf_step *s = tf_entry(l->map, &h->steps, i, sizeof(*s));
		if (!s)
			continue;
		l->wrong[TABLE_PAGE] += !s->start || s->end < s->start;
	}
	for (uint32_t i = 0; i <= r->threads; i++) {
		const uint64_t *at = tf_entry(l->map, &h->threads, i, sizeof(*at));
		if (at && (*at || i < r->threads))
			layout_thread(l, *at, i);
	}
}

static void place_store(struct reader_layout *l, uint64_t at)
{
	const struct tf_store *s = at ? layout_place(l, AREA, at, sizeof(*s)) : NULL;

	if (s && (s->page_records > 1u << 24 || s->pages_max > TF_STORE_PAGES)) {
		l->wrong[AREA]++;
		return;
	}
	for (uint32_t i = 0; s && i < TF_STORE_PAGES; i++)
		if (s->pages[i])
			layout_place(l, RECORDS, s->pages[i],
			             s->page_records * sizeof(struct tf_record));
}

/* What the samples of each class stand for. */
static void place_weights(struct reader_layout *l, uint64_t at)
{
	const struct tf_weight_places *p = at ? layout_place(l, AREA, at, sizeof(*p)) : NULL;

	for (uint32_t i = 0; p && i < TF_WORKS; i++)
		if (p->at[i])
			layout_place(l, AREA, (uint64_t)p->at[i] * TF_PLACE_BYTES,
			             sizeof(struct tf_weights));
}

static void place_areas(struct reader_layout *l)
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
			layout_place(l, AREA, areas[i].at, areas[i].bytes);
		else
			l->missing[AREA] += areas[i].always;
	}
	place_weights(l, h->weights);
	l->missing[AREA] += !h->keep;
	place_store(l, h->keep);
	place_store(l, h->store);
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++)
		if (h->devices_time[i])
			layout_place(l, AREA, h->devices_time[i], sizeof(struct tf_device_time));
	layout_rings(l, h->activity_ring, NO_THREAD);
	place_text(l, TEXT, h->command);
	place_text(l, TEXT, h->working_folder);
	place_text(l, TEXT, h->out_path);
}

/* Call sites, what they lead to, and what that leads to. */
static void place_sites(struct reader_layout *l)
{
	const struct recording *r = l->recording;
	const struct tf_header *h = tf_header(l->map);
	const struct tf_sites *area =
	        h->sites ? layout_place(l, AREA, h->sites, sizeof(*area)) : NULL;

	if (!area)
		return;
	place_table(l, &area->codes);
	place_table(l, &area->sites);
	place_table(l, &area->objects);
	if (area->pairs)
		layout_place(l, AREA, area->pairs, TF_SITE_PAIRS * sizeof(struct tf_site_pair));
	/* Also the ones that are being made. */
	for (uint32_t i = 0; i <= r->codes; i++) {
		const struct tf_code *c = tf_entry(l->map, &area->codes, i, sizeof(*c));
		if (!c)
			continue;
		place_text(l, TEXT, c->file);
		place_text(l, TEXT, c->name);
		place_text(l, TEXT, c->lines);
	}
	for (uint32_t i = 0; i <= r->sites; i++) {
		const struct tf_site *s = tf_entry(l->map, &area->sites, i, sizeof(*s));
		if (s && s->frames && s->frame_count)
			layout_place(l, AREA, s->frames, s->frame_count * sizeof(uint64_t));
	}
	for (uint32_t i = 0; i <= r->objects; i++) {
		const struct tf_object *o = tf_entry(l->map, &area->objects, i, sizeof(*o));
		if (o)
			place_text(l, TEXT, o->path);
	}
}

void layout_all(struct reader_layout *l)
{
	layout_place(l, HEADER, 0, tf_header(l->map)->header_bytes);
	place_tables(l);
	place_areas(l);
	place_entries(l);
	place_sites(l);
}
