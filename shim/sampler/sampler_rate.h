/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sampling may cost a thread: how long to wait between samples so that they take no more than
 * their share of its time. Arithmetic alone, for sampler.c.
 */
#ifndef SPY_SAMPLER_RATE_H
#define SPY_SAMPLER_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a thread. All times are ticks. */
struct sampler_rate {
	uint64_t born, spent;     /* first seen; given to sampling since */
	uint64_t ahead;           /* of `spent`: out of the allowance, before the budget had it */
	uint64_t last, last_work; /* when the last sample was booked, and how much work there was */
	uint64_t cost;            /* of the last sample: what the next one may take; 0 = none yet */
	double gap;               /* pieces of work between samples that the budget allows */
	bool known;               /* the gap follows from a sample */
};

/* A thread begins, which has given `work` pieces of work to the GPU so far. */
void rate_begin(struct sampler_rate *r, uint64_t now, uint64_t work);

/* The thread's count of work begins anew at `work`: it has another slot in the recording. */
void rate_resume(struct sampler_rate *r, uint64_t now, uint64_t work);

/*
 * Whether another sample keeps what was spent within `percent` of the thread's time. What was spent
 * ahead of the budget is made up for by half of it: the other half goes on with samples, lest work
 * change unseen.
 */
bool rate_affords(const struct sampler_rate *r, uint64_t now, double percent);

/* Books time that a try without a sample took. */
void rate_spend(struct sampler_rate *r, uint64_t ticks);
/* Of what was booked, or is about to be, this was out of the allowance. */
void rate_ahead(struct sampler_rate *r, uint64_t ticks);

/* Books a sample that cost `ticks`, taken at the `work`th piece of work, and sets the gap so that
 * the budget holds at the present rate of work. */
void rate_sampled(struct sampler_rate *r, uint64_t ticks, uint64_t now, uint64_t work,
                  double percent);

/* What a sample costs, or how often work is given, is another thing from now on: the next sample
 * comes soon, and sets the gap alone. */
void rate_anew(struct sampler_rate *r, uint64_t now, uint64_t work);

#define RATE_GAP_MOST (1u << 20)

/* The gap divided by `gain`, in whole pieces of work: 1 to RATE_GAP_MOST. */
uint32_t rate_gap(const struct sampler_rate *r, unsigned gain);

#endif
