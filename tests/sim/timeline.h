/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, the waiting, and a device's timeline: when its engines are free and how long it was
 * busy.  Used by the simulated driver alone; nothing runs in the background. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include "shim/core/cuda/engines.h"
#include "tests/sim/truth.h"

enum sim_tl_engine { TL_H2D, TL_D2H, TL_ENGINES, TL_COMPUTE = TL_ENGINES };
enum sim_tl_kind {
	TL_NONE,
	TL_KERNEL,
	TL_COPY,
	TL_SET,
	TL_OWN, /* a kernel of the shim: takes its time, but is no busy time of the program's */
};

struct sim_tl_span {
	uint64_t start_ns, end_ns;
};

/* Busy intervals, merged and sorted, not yet so old that nothing can touch them. */
struct sim_tl_device {
	pthread_mutex_t lock;
	uint64_t engine_free_ns[TL_ENGINES];
	struct sim_tl_span *span;
	unsigned spans, room;
	struct truth_device *truth;
};

uint64_t sim_tl_now(void);
/* Waits in a busy loop, as a driver that works. */
void sim_tl_spin_until(uint64_t when_ns);
/* Sleeps, then spins a little; returns at `when_ns` or later. */
void sim_tl_wait_until(uint64_t when_ns);

void sim_tl_device_init(struct sim_tl_device *d, struct truth_device *truth);
/* The engine whose turn a copy of so many bytes waits for: small ones overtake. */
static inline enum sim_tl_engine sim_tl_turn(enum sim_tl_engine engine, uint64_t bytes)
{
	return bytes > CUDA_OVERTAKING_BYTES ? engine : TL_COMPUTE;
}

/* Gives work of `gpu_ns` a place not before `earliest_ns` and returns its start.  Copies of one
 * direction wait for each other on their engine; kernels never wait here. */
uint64_t sim_tl_place(struct sim_tl_device *d, enum sim_tl_engine engine, enum sim_tl_kind kind,
                      uint64_t earliest_ns, uint64_t gpu_ns);

/* Of virtual_clock.c, where that is preloaded: does at once the readings of a loop that waits until
 * then. */
void virtual_clock_spin(uint64_t until_ns) __attribute__((weak, visibility("default")));
