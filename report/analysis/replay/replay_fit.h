/*
 * The walk over the calls as they were, before a replay: for replay_anchor.c, which walks,
 * replay_costs.c (how long calls and work take by themselves) and replay_divide.c (what calls
 * waited for).
 */
#ifndef REPORT_REPLAY_ANCHOR_H
#define REPORT_REPLAY_ANCHOR_H

#include "report/analysis/replay/replay_internal.h"

/* What takes no longer did not wait (ns). */
#define REPLAY_NOISE 2000.0

struct thread_state {
	uint32_t last;  /* its last call, or HISTORY_NONE */
	double end;     /* return of it */
	double burst;   /* start of its calls since it took over from another thread */
	double polling; /* entry of the first of the polls under way; NaN = none */
};

struct anchor {
	struct replay *replay;
	struct replay_gpu gpu;
	enum replay_level level;
	struct thread_state *threads;
	uint32_t *event_record; /* last call that recorded an event, by its number */
	double *own;            /* of each call where it waits for nothing */
	double *since;          /* work on each stream since it was known to be empty */
	double usual;           /* what waits return later than their work ends */
	double *lates;
	size_t late_count;
};

/* A copy that returns only when it is done. */
bool anchor_is_staged(const struct act *a);
/* It asks whether a stream or an event is done. */
bool anchor_is_query(const struct act *a);
/* The time of act i's work, by its class or a guess. */
void anchor_duration(struct anchor *n, size_t i);
/* n->own: a low quantile of what each call takes. */
void anchor_own(struct anchor *n);
/* Divides the time of act i, called at `start`, into its own and what it waited for. */
void anchor_divide(struct anchor *n, size_t i, double start, double end);

#endif
