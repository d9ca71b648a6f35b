/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How hold_facts measures: a gate (a kernel that goes on until it is let go, and 20 ms at most) is
 * put on a stream, a call is made, and then it is seen whether the gate was still shut. Included by
 * hold_facts.cu alone.
 *
 * A gate always ends by itself, by the GPU's clock: nothing here can hang for longer than that. On
 * the simulated CUDA, which does not run kernels, it lasts its whole time.
 */
#pragma once
/* Relative: the program is to build with nothing but nvcc's own folders to look in. */
#include "../../cuda_samples/sample_kernel.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#define GATE_MS      20  /* a gate, for a call that is expected to be short */
#define WINDOW_MS    5   /* work that has not begun by then behind a shut gate waits for it */
#define QUEUE_MS     200 /* a gate, while calls fill a queue; a call that waits takes longer than */
#define WAITED_MS    100
#define CALLS_MOST   5000
#define QUEUE_ROUNDS 3
#define SECONDS_MOST 55 /* all of it: less repeats from two thirds on, none when they are over */
#define KILLED_AFTER 120

#define KIB(n)       ((size_t)(n) << 10)
#define MIB(n)       ((size_t)(n) << 20)
#define BUFFER_BYTES (MIB(16) + 1)
#ifdef __CUDACC__
#define BIG_HOST_BYTES   MIB(256)
#define BIG_DEVICE_BYTES MIB(2048)
#else /* a simulated GPU's memory is the host's */
#define BIG_HOST_BYTES   MIB(16)
#define BIG_DEVICE_BYTES MIB(16)
#endif

/* ---- kernels ---- */

#ifdef __CUDACC__
static __device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}
#endif

/* `flags`, in memory of the host's: [0] lets it go, [1] is set when it runs. */
KERNEL(gate, "arg:0:1000000", (unsigned milliseconds, volatile unsigned *flags))
{
#ifdef __CUDACC__
	if (threadIdx.x == 0) {
		unsigned long long end = now_ns() + milliseconds * 1000000ull;
		if (blockIdx.x == 0)
			flags[1] = 1;
		while (now_ns() < end && !flags[0])
			;
	}
	__syncthreads();
#endif
}

KERNEL(spin, "arg:0:1000", (unsigned microseconds))
{
#ifdef __CUDACC__
	unsigned long long end = now_ns() + microseconds * 1000ull;

	while (now_ns() < end)
		;
#endif
}

/* Tells the host that it ran: [2]. */
KERNEL(tell, "fixed:2000", (volatile unsigned *flags))
{
#ifdef __CUDACC__
	flags[2] = 1;
#endif
}

/* ---- errors ---- */

struct failed {
	std::string what;
};

#define TRY(call) tried(#call, (call))

static void tried(const char *call, cudaError_t rc)
{
	if (rc == cudaSuccess)
		return;
	cudaGetLastError();
	throw failed{std::string(cudaGetErrorName(rc)) + " of " + call};
}

/* A query: has it ended? */
static bool is_done(const char *call, cudaError_t rc)
{
	if (rc == cudaErrorNotReady) {
		cudaGetLastError();
		return false;
	}
	tried(call, rc);
	return true;
}

/* ---- facts ---- */

struct fact {
	std::string name, verdict, error;
	std::vector<std::pair<std::string, double>> figures;

	void figure(const char *what, double value)
	{
		figures.push_back({what, value});
	}
};

typedef std::function<void()> doing;

static std::vector<fact> facts;
static unsigned repeats_asked = 9;
static std::string only;
static std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

static double ms_since(std::chrono::steady_clock::time_point start)
{
	return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
	        .count();
}

static double timed(const doing &give)
{
	auto start = std::chrono::steady_clock::now();

	give();
	return ms_since(start);
}

static unsigned repeats()
{
	double spent = ms_since(began) / 1000;

	return spent < SECONDS_MOST * 2. / 3 ? repeats_asked : std::min(repeats_asked, 2u);
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values.empty() ? 0 : values[values.size() / 2];
}

/* Of `n` tries `yes` said so: all must, but for one in five. */
static const char *verdict_of(unsigned yes, unsigned n)
{
	return yes * 5 >= n * 4 ? "yes" : yes * 5 <= n ? "no" : "mixed";
}

static void say(const fact &f)
{
	printf("fact: %s %s", f.name.c_str(), f.verdict.c_str());
	for (const auto &figure : f.figures)
		printf(" %s=%.5g", figure.first.c_str(), figure.second);
	printf("%s%s\n", f.error.empty() ? "" : " ", f.error.c_str());
	fflush(stdout);
}

static void let_go();

/* One fact: what goes wrong with it is said, and the next one is measured. */
static void measure(const std::string &name, const std::function<void(fact &)> &body)
{
	fact f = {name, "error", "", {}};

	if (name.find(only) == std::string::npos)
		return;
	try {
		if (ms_since(began) > SECONDS_MOST * 1000.)
			throw failed{"no time was left"};
		body(f);
	} catch (const failed &e) {
		f.verdict = "error";
		f.error = e.what;
		try {
			let_go();
		} catch (const failed &) {
		}
	}
	say(f);
	facts.push_back(f);
}

/* ---- what is measured with ---- */

/* Streams: two that the legacy default stream leaves alone, two that it does not. */
static cudaStream_t own, other, blocking, blocking2;
static cudaEvent_t gate_event, mark_event;
static volatile unsigned *flags;
static unsigned full_blocks; /* of 1024 threads: as many as there is room for */

enum gate_kind {
	GATE_ONE,           /* one thread */
	GATE_FULL,          /* all threads that there is room for */
	GATE_HOST_FUNCTION, /* a function of the host's, behind which the stream waits */
};

static void CUDART_CB wait_for_flag(void *)
{
	auto start = std::chrono::steady_clock::now();

	flags[1] = 1;
	while (!flags[0] && ms_since(start) < GATE_MS)
		usleep(20);
}

static void shut(cudaStream_t stream, gate_kind kind = GATE_ONE, unsigned ms = GATE_MS)
{
	flags[0] = flags[1] = flags[2] = 0;
	if (kind == GATE_HOST_FUNCTION)
		TRY(cudaLaunchHostFunc(stream, wait_for_flag, nullptr));
	else if (kind == GATE_FULL)
		TRY(SAMPLE_LAUNCH(gate, full_blocks, 1024, 0, stream, ms, flags));
	else
		TRY(SAMPLE_LAUNCH(gate, 1, 1, 0, stream, ms, flags));
	TRY(cudaEventRecord(gate_event, stream));
#ifdef __CUDACC__
	auto start = std::chrono::steady_clock::now();
	while (!flags[1])
		if (ms_since(start) > GATE_MS)
			throw failed{"the gate did not start"};
	if (kind == GATE_FULL)
		usleep(200); /* all of its blocks */
#endif
}

static bool gate_is_open()
{
	return is_done("cudaEventQuery", cudaEventQuery(gate_event));
}

static void let_go()
{
	flags[0] = 1;
	TRY(cudaDeviceSynchronize());
}

static void also(const doing &what)
{
	if (what)
		what();
}
