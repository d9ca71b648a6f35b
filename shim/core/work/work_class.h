/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of GPU work: which class a record's work is of, and the table of them in the recording.
 * For the drain, the timeline and the reporter. A class is (function, grid, block, cluster, dynamic
 * shared memory) of a kernel, all graphs of equal content (or the one executable graph, where its
 * content is not known), or (direction, memory, blocking or not, size) of a copy or set.
 */
#ifndef SPY_WORK_CLASS_H
#define SPY_WORK_CLASS_H

#include <stdbool.h>
#include "shim/core/format/trace_map.h"

/*
 * The size bucket of `bytes`: four to an octave, so that sizes of one bucket differ by less than
 * 19 %; 0 for no bytes. work_size_floor() is the least size of a bucket.
 */
uint32_t work_size_bucket(uint64_t bytes);
uint64_t work_size_floor(uint32_t bucket);

/* The kind of work that a call of this class gives to the GPU; TF_WORK_NONE where it gives none. */
static inline enum tf_work_kind work_kind(unsigned cls)
{
	return cls == SPY_CLASS_LAUNCH         ? TF_WORK_KERNEL
	       : cls == SPY_CLASS_GRAPH_LAUNCH ? TF_WORK_GRAPH
	       : cls == SPY_CLASS_COPY         ? TF_WORK_COPY
	       : cls == SPY_CLASS_SET          ? TF_WORK_SET
	                                       : TF_WORK_NONE;
}

/* The id of a graph's class, by its number and its content as in struct tf_record. */
static inline uint32_t work_graph(uint32_t graph, uint32_t content)
{
	return content ? TF_GRAPH_ALIKE | (content - 1) : graph;
}

/* Fills the key of the class that the work of `r`, of that kind, belongs to; all else is zero. */
void work_key(struct tf_work *key, enum tf_work_kind kind, const struct tf_record *r);

/* The class with this key, made if need be; NULL where the table is missing or full. */
struct tf_work *work_find(const struct tf_map *map, const struct tf_work *key);

/* The class with this key if it is there, else NULL; changes nothing. */
const struct tf_work *work_known(const struct tf_map *map, const struct tf_work *key);

/* The place in the table of a class that stands there, or of a copy of such a one; TF_WORKS: none.
 */
uint32_t work_index(const struct tf_map *map, const struct tf_work *w);

#endif
