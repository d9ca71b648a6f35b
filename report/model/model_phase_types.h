/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as a sequence of phases: start-up, loops of alike steps that may take turns, and the end.
 * And the run cut to one of them. For the model, which finds them, the analysis and the outputs.
 */
#ifndef REPORT_MODEL_PHASE_TYPES_H
#define REPORT_MODEL_PHASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/format/trace_format.h"

/* What a thread did during a range or a step, or several together. gpu_ns: GPU time of the work
 * that it and the threads without ranges or steps of their own gave; NaN where their calls are not
 * kept. */
struct model_work_done {
	double launches, graph_launches, syncs, copies, pageable_copies, sets, copy_bytes,
	        alloc_calls, launch_ns, gpu_ns;
};
#define WORK_FIGURES 10u /* of struct model_work_done, as an array of double */
extern const char *const model_work_figure_names[WORK_FIGURES];

struct model_stretch {     /* steps of a loop, one after the other */
	double start, end; /* ns since the process' window began */
	double steps;
};

enum model_phase_kind { PHASE_START, PHASE_LOOP, PHASE_END };
extern const char *const model_phase_names[];
extern const char *const model_phase_words[]; /* in a sentence: "the loop" */

struct model_phase_part { /* of one process */
	uint32_t process;
	size_t source;                   /* of a loop: as of the phase, in this process */
	double start, end;               /* ns since its window began */
	double time;                     /* of its stretches */
	struct model_stretch *stretches; /* by time; of start-up and the end there is one */
	size_t stretch_count;
	size_t *alike; /* loops of other threads that do the same meanwhile; their steps count too
	                */
	size_t alike_count;
};

struct model_phase {
	enum model_phase_kind kind;
	unsigned number;   /* of a loop, from 1, by their starts; else 0 */
	unsigned prepares; /* of a loop: the number of the judged one, which it prepares; else 0 */
	bool found;        /* a loop's steps were found, and are no NVTX ranges */
	bool tunes;        /* a kernel of XLA's autotuning tells them apart */
	size_t source;     /* of a loop: index in the model's loops or ranges */
	double start, end; /* ns since the run's window began */
	double time;       /* of all parts */
	double share;      /* of the windows of its processes */
	uint64_t steps, stretches;
	size_t threads; /* the most that do its steps side by side, each for itself; 1 = they don't
	                 */
	double mean, p50, p99;       /* of a step, ns; NaN where there are none */
	struct model_work_done work; /* of a loop: sums over its steps, NaN = not known */
	bool lost;                   /* records of its processes were lost */
	bool coarse; /* its stretches are shorter than what the time slices can tell apart */
	double host[TF_HOSTS]; /* of its time, by the time slices */
	double busy;           /* of the GPU that works most, ns of its time, by the time slices */
	bool has_host;
	struct model_phase_part *parts; /* by process */
	size_t part_count;
};

struct model_phases { /* start-up, loops by their starts, the end; none where there are no steps */
	struct model_phase *rows;
	size_t count;
	/* The loop that holds most time, where loops have most of the work, and time: what is
	 * judged; PHASE_NONE = there is none, and the whole run is. */
	size_t main;
	size_t loops;
	/* Time in no phase, ns, of a process that has phases on average; and of their windows. */
	double between, between_share;
};
#define PHASE_NONE SIZE_MAX

#endif
