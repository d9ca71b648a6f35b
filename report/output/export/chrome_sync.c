/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits, as Kineto has them beside the work. Readers count what names a stream as work of the GPU,
 * so a wait of or for a stream takes no time here: it stands where it was asked for, or where the
 * work that was waited for was done; how long it took its call says.
 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/export/chrome.h"

static struct chrome_record *place_of(struct chrome *c, uint64_t handle)
{
	return &c->records[handle * 0x9e3779b97f4a7c15u >> 48 & (CHROME_RECORDS - 1)];
}

static const struct chrome_record *record_of(struct chrome *c, uint64_t handle)
{
	const struct chrome_record *r = place_of(c, handle);

	if (r->number && r->handle == handle)
		return r;
	c->totals.without_record++;
	return NULL;
}

static void begin(struct chrome *c, const char *kind, uint32_t device, uint64_t tid, uint64_t start,
                  uint64_t end)
{
	chrome_begin(c->out);
	chrome_format(
	        c->out,
	        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"%s\",\"pid\":%llu,\"tid\":%llu",
	        kind, (unsigned long long)(c->gpu_pid + device), (unsigned long long)tid);
	chrome_span(c->out, start, end);
	chrome_format(c->out, ",\"args\":{\"cuda_sync_kind\":\"%s\"", kind);
}

static void finish(struct chrome *c, const struct chrome_record *r, uint32_t number, int64_t stream,
                   uint32_t device)
{
	if (r)
		chrome_format(c->out,
		              ",\"wait_on_stream\":%u,\"wait_on_cuda_event_record_corr_id\":%u",
		              r->stream, r->number);
	chrome_format(c->out,
	              ",\"stream\":%lld,\"External id\":%u,\"correlation\":%u,\"device\":%u}}",
	              (long long)stream, number, number, device);
	c->totals.syncs++;
}

/* The track beside a stream's. */
static uint64_t waits_tid(struct chrome *c, struct chrome_stream *s)
{
	const uint64_t tid = s->number + CHROME_TID_WAITS;
	char text[64];

	if (!s->waits_named) {
		s->waits_named = true;
		chrome_device_named(c, s->device);
		snprintf(text, sizeof(text), "\"stream %u (sync)\"", s->number);
		chrome_meta(c->out, "thread_name", "name", c->gpu_pid + s->device, tid, text);
	}
	return tid;
}

/* Another thread may have recorded the event while this call was under way. */
static uint64_t waits_from(struct chrome *c, const struct events_call *call,
                           const struct chrome_record *r)
{
	const uint64_t start = chrome_ns(c, call->start);

	return r && r->start > start ? r->start : start;
}

/* Waits of the host that are for no stream: their time is their call's. */
static void of_host(struct chrome *c, const struct events_call *call, const char *kind,
                    const struct chrome_record *r)
{
	uint64_t start = waits_from(c, call, r), end = chrome_ns(c, call->end);
	struct chrome_device *d = &c->devices[call->device];
	const uint32_t lane = chrome_lane(&d->syncs, &start, &end);

	if (lane >= d->syncs_named) {
		d->syncs_named = lane + 1;
		chrome_device_named(c, call->device);
		chrome_meta(c->out, "thread_name", "name", c->gpu_pid + call->device,
		            CHROME_TID_SYNCS + lane, "\"syncs\"");
	}
	begin(c, kind, call->device, CHROME_TID_SYNCS + lane, start, end);
	finish(c, r, call->number, -1, call->device);
}

/* Not within work of its stream, and not before the work that it waited for was done. */
static void settle(struct chrome *c, struct chrome_stream *s)
{
	const struct chrome_wait *wait = &s->wait[s->wait_first];
	const uint64_t start = wait->start, end = wait->end;
	const uint32_t number = wait->number;
	uint64_t at = start;

	s->wait_first = (s->wait_first + 1) % s->wait_room;
	s->waits--;
	for (uint32_t i = 0; i < CHROME_LAST; i++)
		if (s->last[i].number < number && s->last[i].end > at)
			at = s->last[i].end < end ? s->last[i].end : end;
	for (uint32_t i = 0; i < CHROME_LAST; i++)
		if (s->last[i].start < at && at < s->last[i].end)
			at = s->last[i].start >= start ? s->last[i].start : s->last[i].end;
	const uint64_t tid = waits_tid(c, s);
	begin(c, "Stream Sync", s->device, tid, at, at);
	finish(c, NULL, number, s->number, s->device);
}

void chrome_waits_until(struct chrome *c, struct chrome_stream *s, uint64_t until)
{
	while (s->waits && s->wait[s->wait_first].end <= until)
		settle(c, s);
}

static void more_waits(struct chrome_stream *s)
{
	const uint32_t room = s->wait_room ? 2 * s->wait_room : 16;
	struct chrome_wait *wait = alloc_zeroed(room, sizeof(*wait));

	for (uint32_t i = 0; i < s->waits; i++)
		wait[i] = s->wait[(s->wait_first + i) % s->wait_room];
	free(s->wait);
	s->wait = wait;
	s->wait_first = 0;
	s->wait_room = room;
}

static void for_stream(struct chrome *c, const struct events_call *call)
{
	struct chrome_stream *s = chrome_stream(c, call->stream);

	if (s->waits == CHROME_WAITS)
		settle(c, s);
	if (s->waits == s->wait_room)
		more_waits(s);
	s->wait[(s->wait_first + s->waits++) % s->wait_room] = (struct chrome_wait){
	        chrome_ns(c, call->start), chrome_ns(c, call->end), call->number};
}

static void of_stream(struct chrome *c, const struct events_call *call)
{
	const struct chrome_record *r = record_of(c, call->event);
	struct chrome_stream *s = chrome_stream(c, call->stream);

	if (!r)
		return;
	const uint64_t tid = waits_tid(c, s), at = waits_from(c, call, r);
	begin(c, "Stream Wait Event", s->device, tid, at, at);
	finish(c, r, call->number, s->number, s->device);
}

static void recorded(struct chrome *c, const struct events_call *call)
{
	*place_of(c, call->event) =
	        (struct chrome_record){call->event, chrome_ns(c, call->start), call->number,
	                               chrome_stream(c, call->stream)->number};
}

void chrome_sync(struct chrome *c, const struct events_call *call)
{
	const struct chrome_record *record;

	if (call->result || call->part || call->captured || !call->args)
		return;
	switch (call->role) {
	case CUDA_ROLE_EVENT_RECORD:
		if (call->stream != EVENTS_NONE)
			recorded(c, call);
		break;
	case CUDA_ROLE_EVENT_WAIT:
		if (call->stream != EVENTS_NONE)
			of_stream(c, call);
		break;
	case CUDA_ROLE_SYNC_EVENT:
		record = record_of(c, call->event);
		if (record)
			of_host(c, call, "Event Sync", record);
		break;
	case CUDA_ROLE_SYNC_STREAM:
		if (call->stream != EVENTS_NONE)
			for_stream(c, call);
		break;
	case CUDA_ROLE_SYNC_ALL:
		of_host(c, call, "Context Sync", NULL);
		break;
	default:
		break;
	}
}
