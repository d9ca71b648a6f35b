/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/phases.h"

#include <math.h>

/* The GPU's busy share of a slice below which its work has not begun. */
#define STARTED 0.05
/* Freeing for longer than this share of a run is no tear-down. */
#define TEARDOWN_MOST 0.25
/* Of tear-down so many times what is freed and unloaded at most: a host that gives the GPU little
 * for all of the run does not tear down because it allocates once. */
#define TEARDOWN_PAUSES 3u

void phases_take(const double *from, double ns, double to[TF_HOSTS])
{
	static const enum tf_host order[] = {TF_HOST_OTHER, TF_HOST_MODULE, TF_HOST_ALLOC,
	                                     TF_HOST_OWN, TF_HOST_OUTSIDE};

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		to[order[k]] = fmin(from[order[k]], ns);
		ns -= to[order[k]];
	}
}

static double host_sum(const struct overview *p, size_t slice)
{
	double sum = 0;

	for (int k = 0; k < TF_HOSTS; k++)
		sum += p->host[slice][k];
	return sum;
}

/* Whether in a slice, but for its first `ns`, the host mostly loads or unloads code, allocates or
 * frees. */
static bool loading(const struct overview *p, size_t slice, double ns)
{
	const double *h = p->host[slice];
	double gone[TF_HOSTS] = {0}, sum = host_sum(p, slice);

	phases_take(h, ns, gone);
	for (int k = 0; k < TF_HOSTS; k++)
		sum -= gone[k];
	return h[TF_HOST_MODULE] - gone[TF_HOST_MODULE] + h[TF_HOST_ALLOC] - gone[TF_HOST_ALLOC] >
	       0.5 * sum;
}

double phases_busy(const struct overview *p, size_t slice)
{
	double busy = 0;

	for (size_t d = 0; d < p->device_count; d++)
		busy = fmax(busy, p->devices[d].busy[slice]);
	return busy;
}

static bool gpu_rests(const struct overview *p, size_t slice)
{
	return p->device_count && phases_busy(p, slice) < STARTED * p->width;
}

double phases_part(const struct overview *p, size_t slice, double from, double until)
{
	double start = p->origin + (double)slice * p->width, end = start + p->width;

	return fmax(0, fmin(end, until) - fmax(start, from));
}

/* Until the first work: whether the host is in CUDA for most of that time. */
static bool makes_context(const struct overview *p)
{
	double inside = 0;

	for (size_t i = 0; i < p->count; i++) {
		const double *h = p->host[i];
		inside += fmin(phases_part(p, i, p->window, p->first_work),
		               h[TF_HOST_OTHER] + h[TF_HOST_MODULE] + h[TF_HOST_ALLOC]);
	}
	return p->first_work > p->window && inside > 0.5 * (p->first_work - p->window);
}

/* A program that is like that for half of the time that is left has no other state: nothing more is
 * left out. */
double phases_startup(const struct overview *p)
{
	double ready = makes_context(p) ? p->first_work : p->window, end;
	size_t i = 0, from;

	while (i < p->count && p->origin + (double)(i + 1) * p->width <= ready)
		i++;
	from = i;
	while (i < p->count &&
	       (loading(p, i, phases_part(p, i, p->window, ready)) || gpu_rests(p, i)))
		i++;
	end = p->origin + (double)i * p->width;
	return i - from <= (p->count - from) / 2 ? fmax(end, ready) : ready;
}

double phases_settled(const struct overview *p, double start, double most)
{
	double end = start;

	for (size_t i = 0; p->host && i < p->count; i++) {
		double until = p->origin + (double)(i + 1) * p->width;
		if (until <= start)
			continue;
		if (!loading(p, i, phases_part(p, i, p->window, start)))
			return end;
		if (until > most)
			return start;
		end = until;
	}
	return start;
}

/* Whether the host gives the GPU hardly anything in a slice. */
static bool gives_nothing(const struct overview *p, size_t slice)
{
	const double *h = p->host[slice];

	return h[TF_HOST_LAUNCH] + h[TF_HOST_BACK_PRESSURE] + h[TF_HOST_CONTENTION] +
	               h[TF_HOST_COPY] <
	       STARTED * p->width;
}

size_t phases_teardown(const struct overview *p, size_t *first)
{
	size_t end = p->count, freed = 0, earliest, most, i;
	bool worked = false;

	while (end && !(host_sum(p, end - 1) > 0))
		end--;
	*first = earliest = end;
	most = (size_t)(TEARDOWN_MOST * (double)end);
	for (i = end; i && *first - i <= most && gpu_rests(p, i - 1); i--) {
		bool frees = loading(p, i - 1, 0);
		if (!frees && !gives_nothing(p, i - 1))
			break;
		freed += frees;
		worked |= phases_busy(p, i - 1) > 0;
		if (frees && !worked)
			earliest = i - 1;
		if (frees && TEARDOWN_PAUSES * freed >= end - i + 1)
			*first = i - 1;
	}
	/* Right behind the GPU's work, which has nothing to do any more. */
	if (i && !gpu_rests(p, i - 1) && earliest < *first)
		*first = earliest;
	return end - *first <= most ? end - *first : 0;
}
