/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of work that a thread has met: which ones it keeps, and when each is due to be timed.
 * For the sampler's files; the wrappers look a class up in line.
 */
#ifndef SPY_SAMPLER_CLASS_H
#define SPY_SAMPLER_CLASS_H

#include "shim/sampler/sampler_rate.h"

/* How a thread stands with one class of work. The key is a hash of what makes the class, never 0.
 * Half a cache line. */
struct sampler_class {
	uint64_t key;
	uint32_t until;       /* launches to go until one is timed */
	uint32_t armed;       /* ... when that was set */
	uint64_t met;         /* launches by then */
	uint32_t series;      /* its number in samples; 0 = none yet */
	uint16_t seen : 14;   /* the context and the code that it was last met in */
	uint16_t drained : 2; /* samples to take behind a stall, on a busy stream too */
	uint8_t samples;      /* taken, saturating */
	uint8_t stall : 3;    /* which of the stalls this class needs */
	uint8_t late : 3;     /* samples lost to the longest one, in a row */
	uint8_t refused : 2;  /* how often it could not be afforded, in a row */
};
_Static_assert(sizeof(struct sampler_class) == 32, "two in a cache line");
#define SAMPLER_SEEN    0x3fffu /* the bits of `seen` */
#define SAMPLER_CLASSES 512u    /* of a thread; a power of two */

/* A class stands in one of two neighbouring places, of one cache line. */
static inline struct sampler_class *sampler_home(struct sampler_class *all, uint64_t key)
{
	return all + (key >> 55); /* of SAMPLER_CLASSES */
}

static inline struct sampler_class *sampler_neighbour(struct sampler_class *all, uint64_t key)
{
	return all + ((key >> 55) ^ 1);
}

/* Any sequence that does not beat with the program's loops will do: xorshift64. Never 0. */
uint64_t random_seed(uint64_t from);
/* Below `bound`, or 0. */
uint32_t random_below(uint64_t *state, uint32_t bound);

/* The class's place, or NULL: it is one of two neighbours, of one cache line. */
struct sampler_class *class_find(struct sampler_class *all, uint64_t key);

/* Gives a class a place, due at its next launch. Where both places are taken by other classes it
 * takes one of them over at random, so that a class met often comes to have a place; else NULL. */
struct sampler_class *class_place(struct sampler_class *all, uint64_t key, uint64_t *random);

/* Whether it has too few samples to know anything of it. */
bool class_is_new(const struct sampler_class *c);

/* How many launches of it the thread made while it had a place. */
uint64_t class_met(const struct sampler_class *c);
/* It is due after so many more launches. */
void class_arm(struct sampler_class *c, uint32_t until);

/*
 * Sets when a class is due again, in launches of its own: after a sample; after a refusal by the
 * budget (soon at first, then later and later: a rare class is not missed, a frequent one does not
 * cost time by being looked at); after a sample could not be taken for another reason.
 */
void class_sampled(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);
void class_refused(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);
void class_put_off(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The stall ended before the host had queued the work and the second event. The class gets a longer
 * stall; when the longest is too short LATE_MOST times (a call that waits by itself), it is tried
 * RETRY_GAIN times less often.
 */
void class_late(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The call waited for its stream, as copies of pageable memory do: no stall is long enough. After a
 * few of these the class is tried less often too; not never, as the same call may copy pinned
 * memory.
 */
void class_waited(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The stream was busy, so no stall was launched, but ran dry before all was queued: the GPU is
 * hardly behind the host. The next samples of the class get a stall on busy streams too.
 */
void class_drained(struct sampler_class *c);

/* The stall that a class needs; the first of them is every class's at first. */
#define STALL_FIRST_US 8u
unsigned class_stall_us(const struct sampler_class *c);

#endif
