/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's records added up by class of work, as cudaspy tells classes apart: a kernel with its
 * grid, block and dynamic shared memory, a copy or set with its kind, memory and size. Work that
 * ran as a node of a graph is in no class. For cupti_tally.c, which fills it, and cupti_write.c. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include "tests/gpu/cupti_raw.h"

/* All bytes count: a key is made from a zeroed one. */
struct class_key {
	uint64_t bytes; /* of a copy or set */
	uint32_t name;  /* of a kernel: its place in the tally; else RAW_NO_NAME */
	uint32_t shared_bytes;
	int32_t grid[3];
	int32_t block[3];
	uint8_t kind; /* enum raw_kind */
	uint8_t copy_kind, src_kind, dst_kind;
	uint32_t async;
};

struct tally_class {
	struct class_key key;
	uint64_t count; /* items; of these `untimed` have no valid time */
	uint64_t untimed;
	uint64_t untrue, untrue_ns; /* ... and of these the time is not to be believed; they are in
	                               the other figures */
	uint64_t gpu_ns;
	uint64_t min_ns; /* of a record */
	uint64_t max_ns;
};

struct classes {
	struct tally_class *entry;
	uint32_t count, room;
	uint32_t *index;   /* open addressing, 1 + place in `entry`; twice `room` */
	uint64_t left_out; /* records of classes that there was no room for */
};

/* Adds a record; `ns` is its time, which counts only where the record has no RAW_INVALID_TIME. */
void classes_add(struct classes *c, const struct raw_record *r, uint64_t ns);
/* The class that a record was added to; NULL where there was no room. */
struct tally_class *classes_of(struct classes *c, const struct raw_record *r);
