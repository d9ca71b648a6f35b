/*
 * The verdict: why a program is slow, by the single change that would shrink its window most, or
 * that this is not known and what would tell. For the model, which asks for it last.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "report/model/model.h"

/* Fills m->verdict from what the model's other modules merged. */
void model_finish_verdict(struct model *m);

/*
 * Start-up: the time before the GPU is first given work where the host spends it in CUDA (making
 * the context), and the slices behind it, or at the window's start, in which the host mostly loads
 * code and allocates or the GPU does nearly nothing. Its end, ns since load, not before the
 * window's start. `p` has slices and a host.
 */
double verdict_startup(const struct overview *p);
/* Tear-down: the slices at the window's end in which the host mostly frees and unloads
 * and the GPU does nearly nothing. */
size_t verdict_teardown(const struct overview *p, size_t *first);

/*
 * The rest is between the rule (verdict.c) and its words (verdict_text.c).
 *
 * A run as the rule sees it, ns of the window less start-up. All finite, not negative, and no part
 * larger than the window.
 */
struct verdict_gain { /* shares of the window */
	double mean, low, high;
};

struct verdict_input {
	double window, startup, teardown; /* the last two: what was left out of the window */
	double busy, busy_low, busy_high;
	double kernels;                   /* of busy: all but copies that ran alone */
	double comm, comm_most;           /* what is sure of it; as estimated */
	double idle_launch, idle_outside; /* GPU idle because of these */
	double gaps;                      /* ... while work waited for other work */
	double sampling;                  /* GPU idle because of us: left out of the window too */
	double launch, sync, copy, alloc, outside;
	double had_work; /* without GPU times: the most that it was busy, a share; NaN = unknown */
	bool replayed;   /* what changes of the host would gain is known from a replay: */
	struct verdict_gain replay[VERDICT_CLASSES];
};

/* The run, from what the model's other modules merged. */
struct verdict_input verdict_take(const struct model *m);
/*
 * What of `comm` (ns of the GPU communicating alone) is sure. A collective's time is known by the
 * mean of its class: where few were exposed and they differ, those may be the short ones.
 */
double verdict_sure_comm(const struct model *m, double comm);
/*
 * Where GPU times are not known: what taking a class' time away would gain at least (what the host
 * did while the GPU had no work) and at most. Returns the most that the GPU was busy, as a share;
 * NaN = nothing can be told.
 */
double verdict_pending(const struct model *m, struct verdict_gain gain[VERDICT_CLASSES]);
/* Fills `replay`, where the recent calls tell; the rest of `in` is filled. */
void verdict_replay(const struct model *m, struct verdict_input *in);
/* Why nothing can be said, and what to do (free it); NULL = something can. */
char *verdict_abstains(const struct model *m, const struct verdict_input *in);
/* The same of a verdict that changes within the interval of busy, because too much of the work has
 * no known time. */
char *verdict_unknown_work(const struct model *m);
/* What decided it, in one or two sentences (free it). */
char *verdict_reason(const struct model *m, const struct verdict *v,
                     const struct verdict_input *in);
/* The same where the GPU's time is not known: of the host's largest part. */
char *verdict_host_reason(const struct model *m, const struct verdict *v,
                          const struct verdict_input *in);

/* Blocking copies to the host up to this size (bytes) are waits for a result, not transfers. */
#define VERDICT_SMALL_COPY 65536u
/* A run needs this much after start-up (ns): for any verdict, and for one of high confidence. */
#define VERDICT_LEAST_WINDOW 50e6
#define VERDICT_SURE_WINDOW  100e6
/* Pieces of work: kernels, graphs, copies. */
#define VERDICT_LEAST_WORK 100
#define VERDICT_MOST_LOST  0.05
/* Share of the work whose time on the GPU is not known. */
#define VERDICT_MOST_UNKNOWN 0.2
/* A program killed within this (ns) may have died before its steady state. */
#define VERDICT_KILLED_EARLY 1e9
/* A change that gains less (share of the window) is none. */
#define VERDICT_LEAST_GAIN 0.05
#define VERDICT_BUSY       0.9
/* A second class within 20 % of the first makes it mixed; a clear lead is twofold, over the second
 * and over the least gain. */
#define VERDICT_CLOSE 0.8
#define VERDICT_CLEAR 2
/* Without GPU time a part of the host's time says something when it is nearly all of it. */
#define VERDICT_HOST_ALONE 0.9

#endif
