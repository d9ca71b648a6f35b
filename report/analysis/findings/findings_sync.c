/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"
#include "report/base/units.h"

/* Fewer waits than this are no habit. */
#define FEW_WAITS 10
/* A wait after fewer pieces of work than this comes at every turn. */
#define FEW_PIECES 64.0
/* Shorter than this (ns) after a wait the host may just have looked at the result. */
#define SHORT_LOOK 10e3
/* Of a call that is not there to wait: less is no wait (ns). */
#define SHORT_WAIT 1e3

static uint64_t pieces_of(const struct finding_context *s)
{
	uint64_t pieces = 0;

	for (size_t i = 0; i < s->count; i++)
		pieces += flow_is_work(&s->call_events[i]);
	return pieces;
}

/* ---- sync-every-step ---- */

/* No call waits, but the host does, outside CUDA, until another thread has read a result. */
static bool tell_reads_outside(const struct finding_context *s, struct finding *f)
{
	const struct verdict *v = s->verdict;
	double bytes = 0, waits = finding_share(s, s->classes[SPY_CLASS_SYNC].ns);
	char share[UNIT_BYTES], size[UNIT_BYTES], span[SPAN_BYTES];
	uint64_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->kind != TF_WORK_COPY || a->direction != SPY_DIR_DTOH || a->result)
			continue;
		count++;
		bytes += (double)a->bytes;
	}
	if (count < FEW_WAITS)
		return false;
	f->title = "The host waits outside CUDA until another thread has read a result";
	f->advice = "reads-outside-cuda";
	char *rate = finding_rate(s, (double)count);
	char *text = alloc_format(
	        "Calls of CUDA wait for %s %% of %s, but %llu results are copied to the host%s "
	        "(%s, %s on average), and the host gives the GPU more work only when another "
	        "thread has read them: float(), numpy.asarray() or print of an array wait so, and "
	        "are no calls of CUDA.",
	        unit_percent(share, finding_known(waits), 1), steady_base(s),
	        (unsigned long long)count, steady_span(s, span), rate,
	        unit_bytes(size, bytes / (double)count));
	free(rate);
	return finding_tell(f, v->first == VERDICT_SYNC ? v->gain : v->second_gain, text);
}

/* The host waits where it reads results: by blocking copies, and hardly by calls to wait. */
static bool tell_reads(const struct finding_context *s, struct finding *f, double idle)
{
	char span[SPAN_BYTES], took[UNIT_BYTES], share[UNIT_BYTES];
	uint64_t count = s->reads.count - s->reads.failed;
	char *rate = finding_rate(s, (double)count);

	f->title = "The host reads a result, and only then gives the GPU more work";
	f->of_reads = true;
	char *text = alloc_format(
	        "%llu results are read by blocking copies%s, %s; these take %s %% of the host's "
	        "%s, and the GPU idles because of the host for %s%s %% of %s.",
	        (unsigned long long)count, steady_span(s, span), rate,
	        unit_percent(took, s->reads.ns, s->held), steady_whose(s), finding_estimated(s),
	        unit_percent(share, idle, 1), steady_base(s));
	free(rate);
	return finding_tell(f, idle, text);
}

bool detect_sync_every_step(const struct finding_context *s, struct finding *f)
{
	char share[UNIT_BYTES], waits[UNIT_BYTES], pieces[UNIT_BYTES], span[SPAN_BYTES];
	const struct finding_tally *t = &s->classes[SPY_CLASS_SYNC];
	uint64_t turns = t->count - t->failed;
	double each = turns ? (double)pieces_of(s) / (double)turns : INFINITY,
	       idle = finding_idle(s);

	if (!finding_is_long(s))
		return false;
	if (s->verdict->waits_outside)
		return tell_reads_outside(s, f);
	bool often = turns >= FEW_WAITS && each <= FEW_PIECES, blamed = s->blamed == VERDICT_SYNC;
	if (isnan(idle))
		return false;
	if (blamed && finding_reads_wait(s))
		return tell_reads(s, f, idle);
	if (!turns || !(often || blamed))
		return false;
	if (!often)
		f->title = "The host waits for the GPU, and only then gives it more work";
	char *rate = finding_rate(s, (double)turns);
	char *text = alloc_format(
	        "%llu waits%s, %s, one for every %s pieces of work; they take %s %% of the host's "
	        "%s, and the GPU idles because of the host for %s%s %% of %s.",
	        (unsigned long long)turns, steady_span(s, span), rate, unit_count(pieces, each),
	        unit_percent(waits, t->ns, s->held), steady_whose(s), finding_estimated(s),
	        unit_percent(share, idle, 1), steady_base(s));
	free(rate);
	finding_tell(f, fmin(finding_share(s, t->ns), idle), text);
	return blamed || f->share >= FINDING_MEDIUM;
}

/* ---- sync-too-early ---- */

struct early {
	double *after; /* outside CUDA: from waits that left the GPU nothing to do to more work */
	size_t count;
	double waited; /* in these waits */
	double sum;
};

struct look { /* since a wait */
	bool open;
	uint16_t thread;
	double last, outside, waited;
};

/* Nothing is left to do when a wait returns: what follows outside CUDA is counted. */
static void look_after(struct look *g, const struct flow *flow, const struct call_event *a)
{
	if (a->cls != SPY_CLASS_SYNC || a->result)
		return;
	if (g->open && a->thread != g->thread)
		return;
	if (!g->open)
		*g = (struct look){.thread = a->thread,
		                   .open = flow_ends(flow, a->device, CALL_LOG_NONE) <= a->end};
	g->waited += a->end - a->start;
	g->last = a->end;
}

static void look_at(struct early *e, struct look *g, const struct finding_context *s,
                    const struct call_event *a)
{
	if (!g->open)
		return;
	if (a->thread == g->thread) {
		g->outside += fmax(0, a->start - a->ours - g->last);
		g->last = fmax(g->last, a->end);
	}
	if (!flow_is_work(a))
		return;
	g->open = false;
	if (a->thread != g->thread)
		return;
	ALLOC_ROOM(e->after, e->count);
	e->after[e->count++] = g->outside;
	e->waited += g->waited;
	e->sum += fmax(0, g->outside);
}

static struct early detect_early(const struct finding_context *s)
{
	struct early e = {0};
	struct look g = {0};
	struct flow flow;

	flow_start(&flow, s->h, true);
	for (size_t i = 0; i < s->count; i++) {
		look_at(&e, &g, s, &s->call_events[i]);
		flow_add(&flow, &s->call_events[i]);
		look_after(&g, &flow, &s->call_events[i]);
	}
	if (flow.full)
		e.count = 0;
	flow_end(&flow);
	return e;
}

bool detect_sync_too_early(const struct finding_context *s, struct finding *f)
{
	char waited[UNIT_BYTES], outside[UNIT_BYTES], each[UNIT_BYTES], wasted[UNIT_BYTES];
	char span[SPAN_BYTES];
	const struct model_split *host = &s->m->host;
	double idle = finding_idle(s);

	if (!finding_is_long(s) || !finding_is_whole(s) || isnan(idle) ||
	    s->classes[SPY_CLASS_SYNC].count < FEW_WAITS)
		return false;
	struct early e = detect_early(s);
	stats_sort(e.after, e.count);
	double middle = stats_quantile(e.after, e.count, 0.5), sum = e.sum;
	size_t count = e.count;
	free(e.after);
	if (count < FEW_WAITS || !(middle >= SHORT_LOOK))
		return false;
	char *text = alloc_format(
	        "After %zu waits%s (%s %% of the host's %s) the GPU had nothing left to do; each "
	        "time the host then worked outside CUDA, for %s (median), %s %% of %s, before it "
	        "gave "
	        "the GPU more. Of all waiting %s %% was for no work at all.",
	        count, steady_span(s, span), unit_percent(waited, e.waited, s->held),
	        steady_whose(s), unit_time_apart(each, middle), unit_percent(outside, sum, s->held),
	        steady_base(s),
	        unit_percent(wasted, host->sync_wasted, host->sync_useful + host->sync_wasted));
	return finding_tell(f, fmin(finding_share(s, sum), idle), text) &&
	       f->share >= FINDING_MEDIUM;
}

/* ---- implicit-sync ---- */

struct implicit {
	uint64_t count, most; /* of all calls; of the call that waits longest in all */
	double ns, most_ns;
	double reads_ns; /* of `ns`: copies to the host */
	const char *call;
};

static double waits_for(const struct flow *flow, const struct call_event *a)
{
	double ends;

	if (a->result || a->flags & CALL_EVENT_CAPTURED)
		return 0;
	if (flow_is_blocking(a) && a->stream != CALL_LOG_NONE)
		ends = flow_lets(flow, a);
	else if (a->cls == SPY_CLASS_ALLOC && cuda_role_may_wait_for_device(a->role))
		ends = flow_ends(flow, a->device, CALL_LOG_NONE);
	else
		return 0;
	if (a->cls == SPY_CLASS_ALLOC && ends > a->end) /* it returned while the GPU worked */
		return 0;
	return isfinite(ends) ? fmin(fmax(0, ends - a->start), a->end - a->start) : 0;
}

static struct implicit detect_implicit(const struct finding_context *s)
{
	struct implicit all = {0};
	struct call_sum {
		uint64_t count;
		double ns;
	} *sums = alloc_zeroed(s->h->call_count + 1, sizeof(*sums));
	struct flow flow;

	flow_start(&flow, s->h, true);
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		double ns = waits_for(&flow, a);
		flow_add(&flow, a);
		if (ns < SHORT_WAIT)
			continue;
		all.count++;
		all.ns += ns;
		if (a->kind == TF_WORK_COPY && a->direction == SPY_DIR_DTOH)
			all.reads_ns += ns;
		sums[a->call].count++;
		sums[a->call].ns += ns;
	}
	for (size_t i = 0; i < s->h->call_count && !flow.full; i++) {
		if (sums[i].ns <= all.most_ns)
			continue;
		all.most_ns = sums[i].ns;
		all.most = sums[i].count;
		all.call = s->h->calls[i].name;
	}
	flow_end(&flow);
	free(sums);
	return all;
}

bool detect_implicit_sync(const struct finding_context *s, struct finding *f)
{
	char share[UNIT_BYTES], gpu[UNIT_BYTES], span[SPAN_BYTES];
	double idle = finding_idle(s);

	if (!finding_is_long(s) || isnan(idle))
		return false;
	struct implicit all = detect_implicit(s);
	bool blamed = s->blamed == VERDICT_SYNC && all.ns > s->classes[SPY_CLASS_SYNC].ns &&
	              !finding_reads_wait(s) && finding_share(s, all.ns) >= FINDING_LEAST;
	if (!all.call || (!blamed && (all.count < FEW_WAITS ||
	                              (double)pieces_of(s) / (double)all.count > FEW_PIECES)))
		return false;
	if (all.reads_ns > all.ns / 2) {
		f->direction = SPY_DIR_DTOH;
		f->advice = "implicit-read";
	}
	char *rate = finding_rate(s, (double)all.count);
	char *text = alloc_format(
	        "%llu calls%s (%s), most of them %s (%llu), waited for earlier work for %s%s %% of "
	        "%s, and the GPU idles because of the host for %s %% of it.",
	        (unsigned long long)all.count, steady_span(s, span), rate, all.call,
	        (unsigned long long)all.most, finding_estimated(s),
	        unit_percent(share, all.ns, s->held), steady_base(s), unit_percent(gpu, idle, 1));
	free(rate);
	finding_tell(f, fmin(finding_share(s, all.ns), idle), text);
	return blamed || f->share >= FINDING_MEDIUM;
}
