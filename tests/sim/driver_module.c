/* SPDX-License-Identifier: Apache-2.0 */
/* Code: images, modules and libraries, and the functions and kernels in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_memory.h"
#include "tests/sim/driver_module.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult func_get(CUfunction h, struct sim_func **out)
{
	*out = (struct sim_func *)h;
	return likely(handle_live(HANDLE_FUNC, h)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

struct sim_image *image_get(const void *h)
{
	return handle_live(HANDLE_MODULE, h) ? (struct sim_image *)h : NULL;
}

/* The kernels that the shim and `cudaspy calibrate` bring along, known by name as their code is not
 * the simulator's: such that last as long as their argument says, and empty ones. */
static void own_kernel(struct image_kernel *k)
{
	if (!strcmp(k->name, "cudaspy_stall") || !strcmp(k->name, "calibrate_spin")) {
		k->cost_arg = 0;
		k->cost_ns = 1;
	} else if (!strcmp(k->name, "cudaspy_null") || !strcmp(k->name, "calibrate_empty")) {
		k->cost_ns = sim_config.null_ns;
	} else if (!strcmp(k->name, "calibrate_stores")) {
		k->cost_ns = sim_config.null_ns + 300;
	}
}

/* `fixed:<ns>` or `arg:<index>:<ns>`. */
static void parse_cost(struct image_kernel *k, const char *text)
{
	unsigned long long ns;

	k->cost_arg = -1;
	k->cost_ns = sim_config.kernel_ns;
	if (sscanf(text, "arg:%d:%llu", &k->cost_arg, &ns) == 2 ||
	    sscanf(text, "fixed:%llu", &ns) == 1)
		k->cost_ns = ns;
	else
		k->cost_arg = -1;
}

static struct image_kernel *add_kernel(struct sim_image *m, const char *name, size_t n)
{
	struct image_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->name = strndup(name, n);
	k->cost_arg = -1;
	k->cost_ns = sim_config.kernel_ns;
	own_kernel(k);
	/* In the order of the text, which is the order of enumeration. */
	*m->kernels_end = k;
	m->kernels_end = &k->next;
	m->kernel_count++;
	return k;
}

static void add_global(struct sim_image *m, const char *name, size_t n, size_t bytes)
{
	struct image_global *g = calloc(1, sizeof(*g));

	if (!g)
		return;
	g->name = strndup(name, n);
	g->bytes = bytes ? bytes : 4;
	g->next = m->globals;
	m->globals = g;
}

static void parse_line(struct sim_image *m, const char *line, size_t length)
{
	char text[4096];
	const char *word, *rest;
	size_t n;

	if (length >= sizeof(text))
		return;
	memcpy(text, line, length);
	text[length] = 0;
	word = strchr(text, ' ');
	rest = word ? strchr(word + 1, ' ') : NULL;
	if (!rest)
		return;
	n = (size_t)(rest - word - 1);
	if (!strncmp(text, "kernel ", 7)) {
		struct image_kernel *k = add_kernel(m, word + 1, n);

		if (k)
			parse_cost(k, rest + 1);
	} else if (!strncmp(text, "global ", 7)) {
		add_global(m, word + 1, n, strtoull(rest + 1, NULL, 0));
	}
}

static void parse(struct sim_image *m, const char *text)
{
	for (;;) {
		size_t n = strcspn(text, "\n");

		parse_line(m, text, n);
		if (!text[n])
			return;
		text += n + 1;
	}
}

struct sim_image *image_load(const void *code, struct sim_ctx *ctx)
{
	uint64_t from = sim_tl_now();
	struct sim_image *m;
	unsigned magic;

	memcpy(&magic, code, sizeof(magic));
	if (magic == 0x466243b1)
		memcpy(&code, (const char *)code + 8, sizeof(code));
	m = handle_new(HANDLE_MODULE);
	if (!m)
		return NULL;
	m->ctx = ctx;
	m->kernels_end = &m->kernels;
	m->foreign = !code || strncmp(code, "simcuda", 7);
	if (!m->foreign)
		parse(m, code);
	sim_cost_since(from, sim_config.module_ns);
	sim_total()->module_loads++;
	return m;
}

CUresult image_load_file(const char *path, struct sim_ctx *ctx, struct sim_image **out)
{
	static const char none[16] = "";
	FILE *f = fopen(path, "rb");
	char *text;
	size_t n;

	if (!f)
		return CUDA_ERROR_FILE_NOT_FOUND;
	text = calloc(1, 1 << 20);
	n = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
	fclose(f);
	*out = image_load(n >= 7 && !strncmp(text, "simcuda", 7) ? text : none, ctx);
	free(text);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct sim_func *func_new(struct sim_image *m, const struct image_kernel *k,
                                 struct sim_ctx *ctx)
{
	struct sim_func *f = handle_new(HANDLE_FUNC);

	if (!f)
		return NULL;
	f->image = m;
	f->ctx = ctx;
	f->name = k->name;
	f->cost_arg = k->cost_arg;
	f->cost_ns = k->cost_ns;
	f->truth_index = truth_kernel(k->name);
	f->own = !strncmp(k->name, "cudaspy_", 8);
	f->max_dynamic_shared = 49152;
	return f;
}

struct image_kernel *image_kernel(struct sim_image *m, const char *name)
{
	struct image_kernel *k;

	for (k = m->kernels; k; k = k->next) {
		if (!strcmp(k->name, name))
			return k;
	}
	return m->foreign ? add_kernel(m, name, strlen(name)) : NULL;
}

CUresult image_func(struct sim_image *m, const char *name, struct sim_ctx *ctx,
                    struct sim_func **out)
{
	struct image_kernel *k;

	pthread_mutex_lock(&lock);
	k = image_kernel(m, name);
	if (k && !k->func)
		k->func = func_new(m, k, ctx);
	*out = k ? k->func : NULL;
	pthread_mutex_unlock(&lock);
	if (!k)
		return CUDA_ERROR_NOT_FOUND;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

unsigned image_funcs(struct sim_image *m, struct sim_ctx *ctx, void **out, unsigned room)
{
	unsigned n = 0;

	for (struct image_kernel *k = m->kernels; k && n < room; k = k->next) {
		struct sim_func *f;

		if (image_func(m, k->name, ctx, &f) == CUDA_SUCCESS)
			out[n++] = f;
	}
	return n;
}

CUresult image_function_of_kernel(struct sim_func *kernel, struct sim_ctx *ctx,
                                  struct sim_func **out)
{
	struct sim_func *f;

	pthread_mutex_lock(&lock);
	f = kernel->function;
	if (!f && (f = handle_new(HANDLE_FUNC))) {
		f->image = kernel->image;
		f->kernel = kernel;
		f->ctx = ctx;
		f->name = kernel->name;
		f->cost_arg = kernel->cost_arg;
		f->cost_ns = kernel->cost_ns;
		f->truth_index = kernel->truth_index;
		f->max_dynamic_shared = kernel->max_dynamic_shared;
		kernel->function = f;
	}
	pthread_mutex_unlock(&lock);
	*out = f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* With the lock held: the variable's memory in the context, made on demand. */
static CUresult global_in(struct image_global *g, struct sim_ctx *ctx, CUdeviceptr *out)
{
	struct global_memory *m;
	struct memory_range r;
	CUresult rc;

	for (m = g->memory; m; m = m->next) {
		if (m->ctx_id == ctx->id) {
			*out = m->p;
			return CUDA_SUCCESS;
		}
	}
	m = malloc(sizeof(*m));
	rc = m ? memory_take(ctx, MEMORY_DEVICE, NULL, g->bytes, &m->p) : CUDA_ERROR_OUT_OF_MEMORY;
	if (rc != CUDA_SUCCESS) {
		free(m);
		return rc;
	}
	m->ctx_id = ctx->id;
	m->range_id = memory_find((uintptr_t)m->p, &r) ? r.id : 0;
	m->next = g->memory;
	g->memory = m;
	*out = m->p;
	return CUDA_SUCCESS;
}

CUresult image_global(struct sim_image *m, const char *name, struct sim_ctx *ctx, CUdeviceptr *dptr,
                      size_t *bytes)
{
	struct image_global *g;
	CUdeviceptr p;
	CUresult rc = CUDA_ERROR_NOT_FOUND;

	pthread_mutex_lock(&lock);
	for (g = m->globals; g && strcmp(g->name, name); g = g->next)
		;
	if (g)
		rc = global_in(g, ctx, &p);
	pthread_mutex_unlock(&lock);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (dptr)
		*dptr = p;
	if (bytes)
		*bytes = g->bytes;
	return CUDA_SUCCESS;
}

/* The context may be gone and its memory with it, the address another's by now. */
static void global_free(struct image_global *g)
{
	struct memory_range r;

	while (g->memory) {
		struct global_memory *m = g->memory;

		g->memory = m->next;
		if (memory_find((uintptr_t)m->p, &r) && r.id == m->range_id)
			memory_give((uintptr_t)m->p);
		free(m);
	}
	free(g->name);
	free(g);
}

void image_unload(struct sim_image *m)
{
	while (m->kernels) {
		struct image_kernel *k = m->kernels;

		m->kernels = k->next;
		if (k->func && k->func->function)
			handle_free(HANDLE_FUNC, k->func->function);
		if (k->func)
			handle_free(HANDLE_FUNC, k->func);
		free(k->name);
		free(k);
	}
	while (m->globals) {
		struct image_global *g = m->globals;

		m->globals = g->next;
		global_free(g);
	}
	handle_free(HANDLE_MODULE, m);
}

static void unload_of(void *object, void *arg)
{
	struct sim_image *m = object;

	if (m->ctx == arg)
		image_unload(m);
}

void modules_free(struct sim_ctx *ctx)
{
	handle_each(HANDLE_MODULE, unload_of, ctx);
}
