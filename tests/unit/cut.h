/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is cut at every access: the memory is made inaccessible, each access to it
 * faults, is counted and made, one instruction long; and at each a copy of the process goes on in
 * which all from an offset on has just become zeros, as a file's pages do that somebody truncates.
 * So whatever reads a figure twice is met between the two, at every such place, and not once in
 * thousands of runs. x86-64 only.
 */
#ifndef TESTS_UNIT_CUT_H
#define TESTS_UNIT_CUT_H

#include <stdint.h>

#define CUT_KEPT 3

struct cut {
	uint8_t *base;           /* from cut_memory() */
	uint64_t bytes;          /* of it */
	uint64_t kept[CUT_KEPT]; /* how much is left, in turn */
	uint64_t stride;         /* at one access in so many; 1: at each */
	/* what came out */
	uint64_t accesses, cuts;
	const char *failure; /* of the first that went wrong, or NULL */
	uint64_t failed_at, failed_kept;
};

/* Whole pages, zeroed, with pages around them that nobody may touch; NULL: no memory. */
uint8_t *cut_memory(uint64_t bytes);
void cut_free(uint8_t *base, uint64_t bytes);

/* Calls run(argument), which no cut may make crash, touch anything outside, or go on for ever. */
void cut_run(struct cut *c, void (*run)(void *), void *argument);

#endif
