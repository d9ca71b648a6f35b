/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace in the JSON that Kineto (torch.profiler) writes, for Perfetto, chrome://tracing,
 * HolisticTraceAnalysis and what else reads it. For chrome*.c alone.
 *
 * Readers drop slices of one track (pid, tid) that overlap without one being in the other: tracks
 * are kept free of that, by lanes where need be. Times are whole ns since `base`.
 */
#ifndef REPORT_CHROME_H
#define REPORT_CHROME_H

#include "report/model/events/events.h"
#include "report/output/export/export.h"

/* ---- chrome_put.c: what is written, through a buffer of our own ---- */

#define CHROME_BUFFER (1u << 18)

struct chrome_out {
	FILE *to;
	char *buffer;
	size_t used;
	uint64_t events; /* in `traceEvents` */
};

void chrome_out_start(struct chrome_out *o, FILE *to);
void chrome_out_end(struct chrome_out *o);
void chrome_put(struct chrome_out *o, const char *text, size_t bytes);
void chrome_text(struct chrome_out *o, const char *text);
void chrome_format(struct chrome_out *o, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void chrome_number(struct chrome_out *o, uint64_t v);
/* As us with three decimals. */
void chrome_us(struct chrome_out *o, uint64_t ns);
/* A JSON string of any bytes (free it), quotes and all, ASCII alone. */
char *chrome_quoted(const char *text, size_t bytes);
/* `}` and what else ends an event is written by who began it. */
void chrome_begin(struct chrome_out *o);
/* "ts" and "dur", behind a comma. */
void chrome_span(struct chrome_out *o, uint64_t start, uint64_t end);
/* ph M: a name, labels or a sort index of a process or thread. */
void chrome_meta(struct chrome_out *o, const char *what, const char *key, uint64_t pid,
                 uint64_t tid, const char *json);

/* ---- lanes: tracks beside one another for what may overlap ---- */

#define CHROME_LANES 16u
struct chrome_lanes {
	uint64_t end[CHROME_LANES]; /* of the last slice */
	uint32_t used;
};
/* A lane for the slice, which may have to begin later. */
uint32_t chrome_lane(struct chrome_lanes *l, uint64_t *start, uint64_t *end);

/* ---- one process ---- */

/* Tracks that are no thread's: Linux has no thread ids so high. */
#define CHROME_TID_STEPS  5000000u
#define CHROME_TID_RANGES 5000100u
/* Of a GPU: a stream's is its number, that of its waits as Kineto has it. */
#define CHROME_TID_WAITS   1000000u
#define CHROME_TID_LANES   2000000u /* times the lane */
#define CHROME_TID_SYNCS   900000u
#define CHROME_STREAM      13u /* the first number of a stream that was made */
#define CHROME_DEFAULT     7u  /* CUPTI's number of the default stream */
#define CHROME_DEVICE_SORT 5000000u

#define CHROME_NESTED 16u
struct chrome_thread { /* its slices so far */
	bool named;
	uint64_t tid;
	uint64_t floor; /* end of the last outermost one */
	uint32_t nested;
	struct chrome_slice {
		uint64_t start, end;
	} inner[CHROME_NESTED]; /* those since then */
};

#define CHROME_LAST  4u
#define CHROME_WAITS 4096u /* until work is placed; a power of two, as rooms below it are */
struct chrome_stream {
	uint32_t number;
	bool named, waits_named;
	uint16_t device;
	struct chrome_lanes lanes;
	uint32_t lanes_named;
	struct { /* the latest work */
		uint64_t start, end;
		uint32_t number;
	} last[CHROME_LAST];
	uint32_t last_at;
	struct chrome_wait { /* for the stream, until it is known what ran meanwhile */
		uint64_t start, end;
		uint32_t number;
	} * wait; /* a ring */
	uint32_t wait_room, wait_first, waits;
};

struct chrome_record { /* of an event, by its handle */
	uint64_t handle;
	uint64_t start;          /* entry of the call that recorded it, ns */
	uint32_t number, stream; /* of that call; its stream's number */
};
#define CHROME_RECORDS 65536u

struct chrome_device {
	bool named;
	struct chrome_lanes syncs;
	uint32_t syncs_named;
	uint64_t busy, until; /* union of what is drawn, ns, and its end */
	uint64_t pieces;
};

struct chrome_totals {
	uint64_t calls, works, flows, syncs, ranges, steps;
	uint64_t estimated; /* of `works` */
	uint64_t moved;     /* that CUPTI has before their call, or two at a time in one lane */
	uint64_t without_record; /* waits for an event whose record is not there */
	uint64_t unplaced, left_out;
};

struct chrome {
	struct chrome_out *out;
	const struct export_job *job;
	const struct model_process *process;
	struct events *events;
	struct events_clock clock;
	const struct events_class *classes;
	double base; /* ns to be added to those since load */
	uint64_t pid, gpu_pid;
	bool has_gpu;
	struct chrome_thread *threads;
	char **call_heads;   /* by call id: an event up to its tid */
	char **kernel_names; /* by kernel id, quoted */
	char **class_tails;  /* by class: what its args end with */
	char **site_texts;   /* by call site, quoted */
	struct chrome_stream *streams;
	struct chrome_record *records;
	struct chrome_device devices[EVENTS_DEVICES];
	struct chrome_lanes range_lanes, step_lanes;
	uint32_t range_named, step_named;
	struct chrome_totals totals;
};

/* ns since the trace's base. */
static inline uint64_t chrome_ns(const struct chrome *c, uint64_t tick)
{
	double ns = events_ns(&c->clock, tick) + c->base;

	return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}

/* chrome_host.c */
void chrome_call(struct chrome *c, const struct events_call *call);
void chrome_range(struct chrome *c, const struct events_range *r);
void chrome_steps(struct chrome *c);
void chrome_flights(struct chrome *c);
uint64_t chrome_tid(struct chrome *c, uint32_t thread);
/* chrome_gpu.c */
void chrome_work(struct chrome *c, const struct events_work *w);
struct chrome_stream *chrome_stream(struct chrome *c, uint32_t index);
void chrome_device_named(struct chrome *c, uint32_t device);
/* chrome_sync.c */
void chrome_sync(struct chrome *c, const struct events_call *call);
/* Work of the stream starts at `until`: waits that ended before are certain. */
void chrome_waits_until(struct chrome *c, struct chrome_stream *s, uint64_t until);
/* chrome_names.c */
const char *chrome_call_head(struct chrome *c, const struct events_call *call);
const char *chrome_kernel_name(struct chrome *c, uint32_t kernel);
const char *chrome_class_tail(struct chrome *c, uint32_t cls);
void chrome_copy_name(struct chrome_out *o, unsigned direction, unsigned memory);

#endif
