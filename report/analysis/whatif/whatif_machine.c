/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/model/environment.h"
#include "report/model/model.h"

#define HANDS 6.0

static double told(const struct environment_reading *r, enum spy_environment what)
{
	return r->made ? r->value[what] : NAN;
}

/* The larger of what the two readings say; fmax() of a NaN is the other one. */
static double most(const struct environment_device *d, enum spy_environment what)
{
	return fmax(told(&d->first, what), told(&d->last, what));
}

/* An idle link goes down to a lower generation to save power, but not when it is copied over. */
static struct whatif_link link_of(const struct environment_device *d)
{
	struct whatif_link l = {.generation = fmax(most(d, SPY_ENVIRONMENT_PCIE_GEN),
	                                           most(d, SPY_ENVIRONMENT_PCIE_GEN_MAX)),
	                        .width = most(d, SPY_ENVIRONMENT_PCIE_WIDTH)};

	l.rate = estimate_link(l.generation, l.width);
	return l;
}

/* The slowest link to a device that the run used. */
static struct whatif_link find_link(const struct model *m)
{
	struct whatif_link slowest = {.rate = NAN};

	for (size_t i = 0; i < m->environment_count; i++) {
		struct whatif_link l = link_of(&m->environment[i]);
		if (m->environment[i].used && isfinite(l.rate) && !(l.rate >= slowest.rate))
			slowest = l;
	}
	return slowest;
}

/* Other processes with a context on a device that this one used: as many as were there when CUDA
 * started, or at exit, whichever are more. 0 where nobody knows. */
static double find_others(const struct model *m, size_t process)
{
	double others = 0;

	for (size_t i = 0; i < m->environment_count; i++)
		if (m->environment[i].used && m->environment[i].process == process)
			others = fmax(others, most(&m->environment[i], SPY_ENVIRONMENT_OTHERS));
	return others;
}

/* The share of the time in which the power limit held down the clocks of a device that it used; 0
 * where nobody knows. */
static double find_capped(const struct model *m, size_t process)
{
	double capped = 0;

	for (size_t i = 0; i < m->environment_count; i++)
		if (m->environment[i].used && m->environment[i].process == process)
			capped = fmax(capped, environment_capped_share(&m->environment[i]));
	return capped; /* fmax() of a NaN is the other one */
}

/* Worker processes or threads that can take the host's work over: few, as programs have it, and no
 * more than there are CPUs. */
static double hands(const struct model *m, size_t process)
{
	double most = HANDS;

	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_thread *t = &m->threads[i];
		if (t->process == process && t->issues && t->cpu_cores >= 1)
			most = fmin(most, t->cpu_cores);
	}
	return most;
}

void whatif_machine(struct whatif_change *c, const struct model *m, size_t process)
{
	c->link = find_link(m);
	c->hands = hands(m, process);
	c->others = find_others(m, process);
	c->capped = find_capped(m, process);
}
