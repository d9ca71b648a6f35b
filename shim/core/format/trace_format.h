/*
 * The recording: one file per process, written through a shared mapping while the program runs, so
 * that what was stored before a kill is in it. Included by the shim, which writes it, and by the
 * reporter, which trusts nothing.
 *
 * Layout. The file starts with struct tf_header; everything else lies at offsets (bytes from the
 * start of the file, multiples of 64, 0 = none) handed out by one bump allocator, `alloc_end`.
 * Numbers are in the byte order of the machine (`endian`). All times are ticks of the clock named
 * by `clock_kind`; the table `clocks` converts them.
 *
 * Who writes. A thread's slot (struct tf_thread, its kernel pages, the producer's side of its
 * rings) is written by that thread alone. `hists`, `slices`, `works`, `graphs`' statistics, what
 * the timeline finds (`devices_time`, `host_ticks`, `streams`' figures, `split_ticks` of a thread),
 * the figures of `ranges`, `steps`, `patterns`, `keep` and `trace` and the consumer's side of the
 * rings are written by the drain alone: the shim's collector, or the reporter on its private copy.
 * `environment` is written by a short-lived thread of the shim's, `cpu` and what else cpu.c reads
 * by the collector and the threads concerned. The rest of the header and the tables of names are
 * written under the shim's cold lock.
 *
 * Memory order. Counters are stored whole (relaxed, 64 bit, aligned). A record is complete before
 * its ring's `head` covers it, and a table's entry before the table's `count` covers it (release;
 * readers acquire).
 *
 * Versions. `version` changes when the meaning of something here changes. New fields go into spare
 * places or to the end of a struct whose size stands in the header.
 */
#ifndef SPY_TRACE_FORMAT_H
#define SPY_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include "shim/core/format/classes.h"

#define TF_MAGIC   "CUDASPY\n"
#define TF_STUB    "CUDASPY>" /* a stub: then the path of the live recording, and '\n' */
#define TF_VERSION 4u
#define TF_ENDIAN  0x01020304u

enum tf_clock { TF_CLOCK_TSC = 1, TF_CLOCK_MONOTONIC = 2, TF_CLOCK_CNTVCT = 3 };
enum tf_gpu_mode { TF_GPU_OFF, TF_GPU_SAMPLE, TF_GPU_CUPTI };
enum tf_state { TF_STATE_OPEN = 1, TF_STATE_CLOSED = 2 };
enum tf_range { TF_RANGE_ALL, TF_RANGE_PROFILER, TF_RANGE_TIME };

/* ---- tables ---- */

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
	uint32_t reserved;
};
#define TF_GRAPHS_MAX    8192u
#define TF_GRAPH_SEVERAL UINT32_MAX /* it was changed between launches */

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
	uint64_t reserved[2];
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

/* ---- per thread ---- */

/* One call, as the program made it (or, with TF_NESTED, a timed call inside it). */
struct tf_record {
	uint64_t start; /* ticks */
	uint64_t end;
	uint16_t call;
	uint16_t thread; /* index in table `threads` */
	uint16_t flags;  /* TF_NESTED ... */
	int16_t result;  /* CUresult or cudaError_t; 0 = success */
	uint64_t stream; /* handle as given; 0 = default stream (see TF_PTDS) */
	union {
		struct {                       /* launch */
			uint32_t kernel;       /* index in table `kernels` */
			uint32_t shared_bytes; /* dynamic */
			uint32_t grid_x;
			uint16_t grid_y, grid_z;
			uint16_t block_x, block_y;
			uint8_t block_z, cluster_x, cluster_y, cluster_z;
			uint32_t items; /* launches in this call: 1, or more for a multi-device
			                   launch */
			uint32_t reserved;
		} launch;
		struct { /* copy and set */
			uint64_t bytes;
			uint64_t dst;
			uint64_t src;
			uint16_t items;    /* copies in this call (batch), saturating */
			uint8_t direction; /* enum spy_direction */
			uint8_t memory;    /* enum spy_memory */
			uint8_t async;
			uint8_t reserved[3];
		} copy;
		struct { /* alloc: bytes and address; free: address, bytes 0 where not known */
			uint64_t bytes;
			uint64_t address;
			uint8_t is_free;
			uint8_t memory; /* enum spy_memory of what is allocated: pinned, device,
			                   managed */
			uint8_t reserved[14];
		} alloc;
		struct {                /* graph launch, instantiate, update */
			uint32_t graph; /* index in table `graphs` */
			/* of a launch: index + 1 of the first graph that did the same; 0 = what it
			 * does is not known, it is a class of its own */
			uint32_t content;
			uint64_t handle;
			uint64_t spare[2];
		} graph;
		struct { /* event record, wait, synchronize */
			uint64_t event;
			uint64_t spare[3];
		} event;
		struct {                 /* TF_CALL_ACTIVITY */
			uint32_t device; /* or TF_DEVICE_OF_CALL */
			uint32_t stream; /* CUPTI's number */
			uint64_t bytes;
			uint32_t kernel;     /* index in table `kernels` */
			uint32_t graph_node; /* it ran inside a graph */
			uint64_t spare;
		} activity;
		struct { /* TF_CALL_RANGE; saturating */
			uint32_t launches, graph_launches, syncs, copies, pageable_copies, sets,
			        allocs;
			uint32_t bytes_low; /* see tf_range_bytes() */
		} range;
		uint64_t arg[4];
	};
};
#define TF_NESTED   0x0001u /* inside the next record of this thread without this flag, in time */
#define TF_CAPTURED 0x0002u /* went into a graph under capture, not to the GPU */
#define TF_PTDS     0x0004u /* stream 0 means the per-thread default stream */
#define TF_FIRST    0x0008u /* this thread's first launch of the kernel */
#define TF_NO_ARGS  0x0010u /* the union was not filled: no driver call was seen inside */
#define TF_SAMPLED  0x0020u /* our events stood around this work on its stream */
#define TF_STALLED  0x0040u /* and our stall (header `stall_ns`) ahead of it */
#define TF_OWN      0x0080u /* nested, and a call of the program's own: by a handler or a callback */

/* Part of the call around it, and no call of its own. */
static inline int tf_is_part(const struct tf_record *r)
{
	return (r->flags & (TF_NESTED | TF_OWN)) == TF_NESTED;
}

/*
 * What is no call stands in the rings too, under a call id of its own:
 *
 * TF_CALL_SAMPLE    GPU time of one piece of work. `start`: entry of the call that gave it; `end`:
 *                   nanoseconds between our two events, as the driver tells it; `result`: enum
 *                   tf_pair; `thread`: enum tf_work_kind; `stream`, `flags` and the union as in the
 *                   work's own record. Calibration: kinds TF_WORK_EMPTY and TF_WORK_NULL, device in
 *                   launch.kernel.
 * TF_CALL_FACTS     of a launch class, once: the union as in its launches, `start` = registers a
 *                   thread | blocks an SM << 16 | warps an SM holds at most << 32 | static shared
 *                   memory in bytes << 48 (saturating).
 * TF_CALL_ACTIVITY  CUPTI's record of one piece of work, in ring `activity_ring`: `start` and `end`
 *                   in ticks on the GPU; `thread`: enum tf_work_kind; `stream`: which call gave it,
 *                   TF_CAUSE() of its thread and entry, 0 = unknown; union `activity`.
 * TF_CALL_RANGE     an NVTX range that ended: `start` and `end` in ticks; `thread`: index in table
 *                   `ranges`; `flags`: TF_RANGE_...; `stream`: API time of its launches and the
 * high part of its copies' bytes, see tf_range_bytes(); union `range`: what the thread that pushed
 * it, and all threads without ranges of their own, did meanwhile, by their exact counters.
 * TF_CALL_OWN       time that was ours, not the program's: `start` and `end` in ticks. It ends
 *                   where the call behind it in the ring begins, or more such time ahead of that
 *                   call. What took hardly any time has none: own_time.h.
 */
#define TF_CALL_SAMPLE          0xffffu
#define TF_CALL_FACTS           0xfffeu
#define TF_CALL_ACTIVITY        0xfffdu
#define TF_CALL_RANGE           0xfffcu
#define TF_CALL_OWN             0xfffbu
#define TF_CALL_LEAST           TF_CALL_OWN /* of these */
#define TF_DEVICE_OF_CALL       UINT32_MAX  /* the one current to the call that gave the work */
#define TF_CAUSE(thread, start) ((uint64_t)(thread) << 48 | ((start)&0xffffffffffffu))

enum tf_work_kind {
	TF_WORK_NONE,
	TF_WORK_KERNEL,
	TF_WORK_GRAPH,
	TF_WORK_COPY,
	TF_WORK_SET,
	TF_WORK_EMPTY, /* calibration: nothing between the events */
	TF_WORK_NULL,  /* calibration: an empty kernel of ours */
	TF_WORK_KINDS
};
enum tf_pair { TF_PAIR_IDLE, TF_PAIR_BUSY, TF_PAIRS }; /* the stream when its first event came */

#define TF_RANGE_STARTED   0x0100u /* by start and end, not push and pop: in no other range */
#define TF_RANGE_NO_COUNTS 0x0200u /* ended by another thread: what it did is not known */

/* A range's copied bytes and the API time of its launches: 48 bits each, saturating. */
static inline uint64_t tf_range_bytes(const struct tf_record *r)
{
	return (r->stream >> 48) << 32 | r->range.bytes_low;
}

static inline uint64_t tf_range_launch_ticks(const struct tf_record *r)
{
	return r->stream & 0xffffffffffffu;
}

/* A ring of records; when it is full and may grow, the thread goes on in the next, larger one. */
struct tf_ring {
	uint64_t capacity; /* records, a power of two */
	uint64_t next; /* offset of the ring that follows; release, after the last record of this
	                  one */
	uint64_t reserved[6];
	uint64_t head; /* producer: records ever written here; release */
	uint64_t reserved2[7];
	uint64_t tail; /* drain: records ever taken; release: the slot may be written again */
	uint64_t reserved3[7];
	struct tf_record slots[];
};

struct tf_call_stat {
	uint64_t calls;  /* outermost calls that returned */
	uint64_t failed; /* of these */
	uint64_t sum_ticks;
	uint64_t max_ticks;
};

struct tf_kernel_stat {
	uint64_t launches;  /* succeeded, not captured */
	uint64_t sum_ticks; /* API time of these */
	uint64_t max_ticks;
	uint64_t first_ticks; /* API time of this thread's first one, contained in the sum (lazy
	                         loading) */
	uint64_t captured;
	uint64_t failed;
	uint64_t kernel; /* index in table `kernels` */
	uint64_t reserved;
};
#define TF_KERNEL_PAGE 64u /* entries of a kernel page */
#define TF_KERNEL_DIRS (TF_KERNELS_MAX / TF_KERNEL_PAGE)

struct tf_copy_stat {
	uint64_t count; /* succeeded, not captured; a batch counts its items */
	uint64_t bytes;
	uint64_t sum_ticks; /* API time of the calls */
	uint64_t max_ticks;
};
#define TF_COPY_KINDS (SPY_DIR_COUNT * SPY_MEM_COUNT * 2)
#define TF_COPY_KIND(direction, memory, async)                                                     \
	(((direction)*SPY_MEM_COUNT + (memory)) * 2 + !!(async))

/* A result that says only that the process is ending: CUDA_ERROR_DEINITIALIZED,
 * cudaErrorCudartUnloading. */
#define TF_TOO_LATE 4

struct tf_failure {
	uint32_t call;
	int32_t result;
	uint64_t count;
	uint64_t first_tick;
};
#define TF_FAILURES 24u

struct tf_thread { /* table `threads` holds offsets of these; `thread_bytes` long in all */
	/* the call it is in just now */
	uint32_t in_call; /* call id + 1; 0 = outside CUDA */
	uint32_t depth;
	uint64_t in_start;
	uint64_t last_return; /* tick at which its last call returned */
	uint64_t lost;        /* records that found the ring full */
	uint64_t launches;    /* succeeded, not captured; `items` has those of launches whose kernel
	                         found no place */
	uint64_t ring_first;  /* offset of its first ring */
	uint64_t syncs;       /* that succeeded */
	uint64_t ranges;      /* 1: it opened an NVTX range */

	/* the drain's, in a cache line of their own: it writes them while the thread writes the
	 * line above */
	uint64_t ring_drain;     /* offset of the ring it reads */
	uint64_t nested_ticks;   /* timed nested calls whose outer record is still to come */
	uint64_t implicit_syncs; /* calls of other classes that waited for the GPU; by the timeline
	                          */
	uint64_t first_ticks;    /* API time of launches flagged TF_FIRST; by the timeline */
	uint64_t reserved4[4];
	uint64_t split_ticks[16]; /* enum tf_host; by the timeline */

	uint64_t tid;
	uint64_t birth;         /* tick; of the present owner of the slot */
	uint64_t death;         /* tick; 0 = alive */
	uint64_t first_call;    /* tick of its first recorded call's entry */
	uint64_t adopted;       /* threads that had this slot before and died */
	uint64_t adopted_ticks; /* their life time within the window, summed */
	char name[16];
	uint64_t allocated_bytes, freed_bytes; /* device memory whose size was known */

	uint64_t items[SPY_CLASS_COUNT]; /* work that succeeded and was not captured, per class; a
	                                    batch counts its items */
	uint64_t captured[SPY_CLASS_COUNT]; /* work that went into a graph */
	/*
	 * Time by innermost class since the window began = sum of `calls[].sum_ticks` of the class
	 * + this: what nested calls take from their caller's class and give to their own, and the
	 * first call taken out.
	 */
	int64_t self_adjust[SPY_CLASS_COUNT];
	uint64_t samples;                     /* pieces of work that this thread timed */
	uint64_t sample_ticks;                /* its time that this took: in no call's time */
	uint64_t copy_bytes, pageable_copies; /* sums over `copies` */
	struct tf_copy_stat copies[TF_COPY_KINDS];
	struct tf_failure failures[TF_FAILURES];
	uint64_t allocs;      /* allocations and frees that succeeded */
	uint64_t graph_ticks; /* of sample_ticks: asking what graphs do */
	uint64_t unsealed;    /* 1: it was in a call when the seal was made, which leaves it out */
	/* By cpu.c: time that the thread could have run in and had no CPU, as the kernel counts it.
	 */
	uint64_t cpu_wait_ns; /* since its first call; of all threads that had this slot */
	uint64_t cpu_base_ns; /* the kernel's count when that was 0, modulo 2^64 */
	uint64_t cpu_tick;    /* when it was read last; 0 = it is not known */
	uint64_t cpu_cores;   /* that the thread may run on; 0 = not known */
	uint64_t reserved2;
	uint32_t kernel_pages[TF_KERNEL_DIRS]; /* offset / 64 of TF_KERNEL_PAGE struct
	                                          tf_kernel_stat; 0 = none */
	struct tf_call_stat calls[];           /* one per entry of table `calls` */
};

/* ---- fed by the rings ---- */

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

/* ---- the timeline ---- */

/* What a thread does; its innermost call decides. */
enum tf_host {
	TF_HOST_LAUNCH,
	TF_HOST_BACK_PRESSURE,
	TF_HOST_CONTENTION,
	TF_HOST_SYNC_USEFUL,
	TF_HOST_SYNC_WASTED,
	TF_HOST_COPY,
	TF_HOST_ALLOC,
	TF_HOST_MODULE,
	TF_HOST_OTHER,
	TF_HOST_OUTSIDE,
	TF_HOST_OWN, /* ours: TF_CALL_OWN */
	TF_HOSTS
};

enum tf_idle {
	TF_IDLE_LAUNCH,
	TF_IDLE_SYNC,
	TF_IDLE_COPY,
	TF_IDLE_ALLOC,
	TF_IDLE_MODULE,
	TF_IDLE_OUTSIDE,
	TF_IDLE_DEPENDENCY,
	TF_IDLE_UNKNOWN,
	TF_IDLE_OWN, /* we held the host up */
	TF_IDLES
};

struct tf_slice {
	uint64_t calls[SPY_CLASS_COUNT];
	uint64_t self_ticks[SPY_CLASS_COUNT]; /* time by innermost class, all threads */
	uint64_t
	        host_ticks[TF_HOSTS]; /* of the thread that issues the next work; by the timeline */
	/* Of the threads that give the GPU work: what they waited for a CPU, and of how much of
	 * their time that is known; by cpu.c */
	uint64_t cpu_wait_ns, cpu_known_ticks;
};
#define TF_SLICES 256u

struct tf_slices { /* slice i covers [origin + i * width, origin + (i + 1) * width) ticks */
	uint64_t origin;
	uint64_t width;
	uint64_t used; /* slices that may be non-empty */
	uint64_t reserved[5];
	struct tf_slice slice[TF_SLICES];
};

/* A device's time, ticks. busy + the sum of idle[] is the time covered. */
struct tf_busy {
	uint64_t busy;    /* union of kernels, copies and sets */
	uint64_t comm;    /* of it: communication kernels alone */
	uint64_t kernels; /* union of kernels and graphs */
	uint64_t copies;  /* union of copies and sets; overlap = kernels + copies - busy */
	uint64_t idle[TF_IDLES];
};

struct tf_slice_busy {
	struct tf_busy busy[TF_SLICES]; /* the slices of struct tf_slices */
};

struct tf_device_time { /* at header `devices_time[device]` */
	struct tf_busy total;
	uint64_t from, until;   /* ticks covered: from the window's start to the last work seen */
	uint64_t work;          /* pieces of work placed */
	uint64_t work_unknown;  /* of these: of a class without a known duration */
	uint64_t work_ticks;    /* sum of durations: overlap counted twice */
	uint64_t anchored;      /* waits that told when work really ended */
	uint64_t guessed_ticks; /* of work_ticks: of classes without a known duration */
	uint64_t reserved[3];
	struct tf_slice_busy slices;
};
#define TF_DEVICES_TIMED 16u

/* ---- ranges and steps ---- */

struct tf_counts { /* what a thread did meanwhile */
	uint64_t launches, graph_launches, syncs, copies, pageable_copies, sets, allocs;
	uint64_t copy_bytes;
	uint64_t launch_ticks; /* API time of launches and graph launches */
};

/*
 * Table `ranges`: NVTX ranges by name and by the range they lie in, a tree: an entry stands behind
 * its parent. Made by the shim; from `hist` on written by the drain. Entry 0 takes what found no
 * place.
 */
struct tf_nvtx_range {
	uint64_t name;   /* struct tf_string, UTF-8 if the program keeps to it */
	uint64_t domain; /* struct tf_string, 0 = the default domain */
	uint32_t parent; /* index + 1, 0 = in no other */
	uint16_t level;  /* ranges around it */
	uint16_t flags;  /* TF_RANGE_PATTERN */

	uint64_t hist; /* struct tf_hist, durations; 0 = none */
	uint64_t count;
	uint64_t counted; /* of these: whose counts are known */
	uint64_t ticks, min_ticks, max_ticks;
	struct tf_counts counts;
	uint32_t rows;    /* in table `steps` */
	uint32_t stride;  /* every so many-th has a row; 0 = it has none */
	uint32_t pattern; /* by the shim: index + 1 of the entry for its name's pattern; 0 = none */
	uint32_t reserved;
};
#define TF_RANGES_MAX    16384u
#define TF_RANGE_OTHER   0u
#define TF_RANGE_PATTERN 1u /* for many names that differ in their numbers alone: each is '#' */

/* Table `patterns`: sequences of work that a thread was found to repeat. Written by the drain. */
struct tf_pattern {
	uint32_t thread; /* index in table `threads` */
	uint8_t cls;     /* enum spy_class of the marker, the work that tells steps apart */
	uint8_t reserved[3];
	uint64_t marker;      /* kernel, graph or call id; copy, set: TF_COPY_KIND() */
	uint64_t steps;       /* found, those without a row too */
	uint64_t events;      /* pieces of work in these */
	uint64_t alike_x1000; /* sum over steps of how much alike the step before, in 1/1000 */
	uint64_t odd;         /* steps that are less than half alike */
	uint32_t rows, stride;
	uint64_t given_up; /* tick at which another pattern took its place; 0 = not */
};
#define TF_PATTERNS_MAX 8u

struct tf_step { /* table `steps`: one range of the outermost levels, or one step found */
	uint64_t start, end;
	uint32_t source; /* index in `ranges`, or with TF_STEP_FOUND in `patterns` */
	uint32_t number; /* of this source's steps, from 0 */
	uint16_t thread;
	uint16_t flags;
	uint32_t reserved;
	struct tf_counts counts;
};
#define TF_STEPS_MAX      65536u
#define TF_STEP_FOUND     1u
#define TF_STEP_ODD       2u /* less than half alike the steps around it */
#define TF_STEP_NO_COUNTS 4u
#define TF_STEP_LEVELS    3u /* ranges of so many outermost levels have rows */

#define TF_STORE_PAGES 4096u
/* Records kept for the timeline: a directory of pages; a ring of pages (`keep`) or a growing file
 * (`trace`). */
struct tf_store {
	uint64_t page_records; /* records of a page */
	uint64_t pages_max;    /* <= TF_STORE_PAGES */
	uint64_t written;      /* records ever stored; release */
	uint64_t reserved[5];
	uint64_t pages[TF_STORE_PAGES];
	uint64_t digests[TF_STORE_PAGES]; /* seal_bytes() of each full page; of the one being filled
	                                     since the seal was made */
};

/* ---- the environment: what NVML says of the devices ---- */

#define TF_READING_VALUES 40u
#define TF_READING_PIDS   8u

struct tf_reading {    /* of one device; written by a thread of the shim's that does nothing else */
	uint64_t tick; /* when it was complete, release; 0 = it was not made */
	uint64_t cost_ns; /* what it took */
	uint64_t known;   /* 1 << enum spy_environment: the value was told */
	uint64_t value[TF_READING_VALUES];
	uint32_t pids[TF_READING_PIDS]; /* the first of the other processes; 0 = no more */
};

struct tf_environment_device {
	uint32_t index;  /* of table `devices` */
	uint32_t used;   /* it had a context, as far as was seen; written at exit */
	char bus_id[32]; /* PCI, as the driver says; the device's name for NVML */
	char uuid[48];
	struct tf_reading first, last; /* at the start; at exit, of devices that were used */
};
#define TF_ENVIRONMENT_DEVICES 16u

enum tf_environment_state {
	TF_ENVIRONMENT_UNKNOWN, /* the answer did not come in time */
	TF_ENVIRONMENT_NO_LIBRARY,
	TF_ENVIRONMENT_FAILED, /* `result` says why */
	TF_ENVIRONMENT_READ,
	TF_ENVIRONMENT_FORKED /* a forked child: not asked */
};

struct tf_environment {  /* area `environment` */
	uint32_t state;  /* enum tf_environment_state; release */
	uint32_t result; /* of NVML's initialisation */
	uint32_t count;  /* of `devices` */
	uint32_t reserved;
	uint64_t init_ns;        /* loading and initialising NVML */
	uint64_t cpu_ns;         /* of the threads that read */
	char driver_version[32]; /* of the kernel's driver: "580.95.05" */
	struct tf_environment_device devices[TF_ENVIRONMENT_DEVICES];
};

/* ---- the CPUs that the process may use ---- */

/* Written by the collector, now and then and at exit. */
struct tf_cpu {            /* area `cpu` */
	uint64_t known;    /* 1 << enum tf_cpu_known */
	uint64_t cores;    /* that it may run on */
	uint64_t online;   /* that the machine has */
	uint64_t quota_us; /* of CPU time in each `period_us`, all threads together: the tightest */
	uint64_t period_us; /* ... of the cgroups that the process is in */
	/* Since the first reading, in the cgroup that was held up most: periods, those in which it
	 * had used up its quota, and what its threads waited then, summed over CPUs. */
	uint64_t periods, throttled_periods, throttled_ns;
};

enum tf_cpu_known {
	TF_CPU_CORES,
	TF_CPU_ONLINE,
	TF_CPU_LIMIT, /* whether there is a quota */
	TF_CPU_QUOTA, /* there is one */
	TF_CPU_THROTTLED,
};

/* ---- the end ---- */

enum tf_left { TF_LEFT_EXIT = 1, TF_LEFT_QUICK_EXIT, TF_LEFT_EXEC };

/*
 * Whether a closed recording is as its process left it. `state` of one that is still open is 0.
 * Calls that come after the exit handler (static destructors) break the seal; our own destructor
 * makes it anew.
 */
struct tf_seal {
	uint64_t state;  /* TF_SEAL_...: any other value is damage */
	uint64_t digest; /* seal_digest(), valid in TF_SEAL_WHOLE */
	uint64_t reserved[6];
} __attribute__((aligned(64)));
#define TF_SEAL_MAKING 0x676e696b616d5f6cu /* the process ended while it was made */
#define TF_SEAL_WHOLE  0x656c6f68775f6c61u
#define TF_SEAL_BROKEN 0x6e656b6f72625f6cu /* more was recorded since */

/* ---- the header ---- */

struct tf_header {
	char magic[8];
	uint32_t version;
	uint32_t endian;
	uint32_t header_bytes;
	uint32_t record_bytes;
	uint32_t thread_bytes;
	uint32_t hist_bytes;
	uint32_t classes; /* SPY_CLASS_COUNT of the writer */
	uint32_t state;   /* enum tf_state */
	uint32_t clock_kind;
	uint32_t gpu_mode;
	uint64_t alloc_end; /* bytes handed out */
	uint64_t file_end;  /* bytes reserved on storage */

	/* identity */
	uint64_t pid, ppid;
	uint64_t pid_start;   /* field 22 of /proc/PID/stat: clock ticks since boot */
	uint64_t forked_from; /* pid of the recording process it was forked from, 0 = none */
	char run_id[40]; /* one per run: inherited by children through CUDASPY_RUN_ID, else made
	                    here */
	char boot_id[40];
	char host[72];
	char rank[24]; /* as the launcher's environment says; empty = none */
	char cudaspy_version[24];
	uint64_t command;        /* struct tf_string: arguments, separated by NULs */
	uint64_t working_folder; /* struct tf_string */
	uint64_t out_path;       /* struct tf_string: where the user finds the file */

	/* times, in ticks */
	uint64_t load;         /* the shim was loaded (or the fork happened) */
	uint64_t window_start; /* return of the call in which cuInit first succeeded; 0 = it has not
	                          returned */
	uint64_t closed;       /* the exit handler ran; 0 = not */
	uint64_t last_seen;    /* last sign of life of the process: collector's beat, or exit */
	uint64_t first_call;   /* call id + 1 of the call that window_start ends */
	uint64_t first_call_ticks;
	uint64_t range_from, range_to; /* CUDASPY_RANGE: first opened, last shut; 0 = not (yet) */

	/* options in force */
	uint32_t range_mode;
	uint32_t trace;
	uint64_t keep_bytes, trace_max_bytes, ring_records;
	uint32_t budget_percent_x100;
	uint32_t driver_version; /* cuDriverGetVersion, 0 = unknown */

	/* own cost */
	uint64_t span_ticks_x1024; /* measured cost of one recorded call, in 1/1024 tick */
	uint64_t collector_cpu_ns;
	uint64_t stall_ns; /* length of the stall ahead of a sampled piece of work on an idle stream
	                    */
	uint64_t timeline_unknown; /* records that the timeline could not place */

	uint64_t anomaly[32]; /* enum spy_anomaly */
	uint64_t lost_calls;  /* calls of threads that found no slot: in no other figure */

	/* areas */
	uint64_t slices;                         /* struct tf_slices */
	uint64_t works;                          /* struct tf_work[TF_WORKS] */
	uint64_t keep;                           /* struct tf_store */
	uint64_t store;                          /* struct tf_store of CUDASPY_TRACE=1; 0 = none */
	uint64_t activity_ring;                  /* struct tf_ring of CUPTI's records; 0 = none */
	uint64_t activity_drain;                 /* offset of the ring that the drain reads */
	uint64_t devices_time[TF_DEVICES_TIMED]; /* struct tf_device_time; 0 = no work seen */
	uint64_t host_ticks[16]; /* enum tf_host: at each instant of the thread that issues the next
	                            work; by the timeline */
	uint64_t timeline_upto;  /* tick up to which the timeline is */
	uint64_t gpu_partial;    /* tick at which exact GPU times ended early (another client took
	                            CUPTI); 0 = not */
	uint64_t environment;    /* struct tf_environment; 0 = none */
	uint64_t first_work;     /* tick of the first call that gave the GPU work; 0 = none yet */
	uint64_t exit_return;    /* when the exit handler began: tick at which the last call had
	                            returned; 0 = not */
	uint64_t exit_calls;     /* ... and the calls counted by then */
	uint64_t too_late_calls; /* calls behind it that only heard that the driver is gone */
	uint64_t left;           /* tick at which the process was about to end without its exit
	                            handlers, or to become another program; 0 = not */
	uint64_t left_by;        /* enum tf_left */
	uint64_t space_most; /* bytes that the recording may take where it lives in memory; 0 = no
	                        such limit */
	uint64_t cpu;        /* struct tf_cpu; 0 = none */
	uint64_t reserved[7];

	struct tf_table calls;
	struct tf_table threads; /* uint64_t offsets of struct tf_thread */
	struct tf_table kernels;
	struct tf_table graphs;
	struct tf_table clocks;
	struct tf_table gaps;
	struct tf_table devices;
	struct tf_table libraries;
	struct tf_table streams;
	struct tf_table ranges;
	struct tf_table patterns;
	struct tf_table steps;
	uint64_t ranges_lost; /* ranges that ended and are in no figure */

	struct tf_seal seal;
};

_Static_assert(sizeof(struct tf_record) == 64, "a record is one cache line");
_Static_assert(sizeof(struct tf_call) == 64, "tf_call");
_Static_assert(sizeof(struct tf_kernel) == 64, "tf_kernel");
_Static_assert(sizeof(struct tf_work) == 128 && offsetof(struct tf_work, count) == 32, "tf_work");
_Static_assert(sizeof(struct tf_nvtx_range) == 160 && sizeof(struct tf_step) == 104,
               "ranges, steps");
_Static_assert(TF_HOSTS <= 16, "split_ticks[], host_ticks[]");
_Static_assert(sizeof(struct tf_ring) == 192, "tf_ring");
_Static_assert(sizeof(struct tf_kernel_stat) == 64, "a kernel's figures are one cache line");
_Static_assert(offsetof(struct tf_thread, ring_drain) == 64, "the drain's line");
_Static_assert(offsetof(struct tf_thread, ring_drain) == 64 &&
                       offsetof(struct tf_thread, tid) == 256,
               "cache lines");
_Static_assert(SPY_ANOMALY_COUNT <= 32, "anomaly[]");
_Static_assert(sizeof(struct tf_header) % 64 == 0, "the seal has a line of its own");
_Static_assert(SPY_ENVIRONMENT_COUNT <= TF_READING_VALUES, "struct tf_reading");
_Static_assert(sizeof(struct tf_reading) == 376 && sizeof(struct tf_environment_device) == 840,
               "the environment");

#endif
