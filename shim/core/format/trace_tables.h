/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a recording: calls, kernels, graphs, clocks, devices, streams, libraries, what was
 * seen but not intercepted, and strings. A part of trace_format.h.
 */
#ifndef SPY_TRACE_TABLES_H
#define SPY_TRACE_TABLES_H

#include <stdint.h>

#define TF_TABLE_PAGES 128

/* An array that grows by pages: entry i is at pages[i / page_entries] + (i % page_entries) *
 * entry_bytes. */
struct tf_table {
	uint32_t entry_bytes;
	uint32_t page_entries;
	uint32_t max;   /* entries at most, <= TF_TABLE_PAGES * page_entries */
	uint32_t count; /* release: entries below it are complete */
	uint64_t pages[TF_TABLE_PAGES];
};

/* Table `calls`: every intercepted call, index = call id in records and statistics. */
struct tf_call {
	char name[52];
	uint8_t cls;   /* enum spy_class */
	uint8_t level; /* enum spy_level */
	uint16_t reserved;
	uint64_t hist; /* struct tf_hist, API time; 0 until the drain met a record; written by the
	                  drain */
};

struct tf_kernel {     /* table `kernels` */
	uint64_t name; /* struct tf_string, as the program's module has it (mangled) */
	uint64_t
	        hist; /* struct tf_hist, API time of its launches; 0 = none; written by the drain */
	uint64_t shapes; /* different (grid, block, shared memory) seen; written by the drain */
	/* written by the timeline */
	uint64_t queue_hist;  /* struct tf_hist, queue time: return of the launch to start; 0 = none
	                       */
	uint64_t queue_count; /* launches whose queue time was positive */
	uint64_t queue_ticks;
	uint64_t reserved[2];
};
#define TF_KERNELS_MAX    65536u
#define TF_KERNEL_OTHER   65535u /* all that found no place */
#define TF_KERNEL_UNKNOWN 0u     /* the first entry: launches whose function has no known name */

struct tf_graph { /* table `graphs`: instantiated graphs */
	uint64_t handle;
	uint64_t instantiated; /* tick */
	uint64_t destroyed;    /* tick, 0 = alive */
	uint64_t instantiate_ticks;
	/* written by the drain */
	uint64_t launches;
	uint64_t sum_ticks;
	uint64_t updates;
	uint32_t content; /* of its launches, see struct tf_record; or TF_GRAPH_SEVERAL */
	uint32_t nodes;   /* index + 1 in table `graph_nodes` of what it held when it was made; 0 =
	                     not read. TF_GRAPH_OTHER_NODES, by the drain: a launch of it held
	                     something else */
};
#define TF_GRAPHS_MAX        8192u
#define TF_GRAPH_SEVERAL     UINT32_MAX /* it was changed between launches */
#define TF_GRAPH_OTHER_NODES 0x80000000u

/*
 * Table `graph_nodes`: what graphs hold, as the driver told it when they were made. Of each thing
 * that graphs hold together: a row of kind TF_NODES_ALL, and behind it `rows` rows of nodes that
 * are alike. Graphs that hold the same share them. The nodes of child graphs are counted where the
 * child stands.
 */
struct tf_graph_nodes {
	uint32_t graph;    /* index in table `graphs` of the first that holds this; UINT32_MAX = it
	                      found no place there */
	uint16_t kind;     /* enum tf_nodes */
	uint16_t flags;    /* TF_NODES_... */
	uint64_t nodes;    /* in one launch; of TF_NODES_ALL: all together */
	uint64_t launches; /* of TF_NODES_ALL: launches of graphs that held this; by the drain */
	uint64_t bytes;    /* of copies and sets: of all these nodes in one launch */
	uint32_t kernel;   /* from here on: of a kernel's launch */
	uint32_t shared_bytes;
	uint32_t grid_x;
	uint16_t grid_y, grid_z;
	uint16_t block_x, block_y;
	uint8_t block_z;
	uint8_t direction; /* of copies: enum spy_direction */
	uint8_t memory;    /* of copies: enum spy_memory */
	uint8_t reserved;
	uint32_t rows; /* of TF_NODES_ALL: rows behind it that are its own */
	uint32_t reserved2;
};
enum tf_nodes {
	TF_NODES_ALL = 1,
	TF_NODES_KERNEL,
	TF_NODES_COPY,
	TF_NODES_SET,
	TF_NODES_HOST,
	TF_NODES_OTHER, /* empty ones, events, semaphores, memory */
	TF_NODES_CONDITIONAL,
	TF_NODES_KINDS
};
#define TF_NODES_PART       0x0001u /* not all was read: too many nodes, or too little time */
#define TF_NODES_REFUSED    0x0002u /* the driver did not tell of every node what it does */
#define TF_GRAPH_NODES_MAX  32768u
#define TF_GRAPH_NODES_PAGE 256u

struct tf_clock_triple { /* table `clocks`: one instant on three clocks, ordered */
	uint64_t tick;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
	uint64_t bracket; /* ticks the reading took: the error is at most half of it */
};

struct tf_gap {           /* table `gaps`: what was seen but could not be intercepted */
	char name[96];    /* a driver entry, or a file */
	uint32_t kind;    /* enum tf_gap_kind */
	uint32_t version; /* of a driver entry, as asked for */
	uint64_t count;
	uint64_t reserved[2];
};
enum tf_gap_kind { TF_GAP_NEW_ENTRY = 1, TF_GAP_DEEPBIND, TF_GAP_DLMOPEN, TF_GAP_UNSEEN_DRIVER };

struct tf_device { /* table `devices` */
	char name[96];
	uint64_t memory_bytes;
	uint32_t simulated;
	uint32_t index;
	uint32_t null_kernel_ns, off_ns; /* by `cudaspy calibrate`: struct gpu_kind; 0 = it was not
	                                    measured on this machine */
	uint64_t calibrated;             /* when: seconds since 1970 */
};

struct tf_stream { /* table `streams`: each stream that work was given to; written by the timeline
	            */
	uint64_t handle;
	uint32_t device;
	uint32_t flags;                         /* CU_STREAM_NON_BLOCKING ..., TF_STREAM_... */
	uint64_t kernels, copies, sets, graphs; /* work given to it */
	uint64_t kernel_ticks, copy_ticks; /* GPU time: of kernels and graphs; of copies and sets */
	uint64_t overlapped_ticks; /* of the copies' time: while a kernel ran on the device */
	uint64_t reserved[3];
};
#define TF_STREAM_UNSEEN     0x10000u /* its making was not seen: flags unknown */
#define TF_STREAM_LEGACY     0x20000u
#define TF_STREAM_PER_THREAD 0x40000u

struct tf_library { /* table `libraries`: CUDA runtimes and tools found in the process */
	char path[240];
	uint32_t kind;    /* enum tf_library_kind */
	uint32_t version; /* CUDA version as 1000 * major + 10 * minor, 0 = unknown */
	uint64_t reserved;
};
enum tf_library_kind {
	TF_LIBRARY_RUNTIME = 1,
	TF_LIBRARY_DRIVER,
	TF_LIBRARY_TOOL,
	TF_LIBRARY_STATIC_RUNTIME
};

/* A string: length, then the bytes and a NUL. Never trusted: may hold control characters. */
struct tf_string {
	uint32_t bytes; /* without the NUL */
	char text[];
};
#define TF_STRING_MAX 32768u

#endif
