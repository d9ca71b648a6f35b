/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict: why a program is slow, by the single change that would shrink its window most, or
 * that this is not known and what would tell. For the analysis, and what reads it.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "report/analysis/whatif/whatif.h"
#include "report/model/model.h"

/* In the order of verdict_names. */
enum verdict_class {
	VERDICT_GPU,
	VERDICT_LAUNCH,
	VERDICT_SYNC,
	VERDICT_COPY,
	VERDICT_ALLOC,
	VERDICT_HOST,
	VERDICT_COMM,
	VERDICT_MIXED,
	VERDICT_NONE,                   /* inconclusive */
	VERDICT_CLASSES = VERDICT_MIXED /* those that a change stands for come before */
};
extern const char *const verdict_names[]; /* ends with NULL */
enum verdict_confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
extern const char *const verdict_confidences[];

/* What of the change of VERDICT_COPY has a gain, as far as the replay tells it apart. */
enum verdict_copy_way { COPY_WAY_BOTH, COPY_WAY_PINNED, COPY_WAY_BESIDE };

struct verdict {
	enum verdict_class cls;
	enum verdict_confidence confidence;
	enum verdict_class first, second; /* by gain; VERDICT_NONE = there is none */
	double gain, second_gain;         /* share of `window` that the change would save; NaN =
	                                     not known */
	double window, startup;           /* judged, and left out of it: ns; NaN = not known */
	double busy, busy_low, busy_high; /* of the GPU, shares of `window`; NaN = not known */
	double between;     /* host time between launches that goes with them, share of `window` */
	bool copies_within; /* most of the copies' GPU time is within a device */
	bool waits_outside; /* verdict_waits_outside() */
	enum verdict_copy_way copy_way;
	char *reason;
};

/* Of a finished model, or of a view of one of its phases. Its reason is to be freed. */
void verdict_make(struct verdict *v, const struct model *m, struct whatifs *whatifs);

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
	double kernels;     /* of busy: all but copies that ran alone */
	bool copies_within; /* as the verdict's */
	enum verdict_copy_way copy_way;
	double comm, comm_most;           /* what is sure of it; as estimated */
	double idle_launch, idle_outside; /* GPU idle because of these */
	double gaps;                      /* ... while work waited for other work */
	double sampling;                  /* GPU idle because of us: left out of the window too */
	double launch, sync, copy, alloc, outside;
	double issued;    /* of `copy`: calls of copies within a device, which are issued as kernels
	                     are */
	double between;   /* host time between launches that graphs would take away */
	double had_work;  /* without GPU times: the most that it was busy, a share; NaN = unknown */
	bool copies_gain; /* faster copies or copies beside kernels gain something, or most are
	                     within a device, of which no replay tells */
	bool replayed;    /* what changes of the host would gain is known from a replay: */
	struct verdict_gain replay[VERDICT_CLASSES];
};

/*
 * Whether no call waits, and fewer waits would save far more than copies take: the host waits
 * outside of CUDA, as a program of JAX does until another thread has read a result.
 */
bool verdict_waits_outside(const struct verdict *v, const struct verdict_input *in);
/* What is told of a verdict's gains: what the replay says of their changes, where it knows these,
 * as the findings and the what-ifs do; what decides between classes may be more (copies that ran
 * alone) or less (time between kernels that queue is none of the host's). Of a GPU-bound program no
 * change gains more than was found. */
void verdict_tell(struct verdict *v, const struct verdict_input *in);

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
/* The class that a change of the host's is the change of; VERDICT_CLASSES = of none. */
enum verdict_class verdict_class_of(enum whatif what);
/* Fills `replay`, where the recent calls tell; the rest of `in` is filled. */
void verdict_replay(struct whatifs *whatifs, struct verdict_input *in);
/* The window after each class' change, as a share of it saved, were the GPU busy for so long. */
void verdict_gains(const struct verdict_input *in, double busy, double gain[VERDICT_CLASSES]);
/* Of two such shares, the larger first: whether that is a tie. */
bool verdict_is_close(double gain, double second);
/* Why nothing can be said, and what to do (free it); NULL = something can. */
char *verdict_abstains(const struct model *m, const struct verdict_input *in);
/* The same of a verdict that changes within the interval of busy, because too much of the work has
 * no known time. */
char *verdict_unknown_work(const struct model *m);
/*
 * At the most that the GPU may be busy no change of the host saves more than what is left: whether
 * the best class is still another one than the second best.
 */
bool verdict_is_told_apart(const struct verdict *v, const struct verdict_input *in);
/* What decided it, in one or two sentences (free it). */
char *verdict_reason(const struct model *m, const struct verdict *v,
                     const struct verdict_input *in);
/* The same where the GPU's time is not known: of the host's largest part. */
char *verdict_host_reason(const struct model *m, const struct verdict *v,
                          const struct verdict_input *in);

/* A run needs this much after start-up (ns): for any verdict, and for one of high confidence. */
#define VERDICT_LEAST_WINDOW 50e6
#define VERDICT_SURE_WINDOW  100e6
/* Pieces of work: kernels, graphs, copies. */
#define VERDICT_LEAST_WORK 100
/* A program killed when its window was shorter (ns) may have died before its steady state. */
#define VERDICT_KILLED_EARLY 1e9
/* A change that gains less (share of the window) is none. */
#define VERDICT_LEAST_GAIN 0.05
#define VERDICT_BUSY       0.9
/* A second class within 20 % of the first makes it mixed, where it would make the program nearly as
 * fast: of 90 % and 75 % saved the one is 2.5 times as good. A clear lead is twofold, over the
 * second and over the least gain. */
#define VERDICT_CLOSE         0.8
#define VERDICT_CLOSE_SPEEDUP 1.25
#define VERDICT_CLEAR         2
/* Without GPU time a part of the host's time says something when it is nearly all of it. */
#define VERDICT_HOST_ALONE 0.9

#endif
