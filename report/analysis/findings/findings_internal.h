/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a finding is looked for. For findings*.c alone.
 *
 * Each detector looks at a context (struct finding_context) and says yes or no. Where it says yes
 * it has filled `evidence` (one or two sentences, this run's figures with their denominators) and
 * `share`: how much of the steady window is at stake. The severity follows from the gain that is
 * predicted, else from that share, unless the detector set it by finding_is(). What it cannot know
 * it does not say: a detector that lacks a figure says no.
 */
#ifndef REPORT_FINDINGS_INTERNAL_H
#define REPORT_FINDINGS_INTERNAL_H

#include <stdbool.h>

#include "report/analysis/findings/findings.h"
#include "report/analysis/verdict/verdict.h"
#include "report/model/framework.h"
#include "report/model/model.h"

struct finding_tally { /* calls of one sort in the steady state that is held */
	uint64_t count, failed;
	double ns; /* API time */
};

/*
 * The run as detectors see it. Exact figures are the model's; what came when is told by the recent
 * calls of one process: that which gave the GPU most work.
 */
struct finding_context {
	const struct model *m;
	const struct verdict *verdict;
	const struct model_process *process;
	const struct call_log *h;
	const struct call_event
	        *call_events; /* of the steady state: those of the call log from there on */
	size_t count;
	double held;   /* ns that these cover; 0 where there are none */
	double window; /* the steady window that the verdict judged, ns; of all processes as `host`
	                */
	double steps;  /* steps in the time held; NaN where there are none */
	struct finding_tally classes[SPY_CLASS_COUNT];
	struct finding_tally reads; /* results that blocking copies bring to the host */
	enum framework framework;   /* of the program */
	/* The verdict names this class, and nothing that was found is of it: what makes a detector
	 * of it sure does not count. VERDICT_CLASSES: none. */
	enum verdict_class blamed;
	/* What graphs, less work of the host's own, fused kernels, and pinned memory would gain;
	 * not known: `known` is false. */
	struct whatif_result graphs, host, fused, pinned;
};

/* Least share of the steady window that is worth a finding, and those of its severities; of the
 * gain that is predicted (window before over after) the same. */
#define FINDING_LEAST  0.01
#define FINDING_MEDIUM 0.05
#define FINDING_HIGH   0.2
/* A kernel's gain is told of it being so many times as fast. */
#define FINDING_FASTER 2.0

typedef bool finder(const struct finding_context *s, struct finding *f);

/* The run of a finished model, which has a process. */
void finding_set(struct finding_context *s, const struct model *m, const struct verdict *verdict);

/* A result that is read: the host waits for a small copy to it. */
bool finding_is_read(const struct call_event *a);
/* Whether the host waits where it reads for longer than in calls that are made to wait. */
bool finding_reads_wait(const struct finding_context *s);

/* Takes the evidence over; returns whether the share is worth telling. */
bool finding_tell(struct finding *f, double share, char *evidence);
/* The same of what is told whatever its share. */
bool finding_is(struct finding *f, enum finding_severity severity, double share, char *evidence);

/* The one rule: by the gain predicted where there is one (its middle, as it is printed: a range is
 * wide where little is known), else by the share at stake, which is the most that can be gained. */
enum finding_severity finding_severity(double speedup, double share);

/* ns, or 0 where it is not known. */
double finding_known(double ns);
/* Whether the steady window is long enough for shares of it to mean something. */
bool finding_is_long(const struct finding_context *s);
/* Whether so few records were lost that what is between two of them was really there. */
bool finding_is_whole(const struct finding_context *s);
/* "an estimated " where times on the GPU are, else "". */
const char *finding_estimated(const struct finding_context *s);
/* A kernel's name as tables show it: without what fills lines (free it). */
char *finding_kernel(const char *full);
/* The GPU idled because of the host (not for work in another stream, not for unknown reasons), as a
 * share of the steady window; NaN where that is not known. */
double finding_idle(const struct finding_context *s);
/* So much of the time held, as a share of it; NaN where nothing is held. */
double finding_share(const struct finding_context *s, double ns);
/* "3.1 a step" where steps are known, else "812 a second" (free it). */
char *finding_rate(const struct finding_context *s, double count);

/* What a finding's line of code has most of: calls of these kinds, by what, and which of them. */
#define FINDING_KIND(kind) (1u << (kind))
enum finding_measure { BY_API, BY_PAGEABLE, BY_COUNT, BY_GPU, BY_BOTH };
enum finding_only {
	ALL_OF_THEM,
	THAT_WAIT_FOR_ALL,
	OF_ITS_KERNEL,
	THAT_COMMUNICATES,
	THAT_BRING_BACK, /* copies to pinned memory of the host, which return at once */
	THAT_ALLOCATE,   /* frees too where a framework's pool is emptied, which is asked for */
	THAT_READ        /* small blocking copies to the host: finding_is_read() */
};
struct finding_calls {
	unsigned kinds; /* FINDING_KIND() of enum model_site_kind; 0 = it has no line */
	enum finding_measure measure;
	enum finding_only only;
};

/* findings_sites.c: the line of code that a finding is about; of one that has none yet. */
void finding_find_site(const struct finding_context *c, const struct finding_calls *calls,
                       struct finding *f);

struct finding_gap {    /* in which the GPU had nothing to do, and a thread was outside CUDA */
	double idle;    /* ns */
	uint32_t place; /* index + 1 of the one that the next call was made from; 0 = not known */
	uint32_t before, next; /* the same of the lines around it, see struct finding_lines */
	uint32_t work;         /* its class of work */
	uint16_t thread;
};
/* What `idle` ns of a thread ended with; false: not with this call, which tells no line and gives
 * no work. */
bool finding_gap_ends(const struct finding_context *c, const struct call_event *e, double idle,
                      struct finding_gap *to);
struct finding_line {
	uint32_t place; /* index + 1; 0 = not known */
	double pause;   /* the longest between the calls from that line to here, ns */
};
/* By call: the line before it, of its thread; and where that runs no lines of the program, the line
 * before and the next one of any thread that does. */
struct finding_lines {
	struct finding_line *before, *next;
};
/* findings_between.c */
void finding_lines_make(struct finding_lines *to, const struct finding_context *c);
void finding_lines_free(struct finding_lines *l);
/* Its place, where it is beside a gap of `idle` ns; 0 = it is too far away, or not known. */
uint32_t finding_line_beside(const struct finding_line *l, double idle);
/* `since` and `until` of a finding that has its place. */
void finding_find_between(const struct finding_context *c, const struct finding_gap *gaps,
                          size_t count, struct finding *f);
/* Index + 1 of the place that the call was made from; 0 = not known. */
uint32_t finding_place_of(const struct finding_context *c, const struct call_event *e);
/* The line that most of those of a thread came ahead of. */
void finding_find_line_ahead(const struct finding_context *c, const struct finding_gap *gaps,
                             size_t count, uint16_t thread, struct finding *f);

/* findings_sync.c */
finder detect_sync_every_step, detect_sync_too_early, detect_implicit_sync;
/* findings_streams.c */
finder detect_device_sync, detect_legacy_stream;
/* findings_host.c */
finder detect_polling, detect_failed_calls;
/* findings_starves.c */
finder detect_host_starves_gpu;
/* findings_environment.c */
finder detect_environment;
/* findings_gpu.c */
finder detect_exposed_communication, detect_low_occupancy, detect_dominant_kernel;
/* findings_launch.c */
finder detect_many_short_launches, detect_launch_queue_full;
/* findings_threads.c */
finder detect_launch_contention, detect_host_starved_of_cpu;

/* findings_steady.c: what several detectors ask. */

/* The shares of the steady window in which the GPU had work, or ran kernels; NaN = not known. */
double steady_busy(const struct finding_context *s);
double steady_kernels(const struct finding_context *s);
/* What a share is of, as its sentence calls it: the phase that is judged ("the loop"), else "the
 * window", or where that is the window without start-up and tear-down, "the steady time". */
const char *finding_base(const struct finding_context *s);
const char *steady_base(const struct finding_context *s);
/* The same of somebody's: "the host's time in the loop", "its steady time". */
const char *steady_whose(const struct finding_context *s);
/* What is left to gain of `share` where that much of the window is used anyhow (NaN = unknown). */
double steady_stake(double share, double used);
/*
 * Behind a count of calls that are held: nothing where these are all of the steady state, else " in
 * the last 512 ms", or that there are more.
 */
#define SPAN_BYTES 64
const char *steady_span(const struct finding_context *s, char to[SPAN_BYTES]);
double call_event_ns(const struct call_event *a); /* API time */
/* In the second half of what is held: what a program does once, at its start, is not. */
bool call_event_late(const struct finding_context *s, const struct call_event *a);
/* A copy between host and device that was done. */
bool call_event_is_host_copy(const struct call_event *a);

/* findings_copy.c */
finder detect_pageable_async_copy, detect_pageable_blocking_copy;
finder detect_many_small_copies, detect_low_bandwidth_copy;
/* findings_copy_flow.c */
finder detect_copy_not_overlapped, detect_copy_back_and_forth;
/* findings_memory.c */
finder detect_alloc_churn, detect_memory_growth;
/* findings_module.c */
finder detect_module_load_in_loop, detect_first_launch_cost;
/* findings_graph.c */
finder detect_graph_reinstantiated, detect_graph_instantiation_dominates;
finder detect_graph_nodes_changed;

#endif
