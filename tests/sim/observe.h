/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated GPU does, piece by piece, for an observer in the process: the made-up CUPTI.
 * Shared by the simulated driver and tests/sim/fake_cupti.c. */
#pragma once
#include <stdint.h>
#include "tests/sim/timeline.h"

struct sim_piece {
	/* TL_NONE: a graph's launch, from its first piece to its last; told behind them */
	enum sim_tl_kind kind;
	int device;
	unsigned long long stream;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; may be in the future */
	uint64_t bytes;
	const char *kernel;
	uint32_t graph_node; /* 1 + its place in the graph, or 0 */
	uint64_t call;       /* calls that the thread has made before this one */
};

/* Exported by libcuda.so.1; `fn` is called in the thread that gave the work, inside the call. */
typedef void sim_observe_t(void (*fn)(const struct sim_piece *));
sim_observe_t sim_observe;

/* The observer, or NULL. */
extern void (*_Atomic sim_observer)(const struct sim_piece *);
