/* SPDX-License-Identifier: Apache-2.0 */
/* Takes CUPTI's buffers apart: one struct raw_record for each activity record. */
#include <stdlib.h>
#include <string.h>
#include "cupti_record_names.h"
#include "tests/gpu/cupti_truth.h"

#define BUFFER_BYTES (2u << 20)
#define POOL_BUFFERS 64

/* Buffers that came back, for the next request; a lock of its own, held for a few instructions,
 * because CUPTI asks for buffers in threads that are inside a call. */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *pool[POOL_BUFFERS];
static unsigned pool_count;

void CUPTIAPI records_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	void *p = NULL;

	pthread_mutex_lock(&pool_lock);
	if (pool_count)
		p = pool[--pool_count];
	pthread_mutex_unlock(&pool_lock);
	if (!p && posix_memalign(&p, 4096, BUFFER_BYTES)) {
		p = NULL;
		__atomic_add_fetch(&truth.no_buffer, 1, __ATOMIC_RELAXED);
	}
	*buffer = p;
	*size = p ? BUFFER_BYTES : 0;
	*max_records = 0; /* as many as fit */
}

static void return_buffer(uint8_t *buffer)
{
	pthread_mutex_lock(&pool_lock);
	if (pool_count < POOL_BUFFERS) {
		pool[pool_count++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&pool_lock);
	free(buffer);
}

/* Fields at the end of a record exist only when the library is no older than the headers. */
static bool tail_fields(void)
{
	return truth.cupti_version >= CUPTI_API_VERSION;
}

static uint8_t graph_flag(uint32_t graph, uint64_t node)
{
	return graph || node ? RAW_IN_GRAPH : 0;
}

static const char *take_kernel(struct raw_record *r, const CUpti_Activity *activity)
{
	const REC_KERNEL *k = (const REC_KERNEL *)activity;

	*r = (struct raw_record){
	        .kind = RAW_KERNEL,
	        .start_ns = k->start,
	        .end_ns = k->end,
	        .device = k->deviceId,
	        .context = k->contextId,
	        .stream = k->streamId,
	        .correlation = k->correlationId,
	        .graph = k->graphId,
	        .items = 1,
	        .shared_bytes = (uint32_t)k->dynamicSharedMemory,
	        .grid = {k->gridX, k->gridY, k->gridZ},
	        .block = {k->blockX, k->blockY, k->blockZ},
	        .flags = graph_flag(k->graphId, k->graphNodeId),
	};
#if REC_KERNEL_HAS_IS_DEVICE_LAUNCHED
	if (tail_fields() && k->isDeviceLaunched)
		r->flags |= RAW_FROM_DEVICE;
#endif
	return k->name;
}

static void take_copy(struct raw_record *r, const CUpti_Activity *activity)
{
	const REC_MEMCPY *c = (const REC_MEMCPY *)activity;

	*r = (struct raw_record){
	        .kind = RAW_COPY,
	        .start_ns = c->start,
	        .end_ns = c->end,
	        .bytes = c->bytes,
	        .device = c->deviceId,
	        .context = c->contextId,
	        .stream = c->streamId,
	        .correlation = c->correlationId,
	        .graph = c->graphId,
	        .items = 1,
	        .copy_kind = c->copyKind,
	        .src_kind = c->srcKind,
	        .dst_kind = c->dstKind,
	        .flags = graph_flag(c->graphId, c->graphNodeId),
	};
	if (c->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC)
		r->flags |= RAW_ASYNC;
#if REC_MEMCPY_HAS_COPY_COUNT
	if (tail_fields() && c->copyCount > 1)
		r->items = (uint32_t)c->copyCount;
#endif
#if REC_MEMCPY_HAS_IS_DEVICE_LAUNCHED
	if (tail_fields() && c->isDeviceLaunched)
		r->flags |= RAW_FROM_DEVICE;
#endif
}

static void take_peer_copy(struct raw_record *r, const CUpti_Activity *activity)
{
	const REC_MEMCPY2 *c = (const REC_MEMCPY2 *)activity;

	*r = (struct raw_record){
	        .kind = RAW_COPY,
	        .start_ns = c->start,
	        .end_ns = c->end,
	        .bytes = c->bytes,
	        .device = c->deviceId,
	        .context = c->contextId,
	        .stream = c->streamId,
	        .correlation = c->correlationId,
	        .graph = c->graphId,
	        .items = 1,
	        .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
	        .src_kind = c->srcKind,
	        .dst_kind = c->dstKind,
	        .flags = graph_flag(c->graphId, c->graphNodeId),
	};
	if (c->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC)
		r->flags |= RAW_ASYNC;
}

static void take_set(struct raw_record *r, const CUpti_Activity *activity)
{
	const REC_MEMSET *s = (const REC_MEMSET *)activity;

	*r = (struct raw_record){
	        .kind = RAW_SET,
	        .start_ns = s->start,
	        .end_ns = s->end,
	        .bytes = s->bytes,
	        .device = s->deviceId,
	        .context = s->contextId,
	        .stream = s->streamId,
	        .correlation = s->correlationId,
	        .graph = s->graphId,
	        .items = 1,
	        .dst_kind = (uint8_t)s->memoryKind,
	        .flags = graph_flag(s->graphId, s->graphNodeId),
	};
	if (s->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC)
		r->flags |= RAW_ASYNC;
#if REC_MEMSET_HAS_IS_DEVICE_LAUNCHED
	if (tail_fields() && s->isDeviceLaunched)
		r->flags |= RAW_FROM_DEVICE;
#endif
}

static void take_graph(struct raw_record *r, const CUpti_Activity *activity)
{
	const REC_GRAPH *g = (const REC_GRAPH *)activity;

	*r = (struct raw_record){
	        .kind = RAW_GRAPH,
	        .start_ns = g->start,
	        .end_ns = g->end,
	        .device = g->deviceId,
	        .context = g->contextId,
	        .stream = g->streamId,
	        .correlation = g->correlationId,
	        .graph = g->graphId,
	        .items = 1,
	        .flags = RAW_IN_GRAPH,
	};
}

static void take_call(const CUpti_ActivityAPI *a)
{
	bool driver = a->kind == CUPTI_ACTIVITY_KIND_DRIVER;
	struct tally_call call = {a->correlationId, a->cbid | (driver ? TALLY_DRIVER : 0)};

	tally_api(&truth.tally, call, a->end > a->start ? a->end - a->start : 0,
	          a->returnValue != 0);
}

static void add_record(const CUpti_Activity *activity)
{
	struct raw_record r = {0};
	const char *name = NULL;

	switch (activity->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL:
		name = take_kernel(&r, activity);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		take_copy(&r, activity);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		take_peer_copy(&r, activity);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		take_set(&r, activity);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		take_graph(&r, activity);
		break;
	default:
		break;
	}
	pthread_mutex_lock(&truth.lock);
	if (r.kind)
		tally_add(&truth.tally, &r, name);
	else if (activity->kind == CUPTI_ACTIVITY_KIND_RUNTIME ||
	         activity->kind == CUPTI_ACTIVITY_KIND_DRIVER)
		take_call((const CUpti_ActivityAPI *)activity);
	else
		truth.unknown_records++;
	pthread_mutex_unlock(&truth.lock);
}

void CUPTIAPI records_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                       size_t size, size_t valid)
{
	CUpti_Activity *activity = NULL;
	CUptiResult rc = CUPTI_SUCCESS;

	(void)context;
	(void)stream;
	(void)size;
	if (!buffer)
		return;
	while (valid) {
		rc = truth.cupti.cuptiActivityGetNextRecord(buffer, valid, &activity);
		if (rc != CUPTI_SUCCESS)
			break;
		add_record(activity);
	}
	if (rc != CUPTI_SUCCESS && rc != CUPTI_ERROR_MAX_LIMIT_REACHED)
		truth_error("cuptiActivityGetNextRecord: %d", rc);
	return_buffer(buffer);
}
