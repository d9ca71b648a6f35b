/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes recordings in memory as a recorded process would have left them, figure by figure. For the
 * reporter's unit tests and the fuzzer's seeds.
 */
#ifndef TESTS_UNIT_RECORDING_H
#define TESTS_UNIT_RECORDING_H

#include <stdio.h>

#include "shim/core/format/trace_map.h"

struct made {
	struct tf_map map; /* first; its memory does not move */
	uint64_t room;
	uint32_t calls_most; /* struct tf_call_stat of a thread */
};

#define MADE_AREAS 1u /* slices, shapes and kept records too: more than half a MiB */

/* An empty recording of a process that runs: TSC ticks of half a nanosecond, load at tick 1000. */
void made_start(struct made *m, uint64_t room, uint32_t calls_most, unsigned flags);
void made_free(struct made *m);
struct tf_header *made_header(struct made *m);

uint64_t made_string(struct made *m, const char *text, size_t bytes); /* its offset */
void made_clock(struct made *m, uint64_t tick, uint64_t monotonic_ns, uint64_t realtime_ns);
uint16_t made_call(struct made *m, const char *name, enum spy_class cls, enum spy_level level);
uint32_t made_kernel(struct made *m, const char *name);
uint32_t made_graph(struct made *m, uint64_t handle, uint64_t instantiate_ticks);
/* A row of what graphs hold; its index + 1. */
uint32_t made_graph_nodes(struct made *m, struct tf_graph_nodes row);
void made_device(struct made *m, const char *name, bool simulated);
void made_gap(struct made *m, enum tf_gap_kind kind, const char *name, uint64_t count);
void made_library(struct made *m, enum tf_library_kind kind, const char *path, uint32_t version);

/* The area of what NVML said, of `devices` devices with names of their own and no reading. */
struct tf_environment *made_environment(struct made *m, uint32_t devices);
/* What a reading says: complete at this tick. */
void made_told(struct tf_reading *r, enum spy_environment what, uint64_t value, uint64_t tick);

/* An empty ring; its offset. */
uint64_t made_ring(struct made *m, uint64_t records);
/* A thread that was born at the start of the window. */
struct tf_thread *made_thread(struct made *m, uint64_t tid, const char *name,
                              uint64_t ring_records);
/*
 * A call returned: statistics, self time, last return, and its record in the ring (or the loss of
 * it). The record's start, end, call, result and union are the caller's.
 */
void made_return(struct made *m, struct tf_thread *t, struct tf_record record);
/* Its record alone. */
void made_record(struct made *m, struct tf_thread *t, struct tf_record record);
/* Time of the thread that was ours, ahead of its next call. */
void made_own(struct made *m, struct tf_thread *t, uint64_t start, uint64_t end);
/* The same for a launch of `kernel` with a grid of `grid_x` blocks. */
void made_launch(struct made *m, struct tf_thread *t, uint16_t call, uint32_t kernel,
                 uint32_t grid_x, uint64_t start, uint64_t end);
void made_copy(struct made *m, struct tf_thread *t, uint16_t call, enum spy_direction direction,
               enum spy_memory memory, bool async, uint64_t bytes, uint64_t start, uint64_t end);

/* ---- what the drain and the timeline leave, for recordings with MADE_AREAS ---- */

/* The class with this key and so many pieces of work. */
struct tf_work *made_work(struct made *m, struct tf_work key, uint64_t count);
/* Pairs of this mean and standard deviation (of a sample, n - 1), ns; the shortest is as long as
 * the mean. */
void made_pairs(struct tf_work *w, enum tf_pair regime, uint64_t count, double mean,
                double deviation);
struct tf_device_time *made_device_time(struct made *m, uint32_t device);
struct tf_stream *made_stream(struct made *m, uint64_t handle, uint32_t flags);
/* A histogram that holds `count` times `ticks`; its offset. */
uint64_t made_hist(struct made *m, uint64_t ticks, uint32_t count);
/* Exact figures of a thread without records: `calls` calls of one class, and launches. */
void made_calls(struct made *m, struct tf_thread *t, uint16_t call, uint64_t calls, uint64_t ticks);
void made_launches(struct made *m, struct tf_thread *t, uint32_t kernel, uint64_t launches,
                   uint64_t ticks, uint64_t first_ticks);
void made_copies(struct tf_thread *t, enum spy_direction direction, enum spy_memory memory,
                 bool async, uint64_t count, uint64_t bytes, uint64_t ticks);

/* ---- NVTX ranges and steps ---- */

/* A range inside another one (0: in none); as often as it has step rows, of 10 us each; its index.
 */
uint32_t made_range(struct made *m, uint32_t parent, const char *name, uint64_t count,
                    struct tf_counts counts);
uint32_t made_loop(struct made *m, enum spy_class cls, uint64_t marker, uint64_t steps);
/* A step of 10 us, of a range or, with TF_STEP_FOUND, of a loop. */
void made_step(struct made *m, uint32_t source, uint16_t flags, uint64_t start,
               struct tf_counts counts);

/* The process ended well at this tick. */
void made_close(struct made *m, uint64_t tick);
/* Seals a closed one as it stands now. */
void made_seal(struct made *m);
uint64_t made_bytes(const struct made *m); /* what a file of it holds */
void made_write(const struct made *m, const char *path);

/* A small recording with some of everything, closed; the same each time. Figures: see the tests. */
void made_sample(struct made *m, unsigned flags);
/*
 * A recording of sampled GPU time, all of it drained: no record is left, so that only what stands
 * here is in it. Figures: see the tests.
 */
void made_sampled(struct made *m);
/*
 * 20 steps as ranges train_step (3 launches, a copy of 4 KiB and a wait each) with a range forward
 * (2 launches) in each, and found as well, by kernel `work` (3 and 4 launches in turn).
 */
void made_stepped(struct made *m);

#endif
