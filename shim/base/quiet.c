/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include "shim/base/sys.h"

#define BIT(signal) (1ull << ((signal)-1))

/* Faults; and the two signals that the C library keeps for itself (cancellation, set*id of all
 * threads: that waits for an answer of each). */
#define LET_THROUGH                                                                                \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS) |     \
	 BIT(32) | BIT(33))

static __thread struct {
	uint32_t depth;
	int cancel;       /* the thread's own state of cancellation */
	uint64_t signals; /* its own mask, as the kernel has it */
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
	/* What was pending comes now, in the first of the two: nothing of ours is read behind it.
	 */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof(signals));
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

void quiet_thread(void)
{
	const uint64_t most = ~(uint64_t)LET_THROUGH;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &most, NULL, sizeof(most));
	quiet.depth = 1;
}

void quiet_thread_ends(void)
{
	quiet.depth = 0;
}

bool quiet_now(void)
{
	return quiet.depth > 0;
}
