#include "shim/guard.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int signals[] = {SIGPIPE, SIGXFSZ};

void guard_begin(struct guard *g)
{
	int saved = errno;
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	sigemptyset(&g->fresh);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigismember(&pending, signals[i]))
			sigaddset(&g->fresh, signals[i]);
	pthread_sigmask(SIG_BLOCK, &g->fresh, &g->before);
	errno = saved;
}

void guard_end(const struct guard *g)
{
	const struct timespec now = {0};
	int saved = errno;

	/* Both are sent to the thread that wrote, so they are pending here or nowhere. */
	while (sigtimedwait(&g->fresh, NULL, &now) > 0 || errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &g->before, NULL);
	errno = saved;
}
