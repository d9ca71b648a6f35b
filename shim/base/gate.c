/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/gate.h"

#include <errno.h>
#include "shim/base/clock.h"
#include "shim/base/lock.h"
#include "shim/core/format/seal.h"
#include "shim/core/options/options.h"

union spy_gate_page spy_gate_page __attribute__((aligned(4096)));
/* tests/gpu/sites_turns.py switches call sites off and on there. */
_Static_assert(offsetof(struct spy_gate, site_from) == 32, "site_from");
struct tf_map spy_map;
uint32_t spy_generation = 1;
uint32_t gate_phase_word;

/* Made by the linker out of GATE_REGISTER(). */
extern const struct gate_life *const __start_spy_life[] __attribute__((visibility("hidden")));
#define LIFE (__start_spy_life[0])

static uint64_t missed; /* calls that returned while a recording was made, and waited too long */
static struct lock lock;
static bool range_shut;         /* CUDASPY_RANGE keeps the gate shut */
static bool cut;                /* somebody cut the file short */
static uint32_t map_generation; /* of the process that made spy_map */

/* 0 until the loader has filled in the threads' data, when the C library cannot be used yet: the
 * resolver of an indirect function runs then, and may call CUDA. Volatile: nobody stores it. */
static __thread volatile unsigned char loaded __attribute__((tls_model("initial-exec"))) = 1;

enum spy_phase gate_phase(void)
{
	return (enum spy_phase)__atomic_load_n(&gate_phase_word, __ATOMIC_ACQUIRE);
}

void gate_take_map(void)
{
	map_generation = spy_generation;
}

bool gate_is_mine(void)
{
	return map_generation == spy_generation && spy_gate_page.gate.mine == spy_generation;
}

/* ---- the lock, and what is counted in the header ---- */

void gate_lock_bare(void)
{
	lock_take(&lock);
}

void gate_unlock_bare(void)
{
	lock_give(&lock);
}

void spy_lock(void)
{
	lock_take(&lock);
	if (gate_is_mine() && tf_header(&spy_map)->closed)
		seal_break(&spy_map);
}

void spy_unlock(void)
{
	lock_give(&lock);
}

static void add_to_header(uint64_t *counter, uint64_t by)
{
	if (tf_header(&spy_map)->closed)
		seal_break(&spy_map);
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

void spy_count_anomaly(enum spy_anomaly what)
{
	if (gate_is_mine())
		add_to_header(&tf_header(&spy_map)->anomaly[what], 1);
}

void spy_lose_call(void)
{
	if (gate_phase() == SPY_PHASE_STARTING)
		__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
	else if (gate_is_mine())
		add_to_header(&tf_header(&spy_map)->lost_calls, 1);
}

void gate_add_missed(void)
{
	tf_header(&spy_map)->lost_calls += __atomic_exchange_n(&missed, 0, __ATOMIC_RELAXED);
}

bool spy_too_late(int result)
{
	if (result != TF_TOO_LATE || !gate_is_mine() || !tf_header(&spy_map)->closed)
		return false;
	add_to_header(&tf_header(&spy_map)->too_late_calls, 1);
	return true;
}

/* ---- open and shut ---- */

void gate_open(void)
{
	uint32_t counter = spy_clock_is_counter() ? spy_generation : 0;

	spy_gate_page.gate.site_all = spy_options.sites == TF_SITES_ALL;
	range_shut = spy_options.range != TF_RANGE_ALL;
	spy_gate_page.gate.live = spy_generation;
	spy_gate_page.gate.counter = counter;
	/* Release: a thread that finds the gate open finds the recording. */
	__atomic_store_n(&gate_phase_word, SPY_PHASE_ON, __ATOMIC_RELEASE);
	__atomic_store_n(&spy_gate_page.gate.open,
	                 range_shut || spy_gate_page.gate.site_all ? 0 : counter, __ATOMIC_RELEASE);
	gate_add_missed();
}

void gate_shut(void)
{
	__atomic_store_n(&spy_gate_page.gate.open, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&spy_gate_page.gate.counter, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&spy_gate_page.gate.live, 0, __ATOMIC_SEQ_CST);
}

void gate_after_fork(void)
{
	spy_generation++;
	gate_shut();
	lock = (struct lock){0};
	missed = 0;
	cut = false;
}

bool gate_reopens(void)
{
	if (__atomic_load_n(&spy_gate_page.gate.live, __ATOMIC_RELAXED) == spy_generation)
		return true;
	if (spy_was_cut() || !tf_header(&spy_map)->closed)
		return false;
	seal_break(&spy_map);
	return true;
}

void spy_cut_short(void)
{
	__atomic_store_n(&cut, true, __ATOMIC_RELEASE);
	gate_shut();
}

bool spy_was_cut(void)
{
	return __atomic_load_n(&cut, __ATOMIC_ACQUIRE);
}

bool spy_in_range(void)
{
	return !range_shut;
}

void spy_range_open(bool open)
{
	if (!spy_started() || !gate_is_mine() || spy_gate_page.gate.live != spy_generation)
		return;
	struct tf_header *h = tf_header(&spy_map);
	if (open && !h->range_from) {
		h->range_from = spy_clock();
		/* Release: with the window there is the range. */
		__atomic_store_n(&h->window_start, h->range_from, __ATOMIC_RELEASE);
	} else if (!open) {
		h->range_to = spy_clock();
	}
	range_shut = !open;
	__atomic_store_n(&spy_gate_page.gate.open,
	                 open && !spy_gate_page.gate.site_all ? spy_gate_page.gate.counter : 0,
	                 __ATOMIC_RELEASE);
}

void gate_slot_taken(uint16_t index)
{
	LIFE->slot_taken(index);
}

void gate_thread_died(void)
{
	LIFE->thread_died();
}

uint64_t gate_call_site(struct tf_record *r, struct spy_caller caller)
{
	return LIFE->call_site(r, caller);
}

/* ---- questions ---- */

bool spy_started(void)
{
	return gate_phase() == SPY_PHASE_ON;
}

bool spy_starting(void)
{
	return gate_phase() == SPY_PHASE_STARTING;
}

bool spy_start(void)
{
	int saved = errno;
	bool ok = loaded && LIFE->start(SPY_PHASE_WAITING);

	errno = saved;
	return ok;
}

enum spy_answer spy_ask(bool may_wait)
{
	if (!loaded)
		return SPY_NOT_YET;
	if (__builtin_expect(!spy_load_clock.tick, 0))
		LIFE->first_look();
	if (__builtin_expect(spy_gate_page.gate.mine != spy_generation, 0))
		LIFE->after_bare_clone();
	if (gate_phase() == SPY_PHASE_FORKED)
		LIFE->start(SPY_PHASE_FORKED);
	if (may_wait && gate_phase() == SPY_PHASE_STARTING)
		LIFE->wait_for_start();
	switch (gate_phase()) {
	case SPY_PHASE_ON:
		if (spy_was_cut())
			return SPY_NEVER;
		if (tf_header(&spy_map)->closed)
			seal_break(&spy_map);
		return range_shut ? SPY_OUT_OF_RANGE : SPY_ON;
	case SPY_PHASE_OFF:
		return SPY_NEVER;
	default:
		return SPY_NOT_YET;
	}
}
