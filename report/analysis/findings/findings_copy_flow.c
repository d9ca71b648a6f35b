/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"
#include "shim/core/cuda/streams.h"

static double longer(const struct call_event *a)
{
	return a->gpu > call_event_ns(a) ? a->gpu : call_event_ns(a);
}

/* ---- the same memory both ways ---- */

/* Fewer are no habit. */
#define TRIPS_LEAST 10u

struct way { /* a copy between host and device */
	uint64_t device, host, bytes;
	const struct call_event *act;
};

static int by_memory(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->act < y->act ? -1 : x->act > y->act;
}

/* ns of GPU or of the host, whichever is more. */
struct round_trips {
	uint64_t count, timed,
	        bytes; /* timed: the GPU time of both ways is known; bytes: one way */
	double ns;
};

/* A trip: from device to host, and the next copy of the same bytes goes where they came from. */
static void detect_round_trips(const struct finding_context *s, struct round_trips *to)
{
	struct way *ways = alloc_zeroed(s->count + 1, sizeof(*ways));
	size_t count = 0;

	*to = (struct round_trips){0};
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (!call_event_is_host_copy(a) || !a->address || !a->source)
			continue;
		bool down = a->direction == SPY_DIR_DTOH;
		ways[count++] = (struct way){.device = down ? a->source : a->address,
		                             .host = down ? a->address : a->source,
		                             .bytes = a->bytes,
		                             .act = a};
	}
	if (count)
		qsort(ways, count, sizeof(*ways), by_memory);
	for (size_t i = 1; i < count; i++) {
		const struct way *down = &ways[i - 1], *up = &ways[i];
		if (down->device != up->device || down->host != up->host ||
		    down->bytes != up->bytes || down->act->direction != SPY_DIR_DTOH ||
		    up->act->direction != SPY_DIR_HTOD)
			continue;
		to->count++;
		to->bytes += up->bytes;
		to->ns += longer(down->act) + longer(up->act);
		to->timed += down->act->gpu > 0 && up->act->gpu > 0;
	}
	free(ways);
}

bool detect_copy_back_and_forth(const struct finding_context *s, struct finding *f)
{
	char bytes[UNIT_BYTES], share[UNIT_BYTES], span[SPAN_BYTES];
	struct round_trips trips;

	detect_round_trips(s, &trips);
	if (trips.count < TRIPS_LEAST || !(s->held > 0))
		return false;
	char *rate = finding_rate(s, (double)trips.count);
	const char *who = trips.timed == trips.count ? "" : "the host ",
	           *how = trips.timed < trips.count ? "; its GPU time is not known"
	                  : s->m->gpu.estimated     ? " (estimated)"
	                                            : "";
	char *text = alloc_format(
	        "%llu times%s, %s, memory was copied to the host and from there back to where it "
	        "came "
	        "from, %s each way on average; that takes %s%s %% of %s%s.",
	        (unsigned long long)trips.count, steady_span(s, span), rate,
	        unit_bytes(bytes, (double)trips.bytes / (double)trips.count), who,
	        unit_percent(share, fmin(trips.ns, s->held), s->held), steady_base(s), how);
	free(rate);
	return finding_tell(f, steady_stake(finding_share(s, trips.ns), steady_kernels(s)), text);
}

/* ---- copies that nothing runs beside ---- */

/* Below this size (bytes) a copy is waited for, not transferred: nothing to hide beside work. */
#define TRANSFER 65536u
/*
 * Copies that are in order with the kernels given before and after them cannot overlap, whatever
 * the timeline, an estimate, says. Where that is so of this share of them the program overlaps
 * none; else it does where this share of what could overlap does. Where few of them are in order
 * the host may be late, which is no fault of the copies: they overlap less.
 */
#define ORDERED       0.9
#define OVERLAPS      0.5
#define OVERLAPS_FREE 0.1

struct transfers {
	uint64_t count;
	double ns[SPY_DIR_COUNT], all; /* GPU time where it is known */
	double ordered; /* of `all`: in order with the kernels given before and after them */
};

/* Whether work in one of these streams waits for work in the other. */
static bool in_order(const struct call_log *h, uint32_t x, uint32_t y)
{
	if (x == y || x == CALL_LOG_NONE || y == CALL_LOG_NONE)
		return true;
	return cuda_stream_waits(h->streams[x].flags, h->streams[y].flags);
}

static bool is_kernel(const struct call_event *a)
{
	return a->kind == TF_WORK_KERNEL || a->kind == TF_WORK_GRAPH;
}

static bool is_transfer(const struct call_event *a)
{
	return call_event_is_host_copy(a) && a->memory == SPY_MEM_PINNED && a->bytes >= TRANSFER &&
	       a->gpu > 0;
}

/* By act: the stream of the next kernel; CALL_LOG_NONE where there is none. */
static uint32_t *kernels_after(const struct finding_context *s)
{
	uint32_t *after = alloc_zeroed(s->count + 1, sizeof(*after)), next = CALL_LOG_NONE;

	for (size_t i = s->count; i-- > 0;) {
		after[i] = next;
		if (is_kernel(&s->call_events[i]))
			next = s->call_events[i].stream;
	}
	return after;
}

static struct transfers transfers(const struct finding_context *s)
{
	struct transfers t = {0};
	uint32_t *after = kernels_after(s), before = CALL_LOG_NONE;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (is_kernel(a))
			before = a->stream;
		if (!is_transfer(a))
			continue;
		t.count++;
		t.ns[a->direction] += a->gpu;
		t.all += a->gpu;
		if (in_order(s->h, a->stream, before) && in_order(s->h, a->stream, after[i]))
			t.ordered += a->gpu;
	}
	free(after);
	return t;
}

static double devices(const struct model *m)
{
	double known = 0;

	for (size_t i = 0; i < m->gpu.device_count; i++)
		known += m->gpu.devices[i].known;
	return fmax(1, known);
}

static bool overlaps(const struct model_gpu_busy *b, const struct transfers *t)
{
	double enough = t->ordered > t->all / 2 ? OVERLAPS : OVERLAPS_FREE;

	return t->ordered < ORDERED * t->all && b->overlap > enough * b->possible;
}

static char *overlap_text(const struct model_gpu_busy *b, const struct transfers *t)
{
	char share[UNIT_BYTES];

	if (t->ordered >= ORDERED * t->all)
		return alloc_format("the copies are in order with the kernels around them, so that "
		                    "none can overlap");
	return alloc_format("of what could overlap %s %% did",
	                    unit_percent(share, b->overlap, b->possible));
}

/*
 * Perfectly overlapped, the longest of kernels, copies to and copies from the device remains. No
 * more is at stake than copies take while no kernel runs.
 */
bool detect_copy_not_overlapped(const struct finding_context *s, struct finding *f)
{
	char alone[UNIT_BYTES], kernels[UNIT_BYTES];
	double busy = steady_busy(s) * s->held, running = steady_kernels(s) * s->held;
	struct transfers t = transfers(s);
	struct round_trips trips;

	if (!t.count || !(busy > 0) || overlaps(&s->m->gpu.busy, &t))
		return false;
	detect_round_trips(s, &trips);
	if (2 * trips.count > t.count / 2) /* the copy back needs what the host made of the first */
		return false;
	double each = devices(s->m);
	double longest = fmax(running, fmax(t.ns[SPY_DIR_HTOD], t.ns[SPY_DIR_DTOH]) / each);
	double exposed = fmin(busy - running, t.all / each);
	char *why = overlap_text(&s->m->gpu.busy, &t);
	char *text = alloc_format(
	        "For %s %% of %s the GPU copied while no kernel ran, and for %s %% it ran kernels "
	        "(%s); %s.",
	        unit_percent(alone, exposed, s->held), steady_base(s),
	        unit_percent(kernels, running, s->held),
	        s->m->gpu.estimated ? "estimated" : "measured", why);
	free(why);
	return finding_tell(f, finding_share(s, fmin(exposed, busy - longest)), text) &&
	       f->share >= FINDING_MEDIUM;
}
