/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the CUPTI truth library share: the entry points of CUPTI it uses and its state.
 * Included by cupti_truth.c (set-up, life cycle), cupti_records.c (buffers), cupti_write.c and
 * cupti_causes.c (JSON). */
#pragma once
#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include "tests/gpu/cupti_tally.h"

/* XX(name): the functions of CUPTI that are looked up; all exist since CUDA 11. */
#define CUPTI_MAP(XX)                                                                              \
	XX(cuptiActivityEnable)                                                                    \
	XX(cuptiActivityFlushAll)                                                                  \
	XX(cuptiActivityFlushPeriod)                                                               \
	XX(cuptiActivityGetNextRecord)                                                             \
	XX(cuptiActivityGetNumDroppedRecords)                                                      \
	XX(cuptiActivityRegisterCallbacks)                                                         \
	XX(cuptiGetCallbackName)                                                                   \
	XX(cuptiGetResultString)                                                                   \
	XX(cuptiGetVersion)

struct cupti_api {
#define XX(name) __typeof__(name) *name;
	CUPTI_MAP(XX)
#undef XX
};

#define TRUTH_ERRORS 16

struct truth {
	struct cupti_api cupti;
	char library[512]; /* path of the libcupti in use */
	uint32_t cupti_version;
	int pid;
	bool graph_trace;
	bool api_records;
	char out[4096];
	char raw[4096]; /* empty: no raw file */

	pthread_mutex_t lock; /* guards what follows; no call of CUPTI is made under it */
	struct tally tally;
	uint64_t dropped; /* CUPTI's own count of records it lost */
	uint64_t unknown_records;
	uint64_t no_buffer; /* CUPTI asked for a buffer and there was no memory */
	char error[TRUTH_ERRORS][160];
	unsigned errors;
};

extern struct truth truth;

/* Notes one line for the JSON's `errors`; more than TRUTH_ERRORS are not kept. */
__attribute__((format(printf, 1, 2))) void truth_error(const char *format, ...);

/* cupti_records.c: the two callbacks that CUPTI is given. */
void CUPTIAPI records_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI records_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                       size_t size, size_t valid);

/* cupti_write.c: writes truth.out (and truth.raw when complete); call without the lock. */
void write_truth(bool complete);
/* The text as a JSON string; the kinds in CUPTI's words. */
void write_string(FILE *f, const char *text);
const char *copy_kind_name(uint8_t kind);
const char *memory_kind_name(uint8_t kind);
/* The name of a call as a JSON string, null for NULL; asks CUPTI. */
void write_api_name(FILE *f, const uint32_t *api);

/* cupti_write_classes.c: the JSON's `own` and `classes`; call under the lock. */
void write_classes(FILE *f, const struct tally *t);

/* cupti_causes.c: the JSON's `causes`; call without the lock, when no more records come. */
void write_causes(FILE *f);
