/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the signals that a write of ours can raise, SIGPIPE and SIGXFSZ, from a program that never
 * asked for them: a broken pipe or a limit on file size is an error of ours, not its end. For the
 * shim's cold paths.
 */
#ifndef SPY_GUARD_H
#define SPY_GUARD_H

#include <stdint.h>

struct guard {
	uint64_t fresh; /* signals that were not pending: what comes now is ours */
};

/* Begins a quiet section. Leaves errno alone, as does guard_end(). */
void guard_begin(struct guard *g);

/* `result`: of the call, -errno where it failed. Takes back what it raised then, and ends the
 * section: in place of another of the same that was sent to the process at that moment, if so. */
void guard_end(const struct guard *g, long result);

#endif
