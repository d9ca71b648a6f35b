/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler.h"

#include <errno.h>
#include "shim/base/clock.h"
#include "shim/base/floating_point.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/base/gate.h"
#include "shim/core/options/options.h"
#include "shim/sampler/sampler_beside.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_cupti.h"
#include "shim/sampler/sampler_kernel.h"
#include "shim/sampler/sampler_open.h"
#include "shim/sampler/sampler_place.h"
#include "shim/sampler/sampler_section.h"
#include "shim/sampler/sampler_thread.h"
#include "shim/core/work/work_class.h"

/* A process may spend so much beyond its budget, so that short programs are sampled too: a quarter
 * of it on any class, the rest on classes with next to no samples. */
#define ALLOWANCE_NS 4000000u
#define GUESS_NS     20000u /* cost of a thread's first sample, before one was measured */

static struct {             /* a cache line of its own: written mostly while a program starts */
	uint64_t beyond_ns; /* of the allowance: spent or set aside */
	uint32_t series;    /* the last number given to one */
	char rest[52];
} shared __attribute__((aligned(64)));

/* ---- whether ---- */

static uint64_t work_of(const struct tf_thread *th)
{
	return th->launches + th->items[SPY_CLASS_LAUNCH] + th->items[SPY_CLASS_GRAPH_LAUNCH] +
	       th->items[SPY_CLASS_COPY] + th->items[SPY_CLASS_SET];
}

static void follow_thread(struct sampler *m, uint64_t now)
{
	const struct tf_thread *th = spy_tls.thread;

	if (m->thread == th)
		return;
	if (m->thread)
		rate_resume(&m->rate, now, work_of(th));
	else
		rate_begin(&m->rate, now, work_of(th));
	m->thread = th;
}

/* Whether a sample may be taken: within the thread's budget, or out of the allowance, of which then
 * the cost of the last sample is set aside. */
static bool affordable(struct sampler *m, const struct sampler_class *cls, uint64_t now)
{
	m->aside_ns = 0;
	if (rate_affords(&m->rate, now, spy_options.budget_percent))
		return true;
	uint64_t cost = m->rate.cost ? clock_ns_of(m->rate.cost) : GUESS_NS,
	         most = class_is_new(cls) ? ALLOWANCE_NS : ALLOWANCE_NS / 4;
	/* Relaxed: a sum that orders nothing. */
	if (__atomic_fetch_add(&shared.beyond_ns, cost, __ATOMIC_RELAXED) + cost > most) {
		__atomic_fetch_sub(&shared.beyond_ns, cost, __ATOMIC_RELAXED);
		return false;
	}
	m->aside_ns = cost;
	return true;
}

/* Replaces what was set aside by what the sample really took. What one takes beyond the whole
 * allowance is made up for as anything else. */
static void settle(struct sampler *m, uint64_t ticks)
{
	uint64_t took = clock_ns_of(ticks);

	if (m->aside_ns) {
		double ahead = took > ALLOWANCE_NS ? (double)ALLOWANCE_NS / (double)took : 1;
		__atomic_fetch_add(&shared.beyond_ns, took - m->aside_ns, __ATOMIC_RELAXED);
		rate_ahead(&m->rate, (uint64_t)(ahead * (double)ticks));
	}
	m->aside_ns = 0;
}

/* Whether a launch may be timed at all: its outermost call is a launch too, and is recorded. */
static bool eligible(struct sampler *m, const struct spy_span *s)
{
	struct spy_span *o = spy_outer();

	return spy_is_outermost(o) && spy_recording(o) && o->cls == s->cls &&
	       !(o->unusual & SPAN_NO_ROOM) && place_usable(m);
}

/* ---- before the real call ---- */

/* Gives up the sample under way, unless the context is gone. `marked`: both events are recorded. */
static void abandon(struct sampler *m, bool marked)
{
	m->span = NULL;
	if (m->where->number == m->where_number)
		sampler_pair_give_up(m->where, m->pair, marked);
}

/* No sample now, but the results of earlier ones are read. */
static void read_samples(struct sampler *m)
{
	CUstreamCaptureMode mode;

	if (!place_usable(m) || !sampler_pairs_wait(m->context) || !section_enter(&mode))
		return;
	sampler_accepted(m->context, sampler_harvest(m->context, 4));
	section_leave(&mode);
}

/* Begins a sample if all allows it; else only the cost of the try is booked. */
static void try_sample(struct sampler *m, struct spy_span *s, CUstream stream, const void *what)
{
	bool kernel = s->cls == SPY_CLASS_LAUNCH;
	CUstreamCaptureMode mode;
	CUresult rc;

	if (!section_enter(&mode))
		return;
	if (place_holds(m->context, stream) && place_goes_to_gpu(s, stream, &rc)) {
		sampler_accepted(m->context, sampler_harvest(m->context, 4));
		if (place_usable(m) &&
		    sampler_open(m, s, stream, !kernel || (what && !kernel_communicates(what)))) {
			m->span = s;
			m->where = m->context;
			m->where_number = m->number;
			m->function = kernel ? what : NULL;
			s->gpu = 1;
		}
	}
	section_leave(&mode);
}

static void consider(struct sampler *m, struct sampler_class *cls, struct spy_span *s,
                     CUstream stream, const void *what)
{
	uint16_t seen = place_seen(m);
	uint64_t now = spy_clock();

	class_put_off(cls, &m->rate, &m->random);
	if (!eligible(m, s))
		return;
	follow_thread(m, now);
	if (cls->seen != seen) { /* first met here: not sampled now */
		cls->seen = seen;
		class_arm(cls, 1 + random_below(&m->random, 3));
		return;
	}
	if (m->span) /* a call that never returned */
		abandon(m, false);
	if (!affordable(m, cls, now)) {
		class_refused(cls, &m->rate, &m->random);
		read_samples(m);
		return;
	}
	m->cls = cls;
	try_sample(m, s, stream, what);
}

/*
 * The thread launches a class for the first time. That is not timed, since it may load code; but a
 * graph that another thread has launched before is timed at once, half of the time: this thread may
 * never launch it again.
 */
static struct sampler_class *meet(struct sampler *m, struct spy_span *s, uint64_t key,
                                  CUstream stream, const void *what)
{
	struct sampler_class *c = class_place(spy_tls.sampled, key, &m->random);

	if (!c || s->cls != SPY_CLASS_GRAPH_LAUNCH || !place_usable(m) ||
	    !place_was_launched(m, key))
		return NULL;
	c->seen = place_seen(m);
	if (random_below(&m->random, 2)) {
		class_arm(c, 1 + random_below(&m->random, 2));
		return NULL;
	}
	consider(m, c, s, stream, what);
	return c;
}

void sampler_graph_launched(uint64_t key)
{
	const struct sampler *m = spy_tls.sampler;

	if (key && spy_tls.sampled && m && m->context)
		place_launched(m, key);
}

/* A class may be due. The time that this takes is taken out of the call's. */
static void __attribute__((noinline))
look(struct spy_span *s, uint64_t key, CUstream stream, const void *what)
{
	uint64_t start = spy_clock();
	struct sampler *m = spy_recording(spy_outer()) ? sampler_mine() : NULL;
	struct sampler_class *c = NULL;
	bool entered = !spy_tls.sampled;

	if (entered)
		place_enter(m, s, stream);
	if (spy_tls.sampled && key) {
		c = class_find(spy_tls.sampled, key);
		if (!c)
			c = meet(m, s, key, stream, what);
		else if (!(entered && --c->until)) /* else the wrapper has counted it */
			consider(m, c, s, stream, what);
	}
	uint64_t ticks = spy_clock() - start;
	sampler_take_out(ticks);
	if (s->gpu) {
		m->ticks = ticks - m->making; /* booked with the sample, after the call */
		rate_spend(&m->rate, m->making);
	} else if (c && !entered) { /* making a context ready counts in no budget */
		rate_spend(&m->rate, ticks);
		settle(m, ticks);
	}
}

void sampler_before_slow(struct spy_span *s, uint64_t key, CUstream stream, const void *what)
{
	struct sampler_class *all = spy_tls.sampled;
	int saved = errno;

	if (!spy_is_outermost(
	            spy_outer())) /* a signal handler may have interrupted this function */
		return;
	if (spy_gate_page.gate.gpu == SPY_GPU_CUPTI) {
		sampler_cupti_before(s, key, what);
		errno = saved;
		return;
	}
	if (all) {
		struct sampler_class *other = sampler_neighbour(all, key);
		if (!key || (other->key == key && --other->until))
			return;
	}
	struct floating_point theirs = floating_point_begin();
	look(s, key, stream, what);
	floating_point_end(&theirs);
	errno = saved;
}

/* ---- after it ---- */

/* Whether the driver staged the copy: its call waits for the stream. */
static bool is_staged(const struct spy_span *s, const struct tf_record *r)
{
	struct tf_work key;

	if (s->cls != SPY_CLASS_COPY || r->copy.memory != SPY_MEM_PAGEABLE)
		return false;
	work_key(&key, TF_WORK_COPY, r);
	return estimate_path(&key) == ESTIMATE_ENGINE;
}

/* Records the second event (`queued`); true: the sample holds. */
static bool close_pair(struct sampler *m, struct spy_span *s, CUstream stream, bool *queued)
{
	struct sampler_context *c = m->where;
	struct spy_span *o = spy_outer();
	CUstreamCaptureMode mode;

	if (!sampler_context_on(c) || !section_enter(&mode))
		return false;
	*queued = sampler_put_event(c, m->pair->b, stream, !!(s->flags & TF_PTDS));
	bool beside = *queued && beside_works(&spy_map, spy_tls.thread, m->where_number, stream,
	                                      !!(s->flags & TF_PTDS), m->opened);
	bool holds = *queued && !beside && sampler_pair_holds(c, m->pair);
	if (holds && m->function && !m->cls->samples)
		kernel_ask(c->warps_per_sm, m->function, o->rec);
	if (*queued && !beside && !holds && sampler_context_on(c) && section_clear()) {
		if (is_staged(s, o->rec))
			class_waited(m->cls, &m->rate, &m->random);
		else if (m->stall_us)
			class_late(m->cls, &m->rate, &m->random);
		else
			class_drained(m->cls);
	}
	section_leave(&mode);
	return holds;
}

/* The number of the series (struct tf_weights): the launches of a class by this thread; 24 bits. */
static uint32_t series_of(struct sampler_class *c)
{
	while (!c->series)
		c->series = __atomic_add_fetch(&shared.series, 1, __ATOMIC_RELAXED) & 0xffffff;
	return c->series;
}

static void keep_sample(struct sampler *m, const struct spy_span *s, const struct tf_record *work)
{
	struct tf_record *r = &m->pair->record;

	*r = *work;
	r->call = TF_CALL_SAMPLE;
	r->thread = (uint16_t)work_kind(s->cls);
	r->result = m->stall_us ? TF_PAIR_IDLE : TF_PAIR_BUSY;
	r->stream = TF_NTH(series_of(m->cls), class_met(m->cls));
	r->end = 0;
	spy_count(&spy_tls.thread->samples, 1);
	sampler_pair_commit(m->where, m->pair);
	class_sampled(m->cls, &m->rate, &m->random);
}

/* The work has been given to the stream, or refused; the pair is used up or back in the pool. */
static void conclude(struct sampler *m, struct spy_span *s, CUresult rc, CUstream stream)
{
	struct spy_span *o = spy_outer();
	bool known = rc == CUDA_SUCCESS && !(o->rec->flags & (TF_NO_ARGS | TF_CAPTURED)),
	     queued = false;

	if (known && m->where->number == m->where_number && close_pair(m, s, stream, &queued)) {
		keep_sample(m, s, o->rec);
		m->span = NULL;
	} else {
		abandon(m, queued);
		if (known)
			spy_count_anomaly(SPY_ANOMALY_SAMPLES_DROPPED);
	}
	if (!known)
		return;
	o->rec->flags |= (uint16_t)(TF_SAMPLED | (m->stall_us ? TF_STALLED : 0));
	if (spy_gate_page.gate.site_from)
		o->unusual |= SPAN_SITE;
}

/* The sample is closed and booked. `start`: since when it is our time. */
static void __attribute__((noinline))
close_sample(struct sampler *m, struct spy_span *s, CUresult rc, CUstream stream, uint64_t start)
{
	bool met_full = sampler_met_full_queue(m);
	if (met_full) /* the next ones do not wait as this one did, and launches do */
		rate_anew(&m->rate, start, work_of(spy_tls.thread));
	conclude(m, s, rc, stream);
	uint64_t now = spy_clock();
	sampler_take_out(now - start);
	m->ticks += now - start;
	settle(m, m->ticks);
	/* A stall also holds up the program's work, about as long as the host takes for a sample:
	 * that counts as cost as well. */
	uint64_t stalled = m->ticks * m->stall_us / STALL_FIRST_US;
	if (met_full)
		rate_spend(&m->rate, m->ticks);
	else
		rate_sampled(&m->rate, m->ticks + stalled, now, work_of(spy_tls.thread),
		             spy_options.budget_percent);
}

void sampler_after_slow(struct spy_span *s, CUresult rc, CUstream stream)
{
	int saved = errno;
	struct sampler *m = spy_tls.sampler;
	uint64_t start = spy_clock();

	if (s->gpu == SPY_GPU_CUPTI) {
		sampler_cupti_after(s, rc);
		errno = saved;
		return;
	}
	if (!m || m->span != s)
		return;
	struct floating_point theirs = floating_point_begin();
	close_sample(m, s, rc, stream, start);
	floating_point_end(&theirs);
	errno = saved;
}
