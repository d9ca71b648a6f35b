/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches, and host functions in streams. */
#include <sched.h>
#include <string.h>
#include "tests/sim/driver.h"
#include "tests/sim/driver_graph.h"

static CUresult check_shape(const struct sim_launch *l)
{
	unsigned long long threads = 1;

	for (int i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i])
			return CUDA_ERROR_INVALID_VALUE;
		threads *= l->block[i];
	}
	if (threads > 1024 || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->grid[0] > 2147483647u || l->grid[1] > 65535 || l->grid[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared_bytes > (unsigned)l->func->max_dynamic_shared)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult launch_check(struct sim_ctx *ctx, CUfunction f, struct sim_launch *l)
{
	CUresult rc = func_get(f, &l->func);

	if (unlikely(rc != CUDA_SUCCESS))
		return rc;
	if (unlikely(l->func->ctx && l->func->ctx != ctx && !l->func->kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	if (unlikely(l->params && l->extra))
		return CUDA_ERROR_INVALID_VALUE;
	return check_shape(l);
}

/* The argument from the packed buffer of `extra`, whose arguments are taken to be 8 bytes each. */
static unsigned packed_argument(void **extra, int index)
{
	const char *buffer = NULL;
	size_t bytes = 0;
	unsigned value = 1;

	for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(size_t *)extra[1];
	}
	if (buffer && bytes >= (size_t)index * 8 + sizeof(value))
		memcpy(&value, buffer + (size_t)index * 8, sizeof(value));
	return value;
}

uint64_t launch_gpu_ns(const struct sim_launch *l)
{
	const struct sim_func *f = l->func;

	if (f->cost_arg < 0)
		return f->cost_ns;
	if (l->params)
		return f->cost_ns * *(unsigned *)l->params[f->cost_arg];
	return f->cost_ns * (l->extra ? packed_argument(l->extra, f->cost_arg) : 1);
}

void launch_load(struct sim_ctx *ctx, struct sim_func *f)
{
	if (likely(atomic_load_explicit(&f->loaded, memory_order_acquire)))
		return;
	pthread_mutex_lock(&ctx->load_lock);
	if (!atomic_load(&f->loaded)) {
		atomic_store(&ctx->loading, true);
		sim_cost(sim_config.first_launch_ns);
		atomic_store(&f->loaded, true);
		atomic_store(&ctx->loading, false);
	}
	pthread_mutex_unlock(&ctx->load_lock);
}

/* While another thread loads code into the context, launches wait behind it. */
static void wait_for_loader(struct sim_ctx *ctx)
{
	if (likely(!atomic_load_explicit(&ctx->loading, memory_order_relaxed)))
		return;
	pthread_mutex_lock(&ctx->load_lock);
	pthread_mutex_unlock(&ctx->load_lock);
}

static CUresult launch_now(CUfunction f, CUstream stream, struct sim_launch *l)
{
	uint64_t from = sim_config.launch_ns ? sim_tl_now() : 0;
	struct sim_work w = {.kind = TL_KERNEL, .engine = TL_COMPUTE};
	struct sim_stream *s;
	CUresult rc;

	if (unlikely(!f))
		return CUDA_ERROR_INVALID_HANDLE;
	rc = stream_use(stream, &s);
	if (likely(rc == CUDA_SUCCESS))
		rc = launch_check(s->ctx, f, l);
	if (unlikely(rc != CUDA_SUCCESS))
		return rc;
	if (unlikely(atomic_load_explicit(&s->capture, memory_order_acquire) != NULL))
		return capture_kernel(s, l);
	launch_load(s->ctx, l->func);
	wait_for_loader(s->ctx);
	w.gpu_ns = launch_gpu_ns(l);
	w.kernel = l->func->name;
	if (unlikely(l->func->own))
		w.kind = TL_OWN;
	if (unlikely(atomic_load_explicit(&s->graphs, memory_order_relaxed)))
		atomic_store(&s->mixed, true);
	stream_submit(s, &w);
	sim_cost_since(from, sim_config.launch_ns);
	if (likely(!l->func->own))
		truth_count_launch(sim_self->truth, l->func->truth_index, w.gpu_ns);
	return CUDA_SUCCESS;
}

/* With SIM_LAUNCH_LOCK threads take turns, in the order of their coming: under a plain mutex one
 * that launches in a loop would have it back before another is awake. */
static CUresult launch(CUfunction f, CUstream stream, struct sim_launch *l)
{
	static _Atomic unsigned next, served;
	unsigned turn;
	CUresult rc;

	if (likely(!sim_config.launch_lock))
		return launch_now(f, stream, l);
	turn = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
	/* Acquire: pairs with the release by the thread before. */
	while (atomic_load_explicit(&served, memory_order_acquire) != turn)
		sched_yield();
	rc = launch_now(f, stream, l);
	atomic_store_explicit(&served, turn + 1, memory_order_release);
	return rc;
}

CUresult do_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                           unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                           unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                           void **kernelParams, void **extra)
{
	struct sim_launch l = {
	        .grid = {gridDimX, gridDimY, gridDimZ},
	        .block = {blockDimX, blockDimY, blockDimZ},
	        .shared_bytes = sharedMemBytes,
	        .params = kernelParams,
	        .extra = extra,
	};

	return launch(f, hStream, &l);
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                             void **extra)
{
	struct sim_launch l = {.params = kernelParams, .extra = extra};

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(l.grid, &config->gridDimX, sizeof(l.grid));
	memcpy(l.block, &config->blockDimX, sizeof(l.block));
	l.shared_bytes = config->sharedMemBytes;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
		    (!a->value.clusterDim.x || config->gridDimX % a->value.clusterDim.x))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	return launch(f, config->hStream, &l);
}

CUresult do_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                      unsigned int gridDimZ, unsigned int blockDimX,
                                      unsigned int blockDimY, unsigned int blockDimZ,
                                      unsigned int sharedMemBytes, CUstream hStream,
                                      void **kernelParams)
{
	unsigned long long blocks = (unsigned long long)gridDimX * gridDimY * gridDimZ;
	int most;
	CUresult rc = do_cuOccupancyMaxActiveBlocksPerMultiprocessor(
	        &most, f, (int)(blockDimX * blockDimY * blockDimZ), sharedMemBytes);

	if (rc == CUDA_SUCCESS && blocks > (unsigned long long)most * 132)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (rc != CUDA_SUCCESS)
		return rc;
	return do_cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
	                         sharedMemBytes, hStream, kernelParams, NULL);
}

/* What no header knows: a launch of one thread. */
CUresult do_cuFutureLaunch(CUfunction f, CUstream hStream)
{
	return do_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, hStream, NULL, NULL);
}

CUresult do_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	struct sim_work w = {.kind = TL_NONE, .engine = TL_COMPUTE};
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return capture_host(s, fn, userData);
	w.gpu_ns = host_function_ns(s);
	stream_submit(s, &w);
	atomic_store(&s->host_sent, hostfn_send(w.start_ns, fn, userData));
	sim_cost(sim_config.event_ns);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                unsigned int flags)
{
	struct sim_work w = {.kind = TL_NONE, .engine = TL_COMPUTE};
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	w.gpu_ns = host_function_ns(s);
	stream_submit(s, &w);
	atomic_store(&s->host_sent, hostfn_send_callback(w.start_ns, callback, hStream, userData));
	return CUDA_SUCCESS;
}
