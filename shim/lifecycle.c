#include "shim/lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include "shim/collector.h"
#include "shim/cupti.h"
#include "shim/environment.h"
#include "shim/guard.h"
#include "shim/lock.h"
#include "shim/lookup.h"
#include "shim/options.h"
#include "shim/recording.h"
#include "shim/sampler.h"
#include "shim/seal.h"
#include "shim/storage.h"
#include "shim/thread.h"

#define MESSAGES_MOST 20

enum phase {
	PHASE_WAITING, /* cuInit has not succeeded */
	PHASE_STARTING,
	PHASE_ON,
	PHASE_FORKED, /* in a forked child: starts at its first call */
	PHASE_OFF,    /* no recording to be had */
};

struct tf_map spy_map;
uint32_t spy_generation = 1;
struct tf_clock_triple spy_load_clock;

static uint32_t phase; /* enum phase */
static struct spy_spin lock;
static struct spy_spin newborn; /* in a child made by a raw clone(), until it is its own */
static uint64_t forked_from, fork_tick;
static bool range_shut; /* CUDASPY_RANGE keeps the gate shut */
static uint32_t messages;
static uint64_t stderr_device, stderr_inode;
static bool stderr_open; /* when we were loaded */
static bool hooks_made;

void spy_lock(void)
{
	spin_lock(&lock);
	if (spy_map.base && tf_header(&spy_map)->closed)
		seal_break(&spy_map);
}

void spy_unlock(void)
{
	spin_unlock(&lock);
}

/* ---- messages ---- */

void spy_say(const char *format, ...)
{
	char line[1024];
	int saved = errno;
	uint64_t device, inode;
	va_list args;

	if (__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED) >= MESSAGES_MOST)
		return;
	/* A program that has no stderr, or closed it, may have got its number for a file of its
	 * own. */
	if (!stderr_open || !file_identity(STDERR_FILENO, &device, &inode) ||
	    device != stderr_device || inode != stderr_inode)
		return;
	int n = snprintf(line, sizeof(line), "cudaspy: ");
	va_start(args, format);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	n = m < 0 ? n : n + m < (int)sizeof(line) - 1 ? n + m : (int)sizeof(line) - 2;
	for (int i = 0; i < n;
	     i++) /* paths and values are not ours: nothing that a terminal would obey */
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[n] = '\n';
	struct guard guard;
	guard_begin(&guard);
	ssize_t written = write(STDERR_FILENO, line, (size_t)n + 1);
	(void)written; /* perhaps nobody is there to read it */
	guard_end(&guard);
	errno = saved;
}

void spy_count_trouble(enum spy_trouble what)
{
	if (spy_map.base)
		__atomic_fetch_add(&tf_header(&spy_map)->trouble[what], 1, __ATOMIC_RELAXED);
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

/* From here on every call takes the slow way in, and breaks the seal. */
static void close_recording(struct tf_header *h)
{
	seal_begin(&spy_map);
	__atomic_store_n(&spy_gate_page.gate.open, 0, __ATOMIC_SEQ_CST);
	h->last_seen = spy_clock();
	if (!h->closed)
		h->closed = h->last_seen;
	__atomic_store_n(&h->state, TF_STATE_CLOSED, __ATOMIC_RELEASE);
	spin_lock(&lock);
	seal_make(&spy_map);
	spin_unlock(&lock);
}

/*
 * Runs before the handlers that the driver registered, the last point at which CUDA may be called.
 * Calls that come later (static destructors, other handlers) are still recorded: the mapping stays
 * for ever.
 */
static void at_exit(void)
{
	if (phase != PHASE_ON || !spy_gate_page.gate.alive)
		return;
	int saved = errno;
	struct tf_header *h = tf_header(&spy_map);
	struct over_threads sum = sum_over_threads();
	h->exit_return = sum.last_return;
	h->exit_calls = sum.calls;
	environment_last_begins();
	sampler_finish();
	collector_finish();
	environment_last_ends();
	close_recording(h);
	storage_publish();
	sum = sum_over_threads();
	if (!spy_options.quiet)
		spy_say("%s: %llu calls, %llu records lost; cudaspy report %s", storage_path(),
		        (unsigned long long)sum.calls, (unsigned long long)sum.lost,
		        storage_path());
	errno = saved;
}

static void __attribute__((destructor)) at_unload(void)
{
	if (phase != PHASE_ON || !spy_gate_page.gate.alive)
		return;
	close_recording(tf_header(&spy_map));
	storage_publish();
}

/* ---- fork ---- */

/* In the child, by pthread_atfork() or at its first call: nothing of the parent's may be written
 * any more. */
static void become_child(uint64_t parent, uint64_t tick)
{
	spy_generation++;
	spy_gate_page.gate.open = 0;
	spy_gate_page.gate.alive = 0;
	lock.taken = 0;
	storage_after_fork();
	thread_after_fork();
	sampler_after_fork();
	environment_after_fork_in_child();
	collector_after_fork();
	messages = 0;
	forked_from = parent;
	fork_tick = tick;
	if (phase == PHASE_ON || phase == PHASE_STARTING)
		phase = PHASE_FORKED;
}

static void after_fork_in_child(void)
{
	uint64_t parent = spy_map.base ? tf_header(&spy_map)->pid : 0;

	if (phase != PHASE_WAITING && phase != PHASE_OFF)
		become_child(phase == PHASE_FORKED ? forked_from : parent, spy_clock());
}

/* ---- the start ---- */

static void open_gate(void)
{
	madvise(&spy_gate_page, sizeof(spy_gate_page), MADV_WIPEONFORK);
	spy_gate_page.gate.alive = 1;
	spy_gate_page.gate.counter = (uint32_t)spy_clock_is_counter();
	range_shut = spy_options.range != TF_RANGE_ALL;
	/* Release: a thread that finds the gate open finds the recording. */
	__atomic_store_n(&phase, PHASE_ON, __ATOMIC_RELEASE);
	__atomic_store_n(&spy_gate_page.gate.open, !range_shut && spy_clock_is_counter(),
	                 __ATOMIC_RELEASE);
}

static bool make_recording(uint64_t load_tick, uint64_t parent)
{
	if (!storage_create())
		return false;
	if (!recording_fill(load_tick, parent)) {
		storage_discard();
		return false;
	}
	thread_init();
	recording_describe_driver();
	cupti_started();
	tf_header(&spy_map)->gpu_mode = sampler_start(spy_options.gpu);
	if (!hooks_made) {
		hooks_made = true;
		pthread_atfork(environment_before_fork, environment_after_fork_in_parent,
		               after_fork_in_child);
		atexit(at_exit);
	}
	open_gate();
	if (!collector_start())
		spy_count_trouble(SPY_TROUBLE_COLLECTOR);
	environment_start();
	return true;
}

static bool start_from(uint32_t expected)
{
	/* Acquire/release: one thread starts; who loses goes on unrecorded until it is done. */
	if (!__atomic_compare_exchange_n(&phase, &expected, PHASE_STARTING, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE))
		return expected == PHASE_ON;
	bool forked = expected == PHASE_FORKED;
	if (!forked)
		options_read();
	spy_options.gpu = cupti_mode(spy_options.gpu);
	/* A set-user-id program's files are not ours to make. */
	bool ok = !getauxval(AT_SECURE) && make_recording(forked ? fork_tick : spy_load_clock.tick,
	                                                  forked ? forked_from : 0);
	if (!ok) {
		cupti_not_started();
		__atomic_store_n(&phase, PHASE_OFF, __ATOMIC_RELEASE);
	} else if (forked)
		tf_header(&spy_map)->window_start = fork_tick;
	return ok;
}

bool spy_start(void)
{
	int saved = errno;
	bool ok = start_from(PHASE_WAITING);

	errno = saved;
	return ok;
}

/* By our constructor, or by a call that a library's constructor makes before ours runs. */
static void first_look(void)
{
	if (spy_load_clock.tick)
		return;
	options_read_clock();
	clock_choose(!spy_options.no_counter);
	spy_load_clock = clock_triple(5);
	stderr_open = file_identity(STDERR_FILENO, &stderr_device, &stderr_inode);
	cupti_first_look();
}

bool spy_ready(void)
{
	uint32_t now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);

	if (unlikely(!spy_load_clock.tick))
		first_look();
	if (now == PHASE_ON && unlikely(!spy_gate_page.gate.alive)) {
		/*
		 * The page was wiped and no handler ran: a child made by a raw clone(). The shim's
		 * lock may be held for ever, by a thread of the parent's.
		 */
		spin_lock(&newborn);
		if (phase == PHASE_ON && !spy_gate_page.gate.alive)
			become_child(tf_header(&spy_map)->pid, spy_clock());
		spin_unlock(&newborn);
		now = phase;
	}
	if (now == PHASE_FORKED)
		return start_from(PHASE_FORKED) && !range_shut;
	if (now == PHASE_ON && tf_header(&spy_map)->closed)
		seal_break(&spy_map);
	return now == PHASE_ON && !range_shut;
}

bool spy_too_late(int result)
{
	if (result != TF_TOO_LATE || !spy_map.base || !tf_header(&spy_map)->closed)
		return false;
	__atomic_fetch_add(&tf_header(&spy_map)->too_late_calls, 1, __ATOMIC_RELAXED);
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
	th->self_adjust[spy_call_rows[call].class] = -(int64_t)ticks;
	h->first_call = call + 1;
	h->first_call_ticks = ticks;
	__atomic_store_n(&h->window_start, now, __ATOMIC_RELEASE);
}

void spy_range_open(bool open)
{
	if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != PHASE_ON || !spy_gate_page.gate.alive)
		return;
	struct tf_header *h = tf_header(&spy_map);
	if (open && !h->range_from)
		h->range_from = h->window_start = spy_clock();
	else if (!open)
		h->range_to = spy_clock();
	range_shut = !open;
	__atomic_store_n(&spy_gate_page.gate.open, open && spy_clock_is_counter(),
	                 __ATOMIC_RELEASE);
}

/* Only an early start: other libraries' constructors run before it and may call CUDA, so nothing
 * depends on it. */
static void __attribute__((constructor)) at_load(void)
{
	int saved = errno;

	lookup_init();
	first_look();
	errno = saved;
}
