/* SPDX-License-Identifier: Apache-2.0 */
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
#define SPY_ANOMALY_MAP(XX)                                                                        \
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
	XX(CUPTI_DROPPED, "CUPTI records dropped")                                                 \
	XX(ENVIRONMENT, "readings of NVML that failed or came too late")                           \
	XX(LEFT, "calls left by a longjmp or an exception: in no figure")                          \
	XX(CAPTURES, "captures that ended with their stream or context: they gave no graph")       \
	XX(GPU_CACHE, "unusable lines of the user's file of GPU figures: run cudaspy calibrate")   \
	XX(CUPTI_LATE, "pieces of work that CUPTI told too late of to be placed, but for their "   \
	               "kind's time")

enum spy_anomaly {
#define XX(id, name) SPY_ANOMALY_##id,
	SPY_ANOMALY_MAP(XX)
#undef XX
	        SPY_ANOMALY_COUNT
};

/* What NVML is asked of a device: XX(ENUM, "key in JSON"). */
#define SPY_ENVIRONMENT_MAP(XX)                                                                    \
	XX(SM_MHZ, "sm_clock_mhz")                                                                 \
	XX(SM_MHZ_MAX, "sm_clock_max_mhz")                                                         \
	XX(MEMORY_MHZ, "memory_clock_mhz")                                                         \
	XX(MEMORY_MHZ_MAX, "memory_clock_max_mhz")                                                 \
	XX(REASONS, "throttle_reason_bits") /* enum spy_throttle */                                \
	XX(POWER_MW, "power_mw")                                                                   \
	XX(POWER_LIMIT_MW, "power_limit_mw")                                                       \
	XX(POWER_DEFAULT_MW, "power_limit_default_mw")                                             \
	XX(ENERGY_MJ, "energy_mj") /* millijoules since the driver was loaded */                   \
	XX(CELSIUS, "temperature_c")                                                               \
	XX(ECC, "ecc_uncorrected") /* since the driver was loaded */                               \
	XX(PCIE_GEN, "pcie_generation")                                                            \
	XX(PCIE_GEN_MAX, "pcie_generation_max") /* of device and slot together */                  \
	XX(PCIE_WIDTH, "pcie_width")                                                               \
	XX(PCIE_WIDTH_MAX, "pcie_width_max")                                                       \
	XX(UTILIZATION, "utilization_percent") /* of the last moments: a kernel ran */             \
	XX(PERSISTENCE, "persistence_mode")                                                        \
	XX(COMPUTE_MODE, "compute_mode") /* 0 default, 2 prohibited, 3 exclusive process */        \
	XX(MIG, "mig")                                                                             \
	XX(CAPPED_NS, "power_violation_ns")    /* clocks held down by the power limit, so far */   \
	XX(HEATED_NS, "thermal_violation_ns")  /* by temperature */                                \
	XX(OTHERS, "other_processes")          /* with a context, this process aside */            \
	XX(OTHERS_BYTES, "other_memory_bytes") /* of the device's memory that these hold */

enum spy_environment {
#define XX(id, name) SPY_ENVIRONMENT_##id,
	SPY_ENVIRONMENT_MAP(XX)
#undef XX
	        SPY_ENVIRONMENT_COUNT
};

/* Bits of SPY_ENVIRONMENT_REASONS, as NVML has them: XX(ENUM, bit, whether it is a fault, text). An
 * idle GPU and clocks set by a user are none. */
#define SPY_THROTTLE_MAP(XX)                                                                       \
	XX(IDLE, 0x1, 0, "idle")                                                                   \
	XX(CLOCKS_SET, 0x2, 0, "clocks set by a user")                                             \
	XX(POWER_CAP, 0x4, 1, "power cap")                                                         \
	XX(HARDWARE, 0x8, 1, "hardware slowdown")                                                  \
	XX(SYNC_BOOST, 0x10, 0, "sync boost")                                                      \
	XX(THERMAL, 0x20, 1, "temperature")                                                        \
	XX(HARDWARE_THERMAL, 0x40, 1, "hardware slowdown by temperature")                          \
	XX(POWER_BRAKE, 0x80, 1, "external power brake")                                           \
	XX(DISPLAY, 0x100, 0, "display clocks")

enum spy_throttle {
#define XX(id, bit, fault, text) SPY_THROTTLE_##id = bit,
	SPY_THROTTLE_MAP(XX)
#undef XX
};

#endif
