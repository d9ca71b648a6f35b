/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/whatif/whatif_change.h"

/*
 * A prediction is of the run that was recorded; whoever makes the change measures two other runs.
 * Both differ from it by chance, and nearly all of that is the host's: of 35 pairs of a recording
 * of a framework program and a loop of it that was timed another day half are 15 % apart or more,
 * and 85 % within 40 %; of 845 pairs of loops in one process, one after the other, 85 % lie within
 * 19 %; those whose GPU is busy all the time 2 %. See docs/MEASURED.md.
 */
/* Of two loops in turn, as far as the host makes them. */
#define PAIR_SPREAD 0.19
#define GPU_SPREAD  0.03 /* the same where the GPU does */
/* However fast the host of that run is, the GPU does its work, in so much less than its least at
 * best: of 308 gains 271 are in their range with it, as with 3 and with 10 %, and 267 with none. */
#define BOUND_SPREAD 0.05
/*
 * What a change does that the replay does not know of, as a factor's logarithm, of the time that is
 * not the GPU's: whoever makes it changes other things with it. Of 170 measured gains 91 % are in
 * their range with it, and 87 % were without. See docs/MEASURED.md.
 */
#define MODEL_ERROR 0.25
/* The replay's ends have all that is not known at its worst at once: what a graph's launch costs,
 * what is between two nodes, kernels' times, what of the host stays. They are independent. */
#define AT_ONCE 0.7

/* The share of the time in which the host works, by its calls: it is not waiting, and memory or the
 * bus does not hold it up, as where it copies. */
double whatif_host_share(const struct replay *r, const struct replay_act *acts, double time)
{
	double sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += acts[i].gap + (acts[i].wait == REPLAY_STAGED ? 0 : acts[i].own);
	return time > 0 ? fmin(1, sum / time) : 0;
}

/*
 * As it would be on a host that takes so many times the time. Staging of pageable memory, which
 * memory and the bus hold up, differs by half as much: of 22 programs that copy such memory the
 * recorded loop and the bare one lie 5 % apart in the median, and 85 % within 18 %.
 */
void whatif_slow_host(const struct replay *r, struct replay_act *acts, double slower)
{
	double staging = sqrt(slower);

	for (size_t i = 0; i < r->count; i++) {
		acts[i].gap *= slower;
		acts[i].own *= acts[i].wait == REPLAY_STAGED ? staging : slower;
	}
}

/*
 * How far a measured gain may be off by what two loops in turn differ by, as a factor's logarithm:
 * as far as the host makes both, which it does while the GPU idles. Where it makes one of them
 * alone, the host's speed is all that this one differs by, and that is tried apart
 * (WHATIF_HOST_SLOWER).
 */
double whatif_spread(const struct whatif_outcome *o)
{
	double busy_then = o->bound[REPLAY_MEAN] / o->time[REPLAY_MEAN], /* NaN: not known */
	        host = fmin(fmin(o->host[0], 1 - o->busy), fmin(o->host[1], 1 - busy_then)),
	       pair = GPU_SPREAD + (PAIR_SPREAD - GPU_SPREAD) * fmax(0, host);

	return o->changed > 0 ? pair : 0;
}

/* What the replay does not know of. A machine with cores enough, and a kernel that is so many times
 * as fast, are that change and no other. */
static double model_error(const struct whatif_result *r)
{
	if (r->what == WHATIF_CPU || r->what == WHATIF_KERNEL)
		return 0;
	return MODEL_ERROR * fmax(0, 1 - r->bound / r->window);
}

/* Errors of different causes: their squares add up. */
void whatif_widen(struct whatif_result *to)
{
	to->least = to->low;
	to->most = to->high;
	if (!(to->spread > 0) || !(to->predicted > 0))
		return;
	double below = to->low > 0 ? log(to->predicted / to->low) : INFINITY,
	       above = log(to->high / to->predicted),
	       less = fmax(0, log(to->predicted / fmin(to->at_speed[0], to->at_speed[1]))),
	       more = fmax(0, log(fmax(to->at_speed[0], to->at_speed[1]) / to->predicted));
	double spread = hypot(to->spread, model_error(to));
	/* There may be nothing to copy a step ahead, and the host's work may be shared and not go:
	 * each is one thing, and no chance. */
	double worst = to->what == WHATIF_OVERLAP || to->what == WHATIF_HOST ? 1 : AT_ONCE;

	to->low = isfinite(below)
	                  ? to->predicted * exp(-hypot(hypot(AT_ONCE * below, less), spread))
	                  : to->low;
	if (to->bound_least > 0) /* NaN: not known */
		to->low = fmax(to->low, fmin(to->predicted, to->bound_least * exp(-BOUND_SPREAD)));
	to->high = to->predicted * exp(hypot(hypot(worst * above, more), spread));
}
