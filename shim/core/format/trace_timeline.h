/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline in slices of time: what the host did, how long each device was busy, why it was
 * not. A part of trace_format.h.
 */
#ifndef SPY_TRACE_TIMELINE_H
#define SPY_TRACE_TIMELINE_H

#include <stdint.h>
#include "shim/core/format/classes.h"

/* What a thread does; its innermost call decides. */
enum tf_host {
	TF_HOST_LAUNCH,        /* in calls that launch kernels and graphs */
	TF_HOST_BACK_PRESSURE, /* of these: the launch queue was full */
	TF_HOST_CONTENTION,    /* of these: held up by another thread's call */
	TF_HOST_SYNC_USEFUL,   /* waiting while the GPU had work */
	TF_HOST_SYNC_WASTED,   /* waiting, and it had none left */
	TF_HOST_COPY,          /* in copies and sets, but for their waiting */
	TF_HOST_ALLOC,
	TF_HOST_MODULE, /* loading code, a kernel's first launch too */
	TF_HOST_OTHER,
	TF_HOST_OUTSIDE, /* in no CUDA call */
	TF_HOST_OWN,     /* time that the shim took: TF_CALL_OWN */
	TF_HOSTS
};

/* Why a device was idle: what the thread that then gave it the next work was doing meanwhile. */
enum tf_idle {
	TF_IDLE_LAUNCH,
	TF_IDLE_SYNC,
	TF_IDLE_COPY,
	TF_IDLE_ALLOC,
	TF_IDLE_MODULE,
	TF_IDLE_OUTSIDE,
	TF_IDLE_DEPENDENCY, /* the work had been launched: it waited on the GPU for other work, or
	                       was on its way to it */
	TF_IDLE_UNKNOWN,
	TF_IDLE_OWN, /* the shim held the host up */
	TF_IDLES
};

struct tf_slice {
	uint64_t calls[SPY_CLASS_COUNT];
	uint64_t self_ticks[SPY_CLASS_COUNT]; /* time by innermost class, all threads */
	uint64_t
	        host_ticks[TF_HOSTS]; /* of the thread that issues the next work; by the timeline */
	/* Of the threads that give the GPU work: time runnable without a CPU, and the time for
	 * which that is known; by cpu.c */
	uint64_t cpu_wait_ns, cpu_known_ticks;
};
#define TF_SLICES 256u

struct tf_slices { /* slice i covers [origin + i * width, origin + (i + 1) * width) ticks */
	uint64_t origin;
	uint64_t width;
	uint64_t used; /* slices that may be non-empty */
	/* Raised before and after what has its place is put elsewhere: slices merged, rows of steps
	 * thinned, a row of the loops freed. Odd meanwhile. */
	uint64_t rearranged;
	uint64_t reserved[4];
	struct tf_slice slice[TF_SLICES];
};

/* A device's time, ticks. busy + the sum of idle[] is the time covered. */
struct tf_busy {
	uint64_t busy;    /* union of kernels, copies and sets */
	uint64_t comm;    /* of it: communication kernels alone */
	uint64_t kernels; /* union of kernels and graphs */
	uint64_t copies;  /* union of copies and sets; overlap = kernels + copies - busy */
	uint64_t idle[TF_IDLES];
};

struct tf_slice_busy {
	struct tf_busy busy[TF_SLICES]; /* the slices of struct tf_slices */
};

struct tf_device_time { /* at header `devices_time[device]` */
	struct tf_busy total;
	uint64_t from, until;   /* ticks covered: from the window's start to the last work seen */
	uint64_t work;          /* pieces of work placed */
	uint64_t work_unknown;  /* of these: of a class without a known duration */
	uint64_t work_ticks;    /* sum of durations: overlap counted twice */
	uint64_t anchored;      /* waits of the host that showed when work really ended */
	uint64_t guessed_ticks; /* of work_ticks: of classes without a known duration */
	uint64_t reserved[3];
	struct tf_slice_busy slices;
};
#define TF_DEVICES_TIMED 16u

#endif
