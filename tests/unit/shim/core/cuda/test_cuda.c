/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of shim/core/cuda, one table of cases each. */
#include "shim/core/cuda/communication.h"
#include "shim/core/cuda/copies.h"
#include "shim/core/cuda/engines.h"
#include "shim/core/cuda/roles.h"
#include "shim/core/cuda/streams.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- communication ---- */

static void kernels_that_communicate(void **state)
{
	static const struct {
		const char *name;
		bool does, may;
	} rows[] = {
	        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", true, true},
	        {"_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE", true, true},
	        {"ncclKernel_AllReduce_RING_LL_Sum_float", true, true},
	        {"_Z15nvshmemi_barrieriii", true, true},
	        {"ncclProxyCopy", false, true},
	        {"_Z6vecAddPKfS0_Pfi", false, false},
	        {"", false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(cuda_communicates(rows[i].name), rows[i].does);
		assert_int_equal(cuda_may_communicate(rows[i].name), rows[i].may);
	}
}

/* ---- roles ---- */

static void what_calls_do(void **state)
{
	static const struct {
		const char *name;
		unsigned cls;
		enum cuda_role role;
	} rows[] = {
	        {"cuLaunchKernel", SPY_CLASS_LAUNCH, CUDA_ROLE_WORK},
	        {"cuGraphLaunch_ptsz", SPY_CLASS_GRAPH_LAUNCH, CUDA_ROLE_WORK},
	        {"cuMemcpyHtoDAsync_v2", SPY_CLASS_COPY, CUDA_ROLE_WORK},
	        {"cudaMemcpy2DToArray", SPY_CLASS_COPY, CUDA_ROLE_COPY_ROWS},
	        {"cuMemcpy3DPeer", SPY_CLASS_COPY, CUDA_ROLE_COPY_ROWS},
	        {"cuMemsetD2D8_v2", SPY_CLASS_SET, CUDA_ROLE_WORK},
	        {"cuCtxSynchronize", SPY_CLASS_SYNC, CUDA_ROLE_SYNC_ALL},
	        {"cudaDeviceSynchronize", SPY_CLASS_SYNC, CUDA_ROLE_SYNC_ALL},
	        {"cuStreamSynchronize_ptsz", SPY_CLASS_SYNC, CUDA_ROLE_SYNC_STREAM},
	        {"cudaEventSynchronize", SPY_CLASS_SYNC, CUDA_ROLE_SYNC_EVENT},
	        {"cudaStreamQuery", SPY_CLASS_QUERY, CUDA_ROLE_QUERY_STREAM},
	        {"cuEventQuery", SPY_CLASS_QUERY, CUDA_ROLE_QUERY_EVENT},
	        {"cuEventRecordWithFlags", SPY_CLASS_EVENT, CUDA_ROLE_EVENT_RECORD},
	        {"cudaStreamWaitEvent", SPY_CLASS_EVENT, CUDA_ROLE_EVENT_WAIT},
	        {"cuStreamWaitValue32", SPY_CLASS_STREAM, CUDA_ROLE_NONE},
	        {"cuStreamCreateWithPriority", SPY_CLASS_STREAM, CUDA_ROLE_STREAM_MADE},
	        {"cuLaunchHostFunc_ptsz", SPY_CLASS_OTHER, CUDA_ROLE_HOST_FUNCTION},
	        {"cuStreamAddCallback", SPY_CLASS_OTHER, CUDA_ROLE_HOST_FUNCTION},
	        {"cuGraphAddHostNode", SPY_CLASS_GRAPH, CUDA_ROLE_HOST_NODE},
	        {"cudaMallocAsync", SPY_CLASS_ALLOC, CUDA_ROLE_ALLOC_ORDERED},
	        {"cuMemFreeAsync", SPY_CLASS_ALLOC, CUDA_ROLE_FREE_ORDERED},
	        {"cudaFree", SPY_CLASS_ALLOC, CUDA_ROLE_FREE},
	        {"cuMemHostUnregister", SPY_CLASS_ALLOC, CUDA_ROLE_FREE},
	        {"cuMemAlloc_v2", SPY_CLASS_ALLOC, CUDA_ROLE_ALLOC},
	        {"cuMemUnmap", SPY_CLASS_ALLOC, CUDA_ROLE_MEMORY},
	        {"cuModuleLoadData", SPY_CLASS_MODULE, CUDA_ROLE_CODE_LOADED},
	        {"cuModuleUnload", SPY_CLASS_MODULE, CUDA_ROLE_CODE_UNLOADED},
	        {"cuModuleGetFunction", SPY_CLASS_MODULE, CUDA_ROLE_NONE},
	        {"cuGraphInstantiateWithFlags", SPY_CLASS_GRAPH, CUDA_ROLE_GRAPH_MADE},
	        {"cuGraphExecUpdate_v2", SPY_CLASS_GRAPH, CUDA_ROLE_GRAPH_UPDATED},
	        {"cuGraphExecKernelNodeSetParams", SPY_CLASS_GRAPH, CUDA_ROLE_GRAPH_CHANGED},
	        {"cuStreamBeginCapture_v2", SPY_CLASS_GRAPH, CUDA_ROLE_CAPTURE_BEGIN},
	        {"cuStreamBeginRecaptureToGraph", SPY_CLASS_GRAPH, CUDA_ROLE_CAPTURE_BEGIN},
	        /* Of a damaged recording, or of a later version's. */
	        {"cuStreamSynchronize", SPY_CLASS_LAUNCH, CUDA_ROLE_NONE},
	        {"cuStreamSynchronizeAgain", SPY_CLASS_SYNC, CUDA_ROLE_NONE},
	        {"cuStreamSynchronize_ptszAgain", SPY_CLASS_SYNC, CUDA_ROLE_NONE},
	        {"cuStreamSynchronize_pt", SPY_CLASS_SYNC, CUDA_ROLE_NONE},
	        {"", SPY_CLASS_SYNC, CUDA_ROLE_NONE},
	        {"cuCtxGetDevice", SPY_CLASS_OTHER, CUDA_ROLE_NONE},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (cuda_role_of(rows[i].name, rows[i].cls) != rows[i].role)
			fail_msg("%s", rows[i].name);
}

static void calls_that_wait_for_the_device(void **state)
{
	static const struct {
		const char *name;
		unsigned cls;
		bool does, may;
	} rows[] = {
	        {"cuMemFree_v2", SPY_CLASS_ALLOC, true, true},
	        {"cudaFreeHost", SPY_CLASS_ALLOC, true, true},
	        {"cuMemHostUnregister", SPY_CLASS_ALLOC, true, true},
	        {"cuMemAlloc_v2", SPY_CLASS_ALLOC, false, false},
	        {"cudaMallocManaged", SPY_CLASS_ALLOC, false, false},
	        {"cudaMallocAsync", SPY_CLASS_ALLOC, false, false},
	        {"cuMemFreeAsync", SPY_CLASS_ALLOC, false, false},
	        {"cuMemUnmap", SPY_CLASS_ALLOC, false, true},
	        {"cuModuleLoadData", SPY_CLASS_MODULE, true, true},
	        {"cuModuleUnload", SPY_CLASS_MODULE, true, true},
	        {"cuModuleGetFunction", SPY_CLASS_MODULE, false, false},
	        {"cuKernelGetFunction", SPY_CLASS_MODULE, false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		enum cuda_role role = cuda_role_of(rows[i].name, rows[i].cls);
		if (cuda_role_waits_for_device(role) != rows[i].does ||
		    cuda_role_may_wait_for_device(role) != rows[i].may)
			fail_msg("%s", rows[i].name);
	}
}

/* ---- streams ---- */

static void streams_that_handles_mean(void **state)
{
	static const struct {
		uint64_t handle;
		unsigned call_flags;
		uint64_t stream;
		uint32_t flags; /* where its making was not seen */
	} rows[] = {
	        {0, 0, CUDA_STREAM_LEGACY, TF_STREAM_LEGACY},
	        {1, 0, CUDA_STREAM_LEGACY, TF_STREAM_LEGACY},
	        {1, TF_PTDS, CUDA_STREAM_LEGACY, TF_STREAM_LEGACY},
	        {0, TF_PTDS, CUDA_STREAM_PER_THREAD, TF_STREAM_PER_THREAD},
	        {2, 0, CUDA_STREAM_PER_THREAD, TF_STREAM_PER_THREAD},
	        {0x7000, 0, 0x7000, TF_STREAM_UNSEEN | CUDA_STREAM_NON_BLOCKING},
	        {0x7000, TF_PTDS, 0x7000, TF_STREAM_UNSEEN | CUDA_STREAM_NON_BLOCKING},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(cuda_stream(rows[i].handle, rows[i].call_flags), rows[i].stream);
		assert_int_equal(cuda_stream_flags(rows[i].stream), rows[i].flags);
	}
}

static void streams_that_wait_for_one_another(void **state)
{
	enum { BLOCKING = 0, FREE = CUDA_STREAM_NON_BLOCKING };
	static const struct {
		const char *fact; /* of tests/gpu/hold_facts.cu */
		uint32_t stream, other;
		bool work, sync;
	} rows[] = {
	        {"kernel_on_legacy:behind_blocking", TF_STREAM_LEGACY, BLOCKING, true, true},
	        {"kernel_on_legacy:behind_per_thread", TF_STREAM_LEGACY, TF_STREAM_PER_THREAD, true,
	         true},
	        {"kernel_on_legacy:behind_non_blocking", TF_STREAM_LEGACY, FREE, false, false},
	        {"kernel_on_blocking:behind_legacy", BLOCKING, TF_STREAM_LEGACY, true, false},
	        {"kernel_on_per_thread:behind_legacy", TF_STREAM_PER_THREAD, TF_STREAM_LEGACY, true,
	         false},
	        {"kernel_on_non_blocking:behind_legacy", FREE, TF_STREAM_LEGACY, false, false},
	        {"kernel_on_blocking:behind_other_blocking", BLOCKING, BLOCKING, false, false},
	        {"kernel_on_per_thread:behind_blocking", TF_STREAM_PER_THREAD, BLOCKING, false,
	         false},
	        {"kernel_on_non_blocking:behind_non_blocking", FREE, FREE, false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (cuda_stream_waits(rows[i].stream, rows[i].other) != rows[i].work ||
		    cuda_stream_sync_waits(rows[i].stream, rows[i].other) != rows[i].sync)
			fail_msg("%s", rows[i].fact);
}

/* ---- copies ---- */

#define KIB 1024u
#define MIB (1024u * 1024u)

static void how_copies_are_made(void **state)
{
	enum { NEITHER, INLINE, STAGED };
	static const struct {
		struct cuda_copy copy;
		int how;
		enum cuda_engine engine;
	} rows[] = {
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 4}, INLINE, CUDA_ENGINE_COMPUTE},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, false, 64 * KIB}, INLINE, CUDA_ENGINE_COMPUTE},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 64 * KIB + 1},
	         STAGED,
	         CUDA_ENGINE_TO_DEVICE},
	        {{SPY_DIR_DTOH, SPY_MEM_PAGEABLE, true, 4}, STAGED, CUDA_ENGINE_FROM_DEVICE},
	        {{SPY_DIR_DTOH, SPY_MEM_PAGEABLE, false, MIB}, STAGED, CUDA_ENGINE_FROM_DEVICE},
	        {{SPY_DIR_HTOD, SPY_MEM_PINNED, true, 4}, NEITHER, CUDA_ENGINE_COMPUTE},
	        {{SPY_DIR_HTOD, SPY_MEM_PINNED, true, 4 * KIB}, NEITHER, CUDA_ENGINE_TO_DEVICE},
	        {{SPY_DIR_HTOD, SPY_MEM_PINNED, false, 16 * MIB}, NEITHER, CUDA_ENGINE_TO_DEVICE},
	        {{SPY_DIR_DTOH, SPY_MEM_PINNED, true, 4}, NEITHER, CUDA_ENGINE_FROM_DEVICE},
	        {{SPY_DIR_DTOD, SPY_MEM_DEVICE, true, MIB}, NEITHER, CUDA_ENGINE_COMPUTE},
	        {{SPY_DIR_DTOD, SPY_MEM_MANAGED, true, MIB}, NEITHER, CUDA_ENGINE_COMPUTE},
	        {{SPY_DIR_PTOP, SPY_MEM_DEVICE, true, MIB}, NEITHER, CUDA_ENGINE_FROM_DEVICE},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(cuda_copy_is_inline(rows[i].copy), rows[i].how == INLINE);
		assert_int_equal(cuda_copy_is_staged(rows[i].copy), rows[i].how == STAGED);
		assert_int_equal(cuda_engine(TF_WORK_COPY, rows[i].copy), rows[i].engine);
	}
}

/* By tests/gpu/hold_facts.cu, hold:copy* and own_end:*; sizes of staged copies: see copies.h. */
static void copies_that_hold(void **state)
{
	static const struct {
		struct cuda_copy copy;
		bool holds;
		unsigned buffers;
	} rows[] = {
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 64 * KIB}, false, 0},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 64 * KIB + 1}, false, 1},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, MIB}, false, 1},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, MIB + 1}, false, 2},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 2 * MIB}, false, 2},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 2 * MIB + 1}, true, 0},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, false, 4}, true, 0},
	        {{SPY_DIR_HTOD, SPY_MEM_PAGEABLE, false, MIB}, true, 0},
	        {{SPY_DIR_DTOH, SPY_MEM_PAGEABLE, true, 4}, true, 0},
	        {{SPY_DIR_DTOH, SPY_MEM_PAGEABLE, false, 4}, true, 0},
	        {{SPY_DIR_HTOD, SPY_MEM_PINNED, true, 16 * MIB}, false, 0},
	        {{SPY_DIR_HTOD, SPY_MEM_PINNED, false, 4}, true, 0},
	        {{SPY_DIR_DTOH, SPY_MEM_PINNED, true, 16 * MIB}, false, 0},
	        {{SPY_DIR_DTOH, SPY_MEM_PINNED, false, 64 * KIB}, true, 0},
	        {{SPY_DIR_DTOD, SPY_MEM_MANAGED, false, 64 * KIB}, true, 0},
	        {{SPY_DIR_DTOD, SPY_MEM_MANAGED, true, 4 * MIB}, false, 0},
	        {{SPY_DIR_DTOD, SPY_MEM_DEVICE, false, 16 * MIB}, false, 0},
	        {{SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 64 * KIB}, false, 0},
	        {{SPY_DIR_HTOH, SPY_MEM_PAGEABLE, true, 64 * KIB}, true, 0},
	        {{SPY_DIR_HTOH, SPY_MEM_PINNED, true, 64 * KIB}, true, 0},
	        {{SPY_DIR_HTOH, SPY_MEM_PINNED, false, 64 * KIB}, true, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (cuda_copy_holds(rows[i].copy) != rows[i].holds ||
		    cuda_copy_buffers(rows[i].copy) != rows[i].buffers)
			fail_msg("row %zu", i);
}

/* ---- engines ---- */

static void engines_and_their_latencies(void **state)
{
	static const enum tf_work_kind others[] = {TF_WORK_KERNEL, TF_WORK_GRAPH, TF_WORK_SET};
	const struct cuda_copy copy = {SPY_DIR_HTOD, SPY_MEM_PINNED, true, MIB};

	for (size_t i = 0; i < COUNT(others); i++)
		assert_int_equal(cuda_engine(others[i], copy), CUDA_ENGINE_COMPUTE);
	/* takes:copy_async:pinned_to_device:1024 and :1536 */
	assert_int_equal(cuda_engine(TF_WORK_COPY,
	                             (struct cuda_copy){SPY_DIR_HTOD, SPY_MEM_PINNED, true, KIB}),
	                 CUDA_ENGINE_COMPUTE);
	assert_int_equal(cuda_engine(TF_WORK_COPY,
	                             (struct cuda_copy){SPY_DIR_HTOD, SPY_MEM_PINNED, true, 1536}),
	                 CUDA_ENGINE_TO_DEVICE);
	for (int i = 0; i < CUDA_ENGINES; i++)
		assert_true(cuda_switch_ns(i, i) == 0);
	assert_true(cuda_switch_ns(CUDA_ENGINE_COMPUTE, CUDA_ENGINE_TO_DEVICE) ==
	            CUDA_TO_ENGINE_NS);
	assert_true(cuda_switch_ns(CUDA_ENGINE_TO_DEVICE, CUDA_ENGINE_COMPUTE) ==
	            CUDA_FROM_ENGINE_NS);
	assert_true(cuda_switch_ns(CUDA_ENGINE_FROM_DEVICE, CUDA_ENGINE_TO_DEVICE) ==
	            CUDA_FROM_ENGINE_NS);
	assert_true(cuda_engine_is_shared(CUDA_ENGINE_TO_DEVICE, MIB));
	assert_true(cuda_engine_is_shared(CUDA_ENGINE_FROM_DEVICE, MIB));
	assert_false(cuda_engine_is_shared(CUDA_ENGINE_TO_DEVICE, 8 * KIB));
	assert_false(cuda_engine_is_shared(CUDA_ENGINE_COMPUTE, MIB));
	/* A copy over the bus is slower than one within the device. */
	assert_true(cuda_guess_ns(TF_WORK_COPY, SPY_DIR_HTOD, MIB) >
	            10 * cuda_guess_ns(TF_WORK_COPY, SPY_DIR_DTOD, MIB));
	assert_true(cuda_guess_ns(TF_WORK_SET, SPY_DIR_UNKNOWN, MIB) ==
	            cuda_guess_ns(TF_WORK_COPY, SPY_DIR_DTOD, MIB));
	assert_true(cuda_guess_ns(TF_WORK_KERNEL, SPY_DIR_UNKNOWN, 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kernels_that_communicate),
	        cmocka_unit_test(what_calls_do),
	        cmocka_unit_test(calls_that_wait_for_the_device),
	        cmocka_unit_test(streams_that_handles_mean),
	        cmocka_unit_test(streams_that_wait_for_one_another),
	        cmocka_unit_test(how_copies_are_made),
	        cmocka_unit_test(copies_that_hold),
	        cmocka_unit_test(engines_and_their_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
