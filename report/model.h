/*
 * What a run's recordings say, in nanoseconds and whole numbers, ready to be written by any output.
 * Filled by the model's modules, only read by the outputs. A time that is not known is NaN, a text
 * that is not known is NULL.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model_gpu.h"
#include "report/reader.h"
#include "shim/classes.h"

struct quantiles {
	double p50, p90, p99; /* ns */
};

/*
 * A thread's time in the window: launch_api, sync, copy, alloc, module, other, outside and sampling
 * sum to `alive`, `alive` and `absent` to the window. Where the timeline tells, `launch_api` is
 * divided into three and `sync`, which then has what copies and allocations waited, into two; else
 * these are NaN and `sync` is that of the calls that are there to wait.
 */
struct split {
	double launch_api, sync, copy, alloc, module, other, outside;
	double launch, back_pressure, contention, sync_useful, sync_wasted;
	double sampling; /* what timing of GPU work took of the thread */
	double absent;
	double alive;
};

enum process_state { PROCESS_COMPLETE, PROCESS_KILLED, PROCESS_RUNNING };
extern const char *const process_state_names[];

struct device {
	char *name;
	uint32_t index;
	uint64_t memory_bytes;
	bool simulated;
};

struct library {
	char *path;
	uint32_t kind, version;
};

struct flight { /* a call that had not returned */
	char *api;
	uint64_t tid;
	char *thread;
	double age; /* ns */
};

struct gap {
	char *name;
	uint32_t kind, version;
	uint64_t count;
};

struct process {
	char *path; /* of its recording */
	uint64_t pid, ppid, forked_from;
	char *run_id, *host, *boot_id, *rank, *cudaspy_version, *command, *working_folder;
	enum process_state state;
	uint32_t clock_kind, gpu_mode, range_mode, driver_version, trace;
	double wall, window, startup, first_call_ns; /* ns */
	char *first_call;
	double start_realtime, end_realtime, window_start_realtime, window_end_realtime;
	double per_call, collector, samples_cost; /* own cost, ns */
	uint64_t samples;
	uint64_t calls, failed, launches, lost, written, lost_calls, drained;
	uint64_t threads;
	struct picture picture;
	uint64_t trouble[SPY_TROUBLE_COUNT];
	struct device *devices;
	size_t device_count;
	struct library *libraries;
	size_t library_count;
	struct flight *flights;
	size_t flight_count;
};

struct thread {
	uint32_t process; /* index */
	uint64_t tid;
	char *name;
	bool alive;
	bool issues; /* gave work to the GPU, or to a graph */
	uint64_t calls, failed, launches, lost, adopted;
	double api; /* sum of its outermost calls */
	double window;
	struct split split;
};

struct api {
	char *name;
	uint8_t level, class;
	uint64_t calls, failed;
	double total, max, mean;
	double before_window; /* of the total: the call that initialised the driver */
	struct quantiles q;
};

struct failure {
	uint32_t api; /* index */
	int32_t result;
	uint64_t count;
};

struct shape {
	uint32_t kernel; /* index */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;
	uint64_t launches;
	/* as the driver says; registers 0 = not known */
	uint32_t registers, static_shared, blocks_per_sm, warps_per_sm;
};
/* The share of an SM's warps that can be there at a time; NaN where it is not known. */
double shape_occupancy(const struct shape *s);

struct kernel {
	char *name;
	uint64_t launches, captured, failed;
	double total, max, mean,
	        first; /* API time; first launches of each thread, within the total */
	struct quantiles q;
	uint64_t firsts; /* launches in `first` */
	double overhead; /* API time of launches without back-pressure, contention, first ones */
	uint64_t queued; /* launches that waited between their return and their start */
	double queue, queue_p50;
	struct gpu_time gpu;
	uint64_t shapes;
	struct shape most; /* the shape launched most often; launches 0 = none known */
};

struct copy {
	uint8_t direction, memory;
	bool async;
	uint64_t count, bytes;
	double total, max;
	struct gpu_time gpu;
};

struct graph {
	uint64_t pid, handle;
	uint64_t launches, updates;
	double total, instantiate;
	struct gpu_time gpu;
	bool alive;
};

struct totals {
	uint64_t calls, failed, launches, graph_launches, captured, copies, pageable_copies,
	        copy_bytes, sets, syncs, allocs;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t implicit_syncs;
	bool implicit_known;
};

struct model {
	struct process *processes;
	size_t process_count;
	struct thread *threads; /* by API time, largest first */
	size_t thread_count;
	struct api *apis;
	size_t api_count;
	struct failure *failures;
	size_t failure_count;
	struct kernel *kernels;
	size_t kernel_count;
	struct copy *copies;
	size_t copy_count;
	struct graph *graphs;
	size_t graph_count;
	struct gap *gaps;
	size_t gap_count;

	struct totals totals;
	double class_ns[SPY_CLASS_COUNT]; /* API time of outermost calls within the window */
	double wall, window, startup, start_realtime;
	double per_call, calls_cost, samples_cost, collector, overhead_share;
	uint64_t lost, written, lost_calls;
	double lost_share;
	bool has_host; /* the timeline merged the threads, or one alone issued GPU work: */
	struct split host;
	double host_window; /* what `host` sums to: the windows of the processes in it */
	struct gpu gpu;
	bool simulated;
	struct warnings warnings;

	struct model_scratch *scratch; /* of the modules that merge */
};

/* Adds the process of an opened recording. */
void model_add(struct model *m, const struct recording *r);
/* Merges what was added. */
void model_finish(struct model *m);
void model_free(struct model *m);

enum sort_key {
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
void model_sort(struct model *m, enum sort_key key);

#endif
