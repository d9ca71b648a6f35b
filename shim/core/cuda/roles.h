/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each call does to streams, events, captures and graphs, and whether it waits: the ROLE
 * column of shim/core/format/calls.def, by the call's name. A row without it does not build.
 *
 * For the timeline, and for the reporter, which both know a call by its name and class in the
 * recording.
 *
 * Source: NVIDIA's documentation of each call; whether it waits: tests/gpu/hold_facts.cu.
 */
#ifndef SPY_ROLES_H
#define SPY_ROLES_H

#include <stdbool.h>
#include "shim/core/format/classes.h"

/* CUDA_ERROR_NOT_READY and cudaErrorNotReady: what a query returns while work is left; no failure.
 */
#define CUDA_NOT_READY 600

enum cuda_role {
	CUDA_ROLE_NONE,      /* nothing of what follows; also of a name that is not known */
	CUDA_ROLE_WORK,      /* gives its stream work: a launch, a copy, a set */
	CUDA_ROLE_COPY_ROWS, /* the same: a copy of rows (2D, 3D) */
	CUDA_ROLE_STREAM_MADE,
	CUDA_ROLE_STREAM_GONE,
	CUDA_ROLE_EVENT_RECORD,
	CUDA_ROLE_EVENT_WAIT, /* the stream waits, not the caller */
	CUDA_ROLE_EVENT_GONE,
	CUDA_ROLE_SYNC_ALL, /* for all work of the device, the context */
	CUDA_ROLE_SYNC_STREAM,
	CUDA_ROLE_SYNC_EVENT,
	CUDA_ROLE_QUERY_STREAM,
	CUDA_ROLE_QUERY_EVENT,
	CUDA_ROLE_HOST_FUNCTION, /* gives its stream a function of the host's */
	CUDA_ROLE_HOST_NODE,     /* the same to a graph, as a node */
	CUDA_ROLE_ALLOC, /* device, managed, pinned memory; host memory that is registered */
	CUDA_ROLE_FREE,
	CUDA_ROLE_MEMORY,        /* arranges memory otherwise: mappings, pools, arrays, handles */
	CUDA_ROLE_ALLOC_ORDERED, /* in the stream's order: cudaMallocAsync */
	CUDA_ROLE_FREE_ORDERED,
	CUDA_ROLE_CODE_LOADED,
	CUDA_ROLE_CODE_LINKED,
	CUDA_ROLE_CODE_UNLOADED,
	CUDA_ROLE_CAPTURE_BEGIN,
	CUDA_ROLE_CAPTURE_END,
	CUDA_ROLE_GRAPH_MADE,    /* an executable one, from its definition */
	CUDA_ROLE_GRAPH_CHANGED, /* an executable one, for its next launch: one node */
	CUDA_ROLE_GRAPH_UPDATED, /* the same: all of it */
	CUDA_ROLE_GRAPH_GONE,
	CUDA_ROLES
};

/* Of the call with this ELF symbol and class (enum spy_class); a few hundred comparisons. */
enum cuda_role cuda_role_of(const char *name, unsigned cls);

/* It allocates or frees in its stream's order. */
static inline bool cuda_role_is_ordered(unsigned role)
{
	return role == CUDA_ROLE_ALLOC_ORDERED || role == CUDA_ROLE_FREE_ORDERED;
}

/*
 * The call, which was not asked to wait, returns only when all work of its device has ended: frees,
 * of device, managed and pinned memory and of memory that is no longer registered, and what loads
 * and unloads code. Allocations and what is ordered in a stream never wait, nor do launches that
 * are the first of their kernel, looking up a function, and all that is made or destroyed of
 * streams, events and graphs. hold:free:*, hold:malloc:*, hold:module_*, hold:graph_*. A free of no
 * memory waits for nothing, and neither does one of memory that was allocated in a stream's order,
 * which a recording does not tell from others.
 */
static inline bool cuda_role_waits_for_device(unsigned role)
{
	return role == CUDA_ROLE_FREE || role == CUDA_ROLE_CODE_LOADED ||
	       role == CUDA_ROLE_CODE_UNLOADED;
}

/* It may wait for the device, for all that was measured: whether it did its time tells. Looking
 * up a function, which has no role, does not. */
static inline bool cuda_role_may_wait_for_device(unsigned role)
{
	return role != CUDA_ROLE_NONE && role != CUDA_ROLE_ALLOC && !cuda_role_is_ordered(role);
}

/* It asks whether something is done. */
static inline bool cuda_role_is_query(unsigned role)
{
	return role == CUDA_ROLE_QUERY_STREAM || role == CUDA_ROLE_QUERY_EVENT;
}

/* It loads code, as the program meant it or to make it loadable. */
static inline bool cuda_role_is_loading(unsigned role)
{
	return role == CUDA_ROLE_CODE_LOADED || role == CUDA_ROLE_CODE_LINKED;
}

/* It changes an executable graph for its next launch. */
static inline bool cuda_role_is_graph_change(unsigned role)
{
	return role == CUDA_ROLE_GRAPH_CHANGED || role == CUDA_ROLE_GRAPH_UPDATED;
}

/* Its record names a stream, in `stream`. */
static inline bool cuda_role_is_on_stream(unsigned role)
{
	switch (role) {
	case CUDA_ROLE_WORK:
	case CUDA_ROLE_COPY_ROWS:
	case CUDA_ROLE_STREAM_GONE:
	case CUDA_ROLE_EVENT_RECORD:
	case CUDA_ROLE_EVENT_WAIT:
	case CUDA_ROLE_SYNC_STREAM:
	case CUDA_ROLE_QUERY_STREAM:
	case CUDA_ROLE_HOST_FUNCTION:
	case CUDA_ROLE_ALLOC_ORDERED:
	case CUDA_ROLE_FREE_ORDERED:
		return true;
	default:
		return false;
	}
}

#endif
