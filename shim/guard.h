/*
 * Keeps the signals that a write of ours can raise, SIGPIPE and SIGXFSZ, from a program that never
 * asked for them: a broken pipe or a limit on file size is an error of ours, not its end. For the
 * shim's cold paths.
 */
#ifndef SPY_GUARD_H
#define SPY_GUARD_H

#include <signal.h>

struct guard {
	sigset_t before; /* the thread's mask */
	sigset_t fresh;  /* signals that were not pending: what comes now is ours */
};

/* From here on the calling thread gets neither signal; leaves errno alone, as does guard_end(). */
void guard_begin(struct guard *g);

/* Takes back what was raised meanwhile, and the mask. */
void guard_end(const struct guard *g);

#endif
