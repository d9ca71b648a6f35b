/* SPDX-License-Identifier: Apache-2.0 */
/* What samples feed: the pairs of a class, and what each of them stands for. For drain_feed.c. */
#ifndef SPY_DRAIN_SAMPLES_H
#define SPY_DRAIN_SAMPLES_H

#include "shim/core/drain/drain.h"
#include "shim/core/gpu_time/weights.h"

/* The last pair of a series of samples. */
struct samples_series {
	uint32_t work, number; /* place of its class + 1; 0 = a free place */
	uint64_t used;         /* which sample was the last of it */
	struct weights_series last;
};

#define SAMPLES_SERIES_BITS 12
struct drain_samples {
	uint64_t fed;
	struct samples_series series[1u << SAMPLES_SERIES_BITS];
};

/* A record TF_CALL_SAMPLE. */
void samples_feed(struct drain *d, struct drain_samples *s, const struct tf_record *r);

/* A record TF_CALL_FACTS. */
void samples_facts(struct drain *d, const struct tf_record *r);

/* Events stood around a piece of the class; whether a sample came of it is seen later. */
void samples_tried(struct drain *d, const struct tf_work *w);

#endif
