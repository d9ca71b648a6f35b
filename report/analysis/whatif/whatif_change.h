/*
 * The changes of a what-if, on the acts of a replay. For whatif*.c alone.
 */
#ifndef REPORT_WHATIF_CHANGE_H
#define REPORT_WHATIF_CHANGE_H

#include "report/base/pattern.h"
#include "report/analysis/replay/replay.h"
#include "report/analysis/whatif/whatif.h"
#include "shim/core/gpu_time/estimate_staged.h"

/* How much is taken for granted where the outcome depends on what is not known. */
enum hope { HOPE_MIDDLE, HOPE_MOST, HOPE_LEAST };

struct link { /* PCIe, between the host and a device */
	double generation, width;
	double rate; /* bytes a ns that it carries each way; NaN: not known */
};

struct change {
	enum whatif what;
	enum hope hope;
	const struct regex *kernel; /* of WHATIF_KERNEL */
	double factor;
	double bandwidth[2]; /* pinned copies to the device and from it, bytes a ns; NaN: not known
	                      */
	struct link link;
	double graph_launch;    /* ns of a graph's launch in this run; NaN: there was none */
	double cpu_wait; /* of WHATIF_CPU: share of the threads' time; NaN: not known */
	double changed;         /* calls changed: added to */
	bool assumed_bandwidth; /* it was needed and not known */
};

/* The time with a change over that without, from one process' replays. */
struct outcome {
	double time[REPLAY_LEVELS];  /* ratios; by level, each with its hope */
	double bound[REPLAY_LEVELS]; /* least ratio: the GPU is busy; 0 = not known */
	double error, changed, bandwidth[2], graph_launch;
	struct link link;
	bool assumed_bandwidth;
};

/* Changes the acts, which are a copy of r->acts. */
void change_acts(struct change *c, const struct replay *r, struct replay_act *acts);

/* The same for graphs alone: whatif_graphs.c. */
void change_graphs(struct change *c, const struct replay *r, struct replay_act *acts);

struct asked { /* changes `from` up to, but not with, `to` */
	enum whatif from, to;
	const struct regex *kernel;
	double factor;
};

struct model;
struct process;
/* Their outcomes in one process; false where it cannot be told, and to->why says it:
 * whatif_process.c. */
bool whatif_try(const struct model *m, const struct process *p, const struct asked *a,
                struct outcome *out, struct whatif_result *to);
/* Says why nothing can be told; true. */
bool whatif_fails(struct whatif_result *to, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Adds what a prediction takes for granted: whatif_text.c. */
void whatif_assume(struct whatif_result *to, const struct outcome *o);

/* Where no large pinned copy was timed and the link is not known: PCIe 4 x16, and generation 5,
 * bytes a ns. With a link: estimate_staged.h. */
#define ASSUMED_BANDWIDTH 25.0
#define BEST_BANDWIDTH    50.0

#endif
