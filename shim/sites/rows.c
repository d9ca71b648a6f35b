/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/rows.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/base/floating_point.h"
#include "shim/core/options/options.h"

/* What new stacks may take of a process beyond its budget: some thousand of them. */
#define ALLOWANCE_NS 100000000u

/* From a key to a number, never 0; keys are hashes of all that is behind them. */
#define PLACES (TF_SITES_MAX * 2)
#define PROBES 32
struct places {
	struct place {
		uint64_t key; /* 0 = free; release: `number` is there */
		uint64_t number;
	} place[PLACES];
};

static struct places *site_places, *code_places; /* made once; emptied in a forked child */
static uint64_t new_ticks;                       /* that new stacks took so far */

/* ---- from keys to numbers ---- */

static uint32_t find(const struct places *p, uint64_t key)
{
	for (uint64_t i = key % PLACES, n = 0; n < PROBES; n++, i = (i + 1) % PLACES) {
		/* Acquire: pairs with put(). */
		uint64_t there = __atomic_load_n(&p->place[i].key, __ATOMIC_ACQUIRE);
		if (there == key)
			return (uint32_t)p->place[i].number;
		if (!there)
			return 0;
	}
	return 0;
}

/* Under the shim's lock. */
static void put(struct places *p, uint64_t key, uint32_t number)
{
	for (uint64_t i = key % PLACES, n = 0; n < PROBES; n++, i = (i + 1) % PLACES)
		if (!p->place[i].key) {
			p->place[i].number = number;
			/* Release: who finds the key finds the number. */
			__atomic_store_n(&p->place[i].key, key, __ATOMIC_RELEASE);
			return;
		}
}

static struct places *make_places(void)
{
	void *p = mmap(NULL, sizeof(struct places), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

bool rows_start(void)
{
	if (!site_places)
		site_places = make_places();
	if (!code_places)
		code_places = make_places();
	return site_places && code_places;
}

void rows_after_fork(void)
{
	/* Zeros again, without touching what the child may never need. */
	if (site_places)
		madvise(site_places, sizeof(*site_places), MADV_DONTNEED);
	if (code_places)
		madvise(code_places, sizeof(*code_places), MADV_DONTNEED);
	new_ticks = 0;
}

uint32_t rows_find(uint64_t key)
{
	return find(site_places, key);
}

/* ---- a stack's key ---- */

bool rows_add_to_key(void *context, const struct python_frame *frame)
{
	struct keying *k = context;

	k->key = rows_stir(rows_stir(k->key, frame->identity), frame->at);
	k->python = true;
	return true;
}

/* ---- a new row ---- */

int64_t rows_find_code(const struct python_frame *frame)
{
	return (int64_t)find(code_places, frame->identity | 1) - 1;
}

int64_t rows_code(struct tf_sites *area, const struct python_frame *frame)
{
	int64_t known = rows_find_code(frame);

	if (known >= 0)
		return known;
	struct tf_code *code = area ? tf_append(&spy_map, &area->codes) : NULL;
	if (!code || !python_describe(frame->code, code))
		return -1;
	uint32_t index = area->codes.count;
	tf_publish(&area->codes);
	put(code_places, frame->identity | 1, index + 1);
	return index;
}

bool rows_keep_frame(void *context, const struct python_frame *frame)
{
	struct stack *s = context;
	int64_t code = rows_code(sites_area(), frame);

	if (code >= 0)
		s->frames[s->count++] = TF_FRAME_PYTHON | (uint64_t)code << 32 | frame->at;
	return code >= 0;
}

struct tf_site *rows_add(struct tf_sites *area, const struct stack *s, uint16_t call, bool cut)
{
	uint64_t bytes = s->count * sizeof(s->frames[0]);
	struct tf_site *site = area && s->whole ? tf_append(&spy_map, &area->sites) : NULL;
	uint64_t offset = site ? spy_map.alloc(&spy_map, bytes) : 0;
	uint64_t *to = tf_at(&spy_map, offset, bytes);

	if (!to)
		return NULL;
	memcpy(to, s->frames, bytes);
	site->frames = offset;
	site->frame_count = s->count;
	site->call = call;
	site->cut = cut;
	return site;
}

void rows_publish(struct tf_sites *area, struct stack *s, uint64_t key)
{
	s->site = area->sites.count + 1;
	tf_publish(&area->sites);
	put(site_places, key, s->site);
}

/* ---- what that may take ---- */

static bool __attribute__((noinline)) may_make(const struct tf_sites *area, uint64_t now)
{
	/* Relaxed: a sum that orders nothing. */
	uint64_t spent = clock_ns_of(__atomic_load_n(&new_ticks, __ATOMIC_RELAXED));
	uint64_t lived = clock_ns_of(now - tf_header(&spy_map)->load);

	if (area->sites.count >= area->sites.max)
		return false;
	return area->mode == TF_SITES_ALL || spent < ALLOWANCE_NS ||
	       (double)(spent - ALLOWANCE_NS) * 100 < spy_options.budget_percent * (double)lived;
}

bool rows_may_make(const struct tf_sites *area, uint64_t now)
{
	struct floating_point theirs = floating_point_begin();
	bool may = may_make(area, now);

	floating_point_end(&theirs);
	return may;
}

void rows_took(uint64_t ticks)
{
	/* Relaxed: a sum that orders nothing. */
	__atomic_fetch_add(&new_ticks, ticks, __ATOMIC_RELAXED);
}
