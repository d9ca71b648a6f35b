/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "shim/core/format/trace_map.h"
#include "tests/fuzz/damage.h"

#define PAGE 4096u

const char *const damage_names[] = {
        [DAMAGE_CUT] = "cut",
        [DAMAGE_ZEROED] = "zeroed page",
        [DAMAGE_REPEATED] = "repeated page",
        [DAMAGE_SWAPPED] = "swapped pages",
        [DAMAGE_OFFSET] = "bad offset",
        [DAMAGE_FLIPPED] = "flipped bits",
};

/* xorshift64*; never 0. */
uint64_t damage_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1du;
}

static uint64_t below(uint64_t *seed, uint64_t most)
{
	return most ? (damage_random(seed) >> 11) % most : 0;
}

/* Anywhere, or close to where something ends. */
static void cut(uint8_t *data, size_t *bytes, uint64_t *seed, char *what, size_t room)
{
	const struct tf_header *h = (const struct tf_header *)data;
	uint64_t to = below(seed, *bytes),
	         handed_out = h->alloc_end < *bytes ? h->alloc_end : *bytes;

	switch (below(seed, 4)) {
	case 0:
		to = below(seed, *bytes / PAGE) * PAGE;
		break;
	case 1:
		to = *bytes - 1 - below(seed, 2 * PAGE);
		break;
	case 2: /* just in it, or just behind it */
		to = handed_out - PAGE + below(seed, 2 * PAGE);
		break;
	}
	if (to >= *bytes)
		to = *bytes - 1;
	snprintf(what, room, "cut to %llu of %zu", (unsigned long long)to, *bytes);
	*bytes = to;
}

static bool is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

/* Pages of what was handed out: behind that there is nothing. Few that hold nothing. */
static uint64_t draw_page(const uint8_t *data, size_t bytes, uint64_t *seed)
{
	const struct tf_header *h = (const struct tf_header *)data;
	uint64_t used = (h->alloc_end < bytes ? h->alloc_end : bytes) / PAGE, page = 0;

	for (int tries = 0; tries < 20; tries++) {
		/* Those of the header and the tables more often than their size says. */
		page = below(seed, below(seed, 4) ? used : used < 32 ? used : 32);
		if (!is_zero(data + page * PAGE))
			break;
	}
	return page;
}

static bool change_pages(enum damage_kind kind, uint8_t *data, size_t bytes, uint64_t *seed,
                         char *what, size_t room)
{
	uint64_t a = draw_page(data, bytes, seed), b = draw_page(data, bytes, seed);
	uint8_t *x = data + a * PAGE, *y = data + b * PAGE, before[PAGE];

	snprintf(what, room, "%s %llu, %llu", damage_names[kind], (unsigned long long)a,
	         (unsigned long long)b);
	memcpy(before, x, PAGE);
	if (kind == DAMAGE_ZEROED) {
		memset(x, 0, PAGE);
	} else {
		memcpy(x, y, PAGE);
		if (kind == DAMAGE_SWAPPED)
			memcpy(y, before, PAGE);
	}
	return memcmp(before, x, PAGE) != 0;
}

/* A table's or a thread's words that lead somewhere. */
static uint64_t *draw_place(uint8_t *data, size_t bytes, uint64_t *seed)
{
	const struct tf_map map = {.base = data, .size = bytes};
	struct tf_header *h = (struct tf_header *)data;
	struct tf_table *tables[] = {
	        &h->calls, &h->threads, &h->kernels,   &h->graphs,  &h->clocks,
	        &h->gaps,  &h->devices, &h->libraries, &h->streams, &h->ranges,
	        &h->loops, &h->steps,   NULL}; /* of nodes of graphs: lies apart */
	uint64_t *fields[] = {
	        &h->alloc_end,     &h->file_end,    &h->slices,          &h->works,
	        &h->keep,          &h->store,       &h->command,         &h->out_path,
	        &h->activity_ring, &h->environment, &h->devices_time[0], &h->window_start,
	        &h->load,          &h->graph_nodes};
	struct tf_table *t = tables[below(seed, 13)],
	                *nodes = tf_at(&map, h->graph_nodes, sizeof(*t));
	if (!t)
		t = nodes ? nodes : &h->calls;
	const uint64_t *at =
	        tf_entry(&map, &h->threads, (uint32_t)below(seed, tf_count(&h->threads)), 8);
	struct tf_thread *thread = at ? tf_at(&map, *at, sizeof(*thread)) : NULL;
	struct tf_store *keep = tf_at(&map, h->keep, sizeof(*keep));
	struct tf_kernel *k = tf_entry(&map, &h->kernels,
	                               (uint32_t)below(seed, tf_count(&h->kernels)), sizeof(*k));
	struct tf_ring *ring = thread ? tf_at(&map, thread->ring_first, sizeof(*ring)) : NULL;

	switch (below(seed, 9)) {
	case 0:
		return &t->pages[below(seed, 3)];
	case 1: /* entry_bytes and page_entries, or max and count */
		return (uint64_t *)t + below(seed, 2);
	case 2:
		return at ? (uint64_t *)(data + (size_t)((const uint8_t *)at - data)) : fields[0];
	case 3:
		return thread ? &thread->ring_first : fields[1];
	case 4: /* two entries of a thread's directory of kernels */
		return thread ? (uint64_t *)(void *)thread->kernel_pages + below(seed, 4)
		              : fields[2];
	case 5:
		return keep ? &keep->pages[below(seed, 4)] : fields[3];
	case 6:
		return k ? &k->name : fields[4];
	case 7:
		return ring ? &ring->next - below(seed, 2) : fields[5];
	default:
		return fields[below(seed, sizeof(fields) / sizeof(fields[0]))];
	}
}

static bool change_offset(uint8_t *data, size_t bytes, uint64_t *seed, char *what, size_t room)
{
	uint64_t *at = draw_place(data, bytes, seed), before = *at;
	const uint64_t *other = draw_place(data, bytes, seed);
	const uint64_t values[] = {0,
	                           *other,
	                           below(seed, bytes) / 64 * 64,
	                           below(seed, bytes) / 8 * 8,
	                           below(seed, bytes),
	                           bytes + below(seed, bytes),
	                           before ^ 1ull << below(seed, 64),
	                           before + 64,
	                           before - 4096,
	                           damage_random(seed)};

	*at = values[below(seed, sizeof(values) / sizeof(values[0]))];
	snprintf(what, room, "%llx in place of %llx at %zu", (unsigned long long)*at,
	         (unsigned long long)before, (size_t)((uint8_t *)at - data));
	return *at != before;
}

static void flip(uint8_t *data, size_t bytes, uint64_t *seed, char *what, size_t room)
{
	const struct tf_header *h = (const struct tf_header *)data;
	uint64_t used = h->alloc_end < bytes ? h->alloc_end : bytes, bits = 1ull << below(seed, 7),
	         at = 0;

	for (uint64_t i = 0; i < bits; i++) {
		at = below(seed, 4) ? below(seed, used) : below(seed, sizeof(*h));
		data[at] ^= (uint8_t)(1u << below(seed, 8));
	}
	snprintf(what, room, "%llu bits flipped, the last at %llu", (unsigned long long)bits,
	         (unsigned long long)at);
}

bool damage_do(enum damage_kind kind, uint8_t *data, size_t *bytes, uint64_t *seed, char *what,
               size_t room)
{
	switch (kind) {
	case DAMAGE_CUT:
		cut(data, bytes, seed, what, room);
		return true;
	case DAMAGE_OFFSET:
		return change_offset(data, *bytes, seed, what, room);
	case DAMAGE_FLIPPED:
		flip(data, *bytes, seed, what, room);
		return true;
	default:
		return change_pages(kind, data, *bytes, seed, what, room);
	}
}
