/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/sites_internal.h"

#include <errno.h>
#include <string.h>
#include "shim/base/clock.h"
#include "shim/base/gate.h"
#include "shim/core/options/options.h"
#include "shim/record/span.h"
#include "shim/sites/python.h"
#include "shim/sites/rows.h"
#include "shim/sites/snapshot.h"

/* Calls at least this long have their site taken: a stack then costs them a few per cent. */
#define LEAST_NS 5000u
#define KNOWN_NS 1000000000u

static bool wants_scan;  /* an address was met that no object has */
static bool least_known; /* that is, well */

struct tf_sites *sites_area(void)
{
	struct tf_header *h = spy_map.base ? tf_header(&spy_map) : NULL;

	return h && h->sites ? tf_at(&spy_map, h->sites, sizeof(struct tf_sites)) : NULL;
}

/* ---- a stack ---- */

/* 0: the stack could not be read. `who`: of a thread that is in no Python, or all 0. */
static uint64_t key_of(const struct tf_record *r, const struct native_stack *n,
                       struct sites_who *who)
{
	struct keying k = {.key = r->call + 1u};
	bool cut;

	for (uint32_t i = 0; i < n->count; i++)
		k.key = rows_stir(k.key, n->at[i]);
	who->name[0] = who->name[1] = who->range = 0;
	if (!python_walk(PYTHON_FRAMES_MOST, rows_add_to_key, &k, &cut))
		return 0;
	if (unlikely(!k.python) && python_state() == TF_PYTHON_READ) {
		sites_who(who);
		k.key = rows_stir(rows_stir(rows_stir(k.key, who->name[0]), who->name[1]),
		                  who->range);
	}
	return k.key | 1;
}

/* ---- a new site ---- */

struct new_stack {
	const struct tf_record *record;
	const struct native_stack *native;
	struct stack s;
};

static void make_site(struct new_stack *n)
{
	struct tf_sites *area = sites_area();
	struct stack *s = &n->s;
	uint64_t key;
	struct sites_who who;
	bool cut = false;

	for (uint32_t i = 0; i < n->native->count; i++)
		s->frames[s->count++] = n->native->at[i];
	key = key_of(n->record, n->native, &who);
	s->site = key ? rows_find(key) : 0;
	if (s->site) /* made meanwhile, or found once Python was */
		return;
	s->whole = key && python_walk(PYTHON_FRAMES_MOST, rows_keep_frame, s, &cut);
	struct tf_site *site = rows_add(area, s, n->record->call, cut || n->native->cut);
	if (!site)
		return;
	memcpy(site->thread, who.name, sizeof(site->thread));
	site->range = who.range;
	rows_publish(area, s, key);
}

/* In a quiet section, on a stack of ours. */
static void new_site(void *p)
{
	struct new_stack *n = p;

	if (!objects_have(n->native->at[0]))
		__atomic_store_n(&wants_scan, true, __ATOMIC_RELAXED);
	python_ready();
	spy_lock();
	make_site(n);
	spy_unlock();
}

static uint32_t __attribute__((cold, noinline))
site_slow(const struct tf_record *r, const struct native_stack *native)
{
	struct new_stack n;

	n.record = r;
	n.native = native;
	n.s.count = 0;
	n.s.site = 0;
	spy_do_own(new_site, &n);
	return n.s.site;
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
	if (rows_may_make(area, start)) {
		site = site_slow(r, native);
		rows_took(spy_clock() - start);
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

	if (!tf_header(&spy_map)->sites || !is_wanted(r) || spy_was_cut())
		return 0;
	native_walk(caller, &native);
	uint64_t key = key_of(r, &native, &who);
	uint32_t site = key ? rows_find(key) : 0;
	if (unlikely(!site || python_wants_check()))
		site = site_of_new(r, &native);
	if (likely(site))
		tf_set_site(r, site);
	if (!who.name[0] && gives_work(r))
		python_gives();
	else if (site && who.name[0])
		giver_look(site);
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
	offset = rows_start() ? spy_map.alloc(&spy_map, sizeof(struct tf_sites)) : 0;
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
	least_known = false;
	rows_after_fork();
	giver_after_fork();
	python_after_fork();
	snapshots_after_fork();
	objects_after_fork();
	files_after_fork();
	native_after_fork();
}
