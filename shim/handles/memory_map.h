/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses are pinned, device or managed memory, learned from the allocations, registrations
 * and mappings that the program makes, in their order. Everything else is pageable. For shim/args.
 */
#ifndef SPY_MEMORY_MAP_H
#define SPY_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/core/format/classes.h"

struct memory_range {
	uint64_t start, end;
	uint64_t context; /* dies with it; 0 = with none */
	uint32_t memory;  /* enum spy_memory */
	uint32_t sized;   /* 0: the end is a guess (imported memory) */
};

/* The kind of memory at an address; SPY_MEM_PAGEABLE where nothing is known of it. Lock-free unless
 * a writer is busy. All are safe in a handler of a signal. */
enum spy_memory memory_map_find(uint64_t address);

/* Whatever it overlaps is gone by now, and forgotten. Takes the shim's lock, which takes system
 * calls, but where memory of the same kind that began there was as large before: then a word
 * changes. */
void memory_map_add(const struct memory_range *range);

/* Forgets the range that starts at (or contains) `address`; false: there is none. Lock-free unless
 * one is added. */
bool memory_map_remove(uint64_t address, struct memory_range *removed);

void memory_map_drop_context(uint64_t context);

#endif
