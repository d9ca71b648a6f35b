/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include "shim/base/floating_point.h"
#include "shim/base/sys.h"

#define BIT(signal) (1ull << ((signal)-1))

/* Faults; and the two signals that the C library keeps for itself (cancellation, set*id of all
 * threads: that waits for an answer of each). */
#define LET_THROUGH                                                                                \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS) |     \
	 BIT(32) | BIT(33))
/*
 * Of a thread of ours: what is sent to the process is for the program's, which may wait for it
 * with it blocked. A fault of our own ends the process anyway. But a handler of ours answers
 * SIGBUS, and one of the program's may answer system calls (SIGSYS of a seccomp filter).
 */
#define LET_THROUGH_OURS (BIT(SIGBUS) | BIT(SIGSYS) | BIT(32) | BIT(33))

/* Of a thread of ours, but for what the C library has at its end: the program's usual size may be
 * far less. */
#define STACK_BYTES (1u << 20)

static __thread struct {
	uint32_t depth;
	int cancel;       /* the thread's own state of cancellation */
	uint64_t signals; /* its own mask, as the kernel has it */
	struct floating_point control;
} quiet __attribute__((tls_model("initial-exec")));

void quiet_begin(void)
{
	const uint64_t most = ~(uint64_t)LET_THROUGH;
	uint64_t before = 0;
	int saved = errno;

	if (quiet.depth) {
		quiet.depth++;
		return;
	}
	/* A handler that comes before this is done has nothing of ours to find. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most, &before, sizeof(before));
	quiet.signals = before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet.cancel);
	quiet.control = floating_point_begin();
	quiet.depth = 1;
	errno = saved;
}

void quiet_end(void)
{
	uint64_t signals = quiet.signals;
	int saved = errno, cancel = quiet.cancel;

	if (quiet.depth > 1) {
		quiet.depth--;
		return;
	}
	quiet.depth = 0;
	floating_point_end(&quiet.control);
	/* What was pending comes now, in the first of the two: nothing of ours is read behind it.
	 */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof(signals));
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

static void mask_ours(int how, uint64_t *before)
{
	const uint64_t most = ~(uint64_t)LET_THROUGH_OURS;

	syscall(SYS_rt_sigprocmask, how, &most, before, sizeof(most));
}

int quiet_make_thread(pthread_t *thread, void *(*f)(void *), bool detached)
{
	/* With newer C libraries the least includes the thread variables of all libraries. */
	long least = sysconf(_SC_THREAD_STACK_MIN);
	uint64_t before = 0;
	pthread_attr_t attr;

	quiet_begin();
	mask_ours(SIG_BLOCK, &before); /* which it inherits */
	pthread_attr_init(&attr);
	if (detached)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	size_t usual = 0, needed = STACK_BYTES + (least > 0 ? (size_t)least : 0);
	pthread_attr_getstacksize(&attr, &usual);
	if (usual < needed)
		pthread_attr_setstacksize(&attr, needed);
	int error = pthread_create(thread, &attr, f, NULL);
	if (error == EINVAL) { /* it was too little after all */
		pthread_attr_setstacksize(&attr, usual);
		error = pthread_create(thread, &attr, f, NULL);
	}
	pthread_attr_destroy(&attr);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	quiet_end();
	return error;
}

/* Of the thread that ended last. Threads that end at once may each leave a part of it; read when
 * all have ended. */
struct of_thread {
	uint64_t signals;
	struct floating_point control;
	uint64_t x87;
	char name[16];
};
#define WORDS (sizeof(struct of_thread) / sizeof(uint64_t))
static uint64_t remembered[WORDS];

void quiet_remember(void)
{
	struct of_thread now = {.signals = quiet.signals, .x87 = floating_point_x87()};
	uint64_t words[WORDS];

	if (!quiet.depth)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now.signals, sizeof(now.signals));
	now.control = quiet.depth ? quiet.control : floating_point_now();
	prctl(PR_GET_NAME, now.name);
	memcpy(words, &now, sizeof(words));
	for (unsigned i = 0; i < WORDS; i++)
		__atomic_store_n(&remembered[i], words[i], __ATOMIC_RELAXED);
}

void quiet_thread(void)
{
	mask_ours(SIG_SETMASK, NULL);
	floating_point_ours();
	quiet.depth = 1;
}

void quiet_thread_ends(bool last)
{
	quiet.depth = 0;
	if (!last)
		return;
	struct of_thread theirs;
	uint64_t words[WORDS];
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = __atomic_load_n(&remembered[i], __ATOMIC_RELAXED);
	memcpy(&theirs, words, sizeof(theirs));
	prctl(PR_SET_NAME, theirs.name);
	floating_point_set_x87((uint16_t)theirs.x87);
	floating_point_end(&theirs.control);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &theirs.signals, NULL, sizeof(theirs.signals));
}

bool quiet_now(void)
{
	return quiet.depth > 0;
}
