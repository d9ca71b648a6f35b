/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites of all recordings together: the same stack once, and what stands on one line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/sites_internal.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

const char *const site_kind_names[] = {"wait", "launch", "copy", "alloc", "module", "graph"};

/* A stack, or a place, by what a reader sees of it: a hash of all that, wide enough that no two are
 * the same by chance. */
struct site_key {
	uint64_t a, b;
};

struct site_entry {
	struct site_key key;
	size_t index;
	UT_hash_handle hh;
};

static void mix(struct site_key *key, uint64_t word)
{
	key->a = (key->a ^ word) * 0x9e3779b97f4a7c15u;
	key->a ^= key->a >> 32;
	key->b = (key->b + word) * 0xc2b2ae3d27d4eb4fu;
	key->b ^= key->b >> 29;
}

uint64_t sites_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static void mix_frame(struct site_key *key, const struct model_frame *f)
{
	mix(key, f->hash);
	mix(key, f->line);
	mix(key, f->python || f->line ? 0 : f->address);
}

static void mix_thread(struct site_key *key, const struct model_site *s)
{
	if (!s->thread)
		return;
	mix(key, sites_hash(s->thread));
	mix(key, sites_hash(s->range));
}

/* The entry with this key; `index` where it is new: *made. */
static struct site_entry *entry_of(struct site_entry **all, struct site_key key, size_t index,
                                   bool *made)
{
	struct site_entry *e;

	HASH_FIND(hh, *all, &key, sizeof(key), e);
	*made = !e;
	if (e)
		return e;
	e = alloc_zeroed(1, sizeof(*e));
	e->key = key;
	e->index = index;
	HASH_ADD(hh, *all, key, sizeof(key), e);
	return e;
}

static void free_entries(struct site_entry **all)
{
	struct site_entry *e, *next;

	HASH_ITER(hh, *all, e, next)
	{
		HASH_DEL(*all, e);
		free(e);
	}
}

static void add(double *sum, double more)
{
	if (isfinite(more))
		*sum = (isnan(*sum) ? 0 : *sum) + more;
}

/*
 * Code that was made while the program ran, as far as a stack tells: of no file, or of one in a
 * folder for temporary files that a library calls. Cells of a notebook lie there too.
 */
static bool is_made(const struct model_site *s, size_t i)
{
	const char *file = s->frames[i].file;

	if (!file || strstr(file, "/ipykernel_") || !strncmp(file, "<ipython-input", 14))
		return false;
	if (*file == '<')
		return true;
	for (i++; i < s->frame_count && s->frames[i].file &&
	          (s->frames[i].file == file || !strcmp(s->frames[i].file, file));)
		i++;
	return (!strncmp(file, "/tmp/", 5) || !strncmp(file, "/var/tmp/", 9)) &&
	       i < s->frame_count && s->frames[i].foreign;
}

/* Of a stack of libraries alone: the one that is nearest to the program. */
static size_t nearest_library(const struct model_site *s)
{
	size_t library = 0;

	for (size_t i = 0; i < s->frame_count; i++)
		if (!s->frames[i].python && !sites_is_c_runtime(&s->frames[i]))
			library = i;
	return library;
}

/* Python before what is native, as a call out of a library was asked for there; what the program
 * made only where nobody wrote a line. */
size_t sites_head(const struct model_site *s)
{
	size_t made = SIZE_MAX, python = SIZE_MAX, native = SIZE_MAX;

	for (size_t i = 0; i < s->frame_count; i++) {
		const struct model_frame *f = &s->frames[i];
		if (f->python && !f->foreign && !is_made(s, i))
			return i;
		if (f->python && !f->foreign && made == SIZE_MAX)
			made = i;
		if (f->python && python == SIZE_MAX)
			python = i;
		if (!f->python && native == SIZE_MAX && !f->foreign)
			native = i;
	}
	return made != SIZE_MAX     ? made
	       : python != SIZE_MAX ? python
	       : native != SIZE_MAX ? native
	                            : nearest_library(s);
}

uint32_t sites_merge(struct model *m, struct model_site *s)
{
	struct model_sites *to = &m->sites;
	struct site_key key = {s->kind, s->cut};
	bool made;

	mix(&key, sites_hash(s->api));
	mix_thread(&key, s);
	if (s->meanwhile)
		mix_frame(&key, s->meanwhile);
	for (size_t i = 0; i < s->frame_count; i++)
		mix_frame(&key, &s->frames[i]);
	struct site_entry *e = entry_of(&to->texts->by_stack, key, to->count, &made);
	if (made) {
		ALLOC_ROOM(to->items, to->count);
		s->place = to->count;
		to->items[to->count] = *s;
		return (uint32_t)to->count++;
	}
	struct model_site *have = &to->items[e->index];
	CLAMP_ADD(have->seen, s->seen);
	CLAMP_ADD(have->failed, s->failed);
	CLAMP_ADD(have->bytes, s->bytes);
	CLAMP_ADD(have->pageable_bytes, s->pageable_bytes);
	CLAMP_ADD(have->samples, s->samples);
	have->whole &= s->whole;
	have->estimated |= s->estimated;
	have->calls += s->calls;
	have->api_time += s->api_time;
	add(&have->useful, s->useful);
	add(&have->wasted, s->wasted);
	add(&have->gpu, s->gpu);
	free(s->frames);
	return (uint32_t)e->index;
}

/* ---- places ---- */

static int by_time(const void *a, const void *b)
{
	const struct model_site *x = a, *y = b;

	if (x->api_time != y->api_time)
		return x->api_time > y->api_time ? -1 : 1;
	return x->seen > y->seen ? -1 : x->seen < y->seen;
}

static int places_by_time(const void *a, const void *b)
{
	const struct model_place *x = a, *y = b;

	if (x->api_time != y->api_time)
		return x->api_time > y->api_time ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

static void add_place(struct model_sites *to, struct site_entry **all, size_t index)
{
	struct model_site *s = &to->items[index];
	struct site_key key = {s->kind, 0};
	bool made;

	mix(&key, sites_hash(s->api));
	mix_thread(&key, s);
	if (s->meanwhile)
		mix_frame(&key, s->meanwhile);
	else if (s->frame_count && !s->thread) /* a framework's thread calls from everywhere */
		mix_frame(&key, &s->frames[s->head]);
	struct site_entry *e = entry_of(all, key, to->place_count, &made);
	if (made) {
		ALLOC_ROOM(to->places, to->place_count);
		to->places[to->place_count++] = (struct model_place){
		        .site = index, .whole = true, .wasted = NAN, .gpu = NAN};
	}
	struct model_place *p = &to->places[e->index];
	s->place = e->index;
	p->sites++;
	CLAMP_ADD(p->seen, s->seen);
	CLAMP_ADD(p->bytes, s->bytes);
	CLAMP_ADD(p->pageable_bytes, s->pageable_bytes);
	p->whole &= s->whole;
	p->estimated |= s->estimated;
	p->calls += s->calls;
	p->api_time += s->api_time;
	add(&p->wasted, s->wasted);
	add(&p->gpu, s->gpu);
}

/* Places come in order, and the sites' numbers of them follow. */
static void sort_places(struct model_sites *to)
{
	size_t *index = alloc_zeroed(to->place_count, sizeof(*index));

	qsort(to->places, to->place_count, sizeof(*to->places), places_by_time);
	for (size_t i = 0; i < to->place_count; i++)
		index[to->items[to->places[i].site].place] = i;
	for (size_t i = 0; i < to->count; i++)
		to->items[i].place = index[to->items[i].place];
	free(index);
}

/* The recordings' numbers of sites follow them. `now`: by the index that a site had when it was
 * added. */
static void number_anew(struct model *m, const size_t *now)
{
	for (size_t i = 0; i < m->process_count; i++)
		for (uint32_t k = 0; k < m->processes[i].site_count; k++) {
			uint32_t *of = &m->processes[i].site_of[k];
			*of = *of < m->sites.count ? (uint32_t)now[*of] : UINT32_MAX;
		}
}

void model_finish_sites(struct model *m)
{
	struct model_sites *to = &m->sites;
	struct site_entry *all = NULL;
	size_t *now = alloc_zeroed(to->count + 1, sizeof(*now));

	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), by_time);
	for (size_t i = 0; i < to->count; i++) {
		now[to->items[i].place] = i;
		add_place(to, &all, i);
	}
	free_entries(&all);
	number_anew(m, now);
	if (to->place_count) {
		sort_places(to);
		sites_find_after(m);
	}
	free(now);
	if (to->texts)
		free_entries(&to->texts->by_stack);
}

void model_free_sites(struct model *m)
{
	struct model_sites *s = &m->sites;

	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].frames);
	free(s->items);
	free(s->places);
	free(s->python_trouble);
	if (!s->texts)
		return;
	free_entries(&s->texts->by_stack);
	sites_natives_free(s->texts);
	for (size_t i = 0; i < s->texts->count; i++)
		free(s->texts->items[i]);
	free(s->texts->items);
	free(s->texts);
}
