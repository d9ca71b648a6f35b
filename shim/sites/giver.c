/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the thread of Python is that one without Python works for, as JAX's that read a result do:
 * looked at while that one makes a call.
 */
#include "shim/sites/sites_internal.h"

#include "shim/base/clock.h"
#include "shim/base/gate.h"
#include "shim/core/format/python_file.h"
#include "shim/record/span.h"
#include "shim/sites/python.h"
#include "shim/sites/rows.h"

/* Of a site's calls it is looked at the first ones, then at fewer and fewer: about the root of
 * their number, one of so many in the end. A look stands for as many as it is one of. */
#define LOOKS_EACH 64u
#define ROWS_MOST  1024u /* for stacks that are found */
#define KEY        0x61c8864680b583ebu

static uint32_t site_calls[TF_SITES_MAX]; /* by site; relaxed: about */
static uint32_t rows;                     /* made; under the shim's lock */

struct giver_call {
	uint32_t site;
	uint32_t stands_for; /* calls */
};

struct look { /* what is found */
	struct stack stack;
	struct python_frame frames[PYTHON_FRAMES_MOST];
	uint32_t count;
};

static bool take_frame(void *context, const struct python_frame *frame)
{
	struct look *l = context;

	l->frames[l->count++] = *frame;
	return true;
}

/* Whether it is in a library's code. Under the shim's lock. */
static bool is_library(struct tf_sites *area, const struct python_frame *frame)
{
	int64_t number = rows < ROWS_MOST ? rows_code(area, frame) : rows_find_code(frame);
	const struct tf_code *code =
	        number < 0 ? NULL
	                   : tf_entry(&spy_map, &area->codes, (uint32_t)number, sizeof(*code));

	return code &&
	       python_file_is_library(code->file ? tf_text(&spy_map, code->file, NULL) : NULL);
}

/* The row of the stack that was found, made if need be; 0: there is no room. It begins at the
 * innermost frame that is no library's: where in a library it waits is now here, now there. Under
 * the shim's lock. */
static uint32_t row_of(struct tf_sites *area, struct look *l, uint16_t call, bool cut)
{
	struct keying k = {.key = KEY};
	uint32_t own = 0;

	while (own < l->count && is_library(area, &l->frames[own]))
		own++;
	if (own == l->count)
		own = 0;
	for (uint32_t i = own; i < l->count; i++)
		rows_add_to_key(&k, &l->frames[i]);
	uint64_t key = k.key | 1;
	uint32_t known = rows_find(key);
	if (known)
		return known;
	l->stack.whole = rows < ROWS_MOST;
	for (uint32_t i = own; l->stack.whole && i < l->count; i++)
		l->stack.whole = rows_keep_frame(&l->stack, &l->frames[i]);
	if (rows_add(area, &l->stack, call, cut)) {
		rows_publish(area, &l->stack, key);
		rows++;
	}
	return l->stack.site;
}

static void add(uint32_t *to, uint32_t calls)
{
	if (__builtin_add_overflow(*to, calls, to))
		*to = UINT32_MAX;
}

/* `site` 0: one that has no row. */
static void vote(struct tf_site *of, uint32_t site, uint32_t calls)
{
	struct tf_giver *least = &of->giver[0];

	of->looks += of->looks < UINT8_MAX;
	add(&of->answers, calls);
	for (int i = 0; i < TF_GIVERS; i++) {
		struct tf_giver *g = &of->giver[i];
		if (g->votes && g->site == site) {
			add(&g->votes, calls);
			return;
		}
		if (g->votes < least->votes)
			least = g;
	}
	if (!site)
		return;
	uint32_t taken = least->votes < calls ? least->votes : calls;
	for (int i = 0; i < TF_GIVERS; i++)
		of->giver[i].votes -= taken;
	if (calls > taken)
		*least = (struct tf_giver){site, calls - taken};
}

/* In a quiet section, on a stack of ours. */
static void look(void *p)
{
	const struct giver_call *call = p;
	struct look l;
	bool cut;

	l.stack.count = l.stack.site = l.count = 0;
	spy_lock();
	struct tf_sites *area = sites_area();
	struct tf_site *of =
	        area ? tf_entry(&spy_map, &area->sites, call->site - 1, sizeof(*of)) : NULL;
	if (of && python_walk_giver(PYTHON_FRAMES_MOST, take_frame, &l, &cut) && l.count)
		vote(of, row_of(area, &l, of->call, cut), call->stands_for);
	spy_unlock();
}

/* How many calls a look at this one stands for; 0: it is not looked. At no regular distance: a step
 * may make two calls of one site, for two lines. */
static uint32_t stands_for(uint32_t site)
{
	uint32_t n =
	        __atomic_fetch_add(&site_calls[(site - 1) % TF_SITES_MAX], 1, __ATOMIC_RELAXED);
	uint32_t root = n < 4 ? 1 : 1u << (31 - __builtin_clz(n)) / 2; /* a power of two near it */
	uint32_t each = root < LOOKS_EACH ? root : LOOKS_EACH;

	return rows_stir(rows_stir(KEY, n), site) % each ? 0 : each;
}

void __attribute__((cold, noinline)) giver_look(uint32_t site)
{
	struct tf_sites *area = sites_area();
	struct giver_call call = {site, area ? stands_for(site) : 0};

	if (!call.stands_for)
		return;
	uint64_t start = spy_clock();
	if (!rows_may_make(area, start))
		return;
	spy_do_own(look, &call);
	rows_took(spy_clock() - start);
}

void giver_after_fork(void)
{
	rows = 0;
}
