/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that the machine's speed does not touch: preloaded, it makes a program of one thread on
 * the simulated CUDA, and the shim in it, do the same in the same time on every machine, however
 * busy.
 *
 * CLOCK_MONOTONIC and CLOCK_REALTIME stand still but for what the process's first thread does: each
 * reading of the clock costs it READ_NS, a sleep what it asks for. The code between them costs
 * nothing; the simulated driver's busy loops take no time of the machine's.
 *
 * Other threads, the shim's own, take turns with the first one: one that sleeps, or waits at a
 * futex for a limited time, is woken when the first one's time has come so far, or by the first
 * one's FUTEX_WAKE; and the first one stands still until it sleeps, waits or ends. Not waited for:
 * a thread that the kernel has asleep for another reason (it may wait for the first one), and one
 * that reads the clock in a loop (it waits for a time to come).
 *
 * VIRTUAL_CLOCK_KILL_MS=N kills the process when so much time has passed. VIRTUAL_CLOCK_NOISE=SEED
 * makes it a machine that does other things too: the thread is away for 100 us every 3 ms, and a
 * reading takes up to twice as long; both on average, at random, the same for the same seed.
 *
 * The shim must read the clock as well: CUDASPY_CLOCK=monotonic.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "tests/sim/virtual_turns.h"

#define READ_NS   20u /* of a clock_gettime() in the vDSO */
#define SECOND_NS 1000000000u
#define AWAY_NS   100000u
#define EACH_NS   3000000u

static atomic_uint_least64_t now_ns;  /* CLOCK_MONOTONIC */
static uint64_t to_real_ns;           /* CLOCK_REALTIME is so much later */
static uint64_t last_ns = UINT64_MAX; /* then the process is killed */

/* What the machine takes for itself; of the first thread. 0 = no noise. */
static uint64_t noise, next_away_ns;

static uint64_t random_below(uint64_t bound)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return (noise >> 11) % bound;
}

static uint64_t taken_away(uint64_t now)
{
	if (!noise)
		return 0;
	if (now < next_away_ns)
		return random_below(2 * READ_NS);
	next_away_ns = now + random_below(2 * EACH_NS);
	return random_below(2 * AWAY_NS);
}

static uint64_t machine_ns(clockid_t clock)
{
	struct timespec t;

	turns_syscall(SYS_clock_gettime, clock, (long)&t, 0, 0, 0, 0);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* From the machine's time on, so that what the kernel says of the process's start is earlier. */
static void __attribute__((constructor)) start(void)
{
	uint64_t zero = 0, now = machine_ns(CLOCK_MONOTONIC);
	const char *ms = getenv("VIRTUAL_CLOCK_KILL_MS"), *seed = getenv("VIRTUAL_CLOCK_NOISE");

	if (!atomic_compare_exchange_strong(&now_ns, &zero, now))
		return;
	to_real_ns = machine_ns(CLOCK_REALTIME) - now;
	if (seed)
		noise = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15u + 1;
	if (ms)
		last_ns = now + strtoull(ms, NULL, 10) * 1000000u;
}

static uint64_t pass(uint64_t ns)
{
	if (!atomic_load(&now_ns))
		start();
	if (!turns_first()) {
		turns_read();
		return atomic_load(&now_ns);
	}
	turns_wait();
	/* Nobody else writes it, but for a handler that interrupted us. */
	uint64_t now = atomic_load_explicit(&now_ns, memory_order_relaxed), next;

	uint64_t to = now + ns + taken_away(now);
	while ((next = turns_next_ns()) <= to) {
		now = next > now ? next : now;
		atomic_store_explicit(&now_ns, now, memory_order_release);
		turns_wake_due(now);
	}
	atomic_store_explicit(&now_ns, to, memory_order_release);
	if (to > last_ns)
		kill(getpid(), SIGKILL);
	return to;
}

uint64_t virtual_clock_ns(void)
{
	return pass(0);
}

/* For the simulated driver: the time that it would take to read the clock until it says `until_ns`;
 * with noise nearly that. */
void virtual_clock_spin(uint64_t until_ns);
void virtual_clock_spin(uint64_t until_ns)
{
	uint64_t now;

	while ((now = pass(READ_NS)) < until_ns) {
		uint64_t to = until_ns < last_ns ? until_ns : last_ns;

		if (!turns_first())
			continue;
		if (noise) /* a reading takes up to 2 * READ_NS more */
			to = (next_away_ns < to ? next_away_ns : to) - 2 * READ_NS;
		if (to > now + READ_NS)
			pass((to - now - 1) / READ_NS * READ_NS);
	}
}

int clock_gettime(clockid_t clock, struct timespec *to)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, to);
	uint64_t now = pass(READ_NS) + (clock == CLOCK_REALTIME ? to_real_ns : 0);
	*to = (struct timespec){(time_t)(now / SECOND_NS), (long)(now % SECOND_NS)};
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
                    struct timespec *left)
{
	(void)left; /* it ends when it is over */
	uint64_t until = (uint64_t)request->tv_sec * SECOND_NS + (uint64_t)request->tv_nsec;
	uint64_t now = pass(0) + (clock == CLOCK_REALTIME ? to_real_ns : 0);

	if (!(flags & TIMER_ABSTIME))
		until += now;
	if (until <= now)
		return 0;
	if (turns_first())
		pass(until - now);
	else
		turns_sleep(pass(0), until - now);
	return 0;
}

/* Of the first thread also a sleep in the machine's time: who sleeps so waits for another thread or
 * process. */
int nanosleep(const struct timespec *request, struct timespec *left)
{
	uint64_t ns = (uint64_t)request->tv_sec * SECOND_NS + (uint64_t)request->tv_nsec;
	long rc = 0;

	if (turns_first()) {
		rc = turns_syscall(SYS_nanosleep, (long)request, (long)left, 0, 0, 0, 0);
		pass(ns);
	} else {
		turns_sleep(pass(0), ns);
	}
	if (rc)
		errno = (int)-rc;
	return rc ? -1 : 0;
}
