/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"
#include "report/base/units.h"
#include "shim/core/cuda/streams.h"

/* Fewer calls than this are no habit. */
#define FEW_CALLS 10
/* Work whose time is not known may be so much of all work; the rest tells then. */
#define MOST_UNKNOWN 0.2
/* Where the GPU's work takes less of the steady time than this, it is not what decides. */
#define LEAST_WORK 0.5

/* ---- device-sync-for-stream ---- */

#define SEVERAL (CALL_LOG_NONE - 1) /* no index of a stream */

struct device_syncs {
	double *single, *several; /* waits after work in one stream alone, in several; ns */
	size_t single_count, several_count;
};

static void add_wait(struct device_syncs *d, bool single, double ns)
{
	double **to = single ? &d->single : &d->several;
	size_t *count = single ? &d->single_count : &d->several_count;

	ALLOC_ROOM(*to, *count);
	(*to)[(*count)++] = ns;
}

static struct device_syncs detect_device_syncs(const struct finding_context *s)
{
	struct device_syncs d = {0};
	uint32_t since = CALL_LOG_NONE; /* the stream that got work since the wait before */

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (flow_is_work(a) && a->stream != CALL_LOG_NONE)
			since = since == CALL_LOG_NONE || since == a->stream ? a->stream : SEVERAL;
		if (a->role != CUDA_ROLE_SYNC_ALL || a->result)
			continue;
		if (since != CALL_LOG_NONE)
			add_wait(&d, since != SEVERAL, a->end - a->start);
		since = CALL_LOG_NONE;
	}
	return d;
}

bool detect_device_sync(const struct finding_context *s, struct finding *f)
{
	char one[UNIT_BYTES], several[UNIT_BYTES], share[UNIT_BYTES];
	double longer = 0;

	if (!finding_is_long(s) || !finding_is_whole(s))
		return false;
	struct device_syncs d = detect_device_syncs(s);
	size_t all = d.single_count + d.several_count;
	stats_sort(d.single, d.single_count);
	stats_sort(d.several, d.several_count);
	double usual = stats_quantile(d.single, d.single_count, 0.5),
	       middle = stats_quantile(d.several, d.several_count, 0.5);
	for (size_t i = 0; i < d.several_count; i++)
		longer += fmax(0, d.several[i] - usual);
	free(d.single);
	free(d.several);
	if (d.several_count < FEW_CALLS || d.single_count < d.several_count)
		return false;
	char *text = alloc_format(
	        "Of %zu waits for the whole device %zu came after work in one stream alone and "
	        "took %s (median); the others took %s. Waiting for one stream there, too, would "
	        "save up to %s %% of %s.",
	        all, d.single_count, unit_time_apart(one, usual), unit_time_apart(several, middle),
	        unit_percent(share, longer, s->held), steady_base(s));
	return finding_tell(f, finding_share(s, longer), text) && f->share >= FINDING_MEDIUM;
}

/* ---- legacy-stream-serializes ---- */

struct schedule {
	double ns;
	double unknown; /* share of the pieces */
};

/* How long the device needs for its work, if the host gives it in time. */
static struct schedule schedule_of(const struct finding_context *s, uint32_t device, bool alone)
{
	struct flow flow;

	flow_start(&flow, s->h, false);
	flow.alone = alone;
	for (size_t i = 0; i < s->count; i++)
		flow_add(&flow, &s->call_events[i]);
	double ends = fmax(flow.base, flow_ends(&flow, device, CALL_LOG_NONE));
	struct schedule to = {.ns = flow.full ? NAN : ends,
	                      .unknown = flow.pieces > 0 ? flow.unknown / flow.pieces : 1};
	flow_end(&flow);
	return to;
}

/* Pieces in a device's legacy default stream, and how many blocking streams have work beside it. */
static uint64_t legacy_pieces(const struct finding_context *s, uint32_t *device, uint32_t *blocking)
{
	uint64_t *pieces = alloc_zeroed(s->h->stream_count + 1, sizeof(*pieces)), most = 0;

	for (size_t i = 0; i < s->count; i++)
		if (flow_is_work(&s->call_events[i]) && s->call_events[i].stream != CALL_LOG_NONE)
			pieces[s->call_events[i].stream]++;
	for (size_t i = 0; i < s->h->stream_count; i++) {
		if (!cuda_stream_is_legacy(s->h->streams[i].flags) || pieces[i] <= most)
			continue;
		most = pieces[i];
		*device = s->h->streams[i].device;
	}
	*blocking = 0;
	for (size_t i = 0; i < s->h->stream_count; i++)
		*blocking += pieces[i] && cuda_stream_is_blocking(s->h->streams[i].flags) &&
		             s->h->streams[i].device == *device;
	free(pieces);
	return most;
}

bool detect_legacy_stream(const struct finding_context *s, struct finding *f)
{
	char before[UNIT_BYTES], after[UNIT_BYTES];
	uint32_t device = 0, blocking = 0;

	if (!finding_is_long(s))
		return false;
	uint64_t pieces = legacy_pieces(s, &device, &blocking);
	if (pieces < FEW_CALLS || !blocking)
		return false;
	struct schedule with = schedule_of(s, device, false), alone = schedule_of(s, device, true);
	if (!(with.ns >= LEAST_WORK * s->held) || !(alone.ns >= 0) || with.unknown > MOST_UNKNOWN)
		return false;
	char *text = alloc_format(
	        "%llu pieces of work in the legacy default stream stand between the work of %u "
	        "blocking stream%s: one after the other it takes the GPU %s%s, side by side, where "
	        "nothing depends on that order, %s.",
	        (unsigned long long)pieces, blocking, blocking == 1 ? "" : "s",
	        finding_estimated(s), unit_time_apart(before, with.ns),
	        unit_time_apart(after, alone.ns));
	return finding_tell(f, finding_share(s, fmax(0, with.ns - alone.ns)), text) &&
	       f->share >= FINDING_MEDIUM;
}
