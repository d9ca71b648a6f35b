/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of a GPU that do its work, the queues that lead to them, and how long it takes to get
 * there and back.
 *
 * Each stream has a queue for each engine. The driver takes CUDA_QUEUE_ENTRIES of them; the next
 * call that gives work to it waits until the oldest has ended. A launch, a graph's launch, a copy,
 * a set is one entry; records of events, waits for them and host functions are none, and wait for
 * no place.
 *
 * Source, all of it on an H200, driver 580: tests/gpu/stream_facts.cu and hold_facts.cu (facts
 * queue:*, overtakes:*, together:*, waits:*:behind_all_sms_full); what says otherwise below.
 */
#ifndef SPY_ENGINES_H
#define SPY_ENGINES_H

#include "shim/core/cuda/copies.h"
#include "shim/core/format/trace_format.h"

enum cuda_engine {
	CUDA_ENGINE_COMPUTE,     /* kernels, graphs, sets, copies within a device */
	CUDA_ENGINE_TO_DEVICE,   /* copies to the device, but for the smallest */
	CUDA_ENGINE_FROM_DEVICE, /* copies from it, and to another one */
	CUDA_ENGINES
};

/* The engine that does work of this kind; `copy` of a copy alone. */
enum cuda_engine cuda_engine(enum tf_work_kind kind, struct cuda_copy copy);

#define CUDA_QUEUE_ENTRIES 1022u
/* Durations of queued work are estimated, perhaps too short: with so many entries left by estimate,
 * a call that takes clearly longer than usual waited for room. */
#define CUDA_QUEUE_LIKELY 512u

/*
 * Whether work waits for earlier work of its engine on other streams too: copies of one direction
 * do, beyond this size; smaller ones (4 bytes to 8 KiB to the device were tried) overtake a large
 * one that is being made. Kernels and copies within the device run beside each other.
 */
#define CUDA_OVERTAKING_BYTES 8192u

static inline bool cuda_engine_is_shared(enum cuda_engine engine, uint64_t bytes)
{
	return engine != CUDA_ENGINE_COMPUTE && bytes > CUDA_OVERTAKING_BYTES;
}

/* ---- latencies, ns ---- */

/*
 * From the return of a launch to its kernel's start, and from a kernel's end to the return of the
 * call that waits for it, where the GPU had nothing else to do. CUPTI puts the start 1.3 to 2.3 us
 * after the call's return; what a wait shows beyond that is the way back to the program.
 */
#define CUDA_START_NS  1800.0
#define CUDA_RETURN_NS 3200.0
/* Between queued pieces of work of a stream on one engine. */
#define CUDA_GAP_NS 750.0
/* A copy engine sleeps soon after a copy: what waking takes at least, see gpu_time/estimate.h. */
#define CUDA_WAKE_NS 4000.0
/*
 * What the gap is longer where it changes engines: on the way to a copy engine, which wakes, and
 * from it. Kernels and copies of 4 bytes to the host, in turn and all of them queued: 4.4 and 5.2
 * to 7.4 us the two of them on two H200s, with 64 KiB 7.4 us. Behind a kernel that has just ended
 * CUPTI's records have 4.2 us before the copy, behind queued ones 1.0.
 */
#define CUDA_TO_ENGINE_NS   CUDA_WAKE_NS
#define CUDA_FROM_ENGINE_NS 2000.0

/* What the gap between work of a stream and the work behind it is longer than CUDA_GAP_NS. */
static inline double cuda_switch_ns(enum cuda_engine before, enum cuda_engine behind)
{
	if (before == behind)
		return 0;
	return before == CUDA_ENGINE_COMPUTE ? CUDA_TO_ENGINE_NS : CUDA_FROM_ENGINE_NS;
}

/* How long work takes of which nothing is known, by its kind and bytes; a guess. */
double cuda_guess_ns(enum tf_work_kind kind, enum spy_direction direction, double bytes);

#endif
