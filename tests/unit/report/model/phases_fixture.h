/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a second in slices of 10 ms, with loops and steps, and what phases are made of them.
 * Included by the tests of phases alone.
 */
#ifndef TESTS_UNIT_PHASES_FIXTURE_H
#define TESTS_UNIT_PHASES_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/phases.h"
#include "tests/unit/unit.h"

#define MS     1e6
#define SLICES 100

/* A process of 1 s with a slice for each 10 ms, its window's start at load. */
struct run {
	struct model m;
	struct model_process process[2];
};

static inline void start_process(struct run *r, int i)
{
	struct model_process *p = &r->process[i];
	struct overview *o = &p->overview;

	*p = (struct model_process){.window = 1000 * MS, .state = PROCESS_COMPLETE};
	o->count = SLICES;
	o->width = 10 * MS;
	o->host = calloc(SLICES, sizeof(*o->host));
	o->devices = calloc(1, sizeof(*o->devices));
	o->device_count = 1;
	o->devices[0].busy = calloc(SLICES, sizeof(double));
	o->devices[0].covered = calloc(SLICES, sizeof(double));
	o->devices[0].idle = calloc(SLICES, sizeof(*o->devices[0].idle));
	p->call_log.call_events = calloc(4096, sizeof(struct call_event));
	p->call_log.window = p->call_log.until = 1000 * MS;
	p->call_log.whole = true;
}

static inline void start(struct run *r, int processes)
{
	memset(r, 0, sizeof(*r));
	for (int i = 0; i < processes; i++)
		start_process(r, i);
	r->m.processes = r->process;
	r->m.process_count = (size_t)processes;
	r->m.window = r->m.wall = 1000 * MS;
	r->m.host_window = 1000 * MS * processes;
	r->m.has_host = true;
	r->m.gpu.has_busy = true;
	r->m.gpu.busy.window = 1000 * MS * processes;
}

static inline void end(struct run *r)
{
	model_free_phases(&r->m);
	model_free_steps(&r->m);
	for (size_t i = 0; i < r->m.process_count; i++) {
		overview_free(&r->process[i].overview);
		call_log_free(&r->process[i].call_log);
	}
}

/* From one slice to another: what the host did, and how busy the GPU was (a share). */
static inline void slices(struct run *r, int process, int from, int to, enum tf_host what,
                          double busy)
{
	struct overview *o = &r->process[process].overview;

	for (int i = from; i < to; i++) {
		o->host[i][what] = 10 * MS;
		o->devices[0].busy[i] = 10 * MS * busy;
		o->devices[0].covered[i] = 10 * MS;
		o->devices[0].idle[i][TF_IDLE_OUTSIDE] = 10 * MS * (1 - busy);
	}
}

/* The model's figures of the whole run, which the slices add up to. */
static inline void add_up(struct run *r)
{
	struct model_split *h = &r->m.host;
	struct model_gpu_busy *b = &r->m.gpu.busy;
	double sum[TF_HOSTS] = {0};

	for (size_t p = 0; p < r->m.process_count; p++)
		for (int i = 0; i < SLICES; i++) {
			const struct overview *o = &r->process[p].overview;
			for (int k = 0; k < TF_HOSTS; k++)
				sum[k] += o->host[i][k];
			b->busy += o->devices[0].busy[i];
			b->by[TF_IDLE_OUTSIDE] += o->devices[0].idle[i][TF_IDLE_OUTSIDE];
		}
	h->launch = h->launch_api = sum[TF_HOST_LAUNCH];
	h->sync = h->sync_useful = sum[TF_HOST_SYNC_USEFUL];
	h->module = sum[TF_HOST_MODULE];
	h->outside = sum[TF_HOST_OUTSIDE];
	h->alive = r->m.host_window;
	b->kernels = b->low = b->high = b->busy;
	b->idle = b->window - b->busy;
}

/* A loop of a thread; its steps, of 1 ms with 10 launches each, are in stretches of ms. */
static inline struct model_loop *loop(struct run *r, uint32_t process, uint64_t tid,
                                      const char *marker, const double *stretches, size_t count)
{
	struct model *m = &r->m;

	ALLOC_ROOM(m->loops, m->loop_count);
	struct model_loop *l = &m->loops[m->loop_count++];
	*l = (struct model_loop){.process = process,
	                         .tid = tid,
	                         .marker = alloc_string(marker),
	                         .stride = 1,
	                         .events = 10,
	                         .alike = 1,
	                         .q = {1 * MS, 1 * MS, 2 * MS}};
	l->stretches = alloc_zeroed(count, sizeof(*l->stretches));
	l->stretch_count = count;
	for (size_t i = 0; i < count; i++) {
		double from = stretches[2 * i], to = stretches[2 * i + 1];
		l->stretches[i] = (struct model_stretch){from * MS, to * MS, to - from};
		l->steps += (uint64_t)(to - from);
		l->time += (to - from) * MS;
	}
	l->work = (struct model_work_done){
	        .launches = 10 * (double)l->steps, .syncs = (double)l->steps, .gpu_ns = NAN};
	m->totals.launches += 10 * l->steps;
	m->totals.syncs += l->steps;
	return l;
}

static inline void finish(struct run *r)
{
	model_finish_phases(&r->m);
	model_finish_steps(&r->m);
}

static inline const struct model_phase *row(const struct run *r, size_t i,
                                            enum model_phase_kind kind)
{
	assert_true(i < r->m.phases.count);
	assert_int_equal(r->m.phases.rows[i].kind, kind);
	return &r->m.phases.rows[i];
}

static inline void event(struct run *r, double start_ms, double end_ms, enum spy_class cls)
{
	struct call_log *h = &r->process[0].call_log;

	h->call_events[h->count++] = (struct call_event){.start = start_ms * MS,
	                                                 .end = end_ms * MS,
	                                                 .gpu_start = NAN,
	                                                 .gpu = NAN,
	                                                 .cls = (uint8_t)cls,
	                                                 .work = CALL_LOG_NONE};
}

#endif
