/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/reader/reader_check.h"

bool recording_begins_so(const char first[RECORDING_MAGIC_BYTES])
{
	return !memcmp(first, TF_MAGIC, RECORDING_MAGIC_BYTES) ||
	       !memcmp(first, TF_STUB, RECORDING_MAGIC_BYTES);
}

int reader_check_header(const struct recording *r, char error[READER_ERROR_BYTES])
{
	const struct tf_header *h = tf_header(&r->map);
	uint64_t thread_room = UINT32_MAX;

	if (r->file_bytes < sizeof(h->magic) || memcmp(h->magic, TF_MAGIC, sizeof(h->magic))) {
		snprintf(error, READER_ERROR_BYTES, "not a cudaspy recording");
		return -1;
	}
	if (r->file_bytes < offsetof(struct tf_header, header_bytes)) {
		snprintf(error, READER_ERROR_BYTES, "damaged: it ends inside its header");
		return -1;
	}
	if (h->endian != TF_ENDIAN) {
		snprintf(error, READER_ERROR_BYTES,
		         h->endian == __builtin_bswap32(TF_ENDIAN)
		                 ? "recorded on a machine of the other byte order"
		                 : "damaged: its header makes no sense");
		return -1;
	}
	if (h->version != TF_VERSION) {
		snprintf(error, READER_ERROR_BYTES,
		         "format version %u; this cudaspy (%s) reads version %u", h->version,
		         CUDASPY_VERSION, TF_VERSION);
		return -1;
	}
	if (r->file_bytes < sizeof(*h)) {
		snprintf(error, READER_ERROR_BYTES, "damaged: it ends inside its header");
		return -1;
	}
	if (h->header_bytes < sizeof(*h) || h->header_bytes > r->file_bytes ||
	    h->record_bytes != sizeof(struct tf_record) ||
	    h->hist_bytes != sizeof(struct tf_hist) || h->classes != SPY_CLASS_COUNT ||
	    h->thread_bytes < sizeof(struct tf_thread) || h->thread_bytes > thread_room / 2) {
		snprintf(error, READER_ERROR_BYTES,
		         "damaged: the sizes in its header make no sense");
		return -1;
	}
	return 0;
}

/*
 * The entries of a table that may be asked for. The table in the private copy is made to say the
 * same; of a damaged one nothing is left there, so that nobody goes by its sizes. A table that
 * nothing stands in says of what kind it is all the same.
 */
static uint32_t check_table(struct recording *r, struct tf_table *table, uint32_t entry_bytes,
                            uint32_t most, const char *name)
{
	uint32_t count = table->count, page = table->page_entries, usable = 0, missing = 0;

	if (table->entry_bytes != entry_bytes || !page || page > UINT32_MAX / TF_TABLE_PAGES) {
		warn(&r->damage, "the table of %s is damaged and left out", name);
		*table = (struct tf_table){.entry_bytes = entry_bytes};
		return 0;
	}
	if (most > page * TF_TABLE_PAGES)
		most = page * TF_TABLE_PAGES;
	if (count > most || count > table->max) {
		warn(&r->damage, "the table of %s says %u entries: more than there can be", name,
		     count);
		count = count > most ? most : count;
	}
	for (uint32_t first = 0; first < count; first += page) {
		uint32_t here = count - first < page ? count - first : page;
		uint64_t bytes = (uint64_t)here * entry_bytes;
		if (tf_at(&r->map, table->pages[first / page], bytes))
			usable = first + here;
		else
			missing += here;
		if (first > UINT32_MAX - page)
			break;
	}
	if (missing)
		warn(&r->damage, "entries of the table of %s are not in the file: %u", name,
		     missing);
	return table->count = usable;
}

struct slot {
	uint64_t offset;
	uint32_t index;
};

static int by_offset(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Takes threads out that lie outside the file or over another one: what they would say is not
 * theirs, and a small file could otherwise stand for any number of them. Those that are left stand
 * in a table of the private copy's own, whose pages nobody can have made to overlap.
 */
void reader_check_threads(struct recording *r)
{
	struct tf_header *h = tf_header(&r->map);
	struct slot *slots = alloc_zeroed(r->threads, sizeof(*slots));
	uint64_t page = r->threads ? r->map.alloc(&r->map, r->threads * sizeof(uint64_t)) : 0;
	uint64_t *good = page ? tf_at(&r->map, page, r->threads * sizeof(uint64_t)) : NULL,
	         end = h->header_bytes;
	uint32_t count = 0, outside = 0, overlapping = 0;

	for (uint32_t i = 0; good && i < r->threads; i++) {
		const uint64_t *entry = tf_entry(&r->map, &h->threads, i, sizeof(*entry));
		if (!entry || !*entry)
			continue;
		if (*entry >= r->file_bytes || h->thread_bytes > r->file_bytes - *entry ||
		    *entry % 8)
			outside++;
		else
			slots[count++] = (struct slot){*entry, i};
	}
	if (count)
		qsort(slots, count, sizeof(*slots), by_offset);
	for (uint32_t i = 0; i < count; i++) {
		if (slots[i].offset < end) {
			overlapping++;
			continue;
		}
		good[slots[i].index] = slots[i].offset;
		end = slots[i].offset + h->thread_bytes;
	}
	free(slots);
	h->threads.page_entries = good ? r->threads : 1;
	h->threads.pages[0] = page;
	if (outside)
		warn(&r->damage, "threads that are not in the file, and their calls: %u", outside);
	if (overlapping)
		warn(&r->damage, "threads that are damaged and left out: %u", overlapping);
}

/*
 * Whether all of the file is there: the space that was reserved in it, used or not. Only a copy
 * made at exit, of a recording that lived in memory, ends with what was handed out.
 */
static void check_length(struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	bool open = h->state == TF_STATE_OPEN;
	uint64_t least = h->file_end > h->alloc_end ? h->file_end : h->alloc_end;
	bool copied = !open && r->file_bytes == h->alloc_end;

	if (h->state != TF_STATE_OPEN && h->state != TF_STATE_CLOSED)
		warn(&r->damage, "the state of the recording is unknown (%u)", h->state);
	if (least > r->file_bytes && !copied)
		warn(&r->damage, "the file is cut short: %llu of %llu bytes are there",
		     (unsigned long long)r->file_bytes, (unsigned long long)least);
	else if (h->alloc_end < h->header_bytes || (open && h->alloc_end > h->file_end))
		warn(&r->damage, "the sizes in its header do not agree");
}

/* This table lies apart: behind the header, which was checked. */
static void check_graph_nodes(struct recording *r)
{
	struct tf_header *h = tf_header(&r->map);
	struct tf_table *nodes = h->graph_nodes >= h->header_bytes
	                                 ? tf_at(&r->map, h->graph_nodes, sizeof(*nodes))
	                                 : NULL;

	if (nodes) {
		r->graph_nodes = check_table(r, nodes, sizeof(struct tf_graph_nodes),
		                             TF_GRAPH_NODES_MAX, "nodes of graphs");
		return;
	}
	if (h->graph_nodes)
		warn(&r->damage, "the table of nodes of graphs is not in the file");
	h->graph_nodes = 0;
}

/* The tables of an area of their own. */
static void check_sites(struct recording *r)
{
	struct tf_header *h = tf_header(&r->map);
	struct tf_sites *area = tf_at(&r->map, h->sites, sizeof(*area));

	if (!h->sites)
		return;
	if (!area || h->sites > r->file_bytes || sizeof(*area) > r->file_bytes - h->sites) {
		warn(&r->damage, "the call sites are not in the file");
		h->sites = 0;
		return;
	}
	r->sites = check_table(r, &area->sites, sizeof(struct tf_site), TF_SITES_MAX, "call sites");
	r->codes = check_table(r, &area->codes, sizeof(struct tf_code), TF_CODES_MAX,
	                       "code objects of Python");
	r->objects = check_table(r, &area->objects, sizeof(struct tf_object), TF_OBJECTS_MAX,
	                         "mapped objects");
}

void reader_check_tables(struct recording *r)
{
	struct tf_header *h = tf_header(&r->map);

	check_length(r);
	r->calls = check_table(r, &h->calls, sizeof(struct tf_call), UINT16_MAX, "calls");
	r->threads = check_table(r, &h->threads, sizeof(uint64_t), UINT16_MAX + 1u, "threads");
	r->kernels =
	        check_table(r, &h->kernels, sizeof(struct tf_kernel), TF_KERNELS_MAX, "kernels");
	r->graphs = check_table(r, &h->graphs, sizeof(struct tf_graph), 1u << 20, "graphs");
	r->clocks = check_table(r, &h->clocks, sizeof(struct tf_clock_triple), 1u << 20,
	                        "clock readings");
	r->gaps = check_table(r, &h->gaps, sizeof(struct tf_gap), 4096, "gaps");
	r->devices = check_table(r, &h->devices, sizeof(struct tf_device), 1024, "devices");
	r->libraries = check_table(r, &h->libraries, sizeof(struct tf_library), 4096, "libraries");
	r->streams = check_table(r, &h->streams, sizeof(struct tf_stream), 1u << 16, "streams");
	r->ranges =
	        check_table(r, &h->ranges, sizeof(struct tf_nvtx_range), TF_RANGES_MAX, "ranges");
	r->loops = check_table(r, &h->loops, sizeof(struct tf_loop), TF_LOOPS_MAX, "loops");
	r->steps = check_table(r, &h->steps, sizeof(struct tf_step), TF_STEPS_MAX, "steps");
	check_graph_nodes(r);
	check_sites(r);

	uint64_t room = (h->thread_bytes - sizeof(struct tf_thread)) / sizeof(struct tf_call_stat);
	r->thread_calls = r->calls;
	if (r->thread_calls > room) {
		warn(&r->damage, "calls that have no statistics: %u",
		     (uint32_t)(r->thread_calls - room));
		r->thread_calls = (uint32_t)room;
	}
}
