/* SPDX-License-Identifier: Apache-2.0 */
/* The same with what CUPTI tells. Included by the tests of exact times alone. */
#ifndef TESTS_UNIT_EXACT_FIXTURE_H
#define TESTS_UNIT_EXACT_FIXTURE_H

#include "tests/unit/shim/core/timeline/timeline_fixture.h"

#define MS 1000000ull

/* CUPTI says that the work of the call of `thread` that began at `entry` ran in [from, to). */
static inline void activity(uint32_t thread, uint64_t entry, enum tf_work_kind kind, uint64_t from,
                            uint64_t to)
{
	struct tf_record r = {.call = TF_CALL_ACTIVITY, .thread = (uint16_t)kind};

	r.start = WINDOW + from;
	r.end = WINDOW + to;
	r.stream = entry == UINT64_MAX ? 0 : TF_CAUSE(thread, WINDOW + entry);
	r.activity.kernel = kernels[0];
	timeline_activity(timeline, &r);
}

/* One of a graph's nodes, as CUPTI tells them before CUDA 11.7. */
static inline void node(uint64_t entry, uint64_t from, uint64_t to)
{
	struct tf_record r = {.call = TF_CALL_ACTIVITY,
	                      .thread = TF_WORK_KERNEL,
	                      .start = WINDOW + from,
	                      .end = WINDOW + to,
	                      .stream = TF_CAUSE(0, WINDOW + entry)};

	r.activity.graph_node = true;
	r.activity.kernel = kernels[0];
	timeline_activity(timeline, &r);
}

static inline void advance(uint64_t now)
{
	timeline_advance(timeline, WINDOW + now);
	assert_sums();
}

#endif
