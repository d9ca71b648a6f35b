/*
 * The classes of calls, the levels, and the other small enumerations that stand in a recording.
 * Shared by the shim and the reporter; the values are part of the file format (only ever extended).
 */
#ifndef SPY_CLASSES_H
#define SPY_CLASSES_H

/* XX(ENUM, "name in reports", what belongs there) */
#define SPY_CLASS_MAP(XX)                                                                          \
	XX(LAUNCH, "launch")             /* kernels */                                             \
	XX(GRAPH_LAUNCH, "graph_launch") /* instantiated graphs */                                 \
	XX(COPY, "copy")                                                                           \
	XX(SET, "set")                                                                             \
	XX(SYNC, "sync")     /* calls whose purpose is to wait */                                  \
	XX(ALLOC, "alloc")   /* allocate, free, register, map: device, host, pools */              \
	XX(MODULE, "module") /* load, unload, get function, link */                                \
	XX(STREAM, "stream")                                                                       \
	XX(EVENT, "event")                                                                         \
	XX(GRAPH, "graph") /* capture, build, instantiate, update */                               \
	XX(QUERY, "query") /* is it done? */                                                       \
	XX(CONTEXT, "context")                                                                     \
	XX(OTHER, "other")

enum spy_class {
#define XX(id, name) SPY_CLASS_##id,
	SPY_CLASS_MAP(XX)
#undef XX
	        SPY_CLASS_COUNT
};

enum spy_level { SPY_LEVEL_DRIVER, SPY_LEVEL_RUNTIME };

#define SPY_DIRECTION_MAP(XX)                                                                      \
	XX(HTOD, "HtoD")                                                                           \
	XX(DTOH, "DtoH")                                                                           \
	XX(DTOD, "DtoD")                                                                           \
	XX(HTOH, "HtoH")                                                                           \
	XX(PTOP, "PtoP")                                                                           \
	XX(UNKNOWN, "unknown")

enum spy_direction {
#define XX(id, name) SPY_DIR_##id,
	SPY_DIRECTION_MAP(XX)
#undef XX
	        SPY_DIR_COUNT
};

/* The kind of the host side of a copy; DEVICE where no side is in host memory. */
#define SPY_MEMORY_MAP(XX)                                                                         \
	XX(PAGEABLE, "pageable")                                                                   \
	XX(PINNED, "pinned")                                                                       \
	XX(DEVICE, "device")                                                                       \
	XX(MANAGED, "managed")                                                                     \
	XX(UNKNOWN, "unknown")

enum spy_memory {
#define XX(id, name) SPY_MEM_##id,
	SPY_MEMORY_MAP(XX)
#undef XX
	        SPY_MEM_COUNT
};

/* What may go wrong inside the shim, or be seen and not be intercepted. Counted, named in reports.
 */
#define SPY_TROUBLE_MAP(XX)                                                                        \
	XX(FILE_FULL, "the file could not grow")                                                   \
	XX(THREADS_FULL, "threads not recorded")                                                   \
	XX(KERNELS_FULL, "kernels counted as (other)")                                             \
	XX(REGISTRY_FULL, "handles not remembered")                                                \
	XX(MEMORY_FULL, "allocations not remembered")                                              \
	XX(RING_FULL, "ring not grown")                                                            \
	XX(COLLECTOR, "collector not started")                                                     \
	XX(CLOCK_JUMP, "jumps of the clock")                                                       \
	XX(WORKS_FULL, "classes of GPU work not told apart")                                       \
	XX(FAILURES_FULL, "kinds of failure not told apart")                                       \
	XX(GRAPHS_FULL, "graphs not told apart")                                                   \
	XX(STREAMS_FULL, "streams not told apart")                                                 \
	XX(TIMELINE, "work that the timeline had no room for")                                     \
	XX(SAMPLING_OFF, "contexts in which sampling was switched off after a failure")            \
	XX(SAMPLES_DROPPED, "samples dropped: the host was late, or no event was free")            \
	XX(CUPTI_INVALID, "CUPTI records without valid times")                                     \
	XX(CUPTI_DROPPED, "CUPTI records dropped")

enum spy_trouble {
#define XX(id, name) SPY_TROUBLE_##id,
	SPY_TROUBLE_MAP(XX)
#undef XX
	        SPY_TROUBLE_COUNT
};

#endif
