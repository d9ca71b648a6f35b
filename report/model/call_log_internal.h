/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the call log's files work together: call_log.c takes the records and puts them in order,
 * call_log_events.c makes call events of them, call_log_names.c and call_log_work.c what these
 * refer to. For call_log*.c alone.
 */
#ifndef REPORT_CALL_LOG_INTERNAL_H
#define REPORT_CALL_LOG_INTERNAL_H

#include "report/model/call_log.h"
#include "report/model/model_internal.h"

struct call_log_taken { /* a record, copied: the file of a running process changes */
	struct tf_record r;
	float nested_sync, nested_alloc, nested_module, ours; /* ns */
	uint32_t order;                                       /* as it was kept */
};

/* From a number to a number below CALL_LOG_NONE; all zero is an empty one. */
struct call_log_numbers {
	struct number_place {
		uint64_t key;
		uint32_t value; /* plus one; 0 = free */
	} * places;
	size_t room, used;
};
/* The value of `key`, or CALL_LOG_NONE. */
uint32_t number_get(const struct call_log_numbers *m, uint64_t key);
void number_put(struct call_log_numbers *m, uint64_t key, uint32_t value);
void number_free(struct call_log_numbers *m);

/* Classes of work: of each place of the recording's table, where it is in the call log's. */
struct call_log_works_of {
	const struct model_part *part;
	const struct tf_work *works; /* the recording's table, or NULL */
	uint32_t *rows;              /* the log's row + 1 of each place; 0 = not there yet */
	struct model_calibration *calibration;
};
void works_start(struct call_log_works_of *w, const struct model_part *p);
/* The log's row for the work of a record, made if need be; CALL_LOG_NONE where it has no class.
 */
uint32_t works_row(struct call_log_works_of *w, struct call_log *h, enum tf_work_kind kind,
                   const struct tf_record *r);
/* Kernels whose shape was never timed take the mean of their other shapes. */
void works_finish(struct call_log_works_of *w, struct call_log *h);

/* Call events while they are made. */
struct call_log_making {
	const struct model_part *part;
	struct call_log *call_log;
	uint32_t *call_row;   /* of each call id, + 1 */
	uint32_t *thread_row; /* of each thread's place, + 1 */
	uint16_t *device;     /* current, by row of thread */
	struct call_log_numbers streams, events;
	struct call_log_works_of works;
};

/* Rows of `calls` and `threads`, made if need be, of a call id and of a thread's place:
 * call_log_names.c. */
uint32_t call_log_call(struct call_log_making *m, uint16_t id);
uint32_t call_log_thread(struct call_log_making *m, uint16_t index);

/* Makes call events of records, in the order of their start. */
void call_log_make(struct call_log *h, const struct model_part *p,
                   const struct call_log_taken *taken, size_t count);
/* CUPTI's record of a piece of work. */
void call_log_exact(struct call_log *h, const struct model_part *p,
                    const struct call_log_numbers *causes, const struct tf_record *activity);
/* Copies whose exact times cannot be true have their class's mean. */
void call_log_disbelieve(struct call_log *h);

#endif
