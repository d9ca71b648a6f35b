/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model says of time on the GPU. Estimates carry a 95 % interval; exact times (CUPTI) have
 * low = high = total; what is not known is NaN, never 0. For the model, which fills it, and the
 * outputs.
 */
#ifndef REPORT_MODEL_GPU_TYPES_H
#define REPORT_MODEL_GPU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/format/trace_format.h"

/*
 * Time that is added up class by class, ns. Each error is half of a 95 % interval. What differs
 * from class to class by chance adds in quadrature; what all of them share adds as it is.
 */
struct model_gpu_sum {
	double total;
	double random;       /* sum of squares: spread within the classes */
	double shared;       /* of what a pair of events costs, as calibrated */
	double systematic;   /* of the method */
	double below, above; /* one-sided: what is only bounded or assumed */
	double pieces;       /* pieces of work */
	double known;        /* those that `total` stands for */
	uint64_t samples;
};

struct model_gpu_time {
	double total, low, high;  /* of the pieces known */
	double mean;              /* of a piece known */
	double known;             /* share of the pieces that is known; NaN where there are none */
	uint64_t samples;         /* pieces that were timed */
	struct model_gpu_sum sum; /* for the model alone */
};

struct model_gpu_busy {
	double window; /* of the processes that used it, added up */
	double busy, low, high;
	double comm;              /* of busy: communication kernels alone */
	double idle;              /* window - busy; whole ns, as its parts */
	double by[TF_IDLES];      /* sum to idle */
	double kernels, copies;   /* unions */
	double overlap, possible; /* copies while kernels ran; that could have, on each device */
	double work, unknown;     /* pieces of work placed; of unknown duration */
	double guessed;           /* time that those of unknown duration stand for */
};

struct model_gpu_device {
	char *host, *name;
	uint32_t index;
	bool known;
	uint32_t processes; /* that gave it work */
	struct model_gpu_busy time;
};

struct model_stream {
	uint64_t pid, handle;
	uint32_t device, flags;
	uint64_t kernels, copies, sets, graphs;
	double kernel_ns, copy_ns, overlapped; /* NaN: not known */
};

/* A class of work that was never timed. */
struct model_untimed {
	const char *name; /* the kernel's, which outlives it; NULL = no kernel */
	uint32_t kind;    /* enum tf_work_kind */
	uint32_t grid[3], block[3];
	uint64_t handle; /* of a graph */
	bool alike;      /* of the first one of equal content */
	uint8_t direction, memory;
	uint64_t bytes, count; /* bytes: of all pieces */
};
#define UNTIMED_MOST 64 /* told one by one: the largest */

/* A class of work of one recording, and the time of one piece, ns; NaN: not known. */
struct model_gpu_class {
	const char *name; /* the kernel's, which outlives it; NULL = no kernel */
	uint32_t kind;    /* enum tf_work_kind */
	uint32_t grid[3], block[3], shared_bytes;
	uint8_t direction, memory;
	uint64_t bytes, count, samples; /* bytes: of all pieces */
	double mean, low, high, api_mean;
	double deviation; /* of one piece beside its neighbours */
	uint64_t tries;   /* pieces that events stood around, whatever came of it; 0 = not known */
	bool mixed;       /* its pieces differ much: alike in name and shape alone */
	bool lossy; /* a fifth of the tries or more were lost: what is left may not be like all */
};

struct model_pair_line { /* calibration, ns */
	uint64_t count;
	double mean, deviation;
};

/* Where what no run can measure by itself is known from; the least known first. */
enum model_kind_source { KIND_UNMEASURED, KIND_BUILT_IN, KIND_CALIBRATED };
extern const char *const model_kind_source_names[];

struct model_gpu_kind {
	double null_kernel; /* of the pair around it: the empty kernel's own time, ns; 0 = nothing
	                       was estimated */
	double off;         /* half of a 95 % interval: of a pair less its cost, ns */
	enum model_kind_source source; /* of the least known device */
	double calibrated;             /* when, realtime ns; NaN: it was not */
	bool differ;                   /* the devices are of several kinds */
};

struct model_gpu {
	uint32_t mode; /* enum tf_gpu_mode; of the first process */
	bool measured; /* not off, and something is known */
	bool estimated;
	bool partial; /* exact times ended before the program did */
	struct model_gpu_time all, kernels, graphs, copies, sets;
	struct model_gpu_time launched; /* kernels and graphs */
	bool has_busy;
	struct model_gpu_busy busy; /* all devices that are known */
	bool stretched;             /* busy is more than all work took */
	struct model_gpu_device *devices;
	size_t device_count;
	struct model_stream *streams;
	size_t stream_count;
	struct model_untimed *untimed;
	size_t untimed_count;
	struct model_gpu_class *classes;
	size_t class_count;
	double untimed_classes, untimed_pieces; /* all of them */
	uint64_t by_calls;                      /* samples that are copies' calls, no pairs */
	struct model_pair_line empty[TF_PAIRS], null[TF_PAIRS];
	bool crowded; /* the empty kernels of `null` waited for other streams' work: estimate.h */
	struct model_gpu_kind kind; /* what a pair costs on these devices */
	struct tf_pairs empty_sum[TF_PAIRS], null_sum[TF_PAIRS]; /* for the model alone */
	double overhead; /* launches: API time without back-pressure, contention, first ones */
	double first;    /* API time of first launches */
	uint64_t firsts;
	double launch_p50, queue_p50, queue;
	uint64_t queued;
	double stall;    /* ahead of a sample on an idle stream */
	double unplaced; /* records that the timeline could not place */
};

/* The run cut into slices of equal length. */
struct overview {
	size_t count;
	double origin, width;     /* ns since the recording's load; ns */
	double window;            /* ns since load, when the window begins */
	double first_work;        /* ns since load, when the GPU was first given work; 0 = not */
	double (*host)[TF_HOSTS]; /* ns of each slice; NULL = not known */
	struct overview_device {
		uint32_t index;
		double *busy, *covered;   /* ns of each slice */
		double (*idle)[TF_IDLES]; /* covered - busy, by what for */
	} * devices;
	size_t device_count;
	/* Of each slice, ns: what the threads that give the GPU work waited for a CPU, and of how
	 * much of their time that is known; NULL = of none. */
	double *cpu_wait, *cpu_known;
};

#endif
