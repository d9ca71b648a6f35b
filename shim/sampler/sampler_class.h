/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of work that a thread has met: which ones it keeps, and when each is due to be timed.
 * For sampler.c.
 */
#ifndef SPY_SAMPLER_CLASS_H
#define SPY_SAMPLER_CLASS_H

#include "shim/sampler/sampler.h"
#include "shim/sampler/sampler_rate.h"

/* Any sequence that does not beat with the program's loops will do: xorshift64. Never 0. */
uint64_t random_seed(uint64_t from);
/* Below `bound`, or 0. */
uint32_t random_below(uint64_t *state, uint32_t bound);

/* The class's place, or NULL: it is one of two neighbours, of one cache line. */
struct sampler_class *class_find(struct sampler_class *all, uint64_t key);

/* Gives a class a place, due at its next launch. Where both are taken it takes one over now and
 * then, so that one met often comes to have its own; else NULL. */
struct sampler_class *class_place(struct sampler_class *all, uint64_t key, uint64_t *random);

/* Whether it was timed less often than it takes to know anything of it. */
bool class_is_new(const struct sampler_class *c);

/*
 * How long until a class is due again, in launches of its own: after a sample; after it could not
 * be afforded, so that one met rarely is asked again soon and one met often does not cost by being
 * asked; after it could not be taken for another reason.
 */
void class_sampled(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);
void class_refused(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);
void class_put_off(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The host was late: the stall ran out before all was queued behind it. The class gets a longer
 * one, and when the longest is too short time and again (a call that waits by itself), it is all
 * but given up.
 */
void class_late(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The call waited for the stream by itself, as copies of pageable memory do: no stall is long
 * enough. All but given up after a few of them; the same call may copy pinned memory as well.
 */
void class_waited(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random);

/*
 * The stream was busy, so nothing was to hold it up, and had nothing left to do when all was
 * queued: a GPU that is hardly behind the host. The next samples of the class get a stall all the
 * same.
 */
void class_drained(struct sampler_class *c);

/* The stall that a class needs; the first of them is every class's at first. */
#define STALL_FIRST_US 8u
unsigned class_stall_us(const struct sampler_class *c);

#endif
