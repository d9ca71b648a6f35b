/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"

/*
 * Remembers where a function's figures are, until some handle changes its meaning. Not for a call
 * inside another, of a signal's handler: launch_noted(), which it may have interrupted, has read
 * one half of an entry and goes on to the other.
 */
static void remember(struct spy_tls *t, uint32_t version, CUfunction f, struct tf_kernel_stat *k)
{
	if (t->known_version != version) {
		for (int i = 0; i < SPY_KNOWN; i++)
			t->known[i] = (struct spy_known){0};
		t->known_version = version;
	}
	/* In this order, for a signal's handler that launches meanwhile, and reads. */
	struct spy_known *known = launch_known(t, f);
	known->function = NULL;
	spy_in_order();
	known->kernel = k;
	spy_in_order();
	known->function = f;
}

void launch_noted_slow(struct spy_span *s, CUresult rc, CUfunction f, CUstream stream)
{
	struct spy_span *o = spy_outer();
	struct spy_tls *t = &spy_tls;
	struct tf_thread *th = t->thread;
	uint32_t kernel = TF_KERNEL_UNKNOWN;
	/* Acquire: read before the registry is asked, so that what is remembered is never newer
	 * than its number. */
	uint32_t version = __atomic_load_n(&spy_gate_page.gate.registry_version, __ATOMIC_ACQUIRE);

	if (!registry_get(HANDLE_FUNCTION, (uintptr_t)f, &kernel) && rc == CUDA_SUCCESS)
		kernel = spy_learn_function(f);
	struct tf_kernel_stat *k = thread_kernel(th, kernel);
	if (o->cls == s->cls)
		o->rec->launch.kernel = kernel;
	if (rc != CUDA_SUCCESS) {
		if (k)
			spy_count(&k->failed, 1);
		return;
	}
	if (spy_is_captured(s, stream)) {
		spy_count(&th->captured[SPY_CLASS_LAUNCH], 1);
		if (k)
			spy_count(&k->captured, 1);
		if (o->cls == s->cls)
			o->rec->flags |= TF_CAPTURED;
		return;
	}
	if (!k) {
		spy_count(&th->items[SPY_CLASS_LAUNCH], 1);
		return;
	}
	if (k->launches == 0) {
		o->unusual |= SPAN_FIRST_LAUNCH;
		if (o->cls == s->cls)
			o->rec->flags |= TF_FIRST;
	}
	k->kernel = kernel;
	if (spy_is_outermost(o))
		remember(t, version, f, k);
	spy_count(&th->launches, 1);
	spy_count(&k->launches, 1);
	o->kernel = k;
}

void args_launch_cooperative(struct spy_span *s, CUresult rc, CUfunction f, unsigned gx,
                             unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared_bytes, CUstream stream, void **params)
{
	const struct args_launch_shape p = {gx, gy, gz, bx, by, bz, shared_bytes, 0, 0, 0};

	launch_noted(s, rc, f, stream, &p);
}

void args_launch_ex(struct spy_span *s, CUresult rc, const CUlaunchConfig *config, CUfunction f,
                    void **params, void **extra)
{
	struct args_launch_shape p = {0};

	if (!config) {
		launch_noted(s, rc, f, NULL, &p);
		return;
	}
	p = (struct args_launch_shape){config->gridDimX,
	                               config->gridDimY,
	                               config->gridDimZ,
	                               config->blockDimX,
	                               config->blockDimY,
	                               config->blockDimZ,
	                               config->sharedMemBytes,
	                               0,
	                               0,
	                               0};
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			p.cluster_x = config->attrs[i].value.clusterDim.x;
			p.cluster_y = config->attrs[i].value.clusterDim.y;
			p.cluster_z = config->attrs[i].value.clusterDim.z;
		}
	launch_noted(s, rc, f, config->hStream, &p);
}

void args_launch_multi(struct spy_span *s, CUresult rc, CUDA_LAUNCH_PARAMS *list, unsigned devices,
                       unsigned flags)
{
	for (unsigned i = 0; list && i < devices; i++) {
		const struct args_launch_shape p = {list[i].gridDimX,
		                                    list[i].gridDimY,
		                                    list[i].gridDimZ,
		                                    list[i].blockDimX,
		                                    list[i].blockDimY,
		                                    list[i].blockDimZ,
		                                    list[i].sharedMemBytes,
		                                    0,
		                                    0,
		                                    0};
		launch_noted(s, rc, list[i].function, list[i].hStream, &p);
	}
	struct tf_record *r = spy_args_target(s);
	if (r)
		r->launch.items = devices;
}

/* The launches of CUDA 3: the block was set by cuFuncSetBlockShape(), which is not followed. */
void args_launch_shape_set_before(struct spy_span *s, CUresult rc, CUfunction f)
{
	const struct args_launch_shape p = {.gx = 1, .gy = 1, .gz = 1};

	launch_noted(s, rc, f, NULL, &p);
}

void args_launch_grid(struct spy_span *s, CUresult rc, CUfunction f, int width, int height)
{
	const struct args_launch_shape p = {.gx = (unsigned)width, .gy = (unsigned)height, .gz = 1};

	launch_noted(s, rc, f, NULL, &p);
}

void args_launch_grid_async(struct spy_span *s, CUresult rc, CUfunction f, int width, int height,
                            CUstream stream)
{
	const struct args_launch_shape p = {.gx = (unsigned)width, .gy = (unsigned)height, .gz = 1};

	launch_noted(s, rc, f, stream, &p);
}
