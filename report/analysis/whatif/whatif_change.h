/* SPDX-License-Identifier: Apache-2.0 */
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
enum whatif_hope { HOPE_MIDDLE, HOPE_MOST, HOPE_LEAST };

struct whatif_link { /* PCIe, between the host and a device */
	double generation, width;
	double rate; /* bytes a ns that it carries each way; NaN: not known */
};

struct whatif_change {
	enum whatif what;
	enum whatif_hope hope;
	const struct pattern_regex *kernel; /* of WHATIF_KERNEL */
	double factor;
	double bandwidth[2]; /* pinned copies to the device and from it, bytes a ns; NaN: not known
	                      */
	struct whatif_link link;
	double graph_launch; /* ns of a graph's launch in this run; NaN: there was none */
	double hands;        /* of WHATIF_HOST: so many share the work at least, 1 or more */
	double others;       /* processes that have the GPU too */
	double capped;   /* share of the time in which the power limit held the GPU's clocks down */
	double removed;  /* of WHATIF_KERNEL: GPU time that goes, ns */
	double cpu_wait; /* of WHATIF_CPU: share of the threads' time; NaN: not known */
	const struct whatif_steps *steps; /* of WHATIF_STEP */
	bool strict;    /* of WHATIF_STEP: what is not the launches' stays, whatever the hope */
	double stays;   /* ns that the host still does outside CUDA: added to */
	double changed; /* calls changed: added to */
	bool assumed_bandwidth; /* it was needed and not known */
	bool managed;           /* of WHATIF_NO_ALLOC: kernels are taken to have waited for pages */
	bool selected; /* of WHATIF_NO_SYNC: what was selected after a read of how many there are is
	                  not */
	/* Of WHATIF_FUSED, by work: stacks of its launches that may be for one tensor after the
	 * other less those that are not; NULL: no stack of Python's was taken. With an optimizer in
	 * the run its own may, and the program's own, which may clip gradients; a network's need
	 * one another, and without an optimizer alike kernels in a row are rather steps of one
	 * thing. */
	const int32_t *per_tensor;
	bool pageable;   /* of WHATIF_OVERLAP: pageable memory is copied while the GPU works */
	unsigned staged; /* of WHATIF_PINNED and WHATIF_OVERLAP: what a library copied from and to
	                    pinned memory of its own (WHATIF_SENT ...), and need not */
};

/* The time with a change over that without, from one process' replays. */
struct whatif_outcome {
	double time[REPLAY_LEVELS];  /* ratios; by level, each with its hope */
	double busy;                 /* share of the time in which the GPU is, as it was */
	double bound[REPLAY_LEVELS]; /* least ratio: the GPU is busy; 0 = not known */
	double strict;               /* as time[REPLAY_LOW], of the launches alone; WHATIF_STEP */
	double stays; /* share of the time that the host still does outside CUDA; WHATIF_STEP */
	double outside, between; /* the same of any change: what is left, and what it takes away */
	double removed;          /* the most that WHATIF_KERNEL takes away; 0 = another change */
	double steps, repeated;  /* steps in the calls kept; of these, that become graphs */
	/* The ratio on a host that is faster, and slower, and the least then. */
	double at_speed[2], bound_at_speed[2];
	double host[2]; /* shares of the time in which the host works: as it was, and then */
	double stalls, stalled; /* times that the host was held up, and how long, ns */
	double error, changed, bandwidth[2], graph_launch, hands, others, capped;
	struct whatif_link link;
	bool assumed_bandwidth, managed, selected, pageable;
	bool fuses; /* a step in one function is compiled as a whole (XLA) */
	unsigned staged;
};

/* What is known of the machine that a process ran on: whatif_machine.c. */
struct model;
void whatif_machine(struct whatif_change *c, const struct model *m, size_t process);

/* Changes the call events, which are a copy of those of r. */
void change_acts(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);

/* Kernels of a row that change_fused() makes a few launches of, at most. */
#define WHATIF_ROW_KERNELS 32u

struct model_process;
/* whatif_fused.c: `per_tensor` of a process (free it); NULL: no stack of Python's was taken. */
int32_t *whatif_find_per_tensor(const struct model *m, const struct model_process *p);

/* The same for graphs alone: whatif_graphs.c, of whole steps: whatif_whole.c;
 * for rows of alike kernels: whatif_fused.c, for waits: whatif_no_sync.c, for pinned memory:
 * whatif_pinned.c, for allocations: whatif_no_alloc.c, for copies on streams of their own:
 * whatif_overlap.c. */
void change_graphs(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);
void change_fused(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);
void change_kept(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);
void change_steps(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);
void change_no_sync(struct whatif_change *c, const struct replay *r,
                    struct replay_act *call_events);
void change_pinned(struct whatif_change *c, const struct replay *r, struct replay_act *call_events);
void change_no_alloc(struct whatif_change *c, const struct replay *r,
                     struct replay_act *call_events);
void change_overlap(struct whatif_change *c, const struct replay *r,
                    struct replay_act *call_events);

/* Whether a function that is loaded already is looked up, as cuBLAS does before each of its
 * launches (cuKernelGetFunction): such a call is a part of issuing what comes behind it. */
bool whatif_looks_up(const struct call_event *a);

/*
 * A wait outside CUDA (REPLAY_READ) does not show when it was over: of the time around the read
 * until the next work, whichever thread goes on, a part may be it still (woken up late: XLA wakes a
 * thread of its pool, and that one the program's), or work on what was read. It is not the host's
 * own as well.
 *
 * What waking takes this program tells itself. The thread of the pool does no work of its own
 * before it copies the result; and where the program's thread does none either, it comes as late
 * behind the copy: medians of 186 and 186 us, 212 and 214, 321 and 333 in three programs of JAX on
 * H200s' hosts, and quartiles of 116, 144 and 301 and of 162, 213 and 360 in a fourth. So where the
 * medians of both sides are within a factor of two of each other, on each side up to `each`:
 * - at most all of it goes, until the next work: in these programs less was left without the reads
 *   than the same calls had taken behind them, since a thread that was asleep finds its caches
 * cold;
 * - in the middle all goes but for half of what the program's thread takes longer;
 * - at least 50 us go, as there may be as much work of the program's own on either side.
 * Else, and where the program's thread reads itself, so many ns go as it took JAX on H100s' hosts,
 * on both sides together, 90 to 390 us, and half of the least for a host that wakes threads sooner;
 * but no more than by the side that takes less.
 */
struct whatif_waking {
	bool alike;   /* both sides; then, in the middle and at most: */
	double each;  /* ns of one side of a read: more is work of the program's own */
	double own;   /* ns of the program's own behind a read, in the middle */
	double ns[3]; /* else, and at least: what goes, by enum whatif_hope */
};
/* `last` is of whatif_find_last(). */
struct whatif_waking whatif_find_waking(const struct replay *r, const uint32_t *last);

/*
 * The calls behind a read whose sides are alike, until the next work, but for the reader's own. Of
 * the time before the first of them all goes but for the program's own; at most, of all of them
 * until `each` is gone.
 */
struct whatif_woken {
	const struct replay *replay;
	const struct whatif_waking *waking;
	bool most;
	uint32_t read, at; /* `at`: the call, once whatif_woken_next() says that there is one */
	double left, gone; /* ns */
	bool begun, work;
};
/* Before the first one. */
struct whatif_woken whatif_woken(const struct replay *r, const struct whatif_waking *waking,
                                 uint32_t read, bool most);
bool whatif_woken_next(struct whatif_woken *w);
/* What goes of so many ns before it: to be asked once for each. */
double whatif_woken_goes(struct whatif_woken *w, double gap);
#define READ_STAYS 0.25 /* of that time no less may be left where the host's own work goes */

/*
 * The host time before a call, in the middle: what issuing one costs the program or its framework.
 * 0 where it is longer than that ever is: then it is the program's own work.
 */
double whatif_usual_gap(const struct replay *r);

/* whatif_reads.c: the call before each, of the same thread, or CALL_LOG_NONE (free it). */
uint32_t *whatif_find_last(const struct replay *r);
/* Whether a thread of its own makes this read (REPLAY_READ), as XLA's do: it gives no work but
 * copies to the host, and another one gives the next work. `last` is of whatif_find_last(). */
bool whatif_has_reader(const struct replay *r, const uint32_t *last, uint32_t read);
/* Of each call whether what the replay takes for its wait may be none: its thread may have been
 * busy with other things until then, and reads no result next (free it). */
bool *whatif_unsure_waits(const struct replay *r);

/*
 * whatif_staging.c: of the time before each call, ns, what a library spends on pinned memory of its
 * own (free it), by kind: it copies there what it then sends to the device; it makes the array that
 * a large result goes to; it copies the result from there to that array. `found`: those of `kinds`
 * that there are, or NULL.
 */
#define WHATIF_SENT 1u
#define WHATIF_MADE 2u
#define WHATIF_READ 4u
double *whatif_staging(const struct replay *r, unsigned kinds, unsigned *found);
/* Less than so many bytes take no time that could be told apart. */
#define WHATIF_STAGED_BYTES (1u << 20)
/* Whether the copy of a result that the host waits for outside CUDA (REPLAY_READ) is as large. */
bool whatif_is_large_read(const struct replay *r, uint32_t i);

/* What a graph of so many pieces costs, ns: the host to launch it, the GPU between two of them. */
struct graph_cost {
	double launch, gap;
};
struct graph_cost graph_cost(const struct whatif_change *c, uint32_t pieces);
/* The same where this run has no graphs, ns, by hope: a launch without its nodes, and the gap. */
extern const double whatif_graph_launch[], whatif_node_gap[];

/* The range of a prediction: whatif_range.c. */
double whatif_host_share(const struct replay *r, const struct replay_act *acts, double time);
double whatif_spread(const struct whatif_outcome *o);
/* How much slower or faster the host is another time: of 202 recorded steps and the same loops
 * timed beside them 85 % were within 24 %. */
#define WHATIF_HOST_SLOWER 1.25
void whatif_slow_host(const struct replay *r, struct replay_act *acts, double slower);
void whatif_widen(struct whatif_result *to);

/* Of the host's own work so much is left where it is done ahead, by others or in a better way: 0.04
 * in the median of 63 measured gains, 0.19 or less in 85 % of them. */
#define WHATIF_HOST_LEFT 0.05

struct whatif_asked { /* changes `from` up to, but not with, `to` */
	enum whatif from, to;
	const struct pattern_regex *kernel;
	double factor;
};

struct model;
struct model_process;
/* Their outcomes in one process; false where it cannot be told, and to->why says it:
 * whatif_process.c. */
bool whatif_try(const struct model *m, const struct model_process *p, const struct whatif_asked *a,
                struct whatif_outcome *out, struct whatif_result *to);
/* Says why nothing can be told; true. */
bool whatif_fails(struct whatif_result *to, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Adds what a prediction takes for granted: whatif_text.c. */
void whatif_assume(struct whatif_result *to, const struct whatif_outcome *o);

/* Where no large pinned copy was timed and the link is not known: PCIe 4 x16, and generation 5,
 * bytes a ns. With a link: estimate_staged.h. */
#define ASSUMED_BANDWIDTH 25.0
#define BEST_BANDWIDTH    50.0
/* Host time of an asynchronous copy of pinned memory where this run has none (ns); H200: 3 to 4. */
#define COPY_CALL_NS 4000.0

#endif
