/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/bus_error.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/life/storage.h"
#include "shim/base/sys.h"

#define PAGE 4096u

static struct sigaction before; /* the program's */
static bool watched;

/* From the page of the fault on nothing of the file is left. Pages before it may be gone as well:
 * they are met in their turn. */
static bool replace(uintptr_t at)
{
	uint64_t bytes;
	uintptr_t base = (uintptr_t)storage_mapped(&bytes), page = at & ~(uintptr_t)(PAGE - 1),
	          end = base + __atomic_load_n(&spy_map.size, __ATOMIC_RELAXED);

	if (!base || at < base || at >= end)
		return false;
	return mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* As the kernel would have done it. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	const struct sigaction theirs = before;

	if (theirs.sa_flags & SA_RESETHAND)
		before.sa_handler = SIG_DFL;
	if (theirs.sa_flags & SA_SIGINFO) {
		theirs.sa_sigaction(number, info, context);
	} else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
		theirs.sa_handler(number);
	} else {
		/* A fault comes again when this returns; what was sent has to be sent again. */
		sigaction(SIGBUS, &theirs, NULL);
		if (info->si_code <= 0)
			syscall(SYS_tgkill, sys_getpid(), sys_gettid(), SIGBUS);
	}
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code > 0 && storage_replaces_copy(info->si_addr)) {
		errno = saved;
		return;
	}
	if (info->si_code > 0 && replace((uintptr_t)info->si_addr)) {
		spy_cut_short();
		errno = saved;
		return;
	}
	pass_on(number, info, context);
}

void bus_error_watch(void)
{
	struct sigaction ours = {.sa_sigaction = on_bus_error};

	if (watched || sigaction(SIGBUS, NULL, &before) ||
	    (!(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_IGN))
		return;
	watched = true;
	ours.sa_mask = before.sa_mask;
	/* On the stack that the program's handler has asked for, which ours may call. */
	bool theirs = before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL;
	ours.sa_flags = SA_SIGINFO | (theirs ? 0 : SA_ONSTACK) |
	                (before.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART | SA_NOCLDSTOP));
	sigaction(SIGBUS, &ours, NULL);
}
