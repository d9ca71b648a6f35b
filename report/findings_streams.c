#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/findings_parts.h"
#include "report/flow.h"
#include "report/units.h"

/* Fewer calls than this are no habit. */
#define FEW_CALLS 10
/* Work whose time is not known may be so much of all work; the rest tells then. */
#define MOST_UNKNOWN 0.2
/* Where the GPU's work takes less of the steady time than this, it is not what decides. */
#define LEAST_WORK 0.5

/* ---- device-sync-for-stream ---- */

#define SEVERAL (HISTORY_NONE - 1) /* no index of a stream */

struct device_syncs {
	uint64_t count, single; /* single: one stream alone had got work since the wait before */
	double longer;          /* than the stream that got work last would have taken, ns */
};

/* How much longer the wait is than one for the stream that last got work. */
static double longer_by(const struct flow *flow, const struct act *a, uint32_t last)
{
	double others = flow_ends(flow, a->device, last), mine = flow_stream_ends(flow, last);

	if (others == INFINITY || mine == INFINITY)
		return 0;
	return fmax(0, fmin(a->end, others) - fmax(a->start, mine));
}

static struct device_syncs find_device_syncs(const struct scene *s)
{
	struct device_syncs d = {0};
	uint32_t since = HISTORY_NONE, last = HISTORY_NONE;
	struct flow flow;

	flow_start(&flow, s->h, true);
	for (size_t i = 0; i < s->count; i++) {
		const struct act *a = &s->acts[i];
		if (flow_is_work(a) && a->stream != HISTORY_NONE) {
			last = a->stream;
			since = since == HISTORY_NONE || since == last ? last : SEVERAL;
		}
		if (a->role == HISTORY_ROLE_SYNC_ALL && !a->result && last != HISTORY_NONE) {
			d.count++;
			d.single += since != HISTORY_NONE && since != SEVERAL;
			d.longer += longer_by(&flow, a, last);
		}
		if (a->class == SPY_CLASS_SYNC)
			since = HISTORY_NONE;
		flow_add(&flow, a);
	}
	if (flow.full)
		d.count = 0;
	flow_end(&flow);
	return d;
}

bool find_device_sync(const struct scene *s, struct finding *f)
{
	char longer[UNIT_BYTES], share[UNIT_BYTES];

	if (!scene_is_long(s) || s->h->stream_count < 2)
		return false;
	struct device_syncs d = find_device_syncs(s);
	if (d.count < FEW_CALLS || d.single * 2 < d.count)
		return false;
	char *text = alloc_format(
	        "Of %llu waits for the whole device %llu came after work in one stream alone; they "
	        "waited for other streams for %s%s in all, %s %% of the steady time.",
	        (unsigned long long)d.count, (unsigned long long)d.single, scene_estimated(s),
	        unit_time_apart(longer, d.longer), unit_percent(share, d.longer, s->held));
	return finding_tell(f, scene_share(s, d.longer), text) && f->share >= FINDING_MEDIUM;
}

/* ---- legacy-stream-serializes ---- */

struct schedule {
	double ns;
	double unknown; /* share of the pieces */
};

/* How long the device needs for its work, if the host gives it in time. */
static struct schedule schedule_of(const struct scene *s, uint32_t device, bool alone)
{
	struct flow flow;

	flow_start(&flow, s->h, false);
	flow.alone = alone;
	for (size_t i = 0; i < s->count; i++)
		flow_add(&flow, &s->acts[i]);
	double ends = fmax(flow.base, flow_ends(&flow, device, HISTORY_NONE));
	struct schedule to = {.ns = flow.full ? NAN : ends,
	                      .unknown = flow.pieces > 0 ? flow.unknown / flow.pieces : 1};
	flow_end(&flow);
	return to;
}

/* Pieces in a device's legacy default stream, and how many blocking streams have work beside it. */
static uint64_t legacy_pieces(const struct scene *s, uint32_t *device, uint32_t *blocking)
{
	uint64_t *pieces = alloc_zeroed(s->h->stream_count + 1, sizeof(*pieces)), most = 0;

	for (size_t i = 0; i < s->count; i++)
		if (flow_is_work(&s->acts[i]) && s->acts[i].stream != HISTORY_NONE)
			pieces[s->acts[i].stream]++;
	for (size_t i = 0; i < s->h->stream_count; i++) {
		if (!(s->h->streams[i].flags & TF_STREAM_LEGACY) || pieces[i] <= most)
			continue;
		most = pieces[i];
		*device = s->h->streams[i].device;
	}
	*blocking = 0;
	for (size_t i = 0; i < s->h->stream_count; i++)
		*blocking += pieces[i] && flow_stream_is_blocking(s->h, (uint32_t)i) &&
		             s->h->streams[i].device == *device;
	free(pieces);
	return most;
}

bool find_legacy_stream(const struct scene *s, struct finding *f)
{
	char before[UNIT_BYTES], after[UNIT_BYTES];
	uint32_t device = 0, blocking = 0;

	if (!scene_is_long(s))
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
	        (unsigned long long)pieces, blocking, blocking == 1 ? "" : "s", scene_estimated(s),
	        unit_time_apart(before, with.ns), unit_time_apart(after, alone.ns));
	return finding_tell(f, scene_share(s, fmax(0, with.ns - alone.ns)), text) &&
	       f->share >= FINDING_MEDIUM;
}
