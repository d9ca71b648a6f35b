/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/guard.h"

#include <errno.h>
#include <signal.h>
#include "shim/base/quiet.h"
#include "shim/base/sys.h"

#define OURS (1ull << (SIGPIPE - 1) | 1ull << (SIGXFSZ - 1))

void guard_begin(struct guard *g)
{
	int saved = errno;
	uint64_t pending = 0;

	quiet_begin();
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	g->fresh = OURS & ~pending;
	errno = saved;
}

void guard_end(const struct guard *g)
{
	const struct timespec now = {0};
	int saved = errno;

	/* Both are sent to the thread that wrote, so they are pending here or nowhere. */
	while (syscall(SYS_rt_sigtimedwait, &g->fresh, NULL, &now, sizeof(g->fresh)) > 0 ||
	       errno == EINTR)
		;
	errno = saved;
	quiet_end();
}
