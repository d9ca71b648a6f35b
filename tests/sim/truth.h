/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the truth file: what the simulated driver really did, counted where it happened.
 * Written by tests/sim/truth.c inside the driver, read by tests/sim/truth_main.c and by tests. */
#pragma once
#include <stdint.h>
#include <stdatomic.h>

#define TRUTH_MAGIC   0x3148545552544d53ull /* "SMTRUTH1" */
#define TRUTH_VERSION 1
#define TRUTH_APIS    768
#define TRUTH_KERNELS 4096
#define TRUTH_OWN     64 /* kernels a thread counts for itself, without locked instructions */
#define TRUTH_DEVICES 16
#define TRUTH_THREADS 16384
#define TRUTH_NAME    128

enum truth_state {
	TRUTH_RUNNING,  /* or killed: the reader looks whether the process lives */
	TRUTH_FINISHED, /* the driver's exit handler ran */
};

enum truth_direction { TRUTH_H2D, TRUTH_D2H, TRUTH_D2D, TRUTH_P2P, TRUTH_H2H, TRUTH_DIRECTIONS };

/* What a thread did.  Only calls that succeeded count, but for `failed`; a call counts when it has
 * taken effect, just before it returns. */
struct truth_totals {
	uint64_t calls; /* every call, failures too */
	uint64_t failed;
	uint64_t launches; /* kernels launched directly, not captured */
	uint64_t graph_launches;
	uint64_t graph_kernels; /* kernels inside launched graphs */
	uint64_t graph_copies;
	uint64_t graph_sets;
	uint64_t copies[TRUTH_DIRECTIONS];
	uint64_t copy_bytes[TRUTH_DIRECTIONS];
	uint64_t pageable_copies; /* of these: one side is pageable host memory */
	uint64_t sets;
	uint64_t set_bytes;
	uint64_t syncs; /* calls whose purpose is to wait */
	uint64_t sync_wait_ns;
	uint64_t implicit_syncs; /* other calls that waited for the GPU */
	uint64_t implicit_wait_ns;
	uint64_t queue_full; /* launches that found the queue full */
	uint64_t queue_full_ns;
	uint64_t allocs; /* device, pool, host, registered, mapped */
	uint64_t frees;
	uint64_t captured; /* kernels, copies and sets captured */
	uint64_t module_loads;
	uint64_t own_waits; /* launches of the shim's graphs behind their last one elsewhere */
};

/* One thread; written by that thread alone with plain stores, so it survives a kill. */
struct truth_thread {
	_Atomic uint32_t state; /* 0 never used, 1 alive, 2 ended */
	int32_t tid;
	_Atomic uint32_t in_call; /* 1 + number of the call in progress, or 0 */
	uint32_t reuses;          /* earlier threads whose counts this slot holds */
	struct truth_totals total;
	uint64_t kernel_launches[TRUTH_OWN]; /* by kernel number, of the first ones */
	uint64_t kernel_ns[TRUTH_OWN];
	uint64_t api_calls[TRUTH_APIS];
	uint64_t api_failed[TRUTH_APIS];
};

struct truth_kernel {
	char name[TRUTH_NAME];     /* longer names are cut */
	_Atomic uint64_t launches; /* beyond what threads count for themselves */
	_Atomic uint64_t gpu_ns;
	_Atomic uint64_t graph_launches; /* launched inside a graph; not in launches */
	_Atomic uint64_t graph_gpu_ns;
};

/* Busy is the union over streams of kernels, copies and sets, of all work submitted so far; work
 * still queued when the process ends is in it.  idle = (last_end - first_start) - busy. */
struct truth_device {
	uint64_t busy_ns;
	uint64_t first_start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_end_ns;
	uint64_t kernel_ns; /* sums, overlap counted twice */
	uint64_t copy_ns;
	uint64_t set_ns;
};

struct truth_file {
	uint64_t magic;
	uint32_t version;
	uint32_t thread_bytes; /* sizeof(struct truth_thread) */
	int32_t pid;
	_Atomic uint32_t state;
	_Atomic uint32_t threads_used;
	_Atomic uint32_t kernels_used;
	uint32_t apis;
	uint32_t devices;
	uint64_t start_ns;      /* CLOCK_MONOTONIC */
	_Atomic uint64_t inits; /* cuInit calls that succeeded */
	struct truth_device device[TRUTH_DEVICES];
	char api_name[TRUTH_APIS][64];
	struct truth_kernel kernel[TRUTH_KERNELS];
	struct truth_thread thread[]; /* threads_used of them; the file grows */
};
