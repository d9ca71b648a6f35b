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

#endif
