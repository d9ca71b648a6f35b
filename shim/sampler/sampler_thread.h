/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread keeps about sampling. For the sampler's files.
 */
#ifndef SPY_SAMPLER_THREAD_H
#define SPY_SAMPLER_THREAD_H

#include "shim/record/span.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_context.h"
#include "shim/sampler/sampler_rate.h"

/* Made at a thread's first launch; handed on to another thread when it ends. */
struct sampler {
	struct sampler_class classes[SAMPLER_CLASSES];
	struct sampler *next;            /* among those without a thread */
	uint32_t generation;             /* of the process */
	uint32_t number;                 /* of `context`, as long as that is the one it was */
	struct sampler_context *context; /* the current one; NULL: none that has a place */
	const struct tf_thread *thread;  /* whose counts of work `rate` follows */
	uint64_t random;
	struct sampler_rate rate;
	/* the sample under way, where `span` is set */
	const struct spy_span *span;
	struct sampler_context *where;
	uint32_t where_number; /* of `where`: else it is gone, and the pair with it */
	struct sampler_pair *pair;
	struct sampler_class *cls;
	const void *function; /* to be asked about; NULL = not */
	uint64_t ticks;       /* that it took so far */
	uint64_t making;      /* ticks for what goes ahead of it, which is there the next time */
	uint64_t aside_ns;    /* of the allowance, for it; 0 = it is within the budget */
	unsigned stall_us;    /* ahead of it; 0 = the stream was busy */
	uint32_t full;        /* samples to take without a kernel ahead: the queue was full */
	uint64_t copies;      /* and sets that the thread had given by the last sample */
	uint64_t opened;      /* tick, ahead of the first event; until then that of the last one */
	/* in cupti mode: the launch whose `function` is to be asked about; about how many so far */
	const struct spy_span *met;
	uint32_t asked;
};

/* The calling thread's; NULL where there is no memory. */
struct sampler *sampler_mine(void);

void sampler_threads_after_fork(void);

#endif
