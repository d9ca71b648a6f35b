/* SPDX-License-Identifier: Apache-2.0 */
/* Images and what is in them.  Included by the driver's sources for modules, libraries and links.
 */
#pragma once
#include "tests/sim/driver.h"

struct image_kernel {
	struct image_kernel *next;
	char *name;
	int cost_arg;
	uint64_t cost_ns;
	struct sim_func *func;
};

/* A variable's memory in one context, which goes with the context. */
struct global_memory {
	struct global_memory *next;
	unsigned long long ctx_id;
	CUdeviceptr p;
	unsigned long long range_id;
};

struct image_global {
	struct image_global *next;
	char *name;
	size_t bytes;
	struct global_memory *memory;
};

/* A module, or a library, which has no context. */
struct sim_image {
	struct sim_handle handle;
	struct sim_ctx *ctx;
	bool foreign; /* not our text: every kernel name exists */
	bool is_library, is_view;
	struct image_kernel *kernels, **kernels_end;
	unsigned kernel_count;
	struct image_global *globals;
};

struct sim_image *image_get(const void *h);
struct sim_image *image_load(const void *code, struct sim_ctx *ctx);
CUresult image_load_file(const char *path, struct sim_ctx *ctx, struct sim_image **out);
CUresult image_func(struct sim_image *m, const char *name, struct sim_ctx *ctx,
                    struct sim_func **out);
struct image_kernel *image_kernel(struct sim_image *m, const char *name);
unsigned image_funcs(struct sim_image *m, struct sim_ctx *ctx, void **out, unsigned room);
CUresult image_function_of_kernel(struct sim_func *kernel, struct sim_ctx *ctx,
                                  struct sim_func **out);
CUresult image_global(struct sim_image *m, const char *name, struct sim_ctx *ctx, CUdeviceptr *dptr,
                      size_t *bytes);
void image_unload(struct sim_image *m);
