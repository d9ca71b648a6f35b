/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that a recording keeps, one after the other once more: each call, what it gave to the
 * GPU and when that ran there, each NVTX range. For outputs that draw or list them.
 *
 * When work ran is what CUPTI recorded, or where the timeline of shim/core places it: it is run
 * again over the records, with what is known in the end of how long work takes, and of the work
 * that events stood around with what they told. Memory is bounded whatever the length.
 *
 * Records are not trusted: those that cannot be are counted and left out.
 */
#ifndef REPORT_MODEL_EVENTS_H
#define REPORT_MODEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/core/cuda/roles.h"
#include "shim/core/format/trace_format.h"

#define EVENTS_NONE    UINT32_MAX
#define EVENTS_STREAMS 4096u /* told apart; those beyond are taken for one */
#define EVENTS_DEVICES TF_DEVICES_TIMED
#define EVENTS_CLASSES TF_WORKS       /* of GPU work */
#define EVENTS_KERNELS TF_KERNELS_MAX /* by number */

/* Times are ticks. What is known of a call's arguments is 0 where `args` is not. */
struct events_call {
	uint64_t start, end;
	uint64_t bytes;  /* that it copies, sets or allocates */
	uint64_t event;  /* handle that it records or waits for */
	uint32_t number; /* counts calls, from 1 on */
	uint32_t stream; /* index of a stream; EVENTS_NONE = of none */
	uint32_t site;   /* of the process' call sites, from 1 on; 0 = not known */
	uint16_t name;   /* events_call_name() */
	uint16_t thread; /* events_thread() */
	uint16_t device; /* current to the thread, as far as is known */
	int16_t result;
	uint8_t cls, level, role;
	bool args;     /* its arguments are known */
	bool captured; /* into a graph, and given to no GPU */
	bool nested;   /* in time inside the next call of this thread that is not */
	bool part;     /* nested, and that call's own doing */
	bool works;    /* gives the GPU work */
};

/* Whose word a piece's times are. */
enum events_timed {
	EVENTS_BY_CUPTI,
	EVENTS_BY_EVENTS, /* its length: two events of ours stood around it */
	EVENTS_BY_CLASS,  /* its length: the mean of work like it */
	EVENTS_GUESSED    /* its length: nothing like it was ever timed */
};

struct events_work {
	uint64_t start, end;
	uint64_t given, returned; /* start and end of its call, where `known`; so are ... */
	uint64_t bytes;           /* of a copy or set, `items` copies in one call */
	uint32_t number, stream, site;
	uint32_t graph; /* EVENTS_NONE = of none; of those that found no place in the recording:
	                   events_graphs() or more */
	uint16_t thread, items;
	uint8_t direction, memory; /* ... these: of a copy, enum spy_direction, spy_memory */
	uint8_t device;
	uint8_t kind;    /* enum tf_work_kind */
	uint8_t timed;   /* enum events_timed */
	bool known;      /* which call gave it */
	bool node;       /* a graph's */
	bool first;      /* of its call */
	uint32_t cls;    /* its class, or EVENTS_NONE */
	uint32_t kernel; /* events_kernel_name() */
};

struct events_range {
	uint64_t start, end;
	uint32_t name;   /* events_range_name() */
	uint32_t thread; /* EVENTS_NONE = not known */
	bool started;    /* by start and end, not by push and pop */
};

struct events_to {
	void *to;
	void (*call)(void *to, const struct events_call *c);
	/* Of each stream of a device in the order of their start, or nearly; behind their call. */
	void (*work)(void *to, const struct events_work *w);
	void (*range)(void *to, const struct events_range *r); /* NULL = not asked for */
};

struct events_class { /* what a piece takes, ns, as known in the end; NaN = not known */
	double mean, low, high;
	uint64_t samples;
};

struct events_shape { /* of a class of kernels; registers 0 = not known, and all behind it */
	uint32_t grid[3], block[3], shared_bytes;
	uint32_t registers, static_shared, warps_per_sm, blocks_per_sm;
};

struct events_thread {
	uint64_t id; /* its number here where that is not known */
	const char *name;
	size_t bytes; /* of its name; 0 = it has none */
};

struct events_flight { /* a call that had not returned */
	uint64_t start;
	uint32_t name;
	uint8_t level;
};

struct events_figures {
	uint64_t records, calls, works, ranges; /* calls: that the program made */
	uint64_t unplaced;                      /* work that the timeline found no place for */
	uint64_t left_out;                      /* records that cannot be */
	uint64_t from, until; /* ticks: the records reach over it; both 0 = there are none */
	bool whole;           /* nothing is older, and nothing between is missing */
};

struct events_clock {
	double ns_per_tick;               /* NaN = not known: nothing is to be told */
	uint64_t load, window, last_seen; /* ticks */
};
/* ns since the process was loaded. */
static inline double events_ns(const struct events_clock *c, uint64_t tick)
{
	return (tick > c->load ? (double)(tick - c->load) : 0) * c->ns_per_tick;
}

struct events;

/* A recording's. NULL and one line: it cannot be read. `first`: the number before that of the first
 * call. */
struct events *events_open(const char *path, uint32_t first);
/* -1 and one line: it became shorter meanwhile, nothing that was told is to be trusted. */
int events_close(struct events *e);
struct events_clock events_clock(const struct events *e);
/* Only the latest so many records are to be told; before that. */
void events_latest(struct events *e, uint64_t records);
/* Tells all there is, and what it came to. */
void events_tell(struct events *e, const struct events_to *to, struct events_figures *figures);
/* The number of the last call. */
uint32_t events_last(const struct events *e);

/* How many there are of each, and what each is. Names need not end: they have so many bytes. */
uint32_t events_calls(const struct events *e);
const char *events_call_name(const struct events *e, uint32_t name, size_t *bytes);
uint32_t events_graphs(const struct events *e);
uint32_t events_threads(const struct events *e);
struct events_thread events_thread(const struct events *e, uint32_t thread);
bool events_flight(const struct events *e, uint32_t thread, struct events_flight *f);
/* NULL = unknown. As it is linked; "(other)" of those that found no place in the recording. */
const char *events_kernel_name(const struct events *e, uint32_t kernel, size_t *bytes);
const char *events_range_name(const struct events *e, uint32_t name, size_t *bytes);
/* EVENTS_CLASSES of them; valid until it is closed. */
const struct events_class *events_classes(const struct events *e);
/* False: the class is none of kernels. */
bool events_shape(const struct events *e, uint32_t cls, struct events_shape *shape);
/* The legacy default stream of a device. */
bool events_stream_is_default(const struct events *e, uint32_t stream);
/* Its number as CUPTI counts streams: 7 is the legacy default one, others follow from 13 on. */
uint64_t events_stream_number(const struct events *e, uint32_t stream);

#endif
