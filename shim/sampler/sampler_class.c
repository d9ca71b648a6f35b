/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_class.h"

#define EARLY      8  /* first samples of a class, which follow closely: it may be a rare one */
#define FEW        4  /* samples without which nothing is known of a class */
#define EAGER      30 /* samples of a class that are worth more than its share */
#define ENOUGH     64 /* samples of a class after which it is sampled less */
#define EAGER_GAIN 8  /* how much oftener it is met until then */
#define LATE_MOST  7  /* samples lost to the longest stall before a class is given up */
#define RETRY_GAIN 64 /* how much less often it is tried from then on */
#define DRAINED    3  /* samples behind a stall after a busy stream ran dry */

static const uint8_t stalls[] = {STALL_FIRST_US, 12, 18, 27, 40, 60};
#define STALLS (sizeof(stalls) / sizeof(stalls[0]))

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

/* ---- places ---- */

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
	*c = (struct sampler_class){.key = key, .until = 1};
	return c;
}

/* ---- when ---- */

/* Half to one and a half times the budget's gap, shorter by `gain`. */
static uint32_t jitter(const struct sampler_rate *r, unsigned gain, uint64_t *random)
{
	uint32_t gap = rate_gap(r, gain);

	return 1 + gap / 2 + random_below(random, gap);
}

/* A class that was sampled often is known well: the mean of 64 is off by an eighth of the spread.
 * From there on it is only watched for change, at less than the budget. */
void class_sampled(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	if (c->samples < UINT8_MAX)
		c->samples++;
	c->late = c->refused = 0;
	if (c->drained)
		c->drained--;
	class_put_off(c, r, random);
	if (c->samples >= ENOUGH)
		c->until *= c->samples < 2 * ENOUGH ? 2 : 8;
}

bool class_is_new(const struct sampler_class *c)
{
	return c->samples < FEW;
}

void class_put_off(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	if (c->samples < EARLY)
		c->until = 1 + random_below(random, 3);
	else
		c->until = jitter(r, c->samples < EAGER ? EAGER_GAIN : 1, random);
}

void class_refused(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	uint32_t soon = 1u << 2 * c->refused; /* 1, 4, 16, 64 */

	if (c->refused < 3) {
		c->refused++;
		c->until = 1 + soon / 2 + random_below(random, soon);
		return;
	}
	class_put_off(c, r, random);
	if (c->until < soon)
		c->until = 1 + soon / 2 + random_below(random, soon);
}

void class_late(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	c->until = jitter(r, EAGER_GAIN, random);
	if (c->stall + 1u < STALLS)
		c->stall++;
	else if (c->late < LATE_MOST)
		c->late++;
	else
		c->until = jitter(r, 1, random) * RETRY_GAIN;
}

void class_waited(struct sampler_class *c, const struct sampler_rate *r, uint64_t *random)
{
	c->until = jitter(r, EAGER_GAIN, random);
	if (c->late < LATE_MOST)
		c->late = c->late + 2 < LATE_MOST ? c->late + 2u : LATE_MOST;
	else
		c->until = jitter(r, 1, random) * RETRY_GAIN;
}

void class_drained(struct sampler_class *c)
{
	c->drained = DRAINED;
}

unsigned class_stall_us(const struct sampler_class *c)
{
	return stalls[c->stall < STALLS ? c->stall : STALLS - 1];
}
