/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's recordings say, in nanoseconds and whole numbers, ready to be written by any output.
 * Filled by the model's modules, only read by the outputs. A time that is not known is NaN, a text
 * that is not known is NULL.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/call_log.h"
#include "report/model/model_gpu_types.h"
#include "report/model/model_phase_types.h"
#include "report/model/model_step_types.h"
#include "report/reader/reader.h"
#include "report/reader/state.h"
#include "report/model/site_types.h"
#include "shim/core/format/classes.h"

/*
 * A thread's time in the window: launch_api, sync, copy, alloc, module, other, outside and sampling
 * sum to `alive`, `alive` and `absent` to the window. Where the timeline tells, `launch_api` is
 * divided into three and `sync`, which then has what copies and allocations waited, into two; else
 * these are NaN and `sync` is that of the calls that are there to wait.
 */
struct model_split {
	double launch_api, sync, copy, alloc, module, other, outside;
	double launch, back_pressure, contention, sync_useful, sync_wasted;
	double sampling; /* what timing of GPU work, and stacks, took of the thread */
	double absent;
	double alive;
};

struct model_device {
	char *name;
	uint32_t index;
	uint64_t memory_bytes;
	bool simulated;
};

struct model_library {
	char *path;
	uint32_t kind, version;
};

struct model_flight { /* a call that had not returned */
	char *api;
	uint64_t tid;
	char *thread;
	double age; /* ns */
};

struct model_uncovered {
	char *name;
	uint32_t kind, version;
	uint64_t count;
};

/* Whether NVML was asked, as enum tf_environment_state has it. */
enum model_environment_state {
	ENVIRONMENT_LATE = TF_ENVIRONMENT_UNKNOWN,
	ENVIRONMENT_NO_LIBRARY = TF_ENVIRONMENT_NO_LIBRARY,
	ENVIRONMENT_FAILED = TF_ENVIRONMENT_FAILED,
	ENVIRONMENT_READ = TF_ENVIRONMENT_READ,
	ENVIRONMENT_FORKED = TF_ENVIRONMENT_FORKED,
	ENVIRONMENT_NONE /* the recording has nothing */
};

#define MODEL_READING_PIDS TF_READING_PIDS
struct environment_reading { /* what NVML said of a device at one moment */
	bool made;
	double value[SPY_ENVIRONMENT_COUNT];
	double cost;                       /* ns that it took */
	uint32_t pids[MODEL_READING_PIDS]; /* of other processes, the first ones; 0 = no more */
};

struct environment_device {
	uint32_t process; /* index: whose readings these are */
	uint32_t index;
	char *uuid, *bus_id;
	bool worked; /* this process used it */
	bool used;   /* the run did; where it used none, every device counts */
	struct environment_reading first, last;
	double between; /* ns between the two */
	double busy;    /* ns of it that the run's work took at most; NaN = not known */
};

/* What a process could run on, as the kernel said; NaN = not known. */
struct model_process_cpu {
	double cores, online;
	bool limited, limit_known; /* a cgroup's quota */
	double quota;              /* in cores */
	/* Since the recording began, in the cgroup that was held up most: periods of its quota,
	 * those in which it was used up, and what threads waited then, ns over all CPUs. */
	double periods, throttled_periods, throttled;
};

struct model_process {
	char *path; /* of its recording */
	uint64_t pid, ppid, forked_from;
	const char *run_id_from; /* a variable's name; NULL = made by the shim, or not known */
	char *run_id, *host, *boot_id, *rank, *cudaspy_version, *command, *working_folder;
	enum process_state state;
	uint32_t left_by;  /* enum tf_left, of PROCESS_ENDED */
	char *damage;      /* what is missing of its recording; NULL = nothing: it is whole */
	bool never_opened; /* its CUDASPY_RANGE: nothing was recorded */
	uint32_t clock_kind, gpu_mode, range_mode, driver_version, trace;
	double wall, window, startup, first_call_ns; /* ns */
	char *first_call;
	double start_realtime, end_realtime, window_start_realtime, window_end_realtime;
	/* own cost, ns; collector: all threads of ours; graphs: asking what they do */
	double per_call, collector, samples_cost, graphs_cost, sites_cost;
	uint64_t samples;
	uint64_t calls, failed, launches, lost, written, lost_calls, drained;
	uint64_t threads;
	struct overview overview;
	struct call_log call_log; /* its recent calls */
	uint64_t anomaly[SPY_ANOMALY_COUNT];
	struct model_device *devices;
	size_t device_count;
	struct model_library *libraries;
	size_t library_count;
	/* By the recording's number of a call site: its headline; NULL = there is none */
	const char **site_heads;
	uint32_t *site_of; /* by the same: index in the model's sites; UINT32_MAX = it is none */
	uint32_t site_count;
	struct model_flight *flights;
	size_t flight_count;
	enum model_environment_state environment;
	uint32_t environment_result; /* of NVML, where it failed */
	double environment_init;     /* ns that loading NVML took */
	char *kernel_driver;         /* version of the kernel's driver */
	struct model_process_cpu cpu;
};

struct model_thread {
	uint32_t process; /* index */
	uint64_t tid;
	char *name;
	bool alive;
	bool issues; /* gave work to the GPU, or to a graph */
	uint64_t calls, failed, launches, lost, adopted;
	double api; /* sum of its outermost calls */
	double window;
	double own;       /* of its time, what cudaspy took, ns */
	double stacks;    /* ... and of that, taking call sites */
	double cpu_wait;  /* ns that it could have run in and had no CPU; NaN = not known */
	double cpu_cores; /* that it may run on; NaN = not known */
	struct model_split split;
};

struct model_api {
	char *name;
	uint8_t level, cls;
	uint64_t calls, failed;
	double total, max, mean;
	double before_window; /* of the total: the call that initialised the driver */
	struct model_quantiles q;
};

struct model_failure {
	uint32_t api; /* index */
	int32_t result;
	uint64_t count;
	double first; /* ns since the process' window began; NaN = not known */
};

struct model_shape {
	uint32_t kernel; /* index */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;
	uint64_t launches;
	/* as the driver says; registers 0 = not known */
	uint32_t registers, static_shared, blocks_per_sm, warps_per_sm;
};
/* Not the name of a kernel: "(other)" and the like, for launches of which it is not known. */
bool kernel_is_nameless(const char *name);
/* The share of an SM's warps that can be there at a time; NaN where it is not known. */
double shape_occupancy(const struct model_shape *s);

struct model_kernel {
	char *name;    /* demangled, in full */
	char *brief;   /* as tables show it; no other kernel of the model has the same */
	char *mangled; /* NULL: as `name`; of several that have the name, one */
	uint64_t launches, captured, failed;
	uint64_t graph_launches; /* by launches of graphs whose nodes are known */
	double total, max, mean,
	        first; /* API time; first launches of each thread, within the total */
	struct model_quantiles q;
	uint64_t firsts; /* launches in `first` */
	double overhead; /* API time of launches without back-pressure, contention, first ones */
	uint64_t queued; /* launches that waited between their return and their start */
	double queue, queue_p50;
	struct model_gpu_time gpu;
	uint64_t shapes;
	struct model_shape most; /* the shape launched most often; launches 0 = none known */
};

struct model_copy {
	uint8_t direction, memory;
	bool async;
	uint64_t count, bytes;
	double total, max;
	double timed_bytes; /* those that `gpu` is the time of */
	struct model_gpu_time gpu;
};

struct model_graph {
	uint64_t pid, handle;
	uint64_t launches, updates;
	double total, instantiate;
	struct model_gpu_time gpu;
	bool alive;
	bool nodes_known;   /* what it holds was read when it was made */
	bool nodes_in_part; /* but not all of it */
	bool nodes_changed; /* some of its launches held something else, or nobody knows what */
	uint64_t nodes;     /* those of child graphs too */
	size_t parts, part_count; /* of graph_parts; the most nodes first */
};

struct model_graph_part { /* nodes of a graph that are alike */
	enum tf_nodes kind;
	uint8_t direction, memory; /* of copies */
	uint32_t place;            /* among the graph's, as the driver told them */
	uint64_t nodes, bytes;     /* in one launch */
	const char *kernel;        /* the name of a row of `kernels` */
	uint32_t grid[3], block[3], shared_bytes;
};

/* What ran inside of graphs: launches times nodes. */
struct model_in_graphs {
	uint64_t launches;         /* of graphs whose nodes are known */
	uint64_t launches_in_part; /* of these, where not all nodes are */
	uint64_t kernels, copies, copy_bytes, sets, others;
};

/* Whether anything is known of what ran inside of graphs, or it is that none were launched. */
struct model;
bool model_graphs_known(const struct model *m);
/* The share of a graph's GPU time that these nodes of its have, estimated; NaN: not known. */
double model_graph_share(const struct model *m, const struct model_graph *g,
                         const struct model_graph_part *part);
/* Products stop at the largest number. */
uint64_t model_times(uint64_t a, uint64_t b);

struct model_totals {
	uint64_t calls, failed, launches, graph_launches, captured, copies, pageable_copies,
	        copy_bytes, sets, syncs, allocs;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t implicit_syncs;
	bool implicit_known;
};

/* More than this share, and the program is another one than without us. */
#define OWN_SHARE_BUDGET 0.02

struct model {
	struct model_process *processes;
	size_t process_count;
	struct model_thread *threads; /* by API time, largest first */
	size_t thread_count;
	struct model_api *apis;
	size_t api_count;
	struct model_failure *failures;
	size_t failure_count;
	struct model_kernel *kernels;
	size_t kernel_count;
	struct model_copy *copies;
	size_t copy_count;
	struct model_graph *graphs;
	size_t graph_count;
	struct model_graph_part *graph_parts;
	size_t graph_part_count;
	struct model_in_graphs in_graphs;
	struct model_uncovered *gaps;
	size_t gap_count;
	struct model_range *ranges;
	size_t range_count;
	uint64_t ranges_lost;
	struct model_loop *loops;
	size_t loop_count;
	struct model_step *step_rows;
	size_t step_row_count;
	struct model_steps_figures steps;
	struct model_phases phases;
	/* Of a view: the phase, which the figures of time and work are of, and what of the
	 * processes' windows lies before it, ns, and the steps that it has of a loop, which are
	 * those after the warming up. NULL: the run is whole. */
	const struct model_phase *phase;
	double phase_before, phase_steps;
	uint64_t skip_steps;    /* asked for: so many first steps of each process left out */
	const char *steps_from; /* asked for: the steps are NVTX ranges of this name; not owned */
	const char
	        *source_root; /* asked for: where recorded source files lie; not owned, or NULL */

	struct environment_device *environment; /* one a device */
	size_t environment_count;

	struct model_totals totals;
	double class_ns[SPY_CLASS_COUNT]; /* API time of outermost calls within the window */
	double wall, window, startup, start_realtime;
	double per_call, calls_cost, samples_cost, graphs_cost, sites_cost, collector,
	        overhead_share;
	/* Of the wall time, what cudaspy took of the thread that it took most of; NaN = unknown. */
	double own_share;
	char *own_warning; /* that it is too much; NULL = it is not */
	uint64_t lost, written, lost_calls;
	double lost_share;
	bool has_host; /* the timeline merged the threads, or one alone issued GPU work: */
	struct model_split host;
	double host_window; /* what `host` sums to: the windows of the processes in it */
	struct model_gpu gpu;
	struct model_sites sites;
	bool simulated;
	struct warnings warnings;

	struct model_scratch *scratch; /* of the modules that merge */
};

/* Adds the process of an opened recording. */
void model_add(struct model *m, const struct recording *r);
/* Merges what was added. */
void model_finish(struct model *m);
void model_free(struct model *m);

/* Whether counts are known: of a damaged recording none is. Outputs ask here, or for the count
 * itself.
 */
bool model_is_known(const struct model *m);
bool model_process_is_known(const struct model_process *p);
/* A count of the run; NaN = not known. */
double model_count(const struct model *m, uint64_t count);
/* Whether anything was to be recorded: else CUDASPY_RANGE never opened, and all counts are 0. */
bool model_has_opened(const struct model *m);
/* Why none is known of the program (free it); NULL = they are. */
char *model_missing(const struct model *m);

/* What cudaspy took of the threads that feed the GPU, as a share of the time that is judged: `of`
 * is the model or its view. Not more than 1; NaN = unknown. */
double model_own_judged(const struct model *m, const struct model *of);
/* What makes it less, by the largest part of it in the run. */
const char *model_own_less(const struct model *m);
/* That it is too much, where the share of the run is not; NULL = it is not (free it). */
char *model_own_judged_warning(const struct model *m, const struct model *of);

double model_work_figure(const struct model_work_done *w, unsigned i);

/* The phase of `number`, or of kind start where that is 0; PHASE_NONE = there is no such one. */
size_t model_phase_find(const struct model *m, unsigned number);

/* Until the first loop's first step, ns, with what came before the window; of the first process. */
double model_phase_startup(const struct model *m);
/*
 * The run as if it had been this phase alone: time of the host and of the GPU, work, recent calls.
 * What is not known by time stays that of the whole run. It lives as long as the model does.
 */
struct model *model_view(const struct model *m, size_t phase);
void model_view_free(struct model *view);

/* enum model_site_kind of calls of a SPY_CLASS_*; -1: of none that sites are told of. */
int site_kind_of(unsigned cls);
/* "train.py:57 in step" (free it): by the site's headline, with the thread where that is no
 * Python's: that alone, or `full`, which has the whole path too. */
char *site_headline(const struct model_site *s, bool full);
/* Of a thread that was in no Python: "backward thread pt_autograd_0", and its NVTX range; NULL =
 * there is nothing to say (free it). */
char *site_thread_text(const struct model_site *s);
/* The same, not full, with the line that a thread without Python comes after: "backward pass after
 * train.py:60 in step"; with names of functions, or lines alone (free it). */
char *site_where(const struct model_site *s, bool functions);
/* Where work of the host's own is that ends with a call of the site: "between the calls at
 * train.py:60 in step and :57 in put (called at :61 in step)", or, where a line is not known,
 * "ahead of train.py:57 in put"; without names of functions, or the caller (free it). */
char *site_ahead(const struct model_site *s, const struct model_frame *since,
                 const struct model_frame *until, bool functions, bool callers);
char *site_frame_text(const struct model_frame *f, bool full);
/* Whose code a foreign frame is: "torch", "Python", "libtorch_cuda.so" (free it). */
char *site_frame_owner(const struct model_frame *f);

enum model_sort_key {
	SORT_TOTAL,
	SORT_CALLS,
	SORT_MEAN,
	SORT_P50,
	SORT_P99,
	SORT_MAX,
	SORT_FAILED,
	SORT_GPU,
	SORT_NAME
};
extern const char *const sort_key_names[]; /* ends with NULL */
void model_sort(struct model *m, enum model_sort_key key);

#endif
