/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/reader/clock.h"

/* Slower than a 1 MHz counter or faster than 100 GHz: not a clock's rate. */
#define RATE_MOST  1000.0
#define RATE_LEAST 0.01

static double slope(const struct tf_clock_triple *a, const struct tf_clock_triple *b)
{
	return (double)(b->monotonic_ns - a->monotonic_ns) / (double)(b->tick - a->tick);
}

static bool follows(const struct tf_clock_triple *a, const struct tf_clock_triple *b)
{
	return b->tick > a->tick && b->monotonic_ns >= a->monotonic_ns;
}

void clock_init(struct clock *c, const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	uint32_t left_out = 0;

	*c = (struct clock){.ns_per_tick = NAN};
	for (uint32_t i = 0; i < r->clocks; i++) {
		const struct tf_clock_triple *t = tf_entry(&r->map, &h->clocks, i, sizeof(*t));
		if (!t || (c->count && !follows(&c->points[c->count - 1], t))) {
			left_out++;
			continue;
		}
		ALLOC_ROOM(c->points, c->count);
		c->points[c->count++] = *t;
	}
	if (left_out)
		warn(r->warnings, "%u readings of the clock are not in order and left out",
		     left_out);
	if (h->clock_kind == TF_CLOCK_MONOTONIC)
		c->ns_per_tick = 1;
	else if (c->count > 1)
		c->ns_per_tick = slope(&c->points[0], &c->points[c->count - 1]);
	if (!(c->ns_per_tick >= RATE_LEAST && c->ns_per_tick <= RATE_MOST)) {
		c->ns_per_tick = NAN;
		warn(r->warnings,
		     "the rate of the recording's clock is not known (%zu reading%s): "
		     "no times%s",
		     c->count, c->count == 1 ? "" : "s",
		     r->damage.count ? "" : ", the counts are exact");
	}
}

void clock_free(struct clock *c)
{
	free(c->points);
	*c = (struct clock){0};
}

double clock_ns(const struct clock *c, uint64_t ticks)
{
	return (double)ticks * c->ns_per_tick;
}

double clock_between(const struct clock *c, uint64_t from, uint64_t to)
{
	return clock_ns(c, to > from ? to - from : 0);
}

static double ticks_from(uint64_t from, uint64_t to)
{
	return to >= from ? (double)(to - from) : -(double)(from - to);
}

/* The reading at or before `tick`, else the first one; NULL when there is none. */
static const struct tf_clock_triple *before(const struct clock *c, uint64_t tick)
{
	size_t low = 0, high = c->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (c->points[middle].tick <= tick)
			low = middle;
		else
			high = middle;
	}
	return c->count ? &c->points[low] : NULL;
}

/* ns from the reading `p` to `tick`: at the rate up to the next reading, beyond the last at the
 * rate of all. */
static double from_reading(const struct clock *c, const struct tf_clock_triple *p, uint64_t tick)
{
	bool inside = p + 1 < c->points + c->count && tick >= p->tick;

	return ticks_from(p->tick, tick) * (inside ? slope(p, p + 1) : c->ns_per_tick);
}

double clock_monotonic(const struct clock *c, uint64_t tick)
{
	const struct tf_clock_triple *p = before(c, tick);

	return p ? (double)p->monotonic_ns + from_reading(c, p, tick)
	         : (double)tick * (c->ns_per_tick == 1 ? 1 : NAN);
}

double clock_realtime(const struct clock *c, uint64_t tick)
{
	const struct tf_clock_triple *p = before(c, tick);

	return p ? (double)p->realtime_ns + from_reading(c, p, tick) : NAN;
}
