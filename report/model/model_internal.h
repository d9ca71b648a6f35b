/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the model's modules work together: each adds its part of one recording and finishes when all
 * were added. For the model's modules alone.
 */
#ifndef REPORT_MODEL_INTERNAL_H
#define REPORT_MODEL_INTERNAL_H

#include "report/reader/clock.h"
#include "report/model/model.h"
#include "shim/core/format/histogram.h"

struct model_part { /* one recording while it is added */
	struct model *model;
	const struct recording *recording;
	const struct tf_header *header;
	struct clock clock;
	struct model_process *process;
	uint32_t process_index;
	uint64_t window_start, window_end; /* ticks; 0 = there is no window */
	uint64_t end;                      /* tick of the last sign of life */
	bool timed; /* some work's time on the GPU is known: what follows from it can be told */
	double pieces, pieces_known; /* pieces of work; those of a class whose time is known */
	uint32_t *api_of;            /* model's API of each call id */
	/* by kernel id, TF_KERNELS_MAX: the model's row, UINT32_MAX = never launched; launches */
	uint32_t *kernel_row;
	uint64_t *kernel_launches;
	uint32_t kernel_end; /* ids below it may have been launched */
	uint32_t *graph_row; /* the model's row of each graph; UINT32_MAX = none */
	/* by place in the table of works, TF_WORKS; NULL = GPU time is off */
	struct model_part_work {
		double pieces, mean; /* of the class; mean NaN = not known */
	} * works;
};

struct model_spread { /* a histogram of ns over several recordings, in ticks of the first one */
	struct tf_hist *hist;
	double ns_per_tick;
};
void spread_add(struct model_spread *s, const struct tf_hist *h, double ns_per_tick);
struct model_quantiles spread_quantiles(const struct model_spread *s, double max_ns);

struct model_scratch {
	struct api_entry *apis_by_name;
	struct kernel_entry *kernels_by_name;
	/* beside the model's apis and kernels */
	struct model_spread *api_spreads, *kernel_spreads, *queue_spreads;
	struct model_spread *range_spreads; /* beside the model's ranges */
	struct range_entry *ranges_by_name;
	struct model_shape *shapes;
	size_t shape_count;
	uint64_t name_bytes;                  /* of kernel names taken so far */
	bool host_unknown;                    /* of a process that gave the GPU work */
	struct model_spread launches, queues; /* of all kernels */
};

void model_add_process(struct model_part *p); /* first: the others need its times */
void model_add_apis(struct model_part *p);
void model_add_threads(struct model_part *p);
void model_add_kernels(struct model_part *p);
void model_add_graphs(struct model_part *p);
/* The graph that a class of graphs has its id from; NULL: there is none. */
const struct tf_graph *model_graph(const struct model_part *p, uint32_t id);
/* After kernels and graphs: what these hold. */
void model_add_graph_nodes(struct model_part *p);
/* The model's row of a kernel id, made when it is new. */
uint32_t model_kernel_row(struct model_part *p, uint32_t id);
void model_add_gaps(struct model_part *p);
void model_add_works(struct model_part *p); /* after threads, kernels and graphs */
void model_add_busy(struct model_part *p);
void model_add_streams(struct model_part *p);
void model_add_sites(struct model_part *p); /* after works */
/* The timeline's times of a device; NULL where they are not known. */
const struct tf_device_time *model_device_time(const struct model_part *p, uint32_t device);
void model_add_overview(struct model_part *p);
void model_add_environment(struct model_part *p);
void model_add_ranges(struct model_part *p);
void model_add_steps(struct model_part *p, const size_t *range_of);
/* GPU time of the steps from `first_row` on whose calls are held; after the call log. */
void model_add_steps_gpu(struct model_part *p, size_t first_row);

void model_finish_apis(struct model *m);
void model_finish_kernels(struct model *m);
void model_finish_threads(struct model *m);
void model_finish_sites(struct model *m);
void model_free_sites(struct model *m);
void model_finish_works(struct model *m); /* before the others give their work up */
void model_finish_busy(struct model *m);
/* The streams' times by the classes of their work; after the devices' are added up. */
void model_finish_streams(struct model *m);
/* Of a run or a phase: for how long the device's first stream works, and the least of that; ns. 0
 * where its work is divided over several streams, on several devices, or not estimated. */
struct model_gpu_time model_busy_least(const struct model *m);
void model_finish_environment(struct model *m);
void model_free_environment(struct model *m);
void model_finish_overheads(struct model *m); /* last */
/* What cudaspy took of the program's threads; after the costs. */
void model_finish_own(struct model *m);
void overview_free(struct overview *p);

/* A thread's time by what it did. `ticks`: API time of its outermost calls by their class. */
struct model_split model_split(const struct model_part *p, const struct tf_thread *t,
                               const double ticks[SPY_CLASS_COUNT]);
void model_add_host(struct model_part *p); /* after threads */

/* The model's row for a kind of copy (TF_COPY_KIND), made when it is new. */
struct model_copy *model_copy(struct model *m, uint32_t kind);
void model_finish_ranges(struct model *m);
void model_finish_phases(struct model *m); /* after the ranges */
void model_finish_steps(struct model *m);  /* after the phases */
void model_steps_of(struct model *m, size_t phase);
void model_free_steps(struct model *m);
void model_free_steps_figures(struct model_steps_figures *s);
void model_free_phases(struct model *m);

void model_add_loop(struct model_part *p, const struct tf_loop *from);
void model_free_loops(struct model *m);
/* The range that is the steps, as asked for or as the most work says; RANGE_NONE = there is none.
 */
size_t model_steps_range(const struct model *m);
/* Launches, graph launches, copies and sets. */
double model_work_pieces(const struct model_work_done *w);
/* By index in the model's loops: whether it is a part of this phase (free it). */
bool *model_phase_loops(const struct model *m, const struct model_phase *p);
/* Whether a row is a step of the phase, which has these loops. */
bool model_phase_has(const struct model_phase *p, const bool *loops, const struct model_step *row);

/* A text of fixed room that may lack its NUL (free it); NULL when it is empty. */
char *model_text(const char *text, size_t room);
/* The string at an offset (free it); NULL when there is none. */
char *model_string(const struct recording *r, uint64_t offset);

#define CLAMP_ADD(sum, more)                                                                       \
	(__builtin_add_overflow((sum), (uint64_t)(more), &(sum)) ? (void)((sum) = UINT64_MAX)      \
	                                                         : (void)0)

#endif
