/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/replay/replay_fit.h"
#include "shim/core/gpu_time/estimate_staged.h"

/*
 * While a thread copies pageable memory, allocates, frees or loads code, it keeps others out of the
 * driver, for as long as that takes. A call that was held so returns soon behind that one: by this
 * many ns at most, or by this part of its own time, where others were let in before it. Or sooner:
 * a copy to the host lets others in when its last pieces are in the driver's buffers, out of which
 * it fills the caller's memory then (of 35 ms for 44 MB the last 1.3 to 1.8, H200).
 */
#define BEHIND_LEAST 200e3
#define BEHIND       0.05
#define BUFFERS      (2 * ESTIMATE_BUFFERS_OUT) /* bytes, with room to spare */
#define LAUNCH_MOST  10e3                       /* ns: what launching a kernel takes by itself */

static bool locks(const struct replay *r, uint32_t k)
{
	const struct call_event *q = &r->given[k];

	return r->call_events[k].wait == REPLAY_STAGED || q->cls == SPY_CLASS_ALLOC ||
	       q->cls == SPY_CLASS_MODULE;
}

/* When call k let others in at the earliest. */
static double lets_in(const struct replay *r, uint32_t k)
{
	const struct call_event *q = &r->given[k];
	double last = r->call_events[k].wait == REPLAY_STAGED && q->direction == SPY_DIR_DTOH
	                      ? fmin(1, BUFFERS / (double)q->bytes)
	                      : 0;

	return q->end - last * r->call_events[k].own;
}

void replay_fit_held(struct replay_fit *n, size_t i, double start, double end)
{
	const struct replay *r = n->replay;
	struct replay_act *a = &r->call_events[i];
	double own = n->own[r->given[i].call], behind = fmax(BEHIND_LEAST, BEHIND * (end - start));

	if (r->given[i].kind == TF_WORK_KERNEL) /* it may be held each time */
		own = fmin(own, LAUNCH_MOST);
	if (a->wait != REPLAY_NO_WAIT || a->shift != 0 || !(a->own - own >= REPLAY_LONG))
		return;
	for (uint32_t t = 0; t < r->call_log->thread_count; t++) {
		uint32_t k = n->threads[t].last_long;
		if (t == r->given[i].thread || k == CALL_LOG_NONE || !locks(r, k) ||
		    r->given[k].start > start || lets_in(r, k) > end ||
		    r->given[k].end < end - behind)
			continue;
		a->held = k;
		a->own = own;
		a->let_go = end - r->given[k].end;
		return;
	}
}
