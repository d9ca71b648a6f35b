/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: primary and created, the stack of each thread, what a context owns. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver.h"
#include "tests/sim/driver_memory.h"

_Static_assert(sizeof(struct sim_ctx) <= 512, "a context fits its place");

static _Atomic unsigned long long next_id = 1;

bool device_valid(CUdevice dev)
{
	return dev >= 0 && dev < sim_config.devices;
}

struct sim_ctx *ctx_current(void)
{
	struct sim_thread *t = sim_self;
	struct sim_ctx *ctx = t->depth ? t->stack[t->depth - 1] : NULL;

	return ctx && likely(handle_live(HANDLE_CTX, ctx)) ? ctx : NULL;
}

CUresult ctx_resolve(CUcontext h, struct sim_ctx **out)
{
	*out = h ? (struct sim_ctx *)h : ctx_current();
	if (!*out)
		return CUDA_ERROR_INVALID_CONTEXT;
	return handle_live(HANDLE_CTX, *out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

uint64_t ctx_tail(struct sim_ctx *ctx, uint64_t *host_seq)
{
	uint64_t tail = atomic_load(&ctx->gone_tail_ns);

	pthread_mutex_lock(&ctx->lock);
	for (struct sim_stream *s = ctx->streams; s; s = s->next) {
		uint64_t t = atomic_load_explicit(&s->tail_ns, memory_order_acquire);
		uint64_t host = atomic_load(&s->host_sent);

		tail = t > tail ? t : tail;
		*host_seq = host > *host_seq ? host : *host_seq;
	}
	pthread_mutex_unlock(&ctx->lock);
	return tail;
}

struct tail_query {
	struct sim_device *device;
	uint64_t tail_ns, host_seq;
};

static void one_tail(void *object, void *arg)
{
	struct sim_ctx *ctx = object;
	struct tail_query *q = arg;

	if (ctx->device == q->device && ctx->legacy) {
		uint64_t t = ctx_tail(ctx, &q->host_seq);

		q->tail_ns = t > q->tail_ns ? t : q->tail_ns;
	}
}

uint64_t device_tail(struct sim_device *d, uint64_t *host_seq)
{
	struct tail_query q = {.device = d};

	handle_each(HANDLE_CTX, one_tail, &q);
	*host_seq = q.host_seq;
	return q.tail_ns;
}

static struct sim_ctx *ctx_new(struct sim_device *d, unsigned flags, bool primary)
{
	struct sim_ctx *ctx = handle_new(HANDLE_CTX);

	if (!ctx)
		return NULL;
	sim_cost(sim_config.context_ns);
	ctx->device = d;
	ctx->flags = flags;
	ctx->primary = primary;
	ctx->id = atomic_fetch_add(&next_id, 1);
	ctx->limit[CU_LIMIT_STACK_SIZE] = 1024;
	ctx->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 8 << 20;
	ctx->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->load_lock, NULL);
	ctx->legacy = stream_new(ctx, CU_STREAM_DEFAULT, 0);
	if (!ctx->legacy) {
		handle_free(HANDLE_CTX, ctx);
		return NULL;
	}
	ctx->legacy->legacy = true;
	return ctx;
}

static void event_of(void *object, void *arg)
{
	struct sim_event *e = object;

	if (e->ctx == arg) {
		event_drop_capture(e);
		handle_free(HANDLE_EVENT, e);
	}
}

/* Waits for its work, then frees all that lives in the context, but not the context. */
void ctx_free_objects(struct sim_ctx *ctx)
{
	uint64_t host = 0;

	sim_wait(ctx_tail(ctx, &host), host, false);
	memory_free_ctx(ctx);
	modules_free(ctx);
	handle_each(HANDLE_EVENT, event_of, ctx);
	thread_streams_drop(ctx);
	while (ctx->streams)
		stream_free(ctx->streams);
	ctx->legacy = NULL;
}

static void ctx_free(struct sim_ctx *ctx)
{
	ctx_free_objects(ctx);
	handle_free(HANDLE_CTX, ctx);
}

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct sim_device *d = &sim_device[dev];

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&d->lock);
	if (!d->primary)
		d->primary = ctx_new(d, d->primary_flags, true);
	if (d->primary)
		d->primary_uses++;
	*pctx = (CUcontext)d->primary;
	pthread_mutex_unlock(&d->lock);
	return *pctx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult primary_drop(CUdevice dev, bool reset)
{
	struct sim_device *d = &sim_device[dev];
	struct sim_ctx *gone = NULL;

	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&d->lock);
	if (!d->primary && !reset) {
		pthread_mutex_unlock(&d->lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (d->primary && (reset || --d->primary_uses == 0)) {
		gone = d->primary;
		d->primary = NULL;
		d->primary_uses = 0;
	}
	pthread_mutex_unlock(&d->lock);
	if (gone)
		ctx_free(gone);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return primary_drop(dev, false);
}

CUresult do_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return primary_drop(dev, true);
}

CUresult do_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&sim_device[dev].lock);
	sim_device[dev].primary_flags = flags;
	if (sim_device[dev].primary)
		sim_device[dev].primary->flags = flags;
	pthread_mutex_unlock(&sim_device[dev].lock);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_device[dev].lock);
	*flags = sim_device[dev].primary_flags;
	*active = sim_device[dev].primary != NULL;
	pthread_mutex_unlock(&sim_device[dev].lock);
	return CUDA_SUCCESS;
}

static CUresult push(struct sim_ctx *ctx)
{
	struct sim_thread *t = sim_self;

	if (t->depth == SIM_CTX_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->stack[t->depth++] = ctx;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct sim_ctx *ctx;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ctx_new(&sim_device[dev], flags, false);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pctx = (CUcontext)ctx;
	return push(ctx);
}

CUresult do_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                           unsigned int flags, CUdevice dev)
{
	return do_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult do_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                           CUdevice dev)
{
	return do_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult do_cuCtxDestroy_v2(CUcontext ctx)
{
	struct sim_ctx *c = (struct sim_ctx *)ctx;
	struct sim_thread *t = sim_self;

	if (!handle_live(HANDLE_CTX, c))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->depth && t->stack[t->depth - 1] == c)
		t->depth--;
	ctx_free(c);
	return CUDA_SUCCESS;
}

CUresult do_cuCtxDetach(CUcontext ctx)
{
	return do_cuCtxDestroy_v2(ctx);
}

CUresult do_cuCtxPushCurrent_v2(CUcontext ctx)
{
	if (!handle_live(HANDLE_CTX, ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return push((struct sim_ctx *)ctx);
}

CUresult do_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct sim_thread *t = sim_self;

	if (!t->depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->depth--;
	if (pctx)
		*pctx = (CUcontext)t->stack[t->depth];
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext ctx)
{
	struct sim_thread *t = sim_self;

	if (!ctx) {
		t->depth -= t->depth > 0;
		return CUDA_SUCCESS;
	}
	if (!handle_live(HANDLE_CTX, ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!t->depth)
		return push((struct sim_ctx *)ctx);
	t->stack[t->depth - 1] = (struct sim_ctx *)ctx;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCurrent(CUcontext *pctx)
{
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)ctx_current();
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSynchronize_v2(CUcontext ctx)
{
	uint64_t from = sim_tl_now(), host = 0, tail;
	struct sim_ctx *c;
	CUresult rc = ctx_resolve(ctx, &c);

	if (rc == CUDA_SUCCESS)
		rc = capture_context(c);
	if (rc != CUDA_SUCCESS)
		return rc;
	tail = ctx_tail(c, &host);
	sim_wait(tail, host, true);
	sim_cost_since(from, sim_config.sync_ns);
	sim_total()->syncs++;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSynchronize(void)
{
	return do_cuCtxSynchronize_v2(NULL);
}
