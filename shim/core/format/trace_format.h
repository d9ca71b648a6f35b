/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording: one file per process, written through a shared mapping while the program runs, so
 * that a killed process loses nothing that it had stored. Included by the shim, which writes it,
 * and by the reporter, which trusts nothing in it.
 *
 * Layout. The file starts with struct tf_header; everything else lies at offsets (bytes from the
 * start of the file, multiples of 64, 0 = none) handed out by one bump allocator, `alloc_end`.
 * Numbers are in the byte order of the machine (`endian`). All times are ticks of the clock named
 * by `clock_kind`; the table `clocks` converts them.
 *
 * Who writes. A thread's slot (struct tf_thread, its kernel pages, the producer's side of its
 * rings) is written by that thread alone. `hists`, `slices`, `works`, `weights`, `graphs`'
 * statistics, what the timeline finds (`devices_time`, `host_ticks`, `streams`' figures,
 * `split_ticks` of a thread), the figures of `ranges`, `steps`, `loops`, `keep` and `trace` and
 * the consumer's side of the rings are written by the drain alone: the shim's collector, or the
 * reporter on its private copy. `environment` is written by a short-lived thread of the shim's,
 * `cpu` and what else cpu.c reads by the collector and the threads concerned. The rest of the
 * header and the tables of names are written under the shim's cold lock.
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
#include "shim/core/format/trace_environment.h"
#include "shim/core/format/trace_gpu.h"
#include "shim/core/format/trace_records.h"
#include "shim/core/format/trace_sites.h"
#include "shim/core/format/trace_steps.h"
#include "shim/core/format/trace_tables.h"
#include "shim/core/format/trace_threads.h"
#include "shim/core/format/trace_timeline.h"

#define TF_MAGIC   "CUDASPY\n"
#define TF_STUB    "CUDASPY>" /* a stub: then the path of the live recording, and '\n' */
#define TF_VERSION 5u
#define TF_ENDIAN  0x01020304u

enum tf_clock { TF_CLOCK_TSC = 1, TF_CLOCK_MONOTONIC = 2, TF_CLOCK_CNTVCT = 3 };
enum tf_gpu_mode { TF_GPU_OFF, TF_GPU_SAMPLE, TF_GPU_CUPTI };
enum tf_state { TF_STATE_OPEN = 1, TF_STATE_CLOSED = 2 };
enum tf_range { TF_RANGE_ALL, TF_RANGE_PROFILER, TF_RANGE_TIME };

/* ---- the end ---- */

enum tf_left { TF_LEFT_EXIT = 1, TF_LEFT_QUICK_EXIT, TF_LEFT_EXEC, TF_LEFT_HANDLERS };

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

/* Where `run_id` is from; numbers stand in recordings. */
enum tf_run_id_from {
	TF_RUN_ID_MADE,      /* by the shim; of older recordings not known */
	TF_RUN_ID_OF_RUN_ID, /* CUDASPY_RUN_ID */
	TF_RUN_ID_OF_RUN,    /* CUDASPY_RUN */
};

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
	uint64_t last_seen;    /* the collector's last round, or the exit: the process was alive */
	uint64_t first_call;   /* call id + 1 of the call whose return is window_start */
	uint64_t first_call_ticks;
	uint64_t range_from, range_to; /* CUDASPY_RANGE: recording first began, last stopped; 0 =
	                                  not (yet) */

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
	uint64_t host_ticks[16]; /* enum tf_host: at each instant, what the thread did that issued
	                            the next work; by the timeline */
	uint64_t timeline_upto;  /* tick up to which the timeline is */
	uint64_t gpu_partial;    /* tick at which exact GPU times ended early (another client took
	                            CUPTI); 0 = not */
	uint64_t environment;    /* struct tf_environment; 0 = none */
	uint64_t first_work;     /* tick of the first call that gave the GPU work; 0 = none yet */
	uint64_t exit_return;    /* when the exit handler began: tick at which the last call had
	                            returned; 0 = not */
	uint64_t exit_calls;     /* ... and how many calls were counted by then */
	uint64_t too_late_calls; /* later ones that returned TF_TOO_LATE */
	uint64_t left;           /* tick at which the process was about to end without its exit
	                            handlers, or amid them, or to become another program; 0 = not */
	uint64_t left_by;        /* enum tf_left */
	uint64_t space_most; /* bytes that the recording may take where it lives in memory; 0 = no
	                        such limit */
	uint64_t cpu;        /* struct tf_cpu; 0 = none */
	uint64_t loops_dropped;       /* beyond TF_LOOPS_MAX, those with the least time */
	uint64_t loops_dropped_ticks; /* their steps' time */
	uint64_t weights;             /* struct tf_weight_places; 0 = no pair yet */
	uint64_t graph_nodes;         /* struct tf_table of struct tf_graph_nodes; 0 = none */
	uint64_t sites;               /* struct tf_sites; 0 = none */
	uint64_t run_id_from;         /* enum tf_run_id_from */
	uint64_t pid_namespace;       /* inode of /proc/self/ns/pid; 0 = not known */

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
	struct tf_table loops;
	struct tf_table steps;
	uint64_t ranges_lost; /* ranges that ended and are in no figure */

	struct tf_seal seal;
};

_Static_assert(sizeof(struct tf_record) == 64, "a record is one cache line");
_Static_assert(sizeof(struct tf_call) == 64, "tf_call");
_Static_assert(sizeof(struct tf_kernel) == 64, "tf_kernel");
_Static_assert(sizeof(struct tf_work) == 128 && offsetof(struct tf_work, count) == 32, "tf_work");
_Static_assert(sizeof(struct tf_weights) == 192, "tf_weights");
_Static_assert(sizeof(struct tf_nvtx_range) == 160 && sizeof(struct tf_step) == 104,
               "ranges, steps");
_Static_assert(sizeof(struct tf_graph) == 64 && sizeof(struct tf_graph_nodes) == 64, "graphs");
_Static_assert(TF_HOSTS <= 16, "split_ticks[], host_ticks[]");
_Static_assert(sizeof(struct tf_ring) == 192, "tf_ring");
_Static_assert(sizeof(struct tf_kernel_stat) == 64, "a kernel's figures are one cache line");
_Static_assert(offsetof(struct tf_thread, ring_drain) == 64 &&
                       offsetof(struct tf_thread, tid) == 256,
               "cache lines");
_Static_assert(SPY_ANOMALY_COUNT <= 32, "anomaly[]");
_Static_assert(sizeof(struct tf_site) == 128 && sizeof(struct tf_code) == 64, "call sites");
_Static_assert(sizeof(struct tf_object) == 64 && sizeof(struct tf_site_pair) == 16, "call sites");
_Static_assert(sizeof(struct tf_header) % 64 == 0, "the seal has a line of its own");
_Static_assert(SPY_ENVIRONMENT_COUNT <= TF_READING_VALUES, "struct tf_reading");
_Static_assert(sizeof(struct tf_reading) == 376 && sizeof(struct tf_environment_device) == 840,
               "the environment");

#endif
