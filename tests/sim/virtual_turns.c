/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/virtual_turns.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OTHERS    64
#define LOOK_NS   1000000u /* so often the first thread looks what it is that others do */
#define LOOKS     3u /* so many times in a row a thread is asleep: then it is not waited for */
#define READS     1000000u /* so many readings of the clock without a sleep: nor then */
#define SECOND_NS 1000000000u

enum { FREE, RUNS, SLEEPS, WOKEN, LOOSE };

struct other {
	atomic_int state, tid; /* tid 0: it has not begun */
	uint64_t until_ns;     /* while SLEEPS: woken then */
	uint32_t *word;        /* and sleeps at this futex: the caller's, or `own` */
	uint32_t own;
	int due; /* while WOKEN: its time has come; else somebody woke it */
	unsigned reads, looks;
	void *(*begin)(void *);
	void *argument;
};

static struct other others[OTHERS];
static atomic_int used; /* of them, from the first on */
/* Counts what others do. The first thread waits at it. */
static uint32_t done;
static atomic_int first_waits;

static _Thread_local struct other *mine __attribute__((tls_model("initial-exec")));
/* Of the calling thread: 1 it is the first one, -1 it is not. */
static _Thread_local int first __attribute__((tls_model("initial-exec")));

long turns_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
	                 : "=a"(rc)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return rc;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	return x0;
#else
#error "no system call is known for this machine"
#endif
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *t)
{
	return turns_syscall(SYS_futex, (long)word, op | FUTEX_PRIVATE_FLAG, (long)value, (long)t,
	                     0, 0);
}

static struct timespec duration(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
}

int turns_first(void)
{
	if (!first)
		first = turns_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) == getpid() ? 1 : -1;
	return first > 0;
}

/* Does the thread run, or would if it had a processor? */
static int runs(int tid)
{
	char text[200], *state;

	snprintf(text, sizeof(text), "/proc/self/task/%d/stat", tid);
	long fd = turns_syscall(SYS_openat, AT_FDCWD, (long)text, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	long n = turns_syscall(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	turns_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	text[n > 0 ? n : 0] = 0;
	state = strrchr(text, ')');
	return state && (state[2] == 'R' || state[2] == 'D');
}

static void did(struct other *o, int state)
{
	atomic_store(&o->state, state);
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	futex(&done, FUTEX_WAKE, INT_MAX, NULL);
}

/* ---- of the first thread ---- */

static int at_work(void)
{
	int n = atomic_load_explicit(&used, memory_order_acquire), found = 0;

	for (int i = 0; i < n; i++) {
		int state = atomic_load(&others[i].state);
		if (state == WOKEN) /* it may have been about to wait */
			futex(others[i].word, FUTEX_WAKE, INT_MAX, NULL);
		found |= state == WOKEN || state == RUNS;
	}
	return found;
}

/* Who runs no longer, though nothing known here stopped it, is not waited for. */
static void let_go(void)
{
	for (int i = 0; i < atomic_load(&used); i++) {
		struct other *o = &others[i];
		int state = RUNS, tid = atomic_load(&o->tid);
		if (atomic_load(&o->state) != RUNS || !tid || runs(tid))
			o->looks = 0;
		else if (++o->looks >= LOOKS)
			atomic_compare_exchange_strong(&o->state, &state, LOOSE);
	}
}

void turns_wait(void)
{
	const struct timespec look = duration(LOOK_NS);

	for (;;) {
		uint32_t seen = __atomic_load_n(&done, __ATOMIC_SEQ_CST);
		if (!at_work())
			return;
		atomic_store(&first_waits, 1);
		if (futex(&done, FUTEX_WAIT, seen, &look) == -ETIMEDOUT)
			let_go();
		atomic_store(&first_waits, 0);
	}
}

uint64_t turns_next_ns(void)
{
	int n = atomic_load_explicit(&used, memory_order_acquire);
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < n; i++)
		if (atomic_load(&others[i].state) == SLEEPS && others[i].until_ns < next)
			next = others[i].until_ns;
	return next;
}

/* Who sleeps until then, or at this futex. */
static void wake(uint64_t until_ns, const uint32_t *word)
{
	for (int i = 0; i < atomic_load(&used); i++) {
		struct other *o = &others[i];
		int state = SLEEPS;
		if (atomic_load(&o->state) != SLEEPS ||
		    !(word ? o->word == word : o->until_ns <= until_ns))
			continue;
		o->due = !word;
		atomic_compare_exchange_strong(&o->state, &state, WOKEN);
	}
}

void turns_wake_due(uint64_t now_ns)
{
	wake(now_ns, NULL);
	turns_wait();
}

/* ---- of the others ---- */

void turns_read(void)
{
	if (mine && ++mine->reads == READS)
		did(mine, LOOSE);
}

/* FUTEX_WAIT until `until_ns` (UINT64_MAX: without end), and its answer. */
static long wait_at(uint32_t *word, uint32_t value, uint64_t now_ns, uint64_t until_ns)
{
	/* In the machine's time as well, while the first thread waits for something else. */
	const struct timespec most = duration(until_ns - now_ns);
	struct other *o = mine;
	long rc;

	o->reads = 0;
	o->word = word;
	o->until_ns = until_ns;
	o->due = 0;
	did(o, SLEEPS);
	do
		rc = futex(word, FUTEX_WAIT, value, until_ns == UINT64_MAX ? NULL : &most);
	while (rc == -ETIMEDOUT && atomic_load(&o->state) == SLEEPS &&
	       (atomic_load(&first_waits) || runs(getpid())));
	if (atomic_exchange(&o->state, RUNS) == WOKEN && o->due)
		rc = -ETIMEDOUT;
	return rc;
}

void turns_sleep(uint64_t now_ns, uint64_t ns)
{
	const struct timespec t = duration(ns);

	if (mine)
		while (!wait_at(&mine->own, 0, now_ns, now_ns + ns))
			;
	else
		turns_syscall(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

static void ends(void *o)
{
	mine = NULL;
	did(o, FREE);
}

static void *begins(void *o)
{
	void *result;

	mine = o;
	atomic_store(&mine->tid, (int)turns_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
	pthread_cleanup_push(ends, o);
	result = mine->begin(mine->argument);
	pthread_cleanup_pop(1);
	return result;
}

static void none_is_left(void)
{
	memset(others, 0, sizeof(others));
	atomic_store(&used, 0);
	atomic_store(&first_waits, 0);
	mine = NULL;
	first = 0;
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(NULL, NULL, none_is_left);
}

/* ---- what programs call ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*f)(void *),
                   void *argument)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static create *real;

	if (!real)
		real = (create *)dlsym(RTLD_NEXT, "pthread_create");
	for (int i = 0; i < OTHERS; i++) {
		struct other *o = &others[i];
		int state = FREE, n = i + 1;
		if (!atomic_compare_exchange_strong(&o->state, &state, RUNS))
			continue;
		atomic_store(&o->tid, 0);
		o->own = 0;
		o->reads = o->looks = 0;
		o->begin = f;
		o->argument = argument;
		for (int had = atomic_load(&used);
		     had < n && !atomic_compare_exchange_weak(&used, &had, n);)
			;
		int rc = real(thread, attributes, begins, o);
		if (rc)
			did(o, FREE);
		return rc;
	}
	return real(thread, attributes, f, argument);
}

/* The shim's futexes and sleeps. */
long syscall(long number, ...)
{
	__builtin_va_list list;
	long a[6];

	__builtin_va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);

	const struct timespec *t = (const struct timespec *)(number == SYS_futex ? a[3] : a[0]);
	uint32_t *word = (uint32_t *)a[0];
	int op = number == SYS_futex ? (int)a[1] & FUTEX_CMD_MASK : -1;
	long rc = 0;

	if (mine && op == FUTEX_WAIT) {
		uint64_t now = virtual_clock_ns();
		uint64_t ns = t ? (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec : 0;
		rc = wait_at(word, (uint32_t)a[2], now, t ? now + ns : UINT64_MAX);
	} else if (mine && number == SYS_nanosleep) {
		turns_sleep(virtual_clock_ns(),
		            (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec);
	} else {
		if (op == FUTEX_WAKE)
			wake(0, word);
		rc = turns_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (op == FUTEX_WAKE && turns_first())
			turns_wait();
	}
	if (rc < 0 && rc >= -4095) {
		errno = (int)-rc;
		return -1;
	}
	return rc;
}
