/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the drain makes of records about the GPU: histograms, classes of work and their samples.
 * A part of trace_format.h.
 */
#ifndef SPY_TRACE_GPU_H
#define SPY_TRACE_GPU_H

#include <stdint.h>
#include "shim/core/format/classes.h"
#include "shim/core/format/trace_records.h"

#define TF_HIST_BUCKETS 1184u /* see histogram.h */
struct tf_hist {
	uint64_t count;
	uint64_t reserved;
	uint32_t buckets[TF_HIST_BUCKETS];
};

/*
 * Times between the two events around samples of a class, ns, as measured: the cost of the events
 * is still in them. Times of pinned copies over the bus are scaled to the least size of their class
 * first: estimate_pair_ns().
 */
struct tf_pairs {
	uint32_t count;    /* saturating: pairs beyond are not in the sums either */
	uint32_t least_ns; /* the shortest one, saturating */
	double sum_ns, sum_squares;
};

/* A class of GPU work. Area `works` is a hash table with open addressing; the first four words are
 * the key. */
struct tf_work {
	uint32_t id; /* kernel: index in `kernels`; graph: index in `graphs`, with TF_GRAPH_ALIKE of
	                the first one of equal content; calibration: device */
	uint32_t grid_x;
	uint16_t grid_y, grid_z, block_x, block_y;
	uint8_t block_z, cluster_x, cluster_y, cluster_z;
	uint32_t shared_bytes;            /* dynamic */
	uint8_t kind;                     /* enum tf_work_kind; 0 = a free place */
	uint8_t direction, memory, async; /* of a copy */
	uint32_t size;                    /* of a copy or set: work_size_bucket() of its bytes */

	uint64_t count; /* pieces of work, those of records that were not lost */
	uint64_t ticks; /* API time of these */
	uint64_t bytes;
	struct tf_pairs pairs[TF_PAIRS];
	uint64_t exact_count; /* CUPTI */
	double exact_ns;
	union {
		struct { /* kernels, from the driver; registers 0 = not asked */
			uint16_t registers;
			uint16_t blocks_per_sm; /* that fit together */
			uint16_t warps_per_sm;  /* that an SM holds at most */
			uint16_t static_shared; /* bytes, saturating */
		};
		/* Copies of pageable memory, which the driver stages; without CUPTI: API time of
		 * their calls less what these waited for earlier work; sum, ns. 0 = not known. By
		 * the timeline. */
		double staged_ns;
	};
};
#define TF_WORKS       8192u
#define TF_GRAPH_ALIKE 0x80000000u

/*
 * How the samples of a class are weighted. They are taken at uneven distances, and a class may
 * change while the program runs. So each sample stands for w launches: half of those since the
 * sample before it and half of those up to the next one, counted in its series. A series is the
 * launches of the class by one thread.
 *
 * y: the sample's time, ns. d: half the squared difference of y to the next sample of the same kind
 * (idle or busy stream). The last sample of a series, its end, has only the first half of its w in
 * the sums up to `spread`. The launches behind the ends are divided among them by g, the distance
 * of each from the sample before it: how many are behind which end is not known.
 */
struct tf_weights {
	double weight[TF_PAIRS];            /* sum of w, of pairs on an idle and on a busy stream */
	double sum_ns;                      /* of w * y */
	double squares;                     /* of w * w */
	double told;                        /* of w * w, of samples whose d is known */
	double spread;                      /* of w * w * d */
	double end_weight[TF_PAIRS];        /* of the ends: sum of g */
	double end_ns;                      /* of g * y */
	double end_squares, end_both;       /* of g * g; of g times the half of w it has */
	double end_spread, end_both_spread; /* the same, times d */
	double recent_ns;                   /* mean of about the last eight samples */
	double recent_busy;                 /* share of these on a busy stream */
	uint64_t covered;                   /* launches up to the ends */
	uint32_t pairs;                     /* in these sums, saturating */
	uint32_t tries;                     /* pieces of work with events around them, lost
	                                       samples too */
	double end_apart_ns, end_apart;     /* of the ends: sum of g * g * y; of g * g * y * y */
	uint64_t reserved[5];
};

/* Area `weights`: the struct tf_weights of each entry of `works`, as offset / 64; 0 = none. */
struct tf_weight_places {
	uint32_t at[TF_WORKS];
};
#define TF_PLACE_BYTES 64u

#endif
