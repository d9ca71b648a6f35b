/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/flow/flow.h"
#include "report/analysis/verdict/verdict.h"
#include "shim/core/cuda/streams.h"

/*
 * Without GPU times it is still known when the GPU cannot have had anything to do: from the return
 * of a wait for all that was given to it until the next work is given. What the host did then would
 * shorten the window if it were taken away; what it did otherwise may or may not.
 */
struct pending {
	struct {
		uint32_t stream;
		uint16_t device;
	} given[FLOW_STREAMS]; /* that may have work */
	size_t count;
	bool any; /* too many streams: all that is known is that some has */
};

static void gave(struct pending *p, const struct call_event *a)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->given[i].stream == a->stream && p->given[i].device == a->device)
			return;
	if (p->count == FLOW_STREAMS) {
		p->any = true;
		return;
	}
	p->given[p->count].stream = a->stream;
	p->given[p->count++].device = a->device;
}

static bool one_device(const struct call_log *h)
{
	for (size_t i = 1; i < h->count; i++)
		if (h->call_events[i].device != h->call_events[0].device)
			return false;
	return true;
}

static bool waits_for(const struct call_log *h, const struct call_event *a, uint32_t stream)
{
	if (a->stream == stream)
		return true;
	return a->stream != CALL_LOG_NONE && stream != CALL_LOG_NONE &&
	       cuda_stream_sync_waits(h->streams[a->stream].flags, h->streams[stream].flags);
}

/* `one`: there is one device, of which a wait for all of it is one for everything. */
static void waited(struct pending *p, const struct call_log *h, const struct call_event *a,
                   bool one)
{
	bool all = a->role == CUDA_ROLE_SYNC_ALL || flow_is_device_wait(a);

	if (!all && a->role != CUDA_ROLE_SYNC_STREAM && !flow_is_blocking(a))
		return;
	if (all && one)
		p->any = false;
	for (size_t i = 0; i < p->count; i++)
		if (p->given[i].device == a->device && (all || waits_for(h, a, p->given[i].stream)))
			p->given[i--] = p->given[--p->count];
}

static enum verdict_class class_of(const struct call_event *a)
{
	switch (a->cls) {
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
		return VERDICT_LAUNCH;
	case SPY_CLASS_SYNC:
		return VERDICT_SYNC;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		return VERDICT_COPY;
	case SPY_CLASS_ALLOC:
	case SPY_CLASS_MODULE:
	case SPY_CLASS_GRAPH:
		return VERDICT_ALLOC;
	default:
		return VERDICT_HOST;
	}
}

static void add(struct verdict_gain *g, double ns, bool idle)
{
	if (!(ns > 0))
		return;
	g->high += ns;
	if (idle)
		g->low += ns;
}

/* The one process with recent calls, all of one thread. */
static const struct call_log *only_history(const struct model *m)
{
	const struct call_log *h = m->process_count == 1 ? &m->processes[0].call_log : NULL;

	return h && h->count && !h->lost && h->thread_count == 1 ? h : NULL;
}

double verdict_pending(const struct model *m, struct verdict_gain gain[VERDICT_CLASSES])
{
	const struct call_log *h = only_history(m);
	struct pending p = {.any = h && !h->whole}; /* what is older may not be done */
	double had_work = 0, last;

	for (int c = 0; c < VERDICT_CLASSES; c++)
		gain[c] = (struct verdict_gain){0};
	size_t first = h ? call_log_steady(h) : 0;
	if (!h || first >= h->count)
		return NAN;
	last = h->call_events[first].start;
	bool one = one_device(h);
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *a = &h->call_events[i];
		bool idle = !p.any && !p.count;
		if (i >= first) {
			double outside = a->start - a->ours - last;
			add(&gain[VERDICT_HOST], outside, idle);
			had_work += idle ? 0 : fmax(0, outside);
		}
		if (flow_is_work(a))
			gave(&p, a);
		idle = idle && !p.any && !p.count;
		if (i >= first) {
			double own = a->end - fmax(a->start, last);
			add(&gain[class_of(a)], own, idle);
			had_work += idle ? 0 : fmax(0, own);
			last = fmax(last, a->end);
		}
		if (flow_is_wait(a))
			waited(&p, h, a, one);
	}
	double held = last - h->call_events[first].start;
	if (!(held > 0))
		return NAN;
	for (int c = 0; c < VERDICT_CLASSES; c++) {
		gain[c].low /= held;
		gain[c].high /= held;
	}
	return fmin(1, had_work / held);
}
