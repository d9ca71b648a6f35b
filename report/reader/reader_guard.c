/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/reader/reader_guard.h"

/* The mapping that SIGBUS is expected in; one recording is read at a time. */
static struct {
	uint8_t *volatile base;
	volatile uint64_t bytes;
	volatile sig_atomic_t shrank;
	struct sigaction before;
} guard;

/*
 * The file ends before its mapping does: somebody cut it while it was read. Zeros take the place of
 * what is gone, and the recording is given up once the reader comes to it. A fault anywhere else is
 * what it always was.
 */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = info->si_addr;

	if (guard.base && at >= guard.base && at < guard.base + guard.bytes) {
		uint8_t *start = (uint8_t *)((uintptr_t)at / page * page);
		guard.shrank = 1;
		if (mmap(start, page, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	sigaction(SIGBUS, &guard.before, NULL);
}

void reader_guard_start(struct recording *r)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	guard.base = r->map.base;
	guard.bytes = r->file_bytes;
	guard.shrank = 0;
	sigaction(SIGBUS, &action, &guard.before);
}

void reader_guard_stop(void)
{
	if (guard.base)
		sigaction(SIGBUS, &guard.before, NULL);
	guard.base = NULL;
}

bool recording_shrank(const struct recording *r)
{
	return guard.base == r->map.base && guard.shrank;
}
