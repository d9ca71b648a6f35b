/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in which a recording can be damaged, drawn at random. For tests/fuzz/damage.c.
 */
#ifndef TESTS_FUZZ_DAMAGE_H
#define TESTS_FUZZ_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum damage_kind {
	DAMAGE_CUT,
	DAMAGE_ZEROED,
	DAMAGE_REPEATED,
	DAMAGE_SWAPPED,
	DAMAGE_OFFSET,
	DAMAGE_FLIPPED, /* of closed recordings: what is open has no digest */
	DAMAGE_KINDS
};
extern const char *const damage_names[];

uint64_t damage_random(uint64_t *seed);
/* Changes `*bytes` bytes at `data`; what it did, in words. False: nothing of what is read. */
bool damage_do(enum damage_kind kind, uint8_t *data, size_t *bytes, uint64_t *seed, char *what,
               size_t room);

#endif
