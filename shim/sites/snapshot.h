/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a thread of Python's that may be taken away while it is read: copied by the kernel,
 * what a stack of this thread needed last time in one call. For python.c.
 */
#ifndef SPY_SNAPSHOT_H
#define SPY_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_FETCH_MOST 256u /* bytes fetched at a time */

struct snapshot;

/* The one that this thread state had last, with what it needed then as it is now; NULL: none is
 * free. Give it back. */
struct snapshot *snapshot_take(uint64_t pid, uintptr_t thread_state);
void snapshot_give(struct snapshot *s);

/* `bytes` bytes at `at`, until the next fetch; NULL: they are not there. */
const uint8_t *snapshot_fetch(struct snapshot *s, uintptr_t at, size_t bytes);

/*
 * What was found of a code object some stacks ago, at most; false: look again, and tell.
 * `function`: the one that runs it; of another one it is looked at again. 0 = not known: always.
 */
struct snapshot_code {
	uint64_t identity;
	uint32_t begins;
};
bool snapshot_code(const struct snapshot *s, uintptr_t code, uintptr_t function,
                   struct snapshot_code *to);
void snapshot_tell_code(struct snapshot *s, uintptr_t code, uintptr_t function,
                        const struct snapshot_code *found);
/* Its first bytes, at most SNAPSHOT_FETCH_MOST, until the next stack; NULL: it is gone. */
const uint8_t *snapshot_code_bytes(struct snapshot *s, uintptr_t code, size_t bytes);

void snapshots_after_fork(void);

#endif
