/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the calls as they were recorded, which makes the acts: replay_fit.c walks,
 * replay_costs.c tells how long calls and work take by themselves, replay_divide.c what calls
 * waited for, replay_held.c which of them another thread kept out of the driver, replay_reads.c and
 * replay_told.c find waits outside of CUDA calls. For these alone.
 */
#ifndef REPORT_REPLAY_FIT_H
#define REPORT_REPLAY_FIT_H

#include "report/analysis/replay/replay_internal.h"

/* A call that takes no longer than its own time and this did not wait, ns. */
#define REPLAY_NOISE 2000.0
/* So long a thread waits for no CPU, nor for a lock that is held for a moment, ns. */
#define REPLAY_LONG 100e3
/* A copy or other work, the host function behind it, and the wait for that: so many calls of the
 * thread apart at most. */
#define REPLAY_TOLD_WITHIN 6u
/* Estimated ends of work are off by such a part of the time to them. */
#define REPLAY_ENDS_OFF 0.1

struct replay_thread_state {
	uint32_t last;        /* its last call, or CALL_LOG_NONE */
	uint32_t last_long;   /* its last call that took REPLAY_LONG, or CALL_LOG_NONE */
	double end;           /* return of it */
	double burst;         /* since its last long gap, or long wait for the GPU, ns */
	double polling;       /* entry of the first of the queries being repeated; NaN = none */
	uint32_t named, told; /* its last call on a stream, its last host function; CALL_LOG_NONE */
	uint32_t named_ago, told_ago; /* calls since */
	uint32_t gave, told_kind;     /* class of its last work + 1; and at the time of `told` */
	bool reads;                   /* its last work is a read of a result */
	double carried; /* host time before its last call that goes with the next one, ns */
};

struct replay_told {         /* a host function and the call that came after it */
	uint32_t kind;       /* class of the work before it + 1, in the call log; 0 = none */
	double left, behind; /* ns to the end of the work before it; from there to the call */
};

struct replay_told_kind {
	bool waits;   /* threads wait until such a host function has run */
	bool unsure;  /* or are always busy that long */
	double wakes; /* ns from its run to the thread's call: waking up */
};

/* Reads by what comes behind them. */
enum { REPLAY_BEFORE_WORK, REPLAY_BEFORE_READ, REPLAY_READ_KINDS };

struct replay_read_kind {
	size_t count, waited; /* reads; of these, behind which the program may have waited */
	bool wait;            /* the second walk: the program waits for them */
};

struct replay_pending {        /* work of a stream: pieces */
	uint32_t given, done;  /* so far; of these, seen to be done */
	uint32_t device_waits; /* for its device, that `done` knows of */
};

struct replay_fit {
	struct replay *replay;
	struct replay_gpu gpu;
	enum replay_level level;
	double part; /* of each class' half interval that all together are off by, at this level */
	struct replay_thread_state *threads;
	uint32_t *event_record;         /* last call that recorded an event, by its number */
	double *own;                    /* of each call where it waits for nothing */
	struct replay_pending *pending; /* by stream */
	uint32_t *marked;               /* of each event record: its stream's `given` then */
	uint32_t device_waits[CALL_LOG_DEVICES]; /* so far */
	double usual;                            /* what waits return later than their work ends */
	double *lates;
	size_t late_count;
	uint32_t *resumes; /* of each read of a result: the next work after it, another read too, or
	                      CALL_LOG_NONE; NULL = there are hardly any reads */
	struct replay_read_kind read_kinds[REPLAY_READ_KINDS];
	bool told_wait; /* the second walk: told_kinds says what is waited for */
	struct replay_told_kind *told_kinds; /* by work + 1 */
	struct replay_told *tolds;           /* of the first walk */
	size_t told_count;
	uint32_t read;   /* the last read whose next work is to come, or CALL_LOG_NONE */
	double read_end; /* end of its copy */
};

/* A copy that returns only when it is done. */
bool replay_fit_holds(const struct call_event *a);
/* It asks whether a stream or an event is done. */
bool replay_fit_is_query(const struct call_event *a);
/* The time of act i's work, by its class or a guess. */
void replay_fit_duration(struct replay_fit *n, size_t i);
/* n->own: a low quantile of what each call takes. */
void replay_fit_own(struct replay_fit *n);
void replay_fit_part(struct replay_fit *n); /* before the durations */
/* Divides the time of act i, called at `start`, into its own and what it waited for. */
void replay_fit_divide(struct replay_fit *n, size_t i, double start, double end);

/* So many pieces of a stream may not be done yet, for all that waits told. replay_pending.c */
uint32_t replay_fit_pending(struct replay_fit *n, uint32_t stream);
/* Act i was divided: it gives a piece, marks or waits. */
void replay_fit_pend(struct replay_fit *n, size_t i);

/* Act i, which was divided, took from `start` to `end`: whether another thread's call kept it out
 * of the driver. replay_held.c */
void replay_fit_held(struct replay_fit *n, size_t i, double start, double end);

/* Reads of results that no call waits for: replay_reads.c. */
void replay_fit_find_reads(struct replay_fit *n);
bool replay_fit_reads_wait(struct replay_fit *n);
/* Act i's work ends then; act i is entered at `start`. */
void replay_fit_read(struct replay_fit *n, size_t i, double end);
void replay_fit_resume(struct replay_fit *n, size_t i, double start);

/* Threads that wait until a host function tells that work is done: replay_told.c. */
bool replay_fit_told_waits(struct replay_fit *n);
/* Act i was walked: it may be a host function, or name a stream. */
void replay_fit_tell(struct replay_fit *n, size_t i);
/* Before act i, entered at `start`, is divided: the host function that its thread waited for, or
 * CALL_LOG_NONE. */
uint32_t replay_fit_told(struct replay_fit *n, size_t i, double start);
/* Divides act i, which waited for that host function. */
void replay_fit_wait_told(struct replay_fit *n, size_t i, uint32_t told, double start, double end);

#endif
