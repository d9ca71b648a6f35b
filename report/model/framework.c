/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack says it best: in whose code the innermost frame of a framework's lies. Where no stacks
 * were taken kernels' names tell, and where these bear nobody's mark, whose folder the runtime was
 * loaded from. Not all kernels of Triton's are PyTorch's: XLA makes some too.
 */
#include "report/model/framework.h"

#include <math.h>
#include <string.h>

#include "report/base/file.h"
#include "report/model/model.h"

const char *const framework_names[] = {[FRAMEWORK_NONE] = NULL,
                                       [FRAMEWORK_PYTORCH] = "PyTorch",
                                       [FRAMEWORK_JAX] = "JAX",
                                       [FRAMEWORK_CUPY] = "CuPy",
                                       [FRAMEWORK_NUMBA] = "Numba"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct mark {
	const char *text; /* that it begins with, or has */
	enum framework of;
};

/* Packages, which have others beside them: torchvision, jaxlib, jax_cuda13_plugin, cupyx. */
static const struct mark packages[] = {{"torch", FRAMEWORK_PYTORCH},
                                       {"jax", FRAMEWORK_JAX},
                                       {"cupy", FRAMEWORK_CUPY},
                                       {"numba", FRAMEWORK_NUMBA}};
/* Libraries, wherever they lie. */
static const struct mark libraries[] = {{"libtorch", FRAMEWORK_PYTORCH},
                                        {"libc10", FRAMEWORK_PYTORCH},
                                        {"xla_cuda_plugin", FRAMEWORK_JAX},
                                        {"xla_extension", FRAMEWORK_JAX}};
/* In names of kernels. */
static const struct mark kernels[] = {{"at::native::", FRAMEWORK_PYTORCH},
                                      {"triton_poi_fused", FRAMEWORK_PYTORCH},
                                      {"triton_per_fused", FRAMEWORK_PYTORCH},
                                      {"triton_red_fused", FRAMEWORK_PYTORCH},
                                      {"stream_executor::gpu::", FRAMEWORK_JAX},
                                      {"__xla_", FRAMEWORK_JAX},
                                      {"_fusion", FRAMEWORK_JAX},
                                      {"cupy_", FRAMEWORK_CUPY},
                                      {"[abi:v", FRAMEWORK_NUMBA}};

static enum framework begins(const char *text, const struct mark *marks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, marks[i].text, strlen(marks[i].text)))
			return marks[i].of;
	return FRAMEWORK_NONE;
}

static enum framework of_file(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	enum framework of = FRAMEWORK_NONE;

	if (!path)
		return of;
	for (size_t i = 0; i < COUNT(folders) && !of; i++) {
		const char *at = strstr(path, folders[i]);
		if (at)
			of = begins(at + strlen(folders[i]), packages, COUNT(packages));
	}
	return of ? of : begins(file_base_name(path), libraries, COUNT(libraries));
}

static enum framework of_kernel(const char *name)
{
	for (size_t i = 0; name && i < COUNT(kernels); i++)
		if (strstr(name, kernels[i].text))
			return kernels[i].of;
	return FRAMEWORK_NONE;
}

/* The one with more than half of all; NONE: there is none. */
static enum framework most_of(const double votes[FRAMEWORKS])
{
	double all = 0;
	enum framework most = FRAMEWORK_NONE;

	for (int i = 0; i < FRAMEWORKS; i++) {
		all += votes[i];
		if (votes[i] > votes[most])
			most = (enum framework)i;
	}
	return votes[most] * 2 > all ? most : FRAMEWORK_NONE;
}

static bool gives_work(const struct model_site *s)
{
	return s->kind == SITE_LAUNCH || s->kind == SITE_COPY || s->kind == SITE_GRAPH;
}

/* Stacks of which neither a framework nor the program's own code is known say nothing. */
static void ask_sites(const struct model *m, double votes[FRAMEWORKS])
{
	for (size_t i = 0; i < m->sites.count; i++) {
		const struct model_site *s = &m->sites.items[i];
		enum framework of = FRAMEWORK_NONE;
		bool own = false;
		for (size_t k = 0; k < s->frame_count && !of && gives_work(s); k++) {
			const struct model_frame *f = &s->frames[k];
			of = of_file(f->python ? f->file : f->module);
			own |= !f->foreign;
		}
		if (of || own)
			votes[of] += s->api_time;
	}
}

static void ask_kernels(const struct model *m, double votes[FRAMEWORKS])
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		enum framework of = of_kernel(k->name);
		if (of) /* anyone's may have any name */
			votes[of] += (double)k->launches + (double)k->graph_launches;
	}
}

static void ask_libraries(const struct model *m, double votes[FRAMEWORKS])
{
	for (size_t i = 0; i < m->process_count; i++)
		for (size_t k = 0; k < m->processes[i].library_count; k++) {
			enum framework of = of_file(m->processes[i].libraries[k].path);
			if (of)
				votes[of] = 1;
		}
}

enum framework framework_of(const struct model *m)
{
	static void (*const ask[])(const struct model *, double *) = {ask_sites, ask_kernels,
	                                                              ask_libraries};

	for (size_t i = 0; i < COUNT(ask); i++) {
		double votes[FRAMEWORKS] = {0}, all = 0;
		ask[i](m, votes);
		for (int k = 0; k < FRAMEWORKS; k++)
			all += votes[k];
		if (all > 0)
			return most_of(votes);
	}
	return FRAMEWORK_NONE;
}

static bool is_python_of(const struct model_site *s, const char *one, const char *other)
{
	for (size_t i = 0; i < s->frame_count; i++) {
		const struct model_frame *f = &s->frames[i];
		if (f->python && f->file && (strstr(f->file, one) || strstr(f->file, other)))
			return true;
	}
	return false;
}

bool framework_is_optimizers(const struct model_site *s)
{
	return is_python_of(s, "/optim", "/optax/");
}

bool framework_is_networks(const struct model_site *s)
{
	bool python = false;

	for (size_t i = 0; i < s->frame_count; i++)
		python |= s->frames[i].python;
	return !python || is_python_of(s, "/torch/nn/modules/", "/flax/");
}
