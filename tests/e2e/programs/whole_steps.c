/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_steps KIND STEPS [graph|foreach]: a loop of many short launches, as frameworks issue them
 * from Python: tens of us of host code before each call. With "graph" the same loop where all that
 * a step gives the GPU was captured once: one launch, then what the host still does. With
 * "foreach" the alike kernels of the optimizer are a few larger ones.
 *
 *   gnn     79 launches of 14 kernels, 15 to 60 us of host code before each, before every
 *           13th 160 to 230 us; the loss is read
 *   adamw   400 parameters of 6 kernels of 2 us each, 6 to 10 us before each; one wait
 *   decode  57 launches, 20 us before each, a token is read, and 300 us of the program's own logic
 *           that no graph takes away
 *   collate the gnn, and three times in each step 8 ms of the program's own work, which look alike
 *           to what launches cost
 *   log     the gnn, and the loss of its forward part is read in the middle too
 *   shapes  the gnn; each step has other shapes than the one before, of a hundred
 *   busy    40 launches of kernels of 60 us: the GPU works all the time
 *   alloc   the gnn, and a buffer is allocated and freed in each step
 *   legacy  the gnn on the legacy default stream, with pageable inputs
 */
#include <string.h>
#include <time.h>
#include "tests/e2e/programs/work.h"

#define KERNELS 16

static CUfunction kernels[KERNELS];
static CUstream stream;
static CUdeviceptr memory;
static void *pinned;
static char pageable[4096];
static unsigned shape = 1;

static int is(const char *word, const char *other)
{
	return !strcmp(word, other);
}

static void python(unsigned us)
{
	struct timespec t = {.tv_nsec = us * 1000L};

	nanosleep(&t, NULL);
}

/* PyTorch's name says of an optimizer's kernels that they go over the elements of a tensor. */
static void name_of(char *name, size_t bytes, const char *kind, unsigned i)
{
	snprintf(name, bytes, "%s_%u", is(kind, "adamw") ? "at::native::elementwise" : "layer", i);
}

static void load(const char *kind)
{
	char image[2048] = "simcuda 1\n", name[48];
	size_t at = strlen(image);
	CUmodule module;

	for (unsigned i = 0; i < KERNELS; i++) {
		unsigned ns = is(kind, "adamw") ? 2000 : is(kind, "busy") ? 60000 : 2000 + 700 * i;
		/* The last two: an optimizer's for many tensors at once, a fused one. */
		if (i == KERNELS - 1)
			ns = 40000;
		name_of(name, sizeof(name), kind, i);
		at += (size_t)snprintf(image + at, sizeof(image) - at, "kernel %s fixed:%u\n", name,
		                       ns);
	}
	CHECK(cuModuleLoadData(&module, image));
	for (unsigned i = 0; i < KERNELS; i++) {
		name_of(name, sizeof(name), kind, i);
		CHECK(cuModuleGetFunction(&kernels[i], module, name));
	}
}

/* What host code each launch costs; 0 while it is captured, which is not what is looked at. */
static unsigned before(const char *kind, unsigned i)
{
	if (is(kind, "adamw"))
		return 6 + i % 5;
	if (is(kind, "decode"))
		return 20;
	if (is(kind, "busy"))
		return 5;
	if (is(kind, "collate") && i % 26 == 25)
		return 8000;
	return i % 13 == 12 ? 150 + i : 15 + (i * 7) % 46;
}

static void launch(unsigned kernel, unsigned size)
{
	CHECK(cuLaunchKernel(kernels[kernel], size, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static void read_loss(void)
{
	CHECK(cuMemcpyDtoHAsync(pageable, memory, 4, stream));
	CHECK(cuStreamSynchronize(stream));
}

/* The first kernel of a step is of no other place: it tells steps apart. */
static unsigned kernel_of(const char *kind, unsigned i)
{
	if (!i)
		return 0;
	if (is(kind, "log")) /* backward is of other kernels than forward */
		return (i < 40 ? 1 : 7) + i % 6;
	return 1 + i % (is(kind, "adamw") ? 6 : 13);
}

static void launches(const char *kind, unsigned from, unsigned count, int slow)
{
	for (unsigned i = from; i < from + count; i++) {
		if (slow)
			python(before(kind, i));
		launch(kernel_of(kind, i), shape + i % 3);
	}
}

static unsigned count_of(const char *kind)
{
	return is(kind, "adamw") ? 2401 : is(kind, "decode") ? 57 : is(kind, "busy") ? 40 : 79;
}

static CUgraphExec capture(const char *kind)
{
	CUgraphExec exec;
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launches(kind, 0, count_of(kind), 0);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void inputs(const char *kind)
{
	python(10);
	CHECK(cuMemcpyHtoDAsync(memory, is(kind, "legacy") ? pageable : pinned, 4096, stream));
}

/* The work of a step, call by call. */
static void step(const char *kind)
{
	CUdeviceptr buffer;

	if (is(kind, "alloc"))
		CHECK(cuMemAlloc(&buffer, 1 << 20));
	if (is(kind, "log")) {
		launches(kind, 0, 40, 1);
		read_loss();
		launches(kind, 40, 39, 1);
	} else {
		launches(kind, 0, count_of(kind), 1);
	}
	if (is(kind, "alloc"))
		CHECK(cuMemFree(buffer));
}

static void fused(void)
{
	launch(0, 1);
	python(400 * 4); /* lists of 400 tensors are made */
	for (unsigned i = 0; i < 24; i++) {
		python(before("adamw", i));
		launch(KERNELS - 1, 1000 + i % 6);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "gnn", *way = argc > 3 ? argv[3] : "";
	int graph = is(way, "graph");
	CUgraphExec exec = NULL;

	work_start();
	load(kind);
	if (!is(kind, "legacy") || graph) /* the legacy stream can't be captured */
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemAllocHost(&pinned, 4096));
	for (unsigned i = 0; i < KERNELS; i++)
		launch(i, 1); /* loaded, all of them */
	CHECK(cuCtxSynchronize());
	if (graph)
		exec = capture(kind);
	for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 300); i++) {
		if (is(kind, "decode"))
			python(300);
		if (is(kind, "shapes"))
			shape = 1 + (unsigned)(i * 37) % 100;
		if (!is(kind, "adamw") && !is(kind, "busy"))
			inputs(kind);
		if (is(way, "foreach"))
			fused();
		else if (!graph)
			step(kind);
		if (graph) {
			python(10);
			CHECK(cuGraphLaunch(exec, stream));
		}
		python(10);
		if (is(kind, "adamw") || is(kind, "busy"))
			CHECK(cuStreamSynchronize(stream));
		else
			read_loss();
	}
	CHECK(cuMemFreeHost(pinned));
	CHECK(cuMemFree(memory));
	return 0;
}
