/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a moment of a stream, known as soon as it is recorded. */
#include <stdlib.h>
#include "tests/sim/driver.h"
#include "tests/sim/driver_graph.h"

_Static_assert(sizeof(struct sim_event) <= 512, "an event fits its place");

static CUresult event_get(CUevent h, struct sim_event **out)
{
	*out = (struct sim_event *)h;
	return handle_live(HANDLE_EVENT, h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void event_drop_capture(struct sim_event *e)
{
	free(e->captured);
	e->captured = NULL;
	e->captured_count = 0;
	e->capture_id = 0;
}

uint64_t event_mark(struct sim_event *e, struct sim_stream *s)
{
	/* Recorded by the engine of the work before it. */
	struct sim_work w = {.kind = TL_NONE, .engine = s->engine};

	stream_submit(s, &w);
	pthread_mutex_lock(&e->lock);
	event_drop_capture(e);
	e->recorded = true;
	e->time_ns = w.end_ns;
	e->host_seq = atomic_load(&s->host_sent);
	pthread_mutex_unlock(&e->lock);
	return w.end_ns;
}

CUresult do_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	struct sim_ctx *ctx = ctx_current();
	struct sim_event *e;

	if (!phEvent || Flags > 7 ||
	    ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	e = handle_new(HANDLE_EVENT);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = ctx;
	e->flags = Flags;
	pthread_mutex_init(&e->lock, NULL);
	sim_cost(sim_config.event_ns);
	*phEvent = (CUevent)e;
	return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy_v2(CUevent hEvent)
{
	struct sim_event *e;
	CUresult rc = event_get(hEvent, &e);

	if (rc != CUDA_SUCCESS)
		return rc;
	event_drop_capture(e);
	handle_free(HANDLE_EVENT, e);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	uint64_t from = sim_tl_now();
	struct sim_stream *s;
	struct sim_event *e;
	CUresult rc = event_get(hEvent, &e);

	if (rc == CUDA_SUCCESS)
		rc = stream_use(hStream, &s);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (flags > CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (e->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (unlikely(atomic_load(&s->capture)))
		return capture_event_record(s, e, flags);
	event_mark(e, s);
	sim_cost_since(from, sim_config.event_ns);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent hEvent, CUstream hStream)
{
	return do_cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

/* The moment of an event that is not part of a capture. */
static CUresult event_time(CUevent h, struct sim_event **e, uint64_t *time_ns, uint64_t *host_seq)
{
	CUresult rc = event_get(h, e);

	if (rc == CUDA_SUCCESS && unlikely((*e)->capture_id))
		rc = capture_event_touched(*e);
	if (rc == CUDA_SUCCESS)
		rc = capture_unsafe();
	if (rc != CUDA_SUCCESS)
		return rc;
	pthread_mutex_lock(&(*e)->lock);
	*time_ns = (*e)->time_ns;
	*host_seq = (*e)->host_seq;
	pthread_mutex_unlock(&(*e)->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuEventQuery(CUevent hEvent)
{
	struct sim_event *e;
	uint64_t time_ns, host;
	CUresult rc = event_time(hEvent, &e, &time_ns, &host);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (time_ns > sim_tl_now() || !hostfn_done(host))
		return CUDA_ERROR_NOT_READY;
	data_settle();
	return CUDA_SUCCESS;
}

CUresult do_cuEventSynchronize(CUevent hEvent)
{
	uint64_t from = sim_tl_now(), time_ns, host;
	struct sim_event *e;
	CUresult rc = event_time(hEvent, &e, &time_ns, &host);

	if (rc != CUDA_SUCCESS)
		return rc;
	sim_wait(time_ns, host, true);
	sim_cost_since(from, sim_config.sync_ns);
	sim_total()->syncs++;
	return CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	struct sim_event *a, *b;
	uint64_t start, end, host_a, host_b;
	CUresult rc = event_get(hStart, &a);

	if (!pMilliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		rc = event_get(hEnd, &b);
	if (rc != CUDA_SUCCESS)
		return rc;
	if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (unlikely(a->capture_id || b->capture_id))
		return capture_event_touched(a->capture_id ? a : b);
	if (!a->recorded || !b->recorded || a->ctx != b->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = event_time(hStart, &a, &start, &host_a);
	if (rc == CUDA_SUCCESS)
		rc = event_time(hEnd, &b, &end, &host_b);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (start > sim_tl_now() || end > sim_tl_now() ||
	    !hostfn_done(host_a > host_b ? host_a : host_b))
		return CUDA_ERROR_NOT_READY;
	*pMilliseconds = (float)((double)(int64_t)(end - start) / 1e6);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	uint64_t from = sim_tl_now(), host;
	struct sim_stream *s;
	struct sim_event *e;
	CUresult rc = event_get(hEvent, &e);

	if (rc == CUDA_SUCCESS)
		rc = stream_use(hStream, &s);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (Flags > CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (unlikely(e->capture_id || atomic_load(&s->capture)))
		return capture_event_wait(s, e, Flags);
	pthread_mutex_lock(&e->lock);
	host = e->recorded ? e->host_seq : 0;
	if (e->recorded)
		stream_hold(s, e->time_ns);
	pthread_mutex_unlock(&e->lock);
	if (host > atomic_load(&s->host_sent))
		atomic_store(&s->host_sent, host);
	sim_cost_since(from, sim_config.event_ns);
	return CUDA_SUCCESS;
}
