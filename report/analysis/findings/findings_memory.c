/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* What has no address is physical memory, whose mappings count. */
static bool is_buffer(const struct call_event *a)
{
	return a->cls == SPY_CLASS_ALLOC && !a->result && !(a->flags & CALL_EVENT_CAPTURED) &&
	       a->bytes && a->address;
}

/* ---- churn ---- */

/* Fewer are no habit. */
#define CHURN_LEAST 10u

struct buffer { /* allocated or freed */
	uint64_t bytes;
	const struct call_event *act;
};

struct churn {
	uint64_t again, most,
	        bytes; /* allocations; those of the size that has most, and that size */
	uint64_t late;
	double alloc, release; /* API time of these, and of the frees before them */
};

static int by_size(const void *a, const void *b)
{
	const struct buffer *x = a, *y = b;

	if (x->act->memory != y->act->memory)
		return x->act->memory < y->act->memory ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->act < y->act ? -1 : x->act > y->act;
}

/* Buffers of one size: those allocated after one was freed could have had that. */
static void add_size(struct churn *to, const struct finding_context *s, const struct buffer *b,
                     size_t count)
{
	uint64_t freed = 0, again = 0, left = 0;
	double release = 0;

	for (size_t i = 0; i < count; i++) {
		const struct call_event *a = b[i].act;
		if (a->is_free) {
			freed++;
			left++;
			release += call_event_ns(a);
			continue;
		}
		if (!left)
			continue;
		left--;
		again++;
		to->alloc += call_event_ns(a);
		to->late += call_event_late(s, a);
	}
	if (again)
		to->release += release * (double)again / (double)freed;
	to->again += again;
	if (again > to->most) {
		to->most = again;
		to->bytes = b->bytes;
	}
}

static struct churn churn(const struct finding_context *s)
{
	struct churn sum = {0};
	struct buffer *b = alloc_zeroed(s->count + 1, sizeof(*b));
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (is_buffer(a))
			b[count++] = (struct buffer){a->bytes, a};
	}
	if (count)
		qsort(b, count, sizeof(*b), by_size);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && b[next].bytes == b[i].bytes &&
		                   b[next].act->memory == b[i].act->memory;)
			next++;
		add_size(&sum, s, &b[i], next - i);
	}
	free(b);
	return sum;
}

bool detect_alloc_churn(const struct finding_context *s, struct finding *f)
{
	char bytes[UNIT_BYTES], alloc[UNIT_BYTES], release[UNIT_BYTES], share[UNIT_BYTES],
	        span[SPAN_BYTES];
	struct churn c = churn(s);
	double ns = c.alloc + c.release;

	if (c.again < CHURN_LEAST || c.late < CHURN_LEAST / 4 || !(s->held > 0))
		return false;
	char *rate = finding_rate(s, (double)c.again);
	char *text = alloc_format(
	        "%llu allocations%s, %s, are of a size that was freed before (most often %s). They "
	        "take the host %s and the frees, which may wait for the GPU, %s: %s %% of its "
	        "%s.",
	        (unsigned long long)c.again, steady_span(s, span), rate,
	        unit_bytes(bytes, (double)c.bytes), unit_time_apart(alloc, c.alloc),
	        unit_time_apart(release, c.release), unit_percent(share, ns, s->held),
	        steady_whose(s));
	free(rate);
	return finding_tell(f, steady_stake(finding_share(s, ns), steady_busy(s)), text);
}

/* ---- growth ---- */

/*
 * The steady state is cut into so many parts of equal work given to the GPU. Time would not do: a
 * host may give all its work in a burst, and then wait. What is freed behind the last allocation
 * does not count: memory that the program's end alone frees has grown without end.
 */
#define PARTS 4
/* In each part so many allocations more than frees, and together so many bytes. */
#define LEFT_LEAST  4
#define GROWN_LEAST (1 << 20)
/* The least part's growth over the largest's: a cache that fills up grows ever less. */
#define EVEN 0.25
/* A device that is full within so many ns is a matter of this run. */
#define SOON 3600e9

static bool is_device_memory(const struct call_event *a)
{
	return is_buffer(a) && (a->memory == SPY_MEM_DEVICE || a->memory == SPY_MEM_MANAGED);
}

static double gained(const struct call_event *a)
{
	return a->is_free ? -(double)a->bytes : (double)a->bytes;
}

struct growth {
	double bytes[PARTS], left[PARTS]; /* allocated less freed */
	double sum, work;                 /* of all parts; pieces of work */
};

static bool grows(const struct growth *g)
{
	double least = INFINITY, most = 0;

	for (int i = 0; i < PARTS; i++) {
		least = fmin(least, g->left[i] >= LEFT_LEAST ? g->bytes[i] : 0);
		most = fmax(most, g->bytes[i]);
	}
	return g->sum >= GROWN_LEAST && least > 0 && least >= EVEN * most;
}

static struct growth growth(const struct finding_context *s)
{
	struct growth g = {0};
	size_t last = 0;
	double given = 0;

	for (size_t i = 0; i < s->count; i++) {
		g.work += s->call_events[i].kind != TF_WORK_NONE;
		if (is_device_memory(&s->call_events[i]) && !s->call_events[i].is_free)
			last = i;
	}
	for (size_t i = 0; g.work > 0 && i <= last; i++) {
		const struct call_event *a = &s->call_events[i];
		given += a->kind != TF_WORK_NONE;
		if (!is_device_memory(a))
			continue;
		int at = (int)fmin(PARTS - 1, given / g.work * PARTS);
		g.bytes[at] += gained(a);
		g.left[at] += a->is_free ? -1 : 1;
		g.sum += gained(a);
	}
	return g;
}

/* The most that was held at a time; NaN where calls may be missing. */
static double peak(const struct call_log *h)
{
	double now = 0, most = 0;

	if (!h->whole || h->lost)
		return NAN;
	for (size_t i = 0; i < h->count; i++) {
		if (!is_device_memory(&h->call_events[i]))
			continue;
		now += gained(&h->call_events[i]);
		most = fmax(most, now);
	}
	return most;
}

static double device_memory(const struct model_process *p)
{
	double most = 0;

	for (size_t i = 0; i < p->device_count; i++)
		most = fmax(most, (double)p->devices[i].memory_bytes);
	return most > 0 ? most : NAN;
}

bool detect_memory_growth(const struct finding_context *s, struct finding *f)
{
	char grown[UNIT_BYTES], when[UNIT_BYTES], most[UNIT_BYTES], all[UNIT_BYTES],
	        full_in[UNIT_BYTES], piece[UNIT_BYTES];
	struct growth g = growth(s);

	if (!(s->held > 0) || !grows(&g))
		return false;
	double memory = device_memory(s->process), held = peak(s->h),
	       full = memory / g.sum * s->held;
	char *text = alloc_format("The device memory that the program holds grew evenly by %s in "
	                          "%s, %s for each piece of work given to the GPU%s%s.",
	                          unit_bytes(grown, g.sum), unit_time_apart(when, s->held),
	                          unit_bytes(piece, g.sum / g.work),
	                          isnan(held) ? "" : "; at most it held ",
	                          isnan(held) ? "" : unit_bytes(most, held));
	if (full > 0) {
		char *more = alloc_format("%s At this rate a device of %s is full in %s.", text,
		                          unit_bytes(all, memory), unit_time_apart(full_in, full));
		free(text);
		text = more;
	}
	return finding_is(f, full < SOON ? SEVERITY_HIGH : SEVERITY_MEDIUM, NAN, text);
}
