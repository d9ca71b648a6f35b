/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seal of a closed recording: a digest of all that is in it, so that a reader knows whether it
 * is as its process left it. It finds damage, not forgery. Made by the shim at exit, checked by the
 * reporter.
 *
 * Left out of it is what a thread may write before it can know that the recording is closed: the
 * call that it enters, the slots of its ring that no reader looks at, and all of a thread that was
 * inside a call just then (struct tf_thread, `unsealed`).
 */
#ifndef SPY_SEAL_H
#define SPY_SEAL_H

#include "shim/core/format/trace_map.h"

/* The digest of `bytes` bytes, both multiples of 8. */
uint64_t seal_bytes(const void *from, uint64_t bytes);

/* Before a store goes on in another page: digests the one that is full, if it is. For the drain. */
void seal_full_page(const struct tf_map *map, struct tf_store *store);

/*
 * Begins to seal a recording that is drained, ahead of closing it; then makes the seal, unless
 * something is recorded meanwhile. False: something was, or its own tables lead nowhere. `self` is
 * the caller's own thread, NULL = none: what it is inside of does not go on meanwhile. Nobody else
 * writes tables or areas (the shim's lock, the drain's).
 */
void seal_begin(const struct tf_map *map);
bool seal_make(const struct tf_map *map, const struct tf_thread *self);

/*
 * Seals a copy that nobody writes to, of a closed recording that went on while it was copied: what
 * is in the copy is all that there will be. Writes to the header's seal, to threads' `unsealed` and
 * to the digests of stores, nothing else. False: it was torn apart so that its tables lead nowhere.
 */
bool seal_copy(const struct tf_map *copy);

/* Something is to be recorded after the end. Any thread, any time. */
void seal_break(const struct tf_map *map);

enum seal_finding {
	SEAL_HOLDS,
	SEAL_NONE,   /* it is not closed, or more was recorded afterwards: nothing can be said */
	SEAL_DAMAGED /* it is not what its process left */
};

/* What a reader finds, before it changes anything in its copy. Touches nothing outside the map. */
enum seal_finding seal_check(const struct tf_map *map);

#endif
