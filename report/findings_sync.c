#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/findings_parts.h"
#include "report/units.h"

/* A wait after fewer pieces of work than this comes at every turn. */
#define FEW_PIECES 64.0

static double known(double ns)
{
	return ns > 0 ? ns : 0; /* NaN too */
}

static bool is_work(const struct act *a)
{
	return a->kind != TF_WORK_NONE && !(a->flags & TF_CAPTURED) && !a->result;
}

bool find_sync_every_step(const struct scene *s, struct finding *f)
{
	char share[UNIT_BYTES], waits[UNIT_BYTES];
	const struct gpu_busy *b = &s->m->gpu.busy;
	double idle = known(b->by[TF_IDLE_SYNC]) + known(b->by[TF_IDLE_OUTSIDE]) +
	              known(b->by[TF_IDLE_LAUNCH]) + known(b->by[TF_IDLE_COPY]);
	uint64_t pieces = 0, turns = 0;
	double waited = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct act *a = &s->acts[i];
		pieces += is_work(a);
		if (a->class != SPY_CLASS_SYNC || a->result)
			continue;
		turns++;
		waited += a->end - a->start;
	}
	if (!s->m->gpu.has_busy || turns < 10 || !(s->held > 0) ||
	    (double)pieces / (double)turns > FEW_PIECES)
		return false;
	char *rate = scene_rate(s, (double)turns);
	char *text = alloc_format(
	        "%llu waits, %s, one for every %.3g pieces of work; they take %s %% of the host's "
	        "steady time, and the GPU idles for %s %% of the window.",
	        (unsigned long long)turns, rate, (double)pieces / (double)turns,
	        unit_percent(waits, waited, s->held), unit_percent(share, idle, s->window));
	free(rate);
	return finding_tell(f, fmin(scene_share(s, waited), idle / s->window), text);
}
