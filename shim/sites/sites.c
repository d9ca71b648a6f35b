/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/sites_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/base/floating_point.h"
#include "shim/base/gate.h"
#include "shim/core/options/options.h"
#include "shim/record/span.h"
#include "shim/sites/python.h"
#include "shim/sites/snapshot.h"

/* Calls at least this long have their site taken: a stack then costs them a few per cent. */
#define LEAST_NS 5000u
/* What new stacks may take of a process beyond its budget: some thousand of them. */
#define ALLOWANCE_NS 100000000u

#define KNOWN_NS 1000000000u

/* Calls of a site of a thread without Python at which it is looked where the one is that it works
 * for: the first ones, and then one of so many. */
#define LOOKS_FIRST 16u
#define LOOKS_EACH  64u
#define GIVERS_MOST 1024u /* rows for stacks of the thread that is looked at */
#define GIVER_KEY   0x61c8864680b583ebu

#define FRAMES_MOST (PYTHON_FRAMES_MOST + NATIVE_MOST)

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
static bool wants_scan;                          /* an address was met that no object has */
static bool least_known;                         /* that is, well */
static uint64_t new_ticks;                       /* that new stacks took so far */
static uint32_t site_calls[TF_SITES_MAX]; /* of threads without Python, by site; relaxed: about */
static uint32_t givers;                   /* rows made; under the shim's lock */

struct tf_sites *sites_area(void)
{
	struct tf_header *h = spy_map.base ? tf_header(&spy_map) : NULL;

	return h && h->sites ? tf_at(&spy_map, h->sites, sizeof(struct tf_sites)) : NULL;
}

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

/* ---- a stack's key ---- */

static inline uint64_t stir(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xff51afd7ed558ccdu;
	return h ^ h >> 29;
}

struct keying {
	uint64_t key;
	bool python; /* there are frames of it */
};

static bool add_frame(void *context, const struct python_frame *frame)
{
	struct keying *k = context;

	k->key = stir(stir(k->key, frame->identity), frame->at);
	k->python = true;
	return true;
}

/* 0: the stack could not be read. `who`: of a thread that is in no Python, or all 0. */
static uint64_t key_of(const struct tf_record *r, const struct native_stack *n,
                       struct sites_who *who)
{
	struct keying k = {.key = r->call + 1u};
	bool cut;

	for (uint32_t i = 0; i < n->count; i++)
		k.key = stir(k.key, n->at[i]);
	who->name[0] = who->name[1] = who->range = 0;
	if (!python_walk(PYTHON_FRAMES_MOST, add_frame, &k, &cut))
		return 0;
	if (unlikely(!k.python) && python_state() == TF_PYTHON_READ) {
		sites_who(who);
		k.key = stir(stir(stir(k.key, who->name[0]), who->name[1]), who->range);
	}
	return k.key | 1;
}

/* ---- a new site ---- */

struct stack {
	struct tf_record *record;
	const struct native_stack *native;
	uint64_t frames[FRAMES_MOST];
	uint32_t count;
	bool whole; /* all of it was read, and has a place in the tables */
	uint32_t site;
};

/* Index of the code object in table `codes`, made if need be; -1 = no room, or it is none. Under
 * the shim's lock. */
static int64_t code_number(struct tf_sites *area, const struct python_frame *frame)
{
	uint64_t key = frame->identity | 1;
	uint32_t known = find(code_places, key);

	if (known)
		return known - 1;
	struct tf_code *code = area ? tf_append(&spy_map, &area->codes) : NULL;
	if (!code || !python_describe(frame->code, code))
		return -1;
	uint32_t index = area->codes.count;
	tf_publish(&area->codes);
	put(code_places, key, index + 1);
	return index;
}

static bool keep_frame(void *context, const struct python_frame *frame)
{
	struct stack *s = context;
	int64_t code = code_number(sites_area(), frame);

	if (code >= 0)
		s->frames[s->count++] = TF_FRAME_PYTHON | (uint64_t)code << 32 | frame->at;
	return code >= 0;
}

/* A row for the stack; NULL: there is no room. Under the shim's lock. */
static struct tf_site *add_site(struct tf_sites *area, struct stack *s, bool cut)
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
	site->call = s->record->call;
	site->cut = cut;
	return site;
}

/* Its row is complete. */
static void publish_site(struct tf_sites *area, struct stack *s, uint64_t key)
{
	s->site = area->sites.count + 1;
	tf_publish(&area->sites);
	put(site_places, key, s->site);
}

static void make_site(struct stack *s)
{
	struct tf_sites *area = sites_area();
	uint64_t key;
	struct sites_who who;
	bool cut = false;

	for (uint32_t i = 0; i < s->native->count; i++)
		s->frames[s->count++] = s->native->at[i];
	key = key_of(s->record, s->native, &who);
	s->site = key ? find(site_places, key) : 0;
	if (s->site) /* made meanwhile, or found once Python was */
		return;
	s->whole = key && python_walk(PYTHON_FRAMES_MOST, keep_frame, s, &cut);
	struct tf_site *site = add_site(area, s, cut || s->native->cut);
	if (!site)
		return;
	memcpy(site->thread, who.name, sizeof(site->thread));
	site->range = who.range;
	publish_site(area, s, key);
}

/* In a quiet section, on a stack of ours. */
static void new_site(void *p)
{
	struct stack *s = p;

	if (!objects_have(s->native->at[0]))
		__atomic_store_n(&wants_scan, true, __ATOMIC_RELAXED);
	python_ready();
	spy_lock();
	make_site(s);
	spy_unlock();
}

static uint32_t __attribute__((cold, noinline))
site_slow(struct tf_record *r, const struct native_stack *native)
{
	struct stack s;

	s.record = r;
	s.native = native;
	s.count = 0;
	s.site = 0;
	spy_do_own(new_site, &s);
	return s.site;
}

/* Whether a stack that is new may be looked at closely: within the budget of the process, and what
 * a program may need at its start. */
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

/* ---- where the thread is that another one works for ---- */

struct look {
	struct tf_record *record;
	uint32_t site; /* of its call */
};

struct giver { /* its stack, as it was at one moment */
	struct stack stack;
	struct keying keying;
	struct python_frame frames[PYTHON_FRAMES_MOST];
	uint32_t count;
};

static bool take_frame(void *context, const struct python_frame *frame)
{
	struct giver *g = context;

	g->frames[g->count++] = *frame;
	return add_frame(&g->keying, frame);
}

/* The row of its stack, made if need be; 0: there is none. Under the shim's lock. */
static uint32_t giver_site(struct tf_sites *area, struct giver *g)
{
	bool cut;

	if (!python_walk_giver(PYTHON_FRAMES_MOST, take_frame, g, &cut) || !g->count)
		return 0;
	uint64_t key = g->keying.key | 1;
	uint32_t known = find(site_places, key);
	if (known)
		return known;
	g->stack.whole = givers < GIVERS_MOST;
	for (uint32_t i = 0; g->stack.whole && i < g->count; i++)
		g->stack.whole = keep_frame(&g->stack, &g->frames[i]);
	if (add_site(area, &g->stack, cut)) {
		publish_site(area, &g->stack, key);
		givers++;
	}
	return g->stack.site;
}

static void vote(struct tf_site *of, uint32_t giver)
{
	of->answers++;
	if (of->giver == giver) {
		of->majority++;
	} else if (of->majority) {
		of->majority--;
	} else {
		of->giver = giver;
		of->majority = 1;
	}
}

/* In a quiet section, on a stack of ours. */
static void look_at_giver(void *p)
{
	const struct look *l = p;
	struct giver g;

	g.stack.record = l->record;
	g.stack.count = g.stack.site = g.count = 0;
	g.keying = (struct keying){.key = GIVER_KEY};
	spy_lock();
	struct tf_sites *area = sites_area();
	struct tf_site *of =
	        area ? tf_entry(&spy_map, &area->sites, l->site - 1, sizeof(*of)) : NULL;
	uint32_t site = of ? giver_site(area, &g) : 0;
	if (site)
		vote(of, site);
	spy_unlock();
}

/* At no regular distance: a step may make two calls of one site, for two lines. */
static bool is_looked_at(uint32_t site)
{
	uint32_t n =
	        __atomic_fetch_add(&site_calls[(site - 1) % TF_SITES_MAX], 1, __ATOMIC_RELAXED);

	return n < LOOKS_FIRST || stir(stir(GIVER_KEY, n), site) % LOOKS_EACH == 0;
}

/* The thread, which runs no Python, makes a call of this site. */
static void __attribute__((cold, noinline)) meanwhile(struct tf_record *r, uint32_t site)
{
	struct tf_sites *area = sites_area();

	if (!area || !is_looked_at(site))
		return;
	uint64_t start = spy_clock();
	struct floating_point theirs = floating_point_begin();
	bool may = may_make(area, start);
	floating_point_end(&theirs);
	if (!may)
		return;
	struct look l = {r, site};
	spy_do_own(look_at_giver, &l);
	__atomic_fetch_add(&new_ticks, spy_clock() - start, __ATOMIC_RELAXED);
}

/* ---- a call ---- */

static bool gives_work(const struct tf_record *r)
{
	switch (spy_call_rows[r->call].cls) {
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		return true;
	default:
		return false;
	}
}

static bool is_wanted(const struct tf_record *r)
{
	switch (spy_call_rows[r->call].cls) {
	case SPY_CLASS_SYNC:
	case SPY_CLASS_ALLOC:
	case SPY_CLASS_MODULE:
	case SPY_CLASS_GRAPH:
		return true;
	default:
		return gives_work(r);
	}
}

static uint32_t __attribute__((cold, noinline))
site_of_new(struct tf_record *r, const struct native_stack *native)
{
	struct tf_sites *area = sites_area();
	uint64_t start = spy_clock();
	uint32_t site = 0;

	if (!area)
		return 0;
	struct floating_point theirs = floating_point_begin();
	bool may = may_make(area, start);
	floating_point_end(&theirs);
	if (may) {
		site = site_slow(r, native);
		__atomic_fetch_add(&new_ticks, spy_clock() - start, __ATOMIC_RELAXED);
	}
	if (!site)
		__atomic_fetch_add(&area->lost, 1, __ATOMIC_RELAXED);
	return site;
}

uint64_t sites_call(struct tf_record *r, struct spy_caller caller)
{
	struct tf_thread *th = spy_tls.thread;
	struct native_stack native;
	struct sites_who who;
	int saved = errno;

	if (!site_places || !tf_header(&spy_map)->sites || !is_wanted(r) || spy_was_cut())
		return 0;
	native_walk(caller, &native);
	uint64_t key = key_of(r, &native, &who);
	uint32_t site = key ? find(site_places, key) : 0;
	if (unlikely(!site || python_wants_check()))
		site = site_of_new(r, &native);
	if (likely(site))
		tf_set_site(r, site);
	if (!who.name[0] && gives_work(r))
		python_gives();
	else if (site && who.name[0])
		meanwhile(r, site);
	uint64_t ticks = spy_clock() - r->end;
	spy_count(&th->site_ticks, ticks);
	errno = saved;
	return ticks;
}

/* ---- life ---- */

static void table(struct tf_table *t, uint32_t entry_bytes, uint32_t page_entries, uint32_t max)
{
	t->entry_bytes = entry_bytes;
	t->page_entries = page_entries;
	t->max = max;
}

void sites_start(void)
{
	struct tf_header *h = tf_header(&spy_map);
	uint64_t offset;

	if (spy_options.sites == TF_SITES_OFF)
		return;
	if (!site_places)
		site_places = make_places();
	if (!code_places)
		code_places = make_places();
	offset = site_places && code_places ? spy_map.alloc(&spy_map, sizeof(struct tf_sites)) : 0;
	struct tf_sites *area = tf_at(&spy_map, offset, sizeof(*area));
	if (!area)
		return;
	area->mode = spy_options.sites;
	table(&area->codes, sizeof(struct tf_code), 512, TF_CODES_MAX);
	table(&area->sites, sizeof(struct tf_site), 512, TF_SITES_MAX);
	table(&area->objects, sizeof(struct tf_object), 64, TF_OBJECTS_MAX);
	h->sites = offset;
	wants_scan = true;
}

/* In ticks, of which the rate is known well enough after a second. */
static void set_least(struct tf_sites *area)
{
	uint64_t ticks = 1u << 24, ns = clock_ns_of(ticks),
	         lived = clock_ns_of(spy_clock() - tf_header(&spy_map)->load);

	if (!ns || (area->least_ticks && lived > KNOWN_NS && least_known))
		return;
	least_known = lived > KNOWN_NS;
	uint64_t least = area->mode == TF_SITES_ALL ? 1 : LEAST_NS * ticks / ns;
	spy_gate_page.gate.site_from = least;
	/* Release: who sees it knows that the next call's stack is taken. */
	__atomic_store_n(&area->least_ticks, least, __ATOMIC_RELEASE);
}

void sites_beat(bool all)
{
	struct tf_sites *area = sites_area();

	if (!area)
		return;
	if (__atomic_exchange_n(&wants_scan, false, __ATOMIC_RELAXED) || all)
		objects_scan();
	files_look(area);
	area->python = python_state();
	area->python_version = python_version();
	set_least(area);
}

void sites_after_fork(void)
{
	/* Zeros again, without touching what the child may never need. */
	if (site_places)
		madvise(site_places, sizeof(*site_places), MADV_DONTNEED);
	if (code_places)
		madvise(code_places, sizeof(*code_places), MADV_DONTNEED);
	new_ticks = 0;
	givers = 0;
	least_known = false;
	python_after_fork();
	snapshots_after_fork();
	objects_after_fork();
	files_after_fork();
	native_after_fork();
}
