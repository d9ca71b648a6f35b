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

#define TF_HIST_BUCKETS 1184u /* see hist.h */
struct tf_hist {
	uint64_t count;
	uint64_t reserved;
	uint32_t buckets[TF_HIST_BUCKETS];
};

/*
 * Event pairs, in nanoseconds as measured: what the pair itself costs is still in them. Those of
 * pinned copies over the bus as they would be at the least size of their class: estimate_pair_ns().
 */
struct tf_pairs {
	uint32_t count;    /* saturating: pairs beyond are not in the sums either */
	uint32_t least_ns; /* the shortest one, saturating */
	double sum_ns, sum_squares;
};

/* A class of GPU work. Area `works`: open addressing by the first four words, the key. */
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
		/* Copies of pageable memory that the driver stages, without CUPTI: time that their
		 * calls had for them, what they waited for work ahead taken out; sum, ns. 0 = not
		 * known. By the timeline. */
		double staged_ns;
	};
};
#define TF_WORKS       8192u
#define TF_GRAPH_ALIKE 0x80000000u

/*
 * What the pairs of a class of work stand for. Samples are taken at uneven distances, and a class
 * may change as the program goes on: a pair of the time y counts for w, half of the launches back
 * to the pair before it, of the same series, and half of those to the next one. A series: the
 * launches of a class by one thread, which knows how many there were. The last pair of each, its
 * end, counts for half only in the sums up to `spread`; what came behind the ends is shared out by
 * how far apart (g) they and the pairs before them were. d: half the squared difference to a
 * neighbour of the same kind.
 */
struct tf_weights {
	double weight[TF_PAIRS];            /* sum of w, of pairs on an idle and on a busy stream */
	double sum_ns;                      /* of w * y */
	double squares;                     /* of w * w */
	double told;                        /* of w * w, of pairs whose d is known */
	double spread;                      /* of w * w * d */
	double end_weight[TF_PAIRS];        /* of the ends: sum of g */
	double end_ns;                      /* of g * y */
	double end_squares, end_both;       /* of g * g; of g times what it has of w */
	double end_spread, end_both_spread; /* the same, times d */
	double recent_ns;                   /* of the last pairs, some eight */
	double recent_busy;                 /* share of these on a busy stream */
	uint64_t covered;                   /* launches up to the ends */
	uint32_t pairs;                     /* in these sums, saturating */
	uint32_t tries;                     /* pieces that events stood around */
	uint64_t reserved[7];
};

/* Area `weights`: where they are, beside `works`, in units of 64 bytes; 0 = none. */
struct tf_weight_places {
	uint32_t at[TF_WORKS];
};
#define TF_PLACE_BYTES 64u

#endif
