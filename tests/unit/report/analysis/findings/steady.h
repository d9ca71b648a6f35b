/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made recording of one thread in its steady state, call by call, and what is found in it. For
 * the tests of findings.
 */
#ifndef TESTS_UNIT_STEADY_H
#define TESTS_UNIT_STEADY_H

#include <stdio.h>
#include <string.h>

#include "report/analysis/analysis.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

struct steady {
	struct made made;
	struct tf_thread *thread;
	uint32_t kernel;
	uint16_t launch, copy, copy_rows, blocking, sync, query, alloc, release, load, make, graph;
	uint64_t stream; /* that the next launches and copies are in */
	double at;       /* us since the window began: when the next call starts */
	struct model model;
	struct analysis analysis;
};

static inline void steady_start(struct steady *s)
{
	*s = (struct steady){0};
	made_start(&s->made, 24u << 20, 16, MADE_AREAS);
	made_clock(&s->made, 0, 1000000000, 1755767727123000000);
	made_clock(&s->made, 400000000, 1200000000, 1755767727323000000);
	made_header(&s->made)->gpu_mode = TF_GPU_SAMPLE;
	made_kernel(&s->made, "");
	s->kernel = made_kernel(&s->made, "k");
	made_device(&s->made, "GPU", false);
	s->thread = made_thread(&s->made, 7, "main", 512);
	s->launch = made_call(&s->made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	s->copy = made_call(&s->made, "cudaMemcpyAsync", SPY_CLASS_COPY, SPY_LEVEL_RUNTIME);
	s->copy_rows = made_call(&s->made, "cudaMemcpy2DAsync", SPY_CLASS_COPY, SPY_LEVEL_RUNTIME);
	s->blocking = made_call(&s->made, "cudaMemcpy", SPY_CLASS_COPY, SPY_LEVEL_RUNTIME);
	s->sync = made_call(&s->made, "cudaStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_RUNTIME);
	s->query = made_call(&s->made, "cudaStreamQuery", SPY_CLASS_QUERY, SPY_LEVEL_RUNTIME);
	s->alloc = made_call(&s->made, "cudaMalloc", SPY_CLASS_ALLOC, SPY_LEVEL_RUNTIME);
	s->release = made_call(&s->made, "cudaFree", SPY_CLASS_ALLOC, SPY_LEVEL_RUNTIME);
	s->load = made_call(&s->made, "cuModuleLoadData", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	s->make = made_call(&s->made, "cuGraphInstantiateWithFlags", SPY_CLASS_GRAPH,
	                    SPY_LEVEL_DRIVER);
	s->graph =
	        made_call(&s->made, "cudaGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_RUNTIME);
	made_pairs(made_work(&s->made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE, 20,
	           2740, 10);
}

/* The next call takes so many us, and the one after it starts 1 us later. */
static inline struct tf_record steady_record(struct steady *s, uint16_t call, double us)
{
	uint64_t start = 2001000 + (uint64_t)(s->at * 2000);

	s->at += us + 1;
	return (struct tf_record){.call = call,
	                          .start = start,
	                          .end = start + (uint64_t)(us * 2000),
	                          .stream = s->stream};
}

static inline void steady_call(struct steady *s, uint16_t call, double us)
{
	made_return(&s->made, s->thread, steady_record(s, call, us));
}

static inline void steady_launch(struct steady *s, double us, uint16_t flags)
{
	struct tf_record r = steady_record(s, s->launch, us);

	r.flags = flags;
	r.launch.kernel = s->kernel;
	r.launch.grid_x = r.launch.grid_y = r.launch.grid_z = 1;
	r.launch.block_x = r.launch.block_y = r.launch.block_z = 1;
	r.launch.items = 1;
	made_return(&s->made, s->thread, r);
}

/* A copy, asynchronous but for cudaMemcpy's; `from` and `to` are addresses. */
static inline void steady_copy(struct steady *s, uint16_t call, enum spy_direction direction,
                               enum spy_memory memory, uint64_t bytes, uint64_t from, uint64_t to,
                               double us)
{
	struct tf_record r = steady_record(s, call, us);
	bool async = call != s->blocking;
	struct tf_copy_stat *sum = &s->thread->copies[TF_COPY_KIND(direction, memory, async)];

	r.copy.bytes = bytes;
	r.copy.src = from;
	r.copy.dst = to;
	r.copy.items = 1;
	r.copy.direction = (uint8_t)direction;
	r.copy.memory = (uint8_t)memory;
	r.copy.async = async;
	sum->count++;
	sum->bytes += bytes;
	sum->sum_ticks += r.end - r.start;
	made_return(&s->made, s->thread, r);
}

static inline void steady_memory(struct steady *s, bool is_free, uint64_t bytes, double us)
{
	struct tf_record r = steady_record(s, is_free ? s->release : s->alloc, us);

	r.alloc.bytes = bytes;
	r.alloc.address = 0x7000;
	r.alloc.is_free = is_free;
	r.alloc.memory = SPY_MEM_DEVICE;
	made_return(&s->made, s->thread, r);
}

/* To be called when all calls are made; end with steady_end(). */
static inline void steady_read(struct steady *s)
{
	made_close(&s->made, 2001000 + (uint64_t)(s->at * 2000));
	assert_true(render_model(&s->model, s->made.map.base, made_bytes(&s->made)));
	analysis_make(&s->analysis, &s->model, s->model.phases.main);
}

static inline const struct finding *steady_finding(const struct steady *s, const char *id)
{
	for (size_t i = 0; i < s->analysis.findings.count; i++)
		if (!strcmp(s->analysis.findings.items[i].id, id))
			return &s->analysis.findings.items[i];
	return NULL;
}

static inline void steady_end(struct steady *s)
{
	analysis_free(&s->analysis);
	model_free(&s->model);
	made_free(&s->made);
}

/* Reads, asserts that the finding is there (with this text in its evidence) or is not, and ends. */
static inline void steady_expect(struct steady *s, const char *id, const char *evidence)
{
	steady_read(s);
	const struct finding *f = steady_finding(s, id);

	if (!evidence && f)
		fail_msg("%s: %s", id, f->evidence);
	if (evidence && !f)
		fail_msg("no %s", id);
	if (evidence && !strstr(f->evidence, evidence))
		fail_msg("%s: %s\nwanted: %s", id, f->evidence, evidence);
	steady_end(s);
}

#endif
