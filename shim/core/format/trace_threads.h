/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread writes by itself: its ring, its exact figures, the call that it is in. A part of
 * trace_format.h.
 */
#ifndef SPY_TRACE_THREADS_H
#define SPY_TRACE_THREADS_H

#include <stdint.h>
#include "shim/core/format/classes.h"
#include "shim/core/format/trace_records.h"
#include "shim/core/format/trace_tables.h"

/* A ring of records. A thread whose ring is full continues in a new, larger one, if it may grow. */
struct tf_ring {
	uint64_t capacity; /* records, a power of two */
	uint64_t next; /* offset of the ring that follows; release, after the last record of this
	                  one */
	uint64_t reserved[6];
	uint64_t head; /* producer: records ever written here; release */
	uint64_t reserved2[7];
	uint64_t tail; /* drain: records ever taken; release: the slot may be written again */
	uint64_t reserved3[7];
	struct tf_record slots[];
};
#define TF_RING_FIRST 512u /* records of a new thread's first ring, or `ring_records` if fewer */
#define TF_RINGS_MOST 64u  /* of a thread: each is larger than the one before */

struct tf_call_stat {
	uint64_t calls;  /* outermost calls that returned */
	uint64_t failed; /* of these */
	uint64_t sum_ticks;
	uint64_t max_ticks;
};

struct tf_kernel_stat {
	uint64_t launches;  /* succeeded, not captured */
	uint64_t sum_ticks; /* API time of these */
	uint64_t max_ticks;
	uint64_t first_ticks; /* API time of this thread's first one, contained in the sum (lazy
	                         loading) */
	uint64_t captured;
	uint64_t failed;
	uint64_t kernel; /* index in table `kernels` */
	uint64_t reserved;
};
#define TF_KERNEL_PAGE 64u /* entries of a kernel page */
#define TF_KERNEL_DIRS (TF_KERNELS_MAX / TF_KERNEL_PAGE)

struct tf_copy_stat {
	uint64_t count; /* succeeded, not captured; a batch counts its items */
	uint64_t bytes;
	uint64_t sum_ticks; /* API time of the calls */
	uint64_t max_ticks;
};
#define TF_COPY_KINDS (SPY_DIR_COUNT * SPY_MEM_COUNT * 2)
#define TF_COPY_KIND(direction, memory, async)                                                     \
	(((direction)*SPY_MEM_COUNT + (memory)) * 2 + !!(async))

/* The result of calls made after the driver has shut down at exit: CUDA_ERROR_DEINITIALIZED,
 * cudaErrorCudartUnloading. */
#define TF_TOO_LATE 4

struct tf_failure {
	uint32_t call;
	int32_t result;
	uint64_t count;
	uint64_t first_tick;
};
#define TF_FAILURES 24u

struct tf_thread { /* table `threads` holds offsets of these; `thread_bytes` long in all */
	/* the call it is in just now */
	uint32_t in_call; /* call id + 1; 0 = outside CUDA */
	uint32_t depth;
	uint64_t in_start;
	uint64_t last_return; /* tick at which its last call returned */
	uint64_t lost;        /* records that found the ring full */
	uint64_t launches;    /* succeeded, not captured; `items` has those of launches whose kernel
	                         found no place */
	uint64_t ring_first;  /* offset of its first ring */
	uint64_t syncs;       /* that succeeded */
	uint32_t ranges;      /* 1: it opened an NVTX range */
	uint32_t range_now;   /* index + 1 of the innermost that is open; 0 = none */

	/* the drain's, in a cache line of their own: it writes them while the thread writes the
	 * line above */
	uint64_t ring_drain;     /* offset of the ring it reads */
	uint64_t nested_ticks;   /* timed nested calls whose outer record is still to come */
	uint64_t implicit_syncs; /* calls of other classes that waited for the GPU; by the timeline
	                          */
	uint64_t first_ticks;    /* API time of launches flagged TF_FIRST; by the timeline */
	uint64_t reserved4[4];
	uint64_t split_ticks[16]; /* enum tf_host; by the timeline */

	uint64_t tid;
	uint64_t birth;         /* tick; of the present owner of the slot */
	uint64_t death;         /* tick; 0 = alive */
	uint64_t first_call;    /* tick of its first recorded call's entry */
	uint64_t adopted;       /* threads that had this slot before and died */
	uint64_t adopted_ticks; /* their life time within the window, summed */
	char name[16];
	uint64_t allocated_bytes, freed_bytes; /* device memory whose size was known */

	uint64_t items[SPY_CLASS_COUNT]; /* work that succeeded and was not captured, per class; a
	                                    batch counts its items */
	uint64_t captured[SPY_CLASS_COUNT]; /* work that went into a graph */
	/*
	 * Time by the class of the innermost call, since the window began, is the sum of
	 * `calls[].sum_ticks` of the class plus this: a nested call's time is subtracted from its
	 * caller's class and added to its own, and the process' first call is subtracted.
	 */
	int64_t self_adjust[SPY_CLASS_COUNT];
	uint64_t samples;                     /* pieces of work that this thread timed */
	uint64_t sample_ticks;                /* what that took of the thread: in no call's time */
	uint64_t copy_bytes, pageable_copies; /* sums over `copies` */
	struct tf_copy_stat copies[TF_COPY_KINDS];
	struct tf_failure failures[TF_FAILURES];
	uint64_t allocs;      /* allocations and frees that succeeded */
	uint64_t graph_ticks; /* of sample_ticks: asking what graphs do */
	uint64_t unsealed;    /* 1: it was in a call when the recording was sealed; the digest
	                         does not cover it */
	/* By cpu.c: time that the thread could have run in and had no CPU, as the kernel counts it.
	 */
	uint64_t cpu_wait_ns; /* since its first call; of all threads that had this slot */
	uint64_t cpu_base_ns; /* the kernel's count when that was 0, modulo 2^64 */
	uint64_t cpu_tick;    /* when it was read last; 0 = it is not known */
	uint64_t cpu_cores;   /* that the thread may run on; 0 = not known */
	uint64_t site_ticks;  /* what taking stacks took of the thread: in no call's time */
	uint32_t kernel_pages[TF_KERNEL_DIRS]; /* offset / 64 of TF_KERNEL_PAGE struct
	                                          tf_kernel_stat; 0 = none */
	struct tf_call_stat calls[];           /* one per entry of table `calls` */
};

#endif
