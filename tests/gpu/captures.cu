/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures: three threads capture graphs, one in each capture mode, while two others launch
 * kernels.
 *
 * Each graph must be valid, hold the nodes that its own thread put there and no other, and do what
 * was captured when it is launched. A tool that adds work to a stream while a capture is under way,
 * or makes a call that a capture forbids, breaks one of these.
 *
 *     captures [CAPTURES [LAUNCHERS]]     of each thread, default 100; launching threads, default 2
 */
#include "cuda_samples/sample.h"
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#define CAPTURERS   3
#define BURST       64
#define BURST_PAUSE std::chrono::microseconds(100)

static const cudaStreamCaptureMode modes[CAPTURERS] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
static std::atomic<bool> captured_all;
static std::atomic<unsigned long> valid, invalid, foreign;

KERNEL(captured_step, "fixed:2000", (unsigned *counter, unsigned by))
{
	if (threadIdx.x == 0)
		*counter += by;
}

KERNEL(launched_step, "fixed:3000", (unsigned *counter))
{
	if (threadIdx.x == 0)
		*counter += 1;
}

/* Everything that a capture of another thread may forbid is done before the first one begins. */
struct worker {
	cudaStream_t stream;
	unsigned *counter, *seen;
	std::vector<cudaGraph_t> graphs;

	worker()
	{
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		counter = sample_malloc<unsigned>(1);
		seen = sample_malloc_pinned<unsigned>(1);
		sample_set_async(counter, 0, sizeof(*counter), stream);
		LAUNCH(captured_step, 1, 32, 0, stream, counter, 0);
		LAUNCH(launched_step, 1, 32, 0, stream, counter);
		sample_sync_stream(stream);
	}

	~worker()
	{
		sample_free(counter);
		sample_free_pinned(seen);
		CHECK(cudaStreamDestroy(stream));
	}
};

static unsigned kernels_of(unsigned number)
{
	return 3 + number % 5;
}

static void capture(worker *w, unsigned thread, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		cudaGraph_t graph = nullptr;

		CHECK(cudaStreamBeginCapture(w->stream, modes[thread]));
		CHECK(cudaMemsetAsync(w->counter, 0, sizeof(*w->counter), w->stream));
		for (unsigned k = 0; k < kernels_of(i); k++)
			CHECK(SAMPLE_LAUNCH(captured_step, 1, 32, 0, w->stream, w->counter,
			                    thread + 1));
		sample_counted.captured += 1 + kernels_of(i);
		if (cudaStreamEndCapture(w->stream, &graph) != cudaSuccess)
			cudaGetLastError();
		(graph ? valid : invalid)++;
		w->graphs.push_back(graph);
	}
}

static void launch(worker *w)
{
	while (!captured_all) {
		for (unsigned i = 0; i < BURST; i++)
			LAUNCH(launched_step, 1, 32, 0, w->stream, w->counter);
		std::this_thread::sleep_for(BURST_PAUSE);
	}
}

/* No capture is under way any more: looks what the graphs hold, and what they do. */
static void replay(worker *w, unsigned thread)
{
	for (unsigned i = 0; i < w->graphs.size(); i++) {
		cudaGraphExec_t exec;
		size_t nodes = 0;

		if (!w->graphs[i])
			continue;
		CHECK(cudaGraphGetNodes(w->graphs[i], nullptr, &nodes));
		foreign += nodes != 1 + kernels_of(i);
		CHECK(cudaGraphInstantiate(&exec, w->graphs[i], 0));
		sample_graph_launch(exec, w->stream);
		sample_copy_async(w->seen, w->counter, sizeof(*w->seen), DTOH, PINNED, w->stream);
		sample_sync_stream(w->stream);
		sample_verify(*w->seen == (thread + 1) * kernels_of(i));
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(w->graphs[i]));
	}
}

int main(int argc, char **argv)
{
	unsigned count = sample_start(argc, argv, 100);
	unsigned launchers = sample_argument(argc, argv, 2, 2);
	std::vector<std::thread> capturing, launching;
	{
		std::vector<worker> workers(CAPTURERS + launchers);

		for (unsigned i = 0; i < launchers; i++)
			launching.emplace_back(launch, &workers[CAPTURERS + i]);
		for (unsigned i = 0; i < CAPTURERS; i++)
			capturing.emplace_back(capture, &workers[i], i, count);
		for (std::thread &t : capturing)
			t.join();
		captured_all = true;
		for (std::thread &t : launching)
			t.join();
		for (unsigned i = 0; i < CAPTURERS; i++)
			replay(&workers[i], i);
		sample_sync_device();
	}
	printf("captures: valid=%lu invalid=%lu foreign=%lu\n", valid.load(), invalid.load(),
	       foreign.load());
	if (invalid || foreign)
		sample_wrong = true;
	return sample_finish();
}
