#include "shim/doze.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Futex: 1 = the collector sleeps, and longer than it takes to be late. */
static uint32_t asleep;

bool doze(uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
	                            .tv_nsec = (long)(ns % 1000000000u)};

	if (ns <= DOZE_SHORT_NS) {
		nanosleep(&ts, NULL);
		return false;
	}
	/* Relaxed: who misses it calls again when its ring is full, or waits for the timeout. */
	__atomic_store_n(&asleep, 1, __ATOMIC_RELAXED);
	syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, &ts, NULL, 0);
	return !__atomic_exchange_n(&asleep, 0, __ATOMIC_RELAXED);
}

void doze_end(void)
{
	if (!__atomic_load_n(&asleep, __ATOMIC_RELAXED) ||
	    !__atomic_exchange_n(&asleep, 0, __ATOMIC_RELAXED))
		return;
	int saved = errno;
	syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

void doze_after_fork(void)
{
	asleep = 0;
}
