/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about calls that are no copies: which of them hold their caller, and how many a queue
 * takes. Included by hold_facts.cu alone. */
#pragma once
#include <cuda.h>
#include <dlfcn.h>

/* ---- the driver, without being linked to it: a machine without a GPU has none ---- */

template <typename F> static F driver(const char *name)
{
	static void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	void *found = lib ? dlsym(lib, name) : nullptr;

	if (!found)
		throw failed{std::string("no ") + name};
	return (F)found;
}

#define DRIVER(call) driver<decltype(&call)>(#call)

static void driver_tried(const char *call, CUresult rc)
{
	if (rc != CUDA_SUCCESS)
		throw failed{"error " + std::to_string(rc) + " of " + call};
}

/* ---- waits and queries ---- */

static void hold_sync(const char *name, cudaStream_t busy, cudaStream_t on)
{
	hold(std::string("stream_sync:") + name, busy, [=] { TRY(cudaStreamSynchronize(on)); });
}

static void facts_syncs()
{
	static cudaEvent_t event;

	TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	hold_sync("same", own, own);
	hold_sync("other", own, other);
	hold_sync("legacy:behind_blocking", blocking, cudaStreamLegacy);
	hold_sync("legacy:behind_per_thread", cudaStreamPerThread, cudaStreamLegacy);
	hold_sync("legacy:behind_non_blocking", own, cudaStreamLegacy);
	hold_sync("blocking:behind_legacy", cudaStreamLegacy, blocking);
	hold_sync("blocking:behind_other_blocking", blocking, blocking2);
	hold("stream_sync:waits_for_an_event_only", own, [] {
		TRY(cudaStreamWaitEvent(other, gate_event, 0));
		TRY(cudaStreamSynchronize(other));
	});
	hold("event_sync:on_stream_that_waits_for_an_event_only", own, [] {
		TRY(cudaStreamWaitEvent(other, gate_event, 0));
		TRY(cudaEventRecord(event, other));
		TRY(cudaEventSynchronize(event));
	});
	hold("event_sync:same", own, [] { TRY(cudaEventSynchronize(gate_event)); });
	hold("device_sync:behind_non_blocking", own, [] { TRY(cudaDeviceSynchronize()); });
	hold("stream_query:same", own, [] { is_done("cudaStreamQuery", cudaStreamQuery(own)); });
	hold("stream_query:legacy:behind_blocking", blocking,
	     [] { is_done("cudaStreamQuery", cudaStreamQuery(cudaStreamLegacy)); });
	hold("event_query:same", own,
	     [] { is_done("cudaEventQuery", cudaEventQuery(gate_event)); });
	hold("kernel:behind_same", own, [] { give_spin(own); });
	hold("event_record:behind_same", own, [] { TRY(cudaEventRecord(event, own)); });
	hold("stream_wait:behind_same", own,
	     [] { TRY(cudaStreamWaitEvent(other, gate_event, 0)); });
	TRY(cudaEventDestroy(event));
}

/* ---- memory ---- */

static void facts_memory()
{
	static void *p;
	static char *pageable;
	static const doing free_device = [] { TRY(cudaFree(p)); },
	                   free_pinned = [] { TRY(cudaFreeHost(p)); },
	                   unregister = [] { TRY(cudaHostUnregister(pageable)); },
	                   enroll = [] { TRY(cudaHostRegister(pageable, MIB(1), 0)); };

	pageable = (char *)aligned_alloc(4096, MIB(1));
	if (!pageable)
		throw failed{"aligned_alloc"};
	memset(pageable, 1, MIB(1));
	for (size_t bytes : {KIB(4), MIB(64)}) {
		std::string size = ":" + std::to_string(bytes);
		const doing alloc = [=] { TRY(cudaMalloc(&p, bytes)); }, managed = [=] {
			TRY(cudaMallocManaged(&p, bytes, cudaMemAttachGlobal));
		};
		hold("malloc:device" + size, own, alloc, {}, free_device);
		hold("free:device" + size, own, free_device, alloc);
		hold("malloc:managed" + size, own, managed, {}, free_device);
		hold("free:managed" + size, own, free_device, managed);
	}
	for (size_t bytes : {KIB(4), MIB(2)}) {
		std::string size = ":" + std::to_string(bytes);
		const doing alloc = [=] { TRY(cudaMallocHost(&p, bytes)); };
		hold("malloc:pinned" + size, own, alloc, {}, free_pinned);
		hold("free:pinned" + size, own, free_pinned, alloc);
	}
	/* The gate's stream has used it, by its last kernel or copy before the gate. */
	hold("free:device:used_on_the_stream", own, free_device, [] {
		TRY(cudaMalloc(&p, MIB(1)));
		TRY(cudaMemsetAsync(p, 0, MIB(1), own));
	});
	hold("free:pinned:used_on_the_stream", own, free_pinned, [] {
		TRY(cudaMallocHost(&p, MIB(1)));
		TRY(cudaMemsetAsync(p, 0, MIB(1), own));
	});
	hold("free:device:behind_blocking", blocking, free_device,
	     [] { TRY(cudaMalloc(&p, MIB(1))); });
	hold(
	        "free:device:behind_host_function", own, free_device,
	        [] { TRY(cudaMalloc(&p, MIB(1))); }, {}, GATE_HOST_FUNCTION);
	hold("free:null", own, [] { TRY(cudaFree(nullptr)); });
	hold("host_register", own, enroll, {}, unregister);
	hold("host_unregister", own, unregister, enroll);
	hold("mem_get_info", own, [] {
		size_t left, all;
		TRY(cudaMemGetInfo(&left, &all));
	});
	free(pageable);
}

static void keep_pool(uint64_t bytes)
{
	CUmemoryPool pool;

	driver_tried("cuDeviceGetDefaultMemPool", DRIVER(cuDeviceGetDefaultMemPool)(&pool, 0));
	driver_tried(
	        "cuMemPoolSetAttribute",
	        DRIVER(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static void ordered(const char *how)
{
	static void *p;

	for (size_t bytes : {KIB(4), MIB(64)}) {
		std::string what = ":" + std::to_string(bytes) + ":" + how;
		const doing alloc = [=] { TRY(cudaMallocAsync(&p, bytes, own)); },
		            alloc_other = [=] { TRY(cudaMallocAsync(&p, bytes, other)); },
		            release = [] { TRY(cudaFreeAsync(p, own)); },
		            release_other = [] { TRY(cudaFreeAsync(p, other)); };
		hold("malloc_async:behind_same" + what, own, alloc, {}, release);
		hold("free_async:behind_same" + what, own, release, alloc);
		hold("malloc_async:behind_other" + what, own, alloc_other, {}, release_other);
		hold("free_async:behind_other" + what, own, release_other, alloc_other);
		hold(
		        "free:ordered_memory" + what, own, [] { TRY(cudaFree(p)); }, alloc_other);
	}
}

static void facts_ordered()
{
	ordered("pool_keeps_nothing");
	facts_ordered_order();
	measure("pool_keeps_all", [](fact &f) {
		keep_pool(UINT64_MAX);
		f.verdict = "yes";
	});
	ordered("pool_keeps_all");
}

/* ---- modules ---- */

#ifdef __CUDACC__
static const char image[] = R"(
.version 6.3
.target sm_50
.address_size 64
.visible .entry nothing()
{
	ret;
}
)";
#else
static const char image[] = "simcuda 1\nkernel nothing fixed:2000\n";
#endif

static void facts_modules()
{
	static CUmodule module;
	static CUfunction function;
	static const doing load =
	                           [] {
		                           driver_tried("cuModuleLoadData",
		                                        DRIVER(cuModuleLoadData)(&module, image));
	                           },
	                   get =
	                           [] {
		                           driver_tried("cuModuleGetFunction",
		                                        DRIVER(cuModuleGetFunction)(
		                                                &function, module, "nothing"));
	                           },
	                   launch =
	                           [] {
		                           driver_tried("cuLaunchKernel",
		                                        DRIVER(cuLaunchKernel)(
		                                                function, 1, 1, 1, 1, 1, 1, 0,
		                                                (CUstream)other, nullptr, nullptr));
	                           },
	                   unload = [] {
		                   driver_tried("cuModuleUnload", DRIVER(cuModuleUnload)(module));
	                   };

	hold("module_load", own, load, {}, unload);
	hold("module_get_function", own, get, load, unload);
	hold(
	        "module_first_launch", own, launch,
	        [] {
		        load();
		        get();
	        },
	        unload);
	hold("module_unload", own, unload, load);
	hold("module_unload:after_a_launch", own, unload, [] {
		load();
		get();
		launch();
	});
}

/* ---- graphs, streams, events ---- */

static cudaGraph_t graph_of(unsigned kernels)
{
	cudaGraph_t graph;

	TRY(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
	for (unsigned i = 0; i < kernels; i++)
		give_spin(other);
	TRY(cudaStreamEndCapture(other, &graph));
	return graph;
}

static void instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
	TRY(cudaGraphInstantiateWithFlags(exec, graph, 0));
}

static void facts_objects()
{
	static cudaGraph_t graph;
	static cudaGraphExec_t exec;
	static cudaStream_t stream;
	static cudaEvent_t event;
	static const doing make = [] { instantiate(&exec, graph); },
	                   destroy = [] { TRY(cudaGraphExecDestroy(exec)); },
	                   destroy_stream = [] { TRY(cudaStreamDestroy(stream)); },
	                   make_stream = [] { TRY(cudaStreamCreate(&stream)); },
	                   destroy_event = [] { TRY(cudaEventDestroy(event)); },
	                   make_event = [] { TRY(cudaEventCreate(&event)); };

	graph = graph_of(20);
	hold("capture", own, [] { TRY(cudaGraphDestroy(graph_of(2))); });
	hold("graph_instantiate", own, make, {}, destroy);
	hold(
	        "graph_upload", own, [] { TRY(cudaGraphUpload(exec, other)); }, make, destroy);
	hold(
	        "graph_first_launch:behind_same", own, [] { TRY(cudaGraphLaunch(exec, own)); },
	        make, destroy);
	hold(
	        "graph_launch_again:behind_same", own,
	        [] {
		        TRY(cudaGraphLaunch(exec, own));
		        TRY(cudaGraphLaunch(exec, own));
	        },
	        make, destroy);
	hold("graph_exec_destroy", own, destroy, make);
	hold("graph_exec_destroy:of_one_launched_before", own, destroy, [] {
		make();
		TRY(cudaGraphLaunch(exec, other));
	});
	hold("graph_launch_and_exec_destroy:behind_same", own, [] {
		instantiate(&exec, graph);
		TRY(cudaGraphLaunch(exec, own));
		TRY(cudaGraphExecDestroy(exec));
	});
	hold(
	        "graph_destroy", own, [] { TRY(cudaGraphDestroy(graph)); },
	        [] { graph = graph_of(20); });
	hold("stream_create", own, make_stream, {}, destroy_stream);
	hold("stream_destroy", own, destroy_stream, make_stream);
	hold("stream_destroy:with_work", own, [] {
		make_stream();
		TRY(cudaStreamWaitEvent(stream, gate_event, 0));
		give_spin(stream);
		destroy_stream();
	});
	hold("event_create", own, make_event, {}, destroy_event);
	hold("event_destroy", own, destroy_event, make_event);
	hold("event_destroy:recorded_behind_the_gate", own, [] {
		make_event();
		TRY(cudaEventRecord(event, own));
		destroy_event();
	});
}

/* ---- queues ---- */

static void queue_graph(const char *name, unsigned kernels)
{
	queue(name, [kernels] {
		static cudaGraphExec_t exec;
		static unsigned made;
		if (made != kernels) { /* one for each fact; kept, as one may be running */
			cudaGraph_t graph = graph_of(kernels);
			instantiate(&exec, graph);
			TRY(cudaGraphDestroy(graph));
			made = kernels;
		}
		TRY(cudaGraphLaunch(exec, own));
	});
}

static void queue_copy(memory dst, memory src, size_t bytes)
{
	queue(copy_name("copy_async", dst, src, bytes),
	      [=] { TRY(cudaMemcpyAsync(to[dst], from[src], bytes, cudaMemcpyDefault, own)); });
}

static void facts_queues()
{
	static cudaEvent_t event;

	TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	queue("kernel", [] { give_spin(own); });
	queue("kernel:on_two_streams_in_turn", [] {
		static bool turn;
		turn = !turn;
		give_spin(turn ? own : other);
	});
	queue_graph("graph_of_1_kernel", 1);
	queue_graph("graph_of_20_kernels", 20);
	queue_graph("graph_of_200_kernels", 200);
	queue_copy(DEVICE, PINNED, 4);
	queue_copy(DEVICE, PINNED, KIB(64));
	queue_copy(PINNED, DEVICE, 4);
	queue_copy(DEVICE, DEVICE, KIB(64));
	queue_copy(DEVICE, PAGEABLE, 4);
	queue_copy(DEVICE, PAGEABLE, KIB(4));
	queue_copy(DEVICE, PAGEABLE, KIB(64));
	queue("set_async", [] { TRY(cudaMemsetAsync(to[DEVICE], 0, 4, own)); });
	queue("event_record", [] { TRY(cudaEventRecord(event, own)); });
	queue("stream_wait", [] { TRY(cudaStreamWaitEvent(own, event, 0)); });
	queue("host_function", [] {
		TRY(cudaLaunchHostFunc(
		        own, [](void *) {}, nullptr));
	});
	TRY(cudaEventDestroy(event));
}
