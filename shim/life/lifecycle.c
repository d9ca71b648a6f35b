/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/lifecycle.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include "shim/life/bus_error.h"
#include "shim/life/collector.h"
#include "shim/cupti/cupti.h"
#include "shim/nvml/nvml_environment.h"
#include "shim/life/leaving.h"
#include "shim/base/lock.h"
#include "shim/real/real.h"
#include "shim/core/options/options.h"
#include "shim/life/recording.h"
#include "shim/sampler/sampler.h"
#include "shim/base/fork_apart.h"
#include "shim/core/format/seal.h"
#include "shim/sites/sites.h"
#include "shim/life/storage.h"
#include "shim/base/sys.h"
#include "shim/record/thread.h"

#define PATIENCE_NS 100000000ull /* how long the calls of others wait for a recording to start */

static uint64_t start_until_ns; /* nobody waits longer for the start under way */
static uint64_t forked_from, fork_tick;
static bool options_known;
static bool exits_known; /* atexit() and the like were called */
static bool wipes;       /* the kernel wipes the gate's page in a child */
static uint64_t own_pid; /* of this process, or of the one it was forked from a moment ago */

/* ---- the end ---- */

struct over_threads {
	uint64_t calls, lost, last_return;
};

static struct over_threads sum_over_threads(void)
{
	struct tf_header *h = tf_header(&spy_map);
	struct over_threads sum = {0};

	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(&spy_map, &h->threads, i, sizeof(*at));
		const struct tf_thread *th = at ? tf_at(&spy_map, *at, h->thread_bytes) : NULL;
		if (!th)
			continue;
		sum.lost += th->lost;
		for (unsigned c = 0; c < SPY_CALLS; c++)
			sum.calls += th->calls[c].calls;
		if (th->last_return > sum.last_return)
			sum.last_return = th->last_return;
	}
	return sum;
}

/* From here on every call takes the slow way, and breaks the seal. */
static void close_recording(struct tf_header *h)
{
	seal_begin(&spy_map);
	if (!collector_is_still()) /* it is held up somewhere, and goes on when nobody knows */
		seal_break(&spy_map);
	gate_shut();
	gate_add_missed();
	h->last_seen = spy_clock();
	if (!h->closed)
		h->closed = h->last_seen;
	__atomic_store_n(&h->state, TF_STATE_CLOSED, __ATOMIC_RELEASE);
	gate_lock_bare();
	seal_make(&spy_map, spy_tls.generation == spy_generation ? spy_tls.thread : NULL);
	gate_unlock_bare();
}

static void say_where(void)
{
	const char *rest = storage_is_gone();
	struct over_threads sum = sum_over_threads();
	unsigned long long calls = sum.calls, lost = sum.lost;

	if (!rest)
		spy_say("%s: %llu calls, %llu records lost; cudaspy report %s", storage_path(),
		        calls, lost, storage_path());
	else
		spy_say("%s was removed, moved or replaced by another program%s%s; it has %llu "
		        "calls",
		        storage_path(), *rest ? ": the recording stays in " : "", rest, calls);
}

static void finish(void *unused)
{
	struct tf_header *h = tf_header(&spy_map);
	struct over_threads sum = sum_over_threads();

	h->exit_return = sum.last_return;
	h->exit_calls = sum.calls;
	environment_last_begins();
	sampler_finish();
	collector_finish();
	environment_last_ends();
	if (storage_was_cut())
		return;
	close_recording(h);
	storage_publish(collector_is_still());
	if (spy_was_cut() && storage_was_cut()) /* meanwhile */
		return;
	if (!spy_options.quiet || storage_is_gone())
		say_where();
}

/* The child of a vfork() has our memory, and another number: its end is none of ours. */
static bool is_this_process(void)
{
	return tf_header(&spy_map)->pid == sys_getpid();
}

static bool may_finish(void)
{
	return gate_phase() == SPY_PHASE_ON && gate_is_mine() && !quiet_now() && is_this_process();
}

/*
 * Runs before the handlers that the driver registered, the last point at which CUDA may be called.
 * Calls that come later (static destructors, other handlers) are still recorded: the mapping stays
 * for ever.
 */
static void at_exit(void)
{
	int saved = errno;

	if (may_finish()) {
		/* Another thread that calls exit() finds no handlers left, and ends the process. */
		spy_leaves(TF_LEFT_HANDLERS);
		spy_do_own(finish, NULL);
	}
	errno = saved;
}

static void finish_again(void *unused)
{
	close_recording(tf_header(&spy_map));
	storage_publish(collector_is_still());
}

static void __attribute__((destructor)) at_unload(void)
{
	if (may_finish() && !spy_was_cut() && tf_header(&spy_map)->closed)
		spy_do_own(finish_again, NULL);
}

static void at_quick_end(void)
{
	spy_leaves(TF_LEFT_QUICK_EXIT);
}

bool spy_leaves(unsigned how)
{
	struct tf_header *h = tf_header(&spy_map);

	if (!gate_is_mine() || spy_was_cut() || gate_phase() != SPY_PHASE_ON || h->closed ||
	    !is_this_process())
		return false;
	h->left_by = how;
	/* Release: who sees the tick sees what it was. */
	__atomic_store_n(&h->left, spy_clock(), __ATOMIC_RELEASE);
	return true;
}

void spy_stays(void)
{
	__atomic_store_n(&tf_header(&spy_map)->left, 0, __ATOMIC_RELEASE);
}

/* ---- fork ---- */

/* In the child: nothing of the parent's may be written any more. */
static void become_child(void)
{
	uint32_t was = __atomic_load_n(&gate_phase_word, __ATOMIC_RELAXED);

	if (was != SPY_PHASE_FORKED) /* else the parent never had a recording of its own */
		forked_from = own_pid;
	own_pid = sys_getpid();
	if (was == SPY_PHASE_WAITING || was == SPY_PHASE_OFF)
		return;
	fork_apart_after_in_child();
	gate_after_fork();
	spans_after_fork();
	storage_after_fork();
	thread_after_fork();
	sampler_after_fork();
	sites_after_fork();
	environment_after_fork_in_child();
	collector_after_fork();
	messages_after_fork();
	fork_tick = spy_clock();
	__atomic_store_n(&gate_phase_word, SPY_PHASE_FORKED, __ATOMIC_RELEASE);
}

static void after_fork_in_child(void)
{
	/* A handler of the program's that called CUDA was before us: we know already. */
	if (wipes ? spy_gate_page.gate.mine != 0 : own_pid == sys_getpid())
		return;
	become_child();
	__atomic_store_n(&spy_gate_page.gate.mine, spy_generation, __ATOMIC_RELEASE);
}

/*
 * The page was wiped and no handler ran: a child made by _Fork() or a raw clone(). Whichever of its
 * threads comes first makes it a process of its own; what the parent's threads held is held for
 * ever.
 */
static void after_bare_clone(void)
{
	static const uint32_t busy = UINT32_MAX;
	uint32_t nobody = 0;

	if (__atomic_compare_exchange_n(&spy_gate_page.gate.mine, &nobody, busy, false,
	                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		become_child();
		__atomic_store_n(&spy_gate_page.gate.mine, spy_generation, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&spy_gate_page.gate.mine, __ATOMIC_ACQUIRE) == busy)
		sched_yield();
}

/* ---- the start ---- */

static bool make_recording(uint64_t load_tick, uint64_t parent)
{
	if (!storage_create())
		return false;
	gate_take_map();
	if (!recording_fill(load_tick, parent)) {
		storage_discard();
		return false;
	}
	storage_say_limits();
	thread_init();
	sites_start();
	recording_describe_driver();
	cupti_started();
	tf_header(&spy_map)->gpu_mode = sampler_start(spy_options.gpu);
	if (!exits_known) {
		exits_known = true;
		atexit(at_exit);
		at_quick_exit(at_quick_end);
	}
	bus_error_watch();
	if (parent)
		tf_header(&spy_map)->window_start = fork_tick;
	gate_open();
	if (!collector_start())
		spy_count_anomaly(SPY_ANOMALY_COLLECTOR);
	environment_start();
	return true;
}

/* The phase is SPY_PHASE_STARTING, set by the caller. */
static void start_recording(void *p)
{
	bool forked = *(bool *)p;

	if (!options_known)
		options_read();
	options_known = true;
	spy_options.gpu = cupti_mode(spy_options.gpu);
	/* A set-user-id program's files are not ours to make. */
	if (!getauxval(AT_SECURE) &&
	    make_recording(forked ? fork_tick : spy_load_clock.tick, forked ? forked_from : 0))
		return;
	cupti_not_started();
	__atomic_store_n(&gate_phase_word, SPY_PHASE_OFF, __ATOMIC_RELEASE);
}

static bool start_from(enum spy_phase phase)
{
	uint32_t expected = phase;
	bool forked = phase == SPY_PHASE_FORKED, ours;

	/* The one thread that starts is not interrupted: its handlers, too, would find no start
	 * done. */
	quiet_begin();
	__atomic_store_n(&start_until_ns, clock_monotonic_ns() + PATIENCE_NS, __ATOMIC_RELAXED);
	ours = __atomic_compare_exchange_n(&gate_phase_word, &expected, SPY_PHASE_STARTING, false,
	                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	if (ours) {
		spy_do_own(start_recording, &forked);
		sys_futex_wake(&gate_phase_word, INT_MAX);
	}
	quiet_end();
	return ours && gate_phase() == SPY_PHASE_ON;
}

/* Where it takes too long (a slow disk, the loader's lock held by who waits here) the calls of
 * others go on unrecorded, and are told as lost. */
static void wait_for_start(void)
{
	uint64_t until = __atomic_load_n(&start_until_ns, __ATOMIC_RELAXED), now;

	while (gate_phase() == SPY_PHASE_STARTING && (now = clock_monotonic_ns()) < until)
		sys_futex_wait(&gate_phase_word, SPY_PHASE_STARTING, until - now);
}

/* By our constructor, or by a call that a library's constructor makes before ours runs. */
static void first_look(void)
{
	if (spy_load_clock.tick)
		return;
	options_read_clock();
	clock_choose(!spy_options.no_counter);
	spy_load_clock = clock_triple(5);
	wipes = !madvise(&spy_gate_page, sizeof(spy_gate_page), MADV_WIPEONFORK);
	own_pid = sys_getpid();
	spy_gate_page.gate.mine = spy_generation;
	messages_first_look();
	cupti_first_look();
	pthread_atfork(fork_apart_before, fork_apart_after_in_parent, after_fork_in_child);
}

static const struct gate_life life = {
        .first_look = first_look,
        .after_bare_clone = after_bare_clone,
        .start = start_from,
        .wait_for_start = wait_for_start,
        .thread_died = sampler_thread_died,
        .slot_taken = sampler_slot_taken,
        .call_site = sites_call,
};
GATE_REGISTER(life);

/* Only an early start: other libraries' constructors run before it and may call CUDA, so nothing
 * depends on it. */
static void __attribute__((constructor)) at_load(void)
{
	int saved = errno;

	real_at_load();
	leaving_init(); /* leaves nothing in dlerror() */
	first_look();
	errno = saved;
}
