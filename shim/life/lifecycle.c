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
#include "shim/hook/lookup.h"
#include "shim/core/options/options.h"
#include "shim/life/recording.h"
#include "shim/sampler/sampler.h"
#include "shim/core/format/seal.h"
#include "shim/life/storage.h"
#include "shim/base/sys.h"
#include "shim/record/thread.h"

#define PATIENCE_NS 100000000ull /* how long the calls of others wait for a recording to start */

enum phase {
	PHASE_WAITING, /* cuInit has not succeeded */
	PHASE_STARTING,
	PHASE_ON,
	PHASE_FORKED, /* in a forked child: starts at its first call */
	PHASE_OFF,    /* no recording to be had */
};

struct tf_map spy_map;
uint32_t spy_generation = 1;

static uint32_t phase;          /* enum phase; a futex */
static uint64_t start_until_ns; /* nobody waits longer for the start under way */
static uint64_t missed;         /* calls that returned during it, after that */
static struct lock lock;
static uint64_t forked_from, fork_tick;
static bool options_known;
static bool range_shut;         /* CUDASPY_RANGE keeps the gate shut */
static bool cut;                /* somebody cut the file short */
static bool exits_known;        /* atexit() and the like were called */
static bool wipes;              /* the kernel wipes the gate's page in a child */
static uint64_t own_pid;        /* of this process, or of the one it was forked from a moment ago */
static uint32_t map_generation; /* of the process that made spy_map */

/* Whether the recording is this process's own, and not its parent's. */
static bool is_mine(void)
{
	return map_generation == spy_generation && spy_gate_page.gate.mine == spy_generation;
}

void spy_lock(void)
{
	lock_take(&lock);
	if (is_mine() && tf_header(&spy_map)->closed)
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
	if (is_mine())
		add_to_header(&tf_header(&spy_map)->anomaly[what], 1);
}

void spy_lose_call(void)
{
	if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_STARTING)
		__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
	else if (is_mine())
		add_to_header(&tf_header(&spy_map)->lost_calls, 1);
}

bool spy_still_open(void)
{
	if (spy_tls.generation != spy_generation || !is_mine())
		return false;
	if (__atomic_load_n(&spy_gate_page.gate.live, __ATOMIC_RELAXED) == spy_generation)
		return true;
	if (spy_was_cut() || !tf_header(&spy_map)->closed)
		return false;
	seal_break(&spy_map);
	return true;
}

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

static void shut_gate(void)
{
	__atomic_store_n(&spy_gate_page.gate.open, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&spy_gate_page.gate.counter, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&spy_gate_page.gate.live, 0, __ATOMIC_SEQ_CST);
}

/* From here on every call takes the slow way, and breaks the seal. */
static void close_recording(struct tf_header *h)
{
	seal_begin(&spy_map);
	shut_gate();
	h->lost_calls += __atomic_exchange_n(&missed, 0, __ATOMIC_RELAXED);
	h->last_seen = spy_clock();
	if (!h->closed)
		h->closed = h->last_seen;
	__atomic_store_n(&h->state, TF_STATE_CLOSED, __ATOMIC_RELEASE);
	lock_take(&lock);
	seal_make(&spy_map, spy_tls.generation == spy_generation ? spy_tls.thread : NULL);
	lock_give(&lock);
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
	storage_publish();
	if (spy_was_cut() && storage_was_cut()) /* meanwhile */
		return;
	sum = sum_over_threads();
	if (!spy_options.quiet)
		spy_say("%s: %llu calls, %llu records lost; cudaspy report %s", storage_path(),
		        (unsigned long long)sum.calls, (unsigned long long)sum.lost,
		        storage_path());
}

static bool may_finish(void)
{
	return __atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_ON && is_mine() && !quiet_now();
}

/*
 * Runs before the handlers that the driver registered, the last point at which CUDA may be called.
 * Calls that come later (static destructors, other handlers) are still recorded: the mapping stays
 * for ever.
 */
static void at_exit(void)
{
	int saved = errno;

	if (may_finish())
		spy_do_own(finish, NULL);
	errno = saved;
}

static void finish_again(void *unused)
{
	close_recording(tf_header(&spy_map));
	storage_publish();
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

	/* The child of a vfork() has our memory, and another number. */
	if (!is_mine() || spy_was_cut() || __atomic_load_n(&phase, __ATOMIC_ACQUIRE) != PHASE_ON ||
	    h->closed || h->pid != sys_getpid())
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

void spy_cut_short(void)
{
	__atomic_store_n(&cut, true, __ATOMIC_RELEASE);
	shut_gate();
}

bool spy_was_cut(void)
{
	return __atomic_load_n(&cut, __ATOMIC_ACQUIRE);
}

/* ---- fork ---- */

/* In the child: nothing of the parent's may be written any more. */
static void become_child(void)
{
	uint32_t was = __atomic_load_n(&phase, __ATOMIC_RELAXED);

	if (was != PHASE_FORKED) /* else the parent never had a recording of its own */
		forked_from = own_pid;
	own_pid = sys_getpid();
	if (was == PHASE_WAITING || was == PHASE_OFF)
		return;
	spy_generation++;
	shut_gate();
	lock = (struct lock){0};
	spans_after_fork();
	storage_after_fork();
	thread_after_fork();
	sampler_after_fork();
	environment_after_fork_in_child();
	collector_after_fork();
	messages_after_fork();
	fork_tick = spy_clock();
	missed = 0;
	cut = false;
	__atomic_store_n(&phase, PHASE_FORKED, __ATOMIC_RELEASE);
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

static void open_gate(void)
{
	uint32_t counter = spy_clock_is_counter() ? spy_generation : 0;

	range_shut = spy_options.range != TF_RANGE_ALL;
	spy_gate_page.gate.live = spy_generation;
	spy_gate_page.gate.counter = counter;
	/* Release: a thread that finds the gate open finds the recording. */
	__atomic_store_n(&phase, PHASE_ON, __ATOMIC_RELEASE);
	__atomic_store_n(&spy_gate_page.gate.open, range_shut ? 0 : counter, __ATOMIC_RELEASE);
	tf_header(&spy_map)->lost_calls += __atomic_exchange_n(&missed, 0, __ATOMIC_RELAXED);
}

static bool make_recording(uint64_t load_tick, uint64_t parent)
{
	if (!storage_create())
		return false;
	map_generation = spy_generation;
	if (!recording_fill(load_tick, parent)) {
		storage_discard();
		return false;
	}
	storage_say_limits();
	thread_init();
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
	open_gate();
	if (!collector_start())
		spy_count_anomaly(SPY_ANOMALY_COLLECTOR);
	environment_start();
	return true;
}

/* The phase is PHASE_STARTING, set by the caller. */
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
	__atomic_store_n(&phase, PHASE_OFF, __ATOMIC_RELEASE);
}

static bool start_from(uint32_t expected)
{
	bool forked = expected == PHASE_FORKED, ours;

	/* The one thread that starts is not interrupted: its handlers, too, would find no start
	 * done. */
	quiet_begin();
	__atomic_store_n(&start_until_ns, clock_monotonic_ns() + PATIENCE_NS, __ATOMIC_RELAXED);
	ours = __atomic_compare_exchange_n(&phase, &expected, PHASE_STARTING, false,
	                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	if (ours) {
		spy_do_own(start_recording, &forked);
		sys_futex_wake(&phase, INT_MAX);
	}
	quiet_end();
	return ours && __atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_ON;
}

bool spy_start(void)
{
	int saved = errno;
	bool ok = start_from(PHASE_WAITING);

	errno = saved;
	return ok;
}

bool spy_started(void)
{
	return __atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_ON;
}

bool spy_starting(void)
{
	return __atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_STARTING;
}

/* Where it takes too long (a slow disk, the loader's lock held by who waits here) the calls of
 * others go on unrecorded, and are told as lost. */
static void wait_for_start(void)
{
	uint64_t until = __atomic_load_n(&start_until_ns, __ATOMIC_RELAXED), now;

	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_STARTING &&
	       (now = clock_monotonic_ns()) < until)
		sys_futex_wait(&phase, PHASE_STARTING, until - now);
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
	pthread_atfork(environment_before_fork, environment_after_fork_in_parent,
	               after_fork_in_child);
}

enum spy_answer spy_ask(bool may_wait)
{
	if (unlikely(!spy_load_clock.tick))
		first_look();
	if (unlikely(spy_gate_page.gate.mine != spy_generation))
		after_bare_clone();
	if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == PHASE_FORKED)
		start_from(PHASE_FORKED);
	if (may_wait)
		wait_for_start();
	switch (__atomic_load_n(&phase, __ATOMIC_ACQUIRE)) {
	case PHASE_ON:
		if (spy_was_cut())
			return SPY_NEVER;
		if (tf_header(&spy_map)->closed)
			seal_break(&spy_map);
		return range_shut ? SPY_OUT_OF_RANGE : SPY_ON;
	case PHASE_OFF:
		return SPY_NEVER;
	default:
		return SPY_NOT_YET;
	}
}

bool spy_too_late(int result)
{
	if (result != TF_TOO_LATE || !is_mine() || !tf_header(&spy_map)->closed)
		return false;
	add_to_header(&tf_header(&spy_map)->too_late_calls, 1);
	return true;
}

bool spy_in_range(void)
{
	return !range_shut;
}

void spy_window_begins(unsigned call, uint64_t ticks, uint64_t now)
{
	struct tf_header *h = tf_header(&spy_map);
	struct tf_thread *th = spy_tls.thread;

	/* What this thread did so far was start-up: this one call, and what it contained. */
	memset(th->self_adjust, 0, sizeof(th->self_adjust));
	th->self_adjust[spy_call_rows[call].cls] = -(int64_t)ticks;
	h->first_call = call + 1;
	h->first_call_ticks = ticks;
	__atomic_store_n(&h->window_start, now, __ATOMIC_RELEASE);
}

void spy_range_open(bool open)
{
	if (!spy_started() || !is_mine() || spy_gate_page.gate.live != spy_generation)
		return;
	struct tf_header *h = tf_header(&spy_map);
	if (open && !h->range_from)
		h->range_from = h->window_start = spy_clock();
	else if (!open)
		h->range_to = spy_clock();
	range_shut = !open;
	__atomic_store_n(&spy_gate_page.gate.open, open ? spy_gate_page.gate.counter : 0,
	                 __ATOMIC_RELEASE);
}

/* Only an early start: other libraries' constructors run before it and may call CUDA, so nothing
 * depends on it. */
static void __attribute__((constructor)) at_load(void)
{
	int saved = errno;

	lookup_at_load();
	leaving_init(); /* leaves nothing in dlerror() */
	first_look();
	errno = saved;
}
