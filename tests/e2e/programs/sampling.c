/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling WHAT ARGUMENTS...: work of one kind, for the tests of sampling; see `works` below. Says
 * what it did where the truth of the simulator does not.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

/* Since CUDA 13 the header has a later one. */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

static const char image[] =
        "simcuda 1\n"
        "kernel k0 fixed:3000\n"
        "kernel k1 fixed:5000\n"
        "kernel k2 fixed:7000\n"
        "kernel k3 fixed:11000\n"
        "kernel k4 fixed:13000\n"
        "kernel k5 fixed:17000\n"
        "kernel k6 fixed:19000\n"
        "kernel k7 fixed:23000\n"
        "kernel slow fixed:200000\n"
        "kernel varies arg:0:1\n"
        "kernel ncclDevKernel_plain fixed:3000\n"
        "kernel _Z31ncclDevKernel_AllReduce_Sum_f3216ncclDevKernelArgs fixed:3000\n"
        "kernel _Z16nvshmemi_barrierv fixed:3000\n";
static const char *const nccl_names[] = {"ncclDevKernel_plain",
                                         "_Z31ncclDevKernel_AllReduce_Sum_f3216ncclDevKernelArgs",
                                         "_Z16nvshmemi_barrierv"};

static char **args;
static int arg_count;

static unsigned number(int i, unsigned otherwise)
{
	return i < arg_count ? (unsigned)atoi(args[i]) : otherwise;
}

static CUmodule load(void)
{
	CUmodule module;

	CHECK(cuModuleLoadData(&module, image));
	return module;
}

static CUfunction function(CUmodule module, const char *name)
{
	CUfunction f;

	CHECK(cuModuleGetFunction(&f, module, name));
	return f;
}

static CUfunction numbered(CUmodule module, unsigned i)
{
	char name[] = {'k', (char)('0' + i), 0};

	return function(module, name);
}

static void launch(CUfunction f, unsigned grid, CUstream stream)
{
	CHECK(cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

/* loop KERNELS ROUNDS SYNC [STREAM]: kernels k0... in turn, a wait after every SYNC launches (0 =
 * at the end). */
static void loop(void)
{
	CUmodule module = load();
	unsigned kernels = number(0, 1), rounds = number(1, 1000), sync = number(2, 0), done = 0;
	CUstream stream = (CUstream)(uintptr_t)number(3, 0);
	CUfunction f[8];

	if (stream == (CUstream)3)
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < kernels; i++)
		f[i] = numbered(module, i);
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < kernels; i++) {
			launch(f[i], 1, stream);
			if (sync && ++done % sync == 0)
				CHECK(cuStreamSynchronize(stream));
		}
	CHECK(cuCtxSynchronize());
}

/* grids CLASSES ROUNDS RARE: one kernel with so many grids in turn; another kernel once in RARE
 * rounds. */
static void grids(void)
{
	CUmodule module = load();
	CUfunction often = numbered(module, 0), seldom = numbered(module, 1);
	unsigned classes = number(0, 1), rounds = number(1, 1), rare = number(2, 0);

	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < classes; i++) {
			launch(often, 1 + i, NULL);
			CHECK(cuStreamSynchronize(NULL));
		}
		if (rare && r % rare == 0) {
			launch(seldom, 1, NULL);
			CHECK(cuStreamSynchronize(NULL));
		}
	}
}

/* once FUNCTIONS: each function is launched once, and never again. */
static void once(void)
{
	static char text[1 << 20] = "simcuda 1\n";
	unsigned functions = number(0, 100);
	CUmodule module;

	for (unsigned i = 0, used = (unsigned)strlen(text); i < functions; i++)
		used += (unsigned)sprintf(text + used, "kernel f%u fixed:1000\n", i);
	CHECK(cuModuleLoadData(&module, text));
	for (unsigned i = 0; i < functions; i++) {
		char name[16];

		sprintf(name, "f%u", i);
		launch(function(module, name), 1, NULL);
		CHECK(cuStreamSynchronize(NULL));
	}
}

/* reload ROUNDS: the same code is loaded, launched once and unloaded, again and again: handles come
 * back. */
static void reload(void)
{
	unsigned rounds = number(0, 100);

	for (unsigned i = 0; i < rounds; i++) {
		CUmodule module = load();

		launch(numbered(module, 0), 1, NULL);
		CHECK(cuCtxSynchronize());
		CHECK(cuModuleUnload(module));
	}
}

/* communicate ROUNDS BUSY: kernels of communication libraries, on an idle stream, or behind a slow
 * kernel. */
static void communicate(void)
{
	CUmodule module = load();
	CUfunction slow = function(module, "slow");
	unsigned rounds = number(0, 100), busy = number(1, 0);

	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < sizeof(nccl_names) / sizeof(nccl_names[0]); i++) {
			if (busy)
				launch(slow, 1, NULL);
			launch(function(module, nccl_names[i]), 1, NULL);
			CHECK(cuStreamSynchronize(NULL));
		}
}

static void launch_with(CUfunction f, CUlaunchAttributeID id, CUlaunchAttributeValue value)
{
	CUlaunchAttribute attribute = {.id = id, .value = value};
	CUlaunchConfig config = {.gridDimX = 1,
	                         .gridDimY = 1,
	                         .gridDimZ = 1,
	                         .blockDimX = 32,
	                         .blockDimY = 1,
	                         .blockDimZ = 1,
	                         .attrs = &attribute,
	                         .numAttrs = 1};

	CHECK(cuLaunchKernelEx(&config, f, NULL, NULL));
}

/* special ROUNDS: k0 with programmatic serialization, k1 cooperative as attribute, k2 cooperative,
 * k3 with a priority: k1 and k2 are not like any other. */
static void special(void)
{
	CUmodule module = load();
	unsigned rounds = number(0, 100);

	for (unsigned r = 0; r < rounds; r++) {
		launch_with(numbered(module, 0),
		            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		            (CUlaunchAttributeValue){.programmaticStreamSerializationAllowed = 1});
		CHECK(cuStreamSynchronize(NULL));
		launch_with(numbered(module, 1), CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		            (CUlaunchAttributeValue){.cooperative = 1});
		CHECK(cuStreamSynchronize(NULL));
		CHECK(cuLaunchCooperativeKernel(numbered(module, 2), 1, 1, 1, 32, 1, 1, 0, NULL,
		                                NULL));
		CHECK(cuStreamSynchronize(NULL));
		launch_with(numbered(module, 3), CU_LAUNCH_ATTRIBUTE_PRIORITY,
		            (CUlaunchAttributeValue){.priority = 0});
		CHECK(cuStreamSynchronize(NULL));
	}
}

/* serialized ROUNDS: nothing but launches with programmatic serialization. */
static void serialized(void)
{
	CUfunction f = numbered(load(), 0);

	for (unsigned r = 0; r < number(0, 1); r++)
		launch_with(f, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		            (CUlaunchAttributeValue){.programmaticStreamSerializationAllowed = 1});
	CHECK(cuCtxSynchronize());
}

/* copies ROUNDS BYTES: asynchronous copies each way, in one, two and three dimensions, and sets. */
static void copies(void)
{
	unsigned rounds = number(0, 100);
	size_t bytes = number(1, 65536);
	CUdeviceptr a, b;
	CUstream stream;
	void *host;

	CHECK(cuMemAlloc(&a, bytes));
	CHECK(cuMemAlloc(&b, bytes));
	CHECK(cuMemAllocHost(&host, bytes));
	CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
	                      .srcDevice = a,
	                      .srcPitch = 64,
	                      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
	                      .dstDevice = b,
	                      .dstPitch = 64,
	                      .WidthInBytes = 64,
	                      .Height = 16};
	CUDA_MEMCPY3D deep = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
	                      .srcDevice = a,
	                      .srcPitch = 64,
	                      .srcHeight = 16,
	                      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
	                      .dstDevice = b,
	                      .dstPitch = 64,
	                      .dstHeight = 16,
	                      .WidthInBytes = 64,
	                      .Height = 16,
	                      .Depth = 4};
	for (unsigned r = 0; r < rounds; r++) {
		CHECK(cuMemcpyHtoDAsync(a, host, bytes, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemcpyDtoHAsync(host, a, bytes, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemcpyDtoDAsync(b, a, bytes, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemcpy2DAsync(&flat, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemcpy3DAsync(&deep, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemsetD8Async(a, 0, bytes, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuMemsetD2D32Async(a, 64, 0, 16, 8, stream));
		CHECK(cuStreamSynchronize(stream));
	}
}

static CUgraphExec graph_of(CUfunction f, unsigned nodes, CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 0; i < nodes; i++)
		launch(f, 1, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphDestroy(graph));
	return exec;
}

/* graphs ROUNDS: the context's first launch of all goes into a graph; that is launched; then a
 * kernel. */
static void graphs(void)
{
	CUmodule module = load();
	unsigned rounds = number(0, 100);
	CUstream stream;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CUgraphExec exec = graph_of(numbered(module, 0), 10, stream);
	for (unsigned r = 0; r < rounds; r++) {
		CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuStreamSynchronize(stream));
		launch(numbered(module, 1), 1, stream);
		CHECK(cuStreamSynchronize(stream));
	}
}

/* replays ROUNDS: a graph of ten kernels and a copy to the device beside it, and no kernel by
 * itself.
 */
static void replays(void)
{
	CUmodule module = load();
	unsigned rounds = number(0, 100);
	CUstream stream, beside;
	CUdeviceptr a;
	void *host;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc_v2(&a, 1 << 16));
	CHECK(cuMemAllocHost_v2(&host, 1 << 16));
	CUgraphExec exec = graph_of(numbered(module, 0), 10, stream);
	for (unsigned r = 0; r < rounds; r++) {
		CHECK(cuMemcpyHtoDAsync_v2(a, host, 1 << 16, beside));
		CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuStreamSynchronize(beside));
	}
}

static CUgraphExec crossing_graph;
static CUstream crossing_stream;
static int crossing_over;

static void *launch_graphs(void *context)
{
	CHECK(cuCtxSetCurrent(context));
	while (!__atomic_load_n(&crossing_over, __ATOMIC_RELAXED))
		CHECK(cuGraphLaunch(crossing_graph, crossing_stream));
	return NULL;
}

/* crossing ROUNDS: two threads fill one stream with graphs; the third, on streams of its own, waits
 * for a kernel and then for a graph. */
static void crossing(void)
{
	CUmodule module = load();
	CUstream kernels, graphs_on;
	pthread_t thread[2];

	CHECK(cuStreamCreate(&crossing_stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&kernels, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&graphs_on, CU_STREAM_NON_BLOCKING));
	crossing_graph = graph_of(function(module, "slow"), 1, crossing_stream);
	CUgraphExec exec = graph_of(numbered(module, 0), 10, graphs_on);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, launch_graphs, work_context);
	for (unsigned i = 0; i < number(0, 100); i++) {
		launch(numbered(module, 1), 1, kernels);
		CHECK(cuStreamSynchronize(kernels));
		CHECK(cuGraphLaunch(exec, graphs_on));
		CHECK(cuStreamSynchronize(graphs_on));
	}
	__atomic_store_n(&crossing_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* graph_contexts CONTEXTS: in each, two threads' worth of graphs on one stream, and work pending
 * when it is destroyed. */
static void graph_contexts(void)
{
	for (unsigned n = 0; n < number(0, 10); n++) {
		CUcontext context;
		CUstream stream;

		CHECK(cuCtxCreate_v2(&context, 0, 0));
		CUmodule module = load();
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CUgraphExec exec = graph_of(numbered(module, 0), 10, stream);
		for (unsigned i = 0; i < 400; i++)
			CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuGraphExecDestroy(exec));
		CHECK(cuCtxDestroy_v2(context));
	}
}

/* busy COUNT: more work outstanding than there are pairs of events, for long. */
static void busy(void)
{
	CUmodule module = load();
	CUfunction f = function(module, "slow");
	unsigned count = number(0, 1000);

	for (unsigned i = 0; i < count; i++)
		launch(f, 1, NULL);
	CHECK(cuCtxSynchronize());
	for (unsigned i = 0; i < 200; i++) {
		launch(f, 1, NULL);
		CHECK(cuCtxSynchronize());
	}
}

/* contexts CONTEXTS ROUNDS: on each device in turn; the thread changes between them at every
 * launch. */
static void contexts(void)
{
	unsigned count = number(0, 4), rounds = number(1, 100);
	CUcontext *context = calloc(count, sizeof(*context));
	CUfunction *f = calloc(count, sizeof(*f));
	int devices;

	CHECK(cuDeviceGetCount(&devices));
	for (unsigned i = 0; i < count; i++) {
		CHECK(cuCtxCreate_v2(&context[i], 0, (CUdevice)(i % (unsigned)devices)));
		f[i] = numbered(load(), i % 8);
		CHECK(cuCtxPopCurrent(NULL));
	}
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < count; i++) {
			CHECK(cuCtxSetCurrent(context[i]));
			launch(f[i], 1 + i, NULL);
			CHECK(cuCtxSynchronize());
		}
	for (unsigned i = 0; i < count; i++)
		CHECK(cuCtxDestroy(context[i]));
	free(context);
	free(f);
}

/* anew CONTEXTS LAUNCHES: a context is made, used and destroyed, one after the other. */
static void anew(void)
{
	unsigned count = number(0, 10), launches = number(1, 20);

	for (unsigned i = 0; i < count; i++) {
		CUcontext context;

		CHECK(cuCtxCreate_v2(&context, 0, 0));
		CUfunction f = numbered(load(), 0);
		for (unsigned k = 0; k < launches; k++)
			launch(f, 1, NULL);
		CHECK(cuCtxSynchronize());
		CHECK(cuCtxDestroy(context));
	}
}

/* reset ROUNDS LAUNCHES: the device is reset in between, once with work pending. */
static void reset(void)
{
	unsigned rounds = number(0, 3), launches = number(1, 20);

	for (unsigned r = 0; r < rounds; r++) {
		CHECK(cuDevicePrimaryCtxRetain(&work_context, 0));
		CHECK(cuCtxSetCurrent(work_context));
		CUfunction f = numbered(load(), 0);
		for (unsigned k = 0; k < launches; k++)
			launch(f, 1, NULL);
		if (r != 1)
			CHECK(cuCtxSynchronize());
		CHECK(cuDevicePrimaryCtxReset(0));
	}
}

static CUfunction shared_function;
static unsigned thread_launches;
static pthread_barrier_t all_there;

static void *threads_work(void *unused)
{
	CUstream stream;

	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < thread_launches; i++) {
		launch(shared_function, 1, stream);
		if (i % 4 == 3)
			CHECK(cuStreamSynchronize(stream));
	}
	return unused;
}

/* threads THREADS LAUNCHES: all make the context's first launch at once. */
static void threads(void)
{
	unsigned count = number(0, 8);
	pthread_t *thread = calloc(count, sizeof(*thread));

	thread_launches = number(1, 100);
	shared_function = numbered(load(), 0);
	pthread_barrier_init(&all_there, NULL, count);
	for (unsigned i = 0; i < count; i++)
		pthread_create(&thread[i], NULL, threads_work, NULL);
	for (unsigned i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

/* relay THREADS LAUNCHES: one thread after the other; prints what the process then holds of memory
 * of its own. */
static void relay(void)
{
	unsigned count = number(0, 100);
	FILE *f;
	char line[256];
	long kib = 0;

	thread_launches = number(1, 10);
	shared_function = numbered(load(), 0);
	pthread_barrier_init(&all_there, NULL, 1);
	for (unsigned i = 0; i < count; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, threads_work, NULL);
		pthread_join(thread, NULL);
	}
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &kib);
	if (f)
		fclose(f);
	printf("anonymous_kib=%ld\n", kib);
}

/* pending HOW: ends with samples that the GPU has not finished; HOW: return, _exit, fork. */
static void pending(void)
{
	CUmodule module = load();
	CUfunction f = function(module, "slow");
	pid_t child = 1;

	for (unsigned i = 0; i < 40; i++)
		launch(f, 1, NULL);
	if (!strcmp(args[0], "_exit"))
		_exit(0);
	if (!strcmp(args[0], "fork"))
		child = fork();
	for (unsigned i = 0; child == 0 && i < 10; i++)
		printf("%d\n",
		       cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS);
	if (child == 0)
		exit(0);
	if (child > 1) {
		waitpid(child, NULL, 0);
		for (unsigned i = 0; i < 200; i++) {
			launch(f, 1, NULL);
			CHECK(cuCtxSynchronize());
		}
	}
}

/* changing HOW LAUNCHES SYNC: one kernel, whose launches take long or short by HOW; says their
 * mean.
 */
static unsigned takes(const char *how, unsigned i, unsigned launches)
{
	if (!strcmp(how, "drift"))
		return i < launches / 30 ? 30000 : 5000;
	if (!strcmp(how, "reverse"))
		return i >= launches - launches / 30 ? 30000 : 5000;
	if (!strcmp(how, "sawtooth"))
		return 3000 + i % (launches / 10) * 24000 / (launches / 10);
	if (!strcmp(how, "bimodal"))
		return (uint32_t)(i * 0x9e3779b9u) * 0x85ebca6bu >> 31 ? 50000 : 5000;
	return 5000;
}

static void changing(void)
{
	CUfunction f = function(load(), "varies");
	unsigned launches = number(1, 1000), sync = number(2, 0);
	unsigned long long sum = 0;

	for (unsigned i = 0; i < launches; i++) {
		unsigned long long ns = takes(args[0], i, launches);
		void *parameters[] = {&ns};
		CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
		sum += ns;
		if (sync && i % sync == sync - 1)
			CHECK(cuStreamSynchronize(NULL));
	}
	CHECK(cuCtxSynchronize());
	printf("mean: %.1f\n", (double)sum / launches);
}

/* two_rates LAUNCHES TIMES: one kernel on two threads, by turns: of the one's launches, of 5 us,
 * there are TIMES as many as of the other's, of 50 us. */
static struct {
	CUfunction f;
	unsigned launches, times;
	pthread_barrier_t turn;
} rates;

static void *at_its_rate(void *argument)
{
	unsigned long long ns = argument ? 50000 : 5000;
	void *parameters[] = {&ns};
	CUstream stream;

	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rates.launches; i++) {
		for (unsigned k = 0; k < (argument ? 1 : rates.times); k++) {
			CHECK(cuLaunchKernel(rates.f, 1, 1, 1, 32, 1, 1, 0, stream, parameters,
			                     NULL));
			CHECK(cuStreamSynchronize(stream));
		}
		pthread_barrier_wait(&rates.turn);
	}
	return NULL;
}

static void two_rates(void)
{
	pthread_t other;

	rates.f = function(load(), "varies");
	rates.launches = number(0, 100);
	rates.times = number(1, 10);
	pthread_barrier_init(&rates.turn, NULL, 2);
	pthread_create(&other, NULL, at_its_rate, "");
	at_its_rate(NULL);
	pthread_join(other, NULL);
	CHECK(cuCtxSynchronize());
	printf("mean: %.1f\n", (5000.0 * rates.times + 50000) / (rates.times + 1));
}

/* beside LAUNCHES: a second thread launches k6 on the same stream while the first launches k1. */
static unsigned beside_over;

static void *launch_beside(void *f)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!__atomic_load_n(&beside_over, __ATOMIC_RELAXED)) {
		launch(f, 1, NULL);
		CHECK(cuStreamSynchronize(NULL));
	}
	return NULL;
}

static void beside(void)
{
	CUmodule module = load();
	CUfunction f = numbered(module, 1);
	pthread_t other;

	pthread_create(&other, NULL, launch_beside, numbered(module, 6));
	for (unsigned i = 0; i < number(0, 100); i++) {
		launch(f, 1, NULL);
		CHECK(cuStreamSynchronize(NULL));
	}
	__atomic_store_n(&beside_over, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
}

static const struct {
	const char *name;
	void (*f)(void);
} works[] = {{"loop", loop},
             {"grids", grids},
             {"once", once},
             {"reload", reload},
             {"communicate", communicate},
             {"special", special},
             {"serialized", serialized},
             {"copies", copies},
             {"graphs", graphs},
             {"replays", replays},
             {"crossing", crossing},
             {"graph_contexts", graph_contexts},
             {"busy", busy},
             {"contexts", contexts},
             {"anew", anew},
             {"reset", reset},
             {"threads", threads},
             {"relay", relay},
             {"pending", pending},
             {"changing", changing},
             {"two_rates", two_rates},
             {"beside", beside}};

int main(int argc, char **argv)
{
	args = argv + 2;
	arg_count = argc - 2;
	work_start();
	for (unsigned i = 0; argc > 1 && i < sizeof(works) / sizeof(works[0]); i++)
		if (!strcmp(argv[1], works[i].name)) {
			works[i].f();
			return 0;
		}
	return 2;
}
