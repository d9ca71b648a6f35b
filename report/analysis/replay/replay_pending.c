/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a stream's work may not be done yet, whatever the estimates say: it was given since a
 * wait proved that what is ahead of it was done. Only a stream with as much as its launch queue
 * holds can have made a launch wait for a place.
 */
#include "report/analysis/replay/replay_fit.h"

/* What is known of it by waits for its device. */
static struct replay_pending *pending_of(struct replay_fit *n, uint32_t stream)
{
	const struct call_log_stream *s = &n->replay->call_log->streams[stream];
	uint32_t waits = n->device_waits[s->device % CALL_LOG_DEVICES];
	struct replay_pending *p = &n->pending[stream];

	if (p->device_waits != waits)
		p->done = p->given;
	p->device_waits = waits;
	return p;
}

uint32_t replay_fit_pending(struct replay_fit *n, uint32_t stream)
{
	const struct replay_pending *p = pending_of(n, stream);

	return p->given - p->done;
}

static void see_event(struct replay_fit *n, uint32_t record)
{
	uint32_t stream = n->replay->given[record].stream;

	if (stream == CALL_LOG_NONE)
		return;
	struct replay_pending *p = pending_of(n, stream);
	if (n->marked[record] > p->done)
		p->done = n->marked[record];
}

void replay_fit_pend(struct replay_fit *n, size_t i)
{
	const struct call_event *given = &n->replay->given[i];
	const struct replay_act *a = &n->replay->call_events[i];

	if (a->wait == REPLAY_DEVICE)
		n->device_waits[given->device % CALL_LOG_DEVICES]++;
	else if (a->wait == REPLAY_EVENT && a->event != CALL_LOG_NONE)
		see_event(n, a->event);
	if (given->stream == CALL_LOG_NONE)
		return;
	struct replay_pending *p = pending_of(n, given->stream);
	p->given += given->kind != TF_WORK_NONE;
	if (a->wait == REPLAY_STREAM || a->wait == REPLAY_STAGED)
		p->done = p->given;
	if (given->role == CUDA_ROLE_EVENT_RECORD)
		n->marked[i] = p->given;
}
