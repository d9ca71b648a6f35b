/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges, loops as they were found, and steps: what a recording has of them, and the figures
 * over the steps that are judged. For model.h.
 */
#ifndef REPORT_MODEL_STEP_TYPES_H
#define REPORT_MODEL_STEP_TYPES_H

#include "report/model/model_phase_types.h"

struct model_quantiles {
	double p50, p90, p99; /* ns */
};

struct model_range {         /* NVTX ranges of one name inside the same other one */
	char *name, *domain; /* domain NULL: the default one */
	size_t parent;       /* index, RANGE_NONE = in no other; smaller than its own */
	unsigned level;
	uint64_t count, counted; /* counted: whose work is known */
	double total, mean, min, max;
	struct model_quantiles q;
	struct model_work_done work; /* sums over those counted */
	uint64_t stride;             /* so many-th of them are step rows; 0 = none */
	uint64_t rows;
};
#define RANGE_NONE SIZE_MAX

#define MODEL_STEP_LEVELS TF_STEP_LEVELS /* ranges of so many outermost levels have rows */
/* What a step's marker may be sure of: in each there is */
#define MODEL_ANCHOR_WAIT   TF_ANCHOR_WAIT   /* a wait */
#define MODEL_ANCHOR_UPLOAD TF_ANCHOR_UPLOAD /* a copy to the device */
#define MODEL_ANCHOR_GAP    TF_ANCHOR_GAP    /* a long time between calls */

struct model_level { /* a way to divide a loop's work into alike pieces */
	char *marker;
	uint8_t cls, anchors; /* MODEL_ANCHOR_... */
	double seen, events;  /* pieces looked at; pieces of work in one, on average */
};

struct model_loop { /* repeated work found in a thread, or in all of them together */
	uint32_t process;
	uint64_t tid; /* 0 = of all threads */
	char *marker; /* kernel or call that tells steps apart */
	uint8_t cls, anchors;
	uint64_t steps, odd, stride;
	double events, alike; /* of a step, on average; alike: how much like the one before, 0..1 */
	double time;          /* of its steps, ns */
	struct model_quantiles q;
	struct model_work_done work;     /* sums over its steps */
	struct model_stretch *stretches; /* in which it ran, by time */
	size_t stretch_count;
	struct model_level levels[TF_LEVELS]; /* shortest first */
	unsigned level_count, step_level;
};

struct model_step {
	size_t source; /* index in ranges or loops */
	bool found, odd, counted;
	uint32_t process;
	uint64_t tid;
	double start, end, duration; /* ns; start, end: since the process' window began. Where two
	                                steps meet, the end of one is the start of the other */
	struct model_work_done work;
};

struct model_spread_of { /* over steps */
	double mean, min, p50, p99, max;
};

enum model_steps_source { STEPS_NONE, STEPS_NVTX, STEPS_FOUND };
extern const char *const model_steps_source_names[];

struct model_steps_figures {
	enum model_steps_source source;
	char *name, *domain;             /* of the range, or of the marker */
	uint64_t count;                  /* all steps */
	uint64_t judged;                 /* those in the figures below: so many rows */
	struct model_step *rows;         /* by process and start */
	uint64_t odd, skipped;           /* left out: unlike the others; as asked for */
	uint64_t stride;                 /* every so many-th step has a row, 1 = all */
	double alike;                    /* found steps, 0..1; else NaN */
	const char *confidence;          /* NULL where there are none */
	struct model_spread_of duration; /* ns */
	struct model_spread_of work[WORK_FIGURES];
	uint64_t timed; /* of those judged: whose GPU time is known */
	bool apart;     /* the loop takes longer than its steps, or does several side by side */
	double per_s;   /* of the loop's time where `apart`, else by their mean duration */
	double warm;    /* first steps that warm up; of a view alone */
	double judged_per_s;         /* without these, by the time that is judged */
	struct model_step *outliers; /* longest first */
	size_t outlier_count;
	size_t phase; /* index of the phase whose steps they are; RANGE_NONE = of none */
};

#endif
