/*
 * How the history's files work together: history.c takes the records and puts them in order,
 * history_acts.c makes acts of them, history_names.c and history_works.c what they refer to. For
 * history*.c alone.
 */
#ifndef REPORT_HISTORY_PARTS_H
#define REPORT_HISTORY_PARTS_H

#include "report/model/call_log.h"
#include "report/model/model_internal.h"

struct taken { /* a record, copied: the file of a running process changes */
	struct tf_record r;
	float nested_sync, nested_alloc, nested_module, ours; /* ns */
	uint32_t order;                                 /* as it was kept */
};

/* From a number to a number below HISTORY_NONE; all zero is an empty one. */
struct number_map {
	struct number_place {
		uint64_t key;
		uint32_t value; /* plus one; 0 = free */
	} * places;
	size_t room, used;
};
/* The value of `key`, or HISTORY_NONE. */
uint32_t number_get(const struct number_map *m, uint64_t key);
void number_put(struct number_map *m, uint64_t key, uint32_t value);
void number_free(struct number_map *m);

/* Classes of work: of each place of the recording's table, where it is in the history's. */
struct works_of {
	const struct model_part *part;
	const struct tf_work *works; /* the recording's table, or NULL */
	uint32_t *rows;              /* history's row + 1 of each place; 0 = not there yet */
	struct calibration *calibration;
};
void works_start(struct works_of *w, const struct model_part *p);
/* The history's row for the work of a record, made if need be; HISTORY_NONE where it has no class.
 */
uint32_t works_row(struct works_of *w, struct history *h, enum tf_work_kind kind,
                   const struct tf_record *r);
/* Kernels whose shape was never timed take the mean of their other shapes. */
void works_finish(struct works_of *w, struct history *h);

/* Acts while they are made. */
struct making {
	const struct model_part *part;
	struct history *history;
	uint32_t *call_row;   /* of each call id, + 1 */
	uint32_t *thread_row; /* of each thread's place, + 1 */
	uint16_t *device;     /* current, by row of thread */
	struct number_map streams, events;
	struct works_of works;
};

/* Rows of `calls` and `threads`, made if need be, of a call id and of a thread's place:
 * history_names.c. */
uint32_t history_call(struct making *m, uint16_t id);
uint32_t history_thread(struct making *m, uint16_t index);

/* Makes acts of records in the order of their start. */
void history_make(struct history *h, const struct model_part *p, const struct taken *taken,
                  size_t count);
/* CUPTI's record of a piece of work. */
void history_exact(struct history *h, const struct model_part *p, const struct number_map *causes,
                   const struct tf_record *activity);
/* Copies whose exact times cannot be true have their class's mean. */
void history_disbelieve(struct history *h);

#endif
