/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_rate.h"

#define SOON 8 /* pieces of work */

void rate_begin(struct sampler_rate *r, uint64_t now, uint64_t work)
{
	*r = (struct sampler_rate){.born = now, .last = now, .last_work = work, .gap = 1};
}

void rate_resume(struct sampler_rate *r, uint64_t now, uint64_t work)
{
	r->last = now;
	r->last_work = work;
}

bool rate_affords(const struct sampler_rate *r, uint64_t now, double percent)
{
	if (now <= r->born)
		return false;
	double budget = (double)(now - r->born) * percent / 100;
	return (double)(r->spent + r->cost) <= budget ||
	       (double)(r->spent + r->cost) - (double)r->ahead <= budget / 2;
}

void rate_spend(struct sampler_rate *r, uint64_t ticks)
{
	r->spent += ticks;
}

void rate_ahead(struct sampler_rate *r, uint64_t ticks)
{
	r->ahead += ticks;
}

/*
 * With w pieces of work a tick, a cost of c ticks a sample and a budget of the share b of the time,
 * samples may be taken every c / b * w pieces. Tries that end without a sample are not counted in
 * c: they are cheap, and would shorten the gap until tries alone used up the budget.
 */
void rate_sampled(struct sampler_rate *r, uint64_t ticks, uint64_t now, uint64_t work,
                  double percent)
{
	r->spent += ticks;
	r->cost = ticks;
	if (now <= r->last || work < r->last_work || percent <= 0)
		return;
	double rate = (double)(work - r->last_work) / (double)(now - r->last);
	double gap = (double)ticks / (percent / 100) * rate;
	if (gap > RATE_GAP_MOST)
		gap = RATE_GAP_MOST;
	r->gap += r->known ? (gap - r->gap) / 4 : gap - r->gap;
	r->known = true;
	r->last = now;
	r->last_work = work;
}

void rate_anew(struct sampler_rate *r, uint64_t now, uint64_t work)
{
	rate_resume(r, now, work);
	r->gap = SOON;
	r->known = false;
}

uint32_t rate_gap(const struct sampler_rate *r, unsigned gain)
{
	double gap = r->gap / gain;

	return gap > RATE_GAP_MOST ? RATE_GAP_MOST : gap < 1 ? 1 : (uint32_t)gap;
}
