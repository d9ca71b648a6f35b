/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if: how long the steady window would be if one thing were changed, by a replay of the recent
 * calls. For the verdict, the findings, the command line and the outputs.
 */
#ifndef REPORT_WHATIF_H
#define REPORT_WHATIF_H

#include <stdbool.h>
#include <stddef.h>

enum whatif {
	WHATIF_GRAPHS,   /* launches become launches of a graph: the better one of its two forms */
	WHATIF_PINNED,   /* pageable copies become asynchronous copies of pinned memory */
	WHATIF_NO_SYNC,  /* the host does not wait, but for the end */
	WHATIF_NO_ALLOC, /* no allocation, free or module load */
	WHATIF_OVERLAP,  /* copies go ahead of kernels that they need not wait for */
	WHATIF_HOST,     /* no work of the host's own between calls */
	WHATIF_CPU,      /* no waiting for a CPU */
	WHATIF_FUSED,    /* rows of alike small kernels become a few launches of many at once */
	WHATIF_KEPT,     /* graphs' nodes are given no other parameters */
	WHATIF_STEP,   /* the form of WHATIF_GRAPHS that makes one graph of a step; not asked for */
	WHATIF_KERNEL, /* kernels take a part of their time */
	WHATIFS
};
/* As the command line names them; "kernel" stands for kernel:REGEX=K. Ends with NULL. */
extern const char *const whatif_names[];

/* Nothing is told where a larger share of the records is lost, or of the work's times not known. */
#define WHATIF_MOST_LOST    0.05
#define WHATIF_MOST_UNKNOWN 0.2

/* Blocking copies to the host up to this size (bytes) are waits for a result, not transfers. */
#define WHATIF_SMALL_COPY 65536u

/* Host time between two changes of graphs' nodes, ns: what finds out that, and how, the next one
 * has to change. More of it is work of the program's own. */
#define WHATIF_CHANGE_PAUSE 50e3

struct call_log;
struct call_event;
/* Whether a call may be a part of the change of a node that the thread makes right behind it: as
 * the runtime's cudaGraphExecKernelNodeSetParams() asks the driver for the kernel's function. */
bool whatif_asks_for_change(const struct call_log *h, const struct call_event *e);

#define WHATIF_ASSUMPTIONS 8

enum whatif_form {
	WHATIF_RUNS,  /* runs of calls with little time between them become graphs */
	WHATIF_WHOLE, /* all that a step gives the GPU becomes one graph */
};
extern const char *const whatif_forms[];

enum whatif_block_kind {                 /* what stands in the way of capturing a step */
	                 BLOCK_READ,     /* a small copy to the host that is waited for */
	                 BLOCK_WAIT,     /* another wait inside of it */
	                 BLOCK_PAGEABLE, /* a copy of pageable memory */
	                 BLOCK_ALLOC,    /* an allocation or free that no graph takes */
	                 BLOCK_MODULE,   /* code is loaded */
	                 BLOCK_SHAPES,   /* steps whose kernels have other shapes than most have */
	                 BLOCK_LEGACY,   /* work on the legacy default stream */
	                 BLOCK_THREADS,  /* work that another thread gives */
	                 BLOCK_KINDS
};
extern const char *const whatif_blocks[];

struct whatif_block {
	enum whatif_block_kind kind;
	char call[56];   /* as the program named it */
	double count;    /* in the steps that were looked at */
	double per_step; /* of these */
};
#define WHATIF_BLOCKS 12
#define WHATIF_TEXT   288
/* "cudaMemcpy, 1 a step, reads a result ...": of `count` blocks at most the first ones that are
 * said together, as all calls are that work on the legacy stream; `said` of them. */
const char *whatif_block_text(const struct whatif_block *b, size_t count, size_t *said,
                              char to[WHATIF_TEXT]);

struct whatif_result { /* owns nothing: may be copied */
	enum whatif what;
	bool known;
	char why[WHATIF_TEXT]; /* where it is not known */
	double window;         /* steady window as it was, ns, of all processes replayed */
	/* as it would be, and its range: what a run with the change takes in place of one without;
	 * NaN = not known */
	double predicted, low, high;
	double least, most; /* the range of what is not known of this run alone */
	double spread;      /* of a measured gain by chance: a factor's logarithm */
	double at_speed[2]; /* predicted, of a host that was faster, and slower, with and without */
	double saved;       /* window - predicted */
	double speedup, speedup_low, speedup_high; /* window / predicted; low <= speedup <= high;
	                                              low is below 1 where a run may by chance be
	                                              slower with the change */
	double bound;       /* of `predicted`: what the GPU is busy; NaN = not known */
	double bound_least; /* the same where its work takes the least that it may */
	double coverage;    /* share of the steady window that the replayed calls cover */
	double error;       /* of the replay without a change, as a share: in the range already */
	double changed;     /* calls that the change concerns, among those replayed */
	double outside; /* ns of the window that the host still spends outside CUDA then, and that
	                   it does no longer; of all its threads */
	double between;
	/* Of WHATIF_GRAPHS: */
	enum whatif_form form;
	/* WHATIF_WHOLE: `least` where only the launches and what is between them go, and what the
	 * host still does outside CUDA, ns of the window */
	double low_launches, stays;
	double steps, repeated; /* in the calls replayed; of these, alike enough to be graphs */
	struct whatif_block blocked[WHATIF_BLOCKS]; /* the most frequent first, streams last */
	size_t blocked_count;
	double blocked_steps; /* that were looked at for it */
	char assumptions[WHATIF_ASSUMPTIONS][WHATIF_TEXT];
	size_t assumption_count;
};

struct model;
struct whatifs;

/* How a step becomes a graph in the framework whose kernels these are, else in CUDA. */
const char *whatif_graph_way(const struct model *m);
const struct model *whatif_model(const struct whatifs *w);

/* A finished model with the predictions that were made of it so far. */
struct whatifs *whatif_start(const struct model *m);
void whatif_end(struct whatifs *w);

/*
 * Predicts one change. `kernel` (a POSIX extended regular expression, of demangled names) and
 * `factor` (> 0, so many times faster) are those of WHATIF_KERNEL. False where it cannot be told:
 * `why` says it, and the figures are NaN. Those without arguments are computed once a model.
 */
bool whatif_predict(struct whatifs *w, enum whatif what, const char *kernel, double factor,
                    struct whatif_result *to);

/*
 * The share of the window, 0 to 1, that the host spends on work of its own at most: what a graph of
 * the launches leaves outside CUDA, since what goes with it is what launches cost in the program's
 * language. 1 where graphs change nothing, or less work of the host's own would save more than
 * they, though issuing each call costs what it usually does: then that work lies between the calls.
 */
double whatif_hosts_own(const struct whatif_result *graphs, const struct whatif_result *host);

/* What was asked for on the command line. */
struct whatif_question {
	const char *text; /* as it was asked; not its own */
	enum whatif what;
	char *kernel; /* the regular expression of WHATIF_KERNEL (free it), or NULL */
	double factor;
};

/* Reads "graphs", "host=0", "kernel:REGEX=K". Returns 0, or -1 and one line in `error`
 * (WHATIF_TEXT). */
int whatif_parse(struct whatif_question *to, const char *text, char *error);

#endif
