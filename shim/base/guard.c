/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/guard.h"

#include <errno.h>
#include <signal.h>
#include "shim/base/quiet.h"
#include "shim/base/sys.h"

#define BIT(signal) (1ull << ((signal)-1))
#define OURS        (BIT(SIGPIPE) | BIT(SIGXFSZ))

void guard_begin(struct guard *g)
{
	int saved = errno;
	uint64_t pending = 0;

	quiet_begin();
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	g->fresh = OURS & ~pending;
	errno = saved;
}

void guard_end(const struct guard *g, long result)
{
	const struct timespec now = {0};
	int saved = errno;
	const uint64_t raised = g->fresh & (result == -EPIPE   ? BIT(SIGPIPE)
	                                    : result == -EFBIG ? BIT(SIGXFSZ)
	                                                       : 0);

	/* What is pending for the process is taken as well as what is for the thread: so only where
	 * the call did raise it. */
	while (raised && (syscall(SYS_rt_sigtimedwait, &raised, NULL, &now, sizeof(raised)) > 0 ||
	                  errno == EINTR))
		;
	errno = saved;
	quiet_end();
}
