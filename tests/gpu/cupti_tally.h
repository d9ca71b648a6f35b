/* SPDX-License-Identifier: Apache-2.0 */
/* What CUPTI's records add up to: counts, bytes and times by kernel, copy kind and graph, and the
 * records themselves for the timeline. Fed by cupti_truth.c under its lock, read by cupti_write.c.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "tests/gpu/cupti_classes.h"
#include "tests/gpu/cupti_raw.h"

/* Work outside graphs is [0], work that ran as a node of a graph is [1]. */
enum { OUTSIDE, INSIDE };

struct tally_sum {
	uint64_t records;
	uint64_t items;
	uint64_t bytes;
	uint64_t gpu_ns;
};

struct tally_kernel {
	char *name;
	uint64_t hash;
	uint64_t count[2];
	uint64_t from_device; /* outside graphs, launched by kernels: no call of the host */
	uint64_t gpu_ns[2];
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t invalid_times;
};

/* Copies by kind and the memory of both sides; sets by the memory they went to. */
struct tally_group {
	uint8_t copy_kind, src_kind, dst_kind, async;
	struct tally_sum sum[2];
};

/* Of CUPTI's graph records, which exist only with CUPTI_TRUTH_GRAPH=1. */
struct tally_graph {
	uint32_t graph;
	uint64_t launches;
	uint64_t untrue, untrue_ns; /* as of a class */
	uint64_t gpu_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

/* Calls of one API function, which are recorded only with CUPTI_TRUTH_API=1. */
struct tally_api {
	uint64_t calls;
	uint64_t failed;
	uint64_t total_ns;
};
#define TALLY_APIS   2048
#define TALLY_DRIVER 0x80000000u

/* One call of the runtime, or (with TALLY_DRIVER) of the driver; kept only with CUPTI_TRUTH_API=1.
 */
struct tally_call {
	uint32_t correlation;
	uint32_t api;
};

struct tally {
	struct tally_sum kernels[2];
	uint64_t kernels_from_device;
	struct tally_kernel *kernel;
	uint32_t kernel_count, kernel_room;
	uint32_t *kernel_index; /* open addressing, 1 + place in `kernel`; twice kernel_room */

	/* cudaspy's own kernels, which a program that is sampled runs too: counted here alone. */
	struct tally_sum own;

	struct tally_sum copies[2];
	struct tally_sum sets[2];
	struct tally_group *copy_group, *set_group;
	uint32_t copy_groups, set_groups;

	struct classes classes;

	struct tally_graph *graph;
	uint32_t graphs;
	/* Launches of graphs without graph records: the different correlation ids of nodes. */
	uint32_t *launch_set;
	uint32_t launch_count, launch_room;

	struct tally_api api[2][TALLY_APIS]; /* [0] runtime, [1] driver */
	struct tally_call *call;
	uint64_t call_count, call_room;

	struct raw_record *kept;
	uint64_t kept_count, kept_room, keep_most;
	uint64_t not_kept;
	uint64_t invalid_times; /* records whose times are nonsense; they count, their time does not
	                         */
	uint64_t out_of_memory; /* things that could not be stored; then the figures are wrong */
};

/* Adds one record; `name` is the mangled name of a kernel, copied, and NULL for the rest. */
void tally_add(struct tally *t, struct raw_record *record, const char *name);
void tally_api(struct tally *t, struct tally_call call, uint64_t ns, bool failed);
/* Counts a record that was added as one whose time is not to be believed. */
void tally_untrue(struct tally *t, const struct raw_record *record);
/* Marks such records among those kept, and counts them; once, when all are there:
 * cupti_untrue.c. */
void tally_find_untrue(struct tally *t);
