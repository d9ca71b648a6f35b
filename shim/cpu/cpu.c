/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cpu/cpu.h"

#include <errno.h>
#include "shim/base/clock.h"
#include "shim/cpu/cpu_read.h"
#include "shim/base/gate.h"
#include "shim/core/work/slices.h"
#include "shim/base/sys.h"

#define THREADS_EACH 64u /* read at a time: bounds what a beat takes */

/* Since the last fork; under the collector's lock. */
static struct {
	struct tf_cpu *area;
	uint32_t next; /* thread to be read */
	bool agree;    /* the program's clock and the kernel's */
	/* the first reading of the cgroups */
	struct cpu_level first[CPU_LEVELS];
	unsigned levels;
} state;

/* ---- threads ---- */

void cpu_thread_begins(struct tf_thread *th)
{
	int saved = errno;
	uint64_t count;
	bool known = cpu_read_wait(0, &count);

	th->cpu_base_ns = known ? count - th->cpu_wait_ns : 0;
	th->cpu_cores = 0;
	/* Release: who finds a tick finds the base. Pairs with read_thread(). */
	__atomic_store_n(&th->cpu_tick, known ? spy_clock() : 0, __ATOMIC_RELEASE);
	errno = saved;
}

void cpu_thread_ends(struct tf_thread *th)
{
	int saved = errno;
	uint64_t count;

	/* A closed recording is sealed: what a thread does as the process ends is left out. */
	if (th->cpu_tick && !tf_header(&spy_map)->closed && cpu_read_wait(0, &count)) {
		th->cpu_wait_ns = count - th->cpu_base_ns;
		th->cpu_tick = spy_clock();
	}
	errno = saved;
}

static bool issues(const struct tf_thread *th)
{
	return th->launches || th->items[SPY_CLASS_LAUNCH] || th->items[SPY_CLASS_GRAPH_LAUNCH] ||
	       th->items[SPY_CLASS_COPY] || th->items[SPY_CLASS_SET];
}

/* A part of the time of a thread that gives the GPU work: into the slices. */
static void spread(uint64_t from, uint64_t until, uint64_t wait_ns)
{
	struct tf_slices *s = slices_until(&spy_map, until);

	if (!s)
		return;
	slices_spread(s, s->slice, sizeof(s->slice[0]), offsetof(struct tf_slice, cpu_wait_ns),
	              from, until, wait_ns);
	slices_spread(s, s->slice, sizeof(s->slice[0]), offsetof(struct tf_slice, cpu_known_ticks),
	              from, until, until - from);
}

static void read_thread(struct tf_thread *th)
{
	uint64_t tid = th->tid, from = __atomic_load_n(&th->cpu_tick, __ATOMIC_ACQUIRE), count;

	if (!from || __atomic_load_n(&th->death, __ATOMIC_ACQUIRE) || !cpu_read_wait(tid, &count))
		return;
	unsigned cores = cpu_read_cores(tid);
	uint64_t wait = count - th->cpu_base_ns, more = wait - th->cpu_wait_ns, now = spy_clock();
	/* It may have died, and another thread have its slot: then the reading is of neither. */
	if (th->tid != tid || th->cpu_tick != from || now <= from || more > UINT64_MAX / 2)
		return;
	if (state.agree && issues(th))
		spread(from, now, more);
	th->cpu_cores = cores;
	th->cpu_wait_ns = wait;
	th->cpu_tick = now;
}

static void read_threads(void)
{
	struct tf_header *h = tf_header(&spy_map);
	uint32_t count = tf_count(&h->threads), most = count < THREADS_EACH ? count : THREADS_EACH;

	for (uint32_t i = 0; i < most; i++, state.next++) {
		const uint64_t *at =
		        tf_entry(&spy_map, &h->threads, state.next % count, sizeof(*at));
		struct tf_thread *th = at ? tf_at(&spy_map, *at, sizeof(*th)) : NULL;
		if (th)
			read_thread(th);
	}
}

static uint64_t kernel_ns(void)
{
	struct timespec t = {0};

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * The kernel counts by its own clock. Where somebody gave the program another one (by preloading
 * it, as the tests do), what is so long by the one is no part of a time by the other.
 */
static bool clocks_agree(void)
{
	uint64_t before = kernel_ns(), program = clock_monotonic_ns();

	return before <= program && program <= kernel_ns();
}

/* ---- the process ---- */

static bool is_tighter(const struct cpu_level *a, const struct tf_cpu *than)
{
	return (double)a->quota_us * (double)than->period_us <
	       (double)than->quota_us * (double)a->period_us;
}

/* What came since the first reading; the same cgroup has the same place among the levels, unless
 * the process was moved. */
static void add_throttling(struct tf_cpu *to, const struct cpu_level *now,
                           const struct cpu_level *first)
{
	if (!now->counted || !first->counted || now->periods < first->periods ||
	    now->throttled_ns < first->throttled_ns ||
	    now->throttled_periods < first->throttled_periods)
		return;
	uint64_t throttled = now->throttled_ns - first->throttled_ns;
	if (to->known >> TF_CPU_THROTTLED & 1 && throttled <= to->throttled_ns)
		return;
	to->periods = now->periods - first->periods;
	to->throttled_periods = now->throttled_periods - first->throttled_periods;
	to->throttled_ns = throttled;
	to->known |= 1u << TF_CPU_THROTTLED;
}

static void read_limits(struct tf_cpu *to, bool first)
{
	struct cpu_level levels[CPU_LEVELS];
	unsigned count;

	if (!cpu_read_limits(levels, &count))
		return;
	to->known |= 1u << TF_CPU_LIMIT;
	if (first) {
		state.levels = count;
		for (unsigned i = 0; i < count; i++)
			state.first[i] = levels[i];
	}
	for (unsigned i = 0; i < count; i++) {
		if (!(to->known >> TF_CPU_QUOTA & 1) || is_tighter(&levels[i], to)) {
			to->quota_us = levels[i].quota_us;
			to->period_us = levels[i].period_us;
			to->known |= 1u << TF_CPU_QUOTA;
		}
		if (count == state.levels)
			add_throttling(to, &levels[i], &state.first[i]);
	}
}

static void read_process(void)
{
	struct tf_header *h = tf_header(&spy_map);
	bool first = !state.area;
	struct tf_cpu now = {0};

	if (first) {
		h->cpu = spy_map.alloc(&spy_map, sizeof(*state.area));
		state.area = tf_at(&spy_map, h->cpu, sizeof(*state.area));
	}
	if (!state.area)
		return;
	now.cores = cpu_read_cores(h->pid);
	now.online = cpu_read_online();
	now.known = (uint64_t) !!now.cores << TF_CPU_CORES | (uint64_t) !!now.online
	                                                             << TF_CPU_ONLINE;
	read_limits(&now, first);
	*state.area = now;
}

void cpu_beat(void)
{
	state.agree = clocks_agree();
	read_process();
	read_threads();
}

void cpu_after_fork(void)
{
	state.area = NULL;
	state.next = 0;
	state.levels = 0;
}
