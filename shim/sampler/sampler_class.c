/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_class.h"

#include <stddef.h>

/* Numbers of samples of a class: */
#define FEW        4 /* with fewer nothing is known of it */
#define EARLY      8 /* the first ones follow each other closely: the class may be a rare one */
#define EAGER      30 /* up to here it is sampled EAGER_GAIN times as often as the budget alone says */
#define ENOUGH     64 /* from here on it is sampled less often */
#define EAGER_GAIN 8
#define NTH_LEAST  64 /* after ENOUGH: at least one sample in this part of its launches so far */
#define LATE_MOST  7  /* samples lost with the longest stall before the class is given up */
#define RETRY_GAIN 64 /* and is tried that much less often */
#define DRAINED    3  /* samples that get a stall after a busy stream ran dry */

/* The longest: launches of graphs of some hundred nodes take 60 to 130 us, on a slow host 230 to
 * 430. */
static const uint16_t stalls[] = {STALL_FIRST_US, 13, 22, 38, 65, 120, 230, 450};
#define STALLS (sizeof(stalls) / sizeof(stalls[0]))
_Static_assert(STALLS == 8, "struct sampler_class has three bits for them");

uint64_t random_seed(uint64_t from)
{
	from *= 0x9e3779b97f4a7c15u;
	return from ? from : 1;
}

uint32_t random_below(uint64_t *state, uint32_t bound)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return (uint32_t)((x >> 32) * bound >> 32);
}

/* ---- the table of classes ---- */

struct sampler_class *class_find(struct sampler_class *all, uint64_t key)
{
	struct sampler_class *c = sampler_home(all, key), *other = sampler_neighbour(all, key);

	return c->key == key ? c : other->key == key ? other : NULL;
}

struct sampler_class *class_place(struct sampler_class *all, uint64_t key, uint64_t *random)
{
	struct sampler_class *c = sampler_home(all, key), *other = sampler_neighbour(all, key);

	if (c->key && !other->key)
		c = other;
	else if (c->key && random_below(random, 4))
		return NULL;
	else if (c->key && random_below(random, 2))
		c = other;
	*c = (struct sampler_class){.key = key, .until = 1, .armed = 1, .met = 1};
	return c;
}

/* ---- when ---- */

uint64_t class_met(const struct sampler_class *c)
{
	return c->met + (uint32_t)(c->armed - c->until);
}

void class_arm(struct sampler_class *c, uint32_t until)
{
	c->met = class_met(c);
	c->until = c->armed = until;
}

/* The budget's gap divided by `gain`, times 0.5 to 1.5 at random. */
static uint32_t jitter(const struct sampler_rate *r, unsigned gain, uint64_t *random)
{
	uint32_t gap = rate_gap(r, gain);

	return 1 + gap / 2 + random_below(random, gap);
}

/* After 64 samples a mean's standard error is an eighth of the standard deviation. From there on
 * samples only watch for change and are taken less often, but at least so often that the launches
 * since the last one are a small part of all. */
void class_sampled(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	if (c->samples < UINT8_MAX)
		c->samples++;
	c->late = c->refused = 0;
	if (c->drained)
		c->drained--;
	class_put_off(c, r, random);
	if (c->samples < ENOUGH)
		return;
	uint64_t least = class_met(c) / NTH_LEAST,
	         later = (uint64_t)c->until * (c->samples < 2 * ENOUGH ? 2 : 8);
	later = later < least ? later : c->until > least ? c->until : least;
	class_arm(c, later < RATE_GAP_MOST * 8 ? (uint32_t)later : RATE_GAP_MOST * 8);
}

bool class_is_new(const struct sampler_class *c)
{
	return c->samples < FEW;
}

void class_put_off(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	if (c->samples < EARLY)
		class_arm(c, 1 + random_below(random, 3));
	else
		class_arm(c, jitter(r, c->samples < EAGER ? EAGER_GAIN : 1, random));
}

void class_refused(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	uint32_t soon = 1u << 2 * c->refused; /* 1, 4, 16, 64 */

	if (c->refused < 3) {
		c->refused++;
		class_arm(c, 1 + soon / 2 + random_below(random, soon));
		return;
	}
	class_put_off(c, r, random);
	if (c->until < soon)
		class_arm(c, 1 + soon / 2 + random_below(random, soon));
}

void class_late(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	class_arm(c, jitter(r, EAGER_GAIN, random));
	if (c->stall + 1u < STALLS)
		c->stall++;
	else if (c->late < LATE_MOST)
		c->late++;
	else
		class_arm(c, jitter(r, 1, random) * RETRY_GAIN);
}

void class_waited(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	class_arm(c, jitter(r, EAGER_GAIN, random));
	if (c->late < LATE_MOST)
		c->late = c->late + 2 < LATE_MOST ? c->late + 2u : LATE_MOST;
	else
		class_arm(c, jitter(r, 1, random) * RETRY_GAIN);
}

void class_drained(struct sampler_class *c)
{
	c->drained = DRAINED;
}

unsigned class_stall_us(const struct sampler_class *c)
{
	return stalls[c->stall];
}
