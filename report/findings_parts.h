/*
 * How a finding is looked for. For findings*.c alone.
 *
 * Each detector looks at a scene and says yes or no. Where it says yes it has filled `evidence`
 * (one or two sentences, this run's figures with their denominators) and `share`: how much of the
 * steady window is at stake, from which the severity follows unless it set `severity` itself by
 * finding_is(). What it cannot know it does not say: a detector that lacks a figure says no.
 */
#ifndef REPORT_FINDINGS_PARTS_H
#define REPORT_FINDINGS_PARTS_H

#include <stdbool.h>

#include "report/findings.h"
#include "report/model.h"

struct tally { /* calls of one sort in the steady state that is held */
	uint64_t count, failed;
	double ns; /* API time */
};

/*
 * The run as detectors see it. Exact figures are the model's; what came when is told by the recent
 * calls of one process: that which gave the GPU most work.
 */
struct scene {
	const struct model *m;
	const struct process *process;
	const struct history *h;
	const struct act *acts; /* of the steady state: h->acts from there on */
	size_t count;
	double held;   /* ns that these cover; 0 where there are none */
	double window; /* the steady window that the verdict judged, ns; of all processes as `host`
	                */
	double gpu_each; /* mean GPU time of a launched kernel or graph, ns; NaN = not known */
	double steps;    /* steps in the time held; NaN where there are none */
	struct tally classes[SPY_CLASS_COUNT];
};

/* Least share of the steady window that is worth a finding, and those of its severities. */
#define FINDING_LEAST  0.01
#define FINDING_MEDIUM 0.05
#define FINDING_HIGH   0.2

typedef bool finder(const struct scene *s, struct finding *f);

/* Takes the evidence over; returns whether the share is worth telling. */
bool finding_tell(struct finding *f, double share, char *evidence);
/* The same of what is told whatever its share. */
bool finding_is(struct finding *f, enum finding_severity severity, double share, char *evidence);

/* In text: "x of the steady 300 ms" etc. `part` ns of the time held, as a share of it. */
double scene_share(const struct scene *s, double ns);
/* "3.1 a step" where steps are known, else "812 a second" (free it). */
char *scene_rate(const struct scene *s, double count);

/* findings_launch.c */
finder find_many_short_launches, find_launch_queue_full, find_launch_contention;
/* findings_sync.c */
finder find_sync_every_step;

#endif
