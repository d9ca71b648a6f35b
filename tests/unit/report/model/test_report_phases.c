/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/analysis.h"
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

static void start_process(struct run *r, int i)
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

static void start(struct run *r, int processes)
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

static void end(struct run *r)
{
	model_free_phases(&r->m);
	model_free_steps(&r->m);
	for (size_t i = 0; i < r->m.process_count; i++) {
		overview_free(&r->process[i].overview);
		call_log_free(&r->process[i].call_log);
	}
}

/* From one slice to another: what the host did, and how busy the GPU was (a share). */
static void slices(struct run *r, int process, int from, int to, enum tf_host what, double busy)
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
static void add_up(struct run *r)
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
static struct model_loop *loop(struct run *r, uint32_t process, uint64_t tid, const char *marker,
                               const double *stretches, size_t count)
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

static void finish(struct run *r)
{
	model_finish_phases(&r->m);
	model_finish_steps(&r->m);
}

static const struct model_phase *row(const struct run *r, size_t i, enum model_phase_kind kind)
{
	assert_true(i < r->m.phases.count);
	assert_int_equal(r->m.phases.rows[i].kind, kind);
	return &r->m.phases.rows[i];
}

static void event(struct run *r, double start_ms, double end_ms, enum spy_class cls)
{
	struct call_log *h = &r->process[0].call_log;

	h->call_events[h->count++] = (struct call_event){.start = start_ms * MS,
	                                                 .end = end_ms * MS,
	                                                 .gpu_start = NAN,
	                                                 .gpu = NAN,
	                                                 .cls = (uint8_t)cls,
	                                                 .work = CALL_LOG_NONE};
}

/* Start-up of 200 ms; training and evaluation in turns; an end. */
static void alternating(struct run *r)
{
	static const double train[] = {200, 400, 500, 700}, eval[] = {400, 500, 700, 800};

	start(r, 1);
	slices(r, 0, 0, 20, TF_HOST_MODULE, 0);
	slices(r, 0, 20, 40, TF_HOST_LAUNCH, 0.3);
	slices(r, 0, 40, 50, TF_HOST_SYNC_USEFUL, 0.8);
	slices(r, 0, 50, 70, TF_HOST_LAUNCH, 0.3);
	slices(r, 0, 70, 80, TF_HOST_SYNC_USEFUL, 0.8);
	slices(r, 0, 80, 100, TF_HOST_OUTSIDE, 0);
	add_up(r);
	loop(r, 0, 1, "eval", eval, 2);
	loop(r, 0, 1, "train", train, 2);
	for (int i = 0; i < 1000; i++)
		event(r, i, i + 0.5, SPY_CLASS_LAUNCH);
	r->process[0].call_log.from = 0;
}

static void test_loops_that_alternate(void **state)
{
	struct run r;

	alternating(&r);
	finish(&r);
	assert_int_equal(r.m.phases.count, 4);
	assert_int_equal(r.m.phases.loops, 2);
	assert_near(row(&r, 0, PHASE_START)->end, 200 * MS, 1e-6);
	assert_near(row(&r, 3, PHASE_END)->start, 800 * MS, 1e-6);
	const struct model_phase *train = row(&r, 1, PHASE_LOOP), *eval = row(&r, 2, PHASE_LOOP);
	assert_int_equal(train->number, 1);
	assert_int_equal(eval->number, 2);
	assert_near(train->start, 200 * MS, 1e-6);
	assert_near(train->end, 700 * MS, 1e-6);
	assert_near(train->time, 400 * MS, 1e-6);
	assert_near(train->share, 0.4, 1e-6);
	assert_int_equal(train->steps, 400);
	assert_int_equal(train->stretches, 2);
	assert_near(train->mean, 1 * MS, 1e-6);
	assert_near(train->p99, 2 * MS, 1e-6);
	assert_near(eval->time, 200 * MS, 1e-6);
	assert_int_equal(r.m.phases.main, 1);
	assert_int_equal(r.m.steps.count, 400);
	assert_string_equal(r.m.steps.name, "train");
	assert_int_equal(model_phase_find(&r.m, 2), 2);
	assert_int_equal(model_phase_find(&r.m, 0), 0);
	assert_true(model_phase_find(&r.m, 3) == PHASE_NONE);
	end(&r);
}

static void test_the_run_cut_to_a_loop(void **state)
{
	struct run r;

	alternating(&r);
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 400 * MS, 1e-6);
	assert_near(v->phase_before, 200 * MS, 1e-6);
	assert_near(v->host.launch, 400 * MS, 1e-6);
	assert_near(v->host.sync, 0, 1e-6);
	assert_near(v->host.module, 0, 1e-6);
	assert_near(v->gpu.busy.window, 400 * MS, 1e-6);
	assert_near(v->gpu.busy.busy, 120 * MS, 1e-6);
	assert_near(v->gpu.busy.by[TF_IDLE_OUTSIDE], 280 * MS, 1e-6);
	assert_int_equal(v->totals.launches, 4000);
	/* Its calls, one stretch behind the other: nothing between them. */
	const struct call_log *h = &v->processes[0].call_log;
	assert_int_equal(h->count, 400);
	assert_near(h->steady, 200 * MS, 1e-6);
	assert_near(h->window, 600 * MS, 1e-6);
	assert_near(h->call_events[200].start, 400 * MS, 1e-6);
	assert_near(h->call_events[399].end, 599.5 * MS, 1e-6);
	assert_near(h->coverage, 1, 1e-9);
	assert_near(h->busy, 0.3, 1e-6);
	/* What else began then is found at the same place. */
	assert_near(call_log_place(h, 250 * MS), 250 * MS, 1e-6);
	assert_near(call_log_place(h, 550 * MS), 450 * MS, 1e-6);
	assert_true(isnan(call_log_place(h, 450 * MS)) && isnan(call_log_place(h, 750 * MS)));
	assert_near(call_log_place(&r.process[0].call_log, 450 * MS), 450 * MS, 1e-6);
	model_view_free(v);
	v = model_view(&r.m, 2);
	assert_near(v->host.sync_useful, 200 * MS, 1e-6);
	assert_near(v->gpu.busy.busy, 160 * MS, 1e-6);
	assert_string_equal(v->steps.name, "eval");
	model_view_free(v);
	v = model_view(&r.m, 0);
	assert_near(v->host.module, 200 * MS, 1e-6);
	assert_near(v->gpu.busy.busy, 0, 1e-6);
	assert_int_equal(v->steps.source, STEPS_NONE);
	model_view_free(v);
	assert_int_equal(r.process[0].call_log.count, 1000); /* the run's own stay */
	end(&r);
}

/* Where the recent calls are of one stretch alone, they stand for all of them. */
static void test_what_is_kept_of_a_loop(void **state)
{
	struct run r;

	alternating(&r);
	r.process[0].call_log.from = 600 * MS;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	const struct call_log *h = &v->processes[0].call_log;
	assert_near(h->judged, 400 * MS, 1e-6);
	assert_near(h->coverage, 0.25, 1e-9);
	assert_near(h->steady, 500 * MS, 1e-6);
	assert_near(h->window, 700 * MS, 1e-6);
	assert_int_equal(h->count, 700);
	model_view_free(v);
	model_free_phases(&r.m);
	model_free_steps_figures(&r.m.steps);
	r.process[0].call_log.from = 900 * MS; /* nothing of it */
	finish(&r);
	v = model_view(&r.m, 1);
	assert_int_equal(v->processes[0].call_log.count, 0);
	assert_near(v->processes[0].call_log.coverage, 0, 0);
	model_view_free(v);
	end(&r);
}

/* Copies of start-up are none of the loop's, nor are its kernels and calls. */
static void test_tables_of_a_loop(void **state)
{
	static struct call_log_call call = {.name = "cuMemcpyHtoDAsync_v2", .level = 1};
	struct call_log *h;
	struct run r;

	alternating(&r);
	h = &r.process[0].call_log;
	h->calls = alloc_zeroed(1, sizeof(*h->calls));
	h->calls[0] = call;
	h->call_count = 1;
	for (size_t i = 0; i < h->count; i++) {
		h->call_events[i].kind = TF_WORK_COPY;
		h->call_events[i].items = 1;
		h->call_events[i].bytes = 1000;
		h->call_events[i].async = true;
	}
	r.m.copies = alloc_zeroed(1, sizeof(*r.m.copies));
	r.m.copies[0] = (struct model_copy){
	        .async = true, .count = 1000, .bytes = 1000000, .total = 500 * MS};
	r.m.copy_count = 1;
	r.m.apis = alloc_zeroed(1, sizeof(*r.m.apis));
	r.m.apis[0] =
	        (struct model_api){.name = call.name, .level = 1, .calls = 1000, .total = 500 * MS};
	r.m.api_count = 1;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_int_equal(v->copies[0].count, 400);
	assert_int_equal(v->copies[0].bytes, 400000);
	assert_near(v->copies[0].total, 200 * MS, 1e-6);
	assert_int_equal(v->apis[0].calls, 400);
	assert_int_equal(r.m.copies[0].count, 1000);
	model_view_free(v);
	free(r.m.copies);
	free(r.m.apis);
	end(&r);
}

/*
 * Copies within the device, of nearly all bytes, and a few of pageable memory at the start, which
 * take most of the copies' time: none of that is the loop's.
 */
static void test_time_of_copies_of_a_loop(void **state)
{
	struct model_copy copies[] = {
	        {.direction = SPY_DIR_DTOD, .async = true, .count = 1000, .bytes = 1000000},
	        {.direction = SPY_DIR_HTOD,
	         .memory = SPY_MEM_PAGEABLE,
	         .count = 10,
	         .bytes = 4000}};
	struct run r;

	alternating(&r);
	struct call_log *h = &r.process[0].call_log;
	for (size_t i = 0; i < h->count; i++) {
		h->call_events[i].kind = TF_WORK_COPY;
		h->call_events[i].direction = SPY_DIR_DTOD;
		h->call_events[i].items = 1;
		h->call_events[i].bytes = 1000;
		h->call_events[i].async = true;
	}
	copies[0].gpu = (struct model_gpu_time){.total = 10 * MS, .low = 9 * MS, .high = 11 * MS};
	copies[1].gpu = (struct model_gpu_time){.total = 50 * MS, .low = 45 * MS, .high = 55 * MS};
	r.m.copies = copies;
	r.m.copy_count = 2;
	r.m.totals.copy_bytes = 1004000;
	for (size_t i = 0; i < r.m.loop_count; i++)
		r.m.loops[i].work.copy_bytes = 1000 * (double)r.m.loops[i].steps;
	r.m.gpu.copies = (struct model_gpu_time){
	        .total = 60 * MS, .low = 54 * MS, .high = 66 * MS, .known = 1};
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_int_equal(v->totals.copy_bytes, 400000);
	assert_near(v->gpu.copies.total, 4 * MS, 1e-6);
	assert_near(v->gpu.copies.high, 4.4 * MS, 1e-6);
	assert_near(v->copies[1].gpu.total, 0, 0);
	model_view_free(v);
	end(&r);
}

/* A slice of which a part is the loop's: what else it holds goes before, at the loop's ends. */
static void test_a_slice_in_two(void **state)
{
	static const double one[] = {205, 800};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 20, TF_HOST_MODULE, 0);
	slices(&r, 0, 20, 80, TF_HOST_LAUNCH, 0.5);
	slices(&r, 0, 80, 100, TF_HOST_OUTSIDE, 0);
	r.process[0].overview.host[20][TF_HOST_LAUNCH] = 5 * MS;
	r.process[0].overview.host[20][TF_HOST_MODULE] = 5 * MS;
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1);
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host.module, 0, 1e-6);
	assert_near(v->host.launch, 595 * MS, 1e-6);
	assert_near(v->gpu.busy.busy, 300 * MS,
	            1e-6); /* 5 ms of the slice are the loop's, all busy */
	model_view_free(v);
	end(&r);
}

/* First steps in which the host loads code are not judged. */
static void test_warming_up(void **state)
{
	static const double one[] = {200, 800};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 30, TF_HOST_MODULE, 0);
	slices(&r, 0, 30, 80, TF_HOST_LAUNCH, 0.5);
	slices(&r, 0, 80, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1);
	finish(&r);
	assert_near(row(&r, 1, PHASE_LOOP)->start, 200 * MS, 1e-6);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 500 * MS, 1e-6);
	assert_near(v->host.module, 0, 1e-6);
	model_view_free(v);
	end(&r);
}

/* Each step allocates, and the host gives nearly all of them in a hundred ms and then waits: these
 * are no first ones, and what they gave the GPU is the loop's. Where few are given then, they are.
 */
static void test_steps_that_allocate(void **state)
{
	static const double one[] = {200, 800};
	struct run r;

	for (int few = 0; few < 2; few++) {
		start(&r, 1);
		slices(&r, 0, 0, 20, TF_HOST_OUTSIDE, 0);
		slices(&r, 0, 20, 30, TF_HOST_ALLOC, 1);
		slices(&r, 0, 30, 80, TF_HOST_SYNC_USEFUL, 1);
		slices(&r, 0, 80, 100, TF_HOST_OUTSIDE, 0);
		add_up(&r);
		loop(&r, 0, 1, "k", one, 1)->steps = 500;
		r.m.step_rows = alloc_zeroed(500, sizeof(*r.m.step_rows));
		for (size_t i = 0; i < 500; i++)
			r.m.step_rows[i] = (struct model_step){
			        .found = true,
			        .tid = 1,
			        .start = (200 + (double)i * (few ? 1.1 : 0.25)) * MS,
			        .duration = (few ? 1.1 : 0.25) * MS};
		r.m.step_row_count = 500;
		finish(&r);
		struct model *v = model_view(&r.m, 1);
		assert_near(v->host_window, (few ? 500 : 600) * MS, 1e-6);
		model_view_free(v);
		end(&r);
	}
}

/* Memory is freed and code unloaded at the end, with pauses between: all of it is tear-down, from
 * the first such call on; not where more work is given in between, nor if it is most of the run. */
static void test_tear_down(void **state)
{
	for (int how = 0; how < 4; how++) {
		struct run r;
		size_t first;
		start(&r, 1);
		slices(&r, 0, 0, how == 3 ? 50 : 80, TF_HOST_LAUNCH, 1);
		slices(&r, 0, how == 3 ? 50 : 80, how == 3 ? 60 : 85, TF_HOST_OUTSIDE, 0);
		slices(&r, 0, how == 3 ? 60 : 85, 90, TF_HOST_ALLOC, 0);
		slices(&r, 0, 90, 99, how == 1 ? TF_HOST_LAUNCH : TF_HOST_OUTSIDE, how == 2);
		slices(&r, 0, 99, 100, TF_HOST_MODULE, 0);
		size_t count = phases_teardown(&r.process[0].overview, &first);
		assert_int_equal(count, how == 0 ? 15 : how == 3 ? 0 : 1);
		if (count)
			assert_int_equal(first, how == 0 ? 85 : 99);
		end(&r);
	}
}

/* The first steps load code and choose algorithms: those that take far longer than others are not
 * judged; a later one is. */
static void test_first_steps(void **state)
{
	static const double one[] = {200, 800};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
	l->steps = 500;
	r.m.step_rows = alloc_zeroed(500, sizeof(*r.m.step_rows));
	for (double at = 200; r.m.step_row_count < 500;) {
		size_t i = r.m.step_row_count++;
		double ms = i == 0 ? 40 : i == 2 ? 4 : i == 3 ? 2 : i == 250 ? 56 : 1;
		r.m.step_rows[i] = (struct model_step){
		        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
		at += ms;
	}
	finish(&r);
	assert_near(row(&r, 1, PHASE_LOOP)->start, 200 * MS, 1e-6);
	assert_int_equal(row(&r, 1, PHASE_LOOP)->steps, 500);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 555 * MS, 1e-6); /* 40, 1 and 4 of 600 */
	assert_near(v->phase_before, 245 * MS, 1e-6);
	model_view_free(v);
	end(&r);
}

/* Steps are slower for a while, as clocks go up and caches fill: they are judged from where half of
 * them are usual ones, if that is in their first quarter. */
static void test_steps_that_get_faster(void **state)
{
	static const double one[] = {200, 800};

	for (int slow = 50; slow <= 150; slow += 100) {
		struct run r;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		add_up(&r);
		struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
		l->steps = 400;
		r.m.step_rows = alloc_zeroed(400, sizeof(*r.m.step_rows));
		double each = 600.0 / (400 + slow), at = 200; /* the slow ones take two */
		for (size_t i = 0; i < 400; i++) {
			double ms = each * ((int)i < slow ? 2 : 1);
			r.m.step_rows[i] = (struct model_step){
			        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
			at += ms;
		}
		r.m.step_row_count = 400;
		finish(&r);
		struct model *v = model_view(&r.m, 1);
		/* Where it begins, 4 of 8 are slow still. */
		double judged = slow == 50 ? (350 + 4 * 2) * each : 600;
		assert_near(v->host_window, judged * MS, 1e-6);
		model_view_free(v);
		end(&r);
	}
}

/* What is done every 50 steps loads its code when it is done for the first time: that step takes
 * longer than all before it. Later ones, and any that take less than the loop had run, stay. */
static void test_first_of_rare_steps(void **state)
{
	static const double one[] = {200, 800};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
	l->steps = 425;
	r.m.step_rows = alloc_zeroed(425, sizeof(*r.m.step_rows));
	for (double at = 200; r.m.step_row_count < 425;) {
		size_t i = r.m.step_row_count++;
		double ms = i == 50 ? 100 : i == 100 ? 48 : i == 200 ? 30 : 1;
		r.m.step_rows[i] = (struct model_step){
		        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
		at += ms;
	}
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 450 * MS, 1e-6); /* 50 steps and the one of 100 ms, of 600 */
	model_view_free(v);
	end(&r);
}

static void test_threads_of_one_loop(void **state)
{
	static const double one[] = {200, 800}, short_one[] = {850, 855}, few[] = {900, 903};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	loop(&r, 0, 1, "main", one, 1);
	loop(&r, 0, 2, "backward", one, 1)->events = 30; /* the most work: it stands for both */
	loop(&r, 0, 1, "short", short_one, 1);
	loop(&r, 0, 1, "few", few, 1);
	finish(&r);
	assert_int_equal(r.m.phases.loops, 1);
	assert_string_equal(r.m.loops[row(&r, 1, PHASE_LOOP)->source].marker, "backward");
	assert_int_equal(r.m.phases.main, 1);
	end(&r);
}

/* Threads of a server, each with steps of its own: they all count. */
static void test_threads_side_by_side(void **state)
{
	static const double one[] = {200, 800}, two[] = {200, 780}, three[] = {210, 800};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	loop(&r, 0, 1, "answer", one, 1);
	loop(&r, 0, 2, "answer", two, 1);
	loop(&r, 0, 3, "other", three, 1);
	loop(&r, 0, 4, "answer", three, 1)->events = 8; /* less work in each */
	loop(&r, 0, 5, "answer", one, 1); /* just as many: they may be parts of one step */
	finish(&r);
	assert_int_equal(r.m.phases.loops, 1);
	const struct model_phase *p = row(&r, 1, PHASE_LOOP);
	assert_string_equal(r.m.loops[p->source].marker, "answer");
	assert_int_equal(p->threads, 2);
	assert_int_equal(p->steps, 600 + 580);
	assert_near(p->work.launches, 10 * (600 + 580), 1e-6);
	assert_near(p->time, 600 * MS, 1e-6);
	assert_near(p->mean, 1 * MS, 1e-6);
	assert_int_equal(r.m.steps.count, 600 + 580);
	assert_near(r.m.steps.per_s, (600 + 580) / 0.6, 1e-6); /* not what one of them makes */
	end(&r);
}

/* Loops that hold little of the time from the first to the last do not stand for the run, as where
 * code is compiled anew between them. */
static void test_loops_of_little_time(void **state)
{
	static const double one[] = {200, 230}, two[] = {400, 420}, three[] = {700, 720},
	                    long_one[] = {500, 640};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	loop(&r, 0, 1, "a", one, 1);
	loop(&r, 0, 1, "b", two, 1);
	loop(&r, 0, 1, "c", three, 1);
	finish(&r);
	assert_int_equal(r.m.phases.loops, 3);
	assert_true(r.m.phases.main == PHASE_NONE);
	model_free_phases(&r.m);
	model_free_steps_figures(&r.m.steps);
	loop(&r, 0, 1, "d", long_one, 1); /* from its start on there is little else */
	finish(&r);
	assert_int_equal(r.m.phases.main, 3);
	end(&r);
}

/* A loop that is over before the others begin and gives next to none of their work prepares them,
 * as it does in a run of any length; not one that gives as much, goes on, or takes far longer. */
static void test_a_loop_that_prepares(void **state)
{
	static const struct {
		double one[2], two[2], three[4];
		double events; /* in a step of the later one; the first has 10 */
		size_t main;
	} cases[] = {
	        {{100, 500}, {550, 800}, {0}, 200, 2},        {{100, 500}, {550, 800}, {0}, 100, 1},
	        {{100, 500}, {510, 540}, {0}, 2000, 1},       {{100, 500}, {450, 700}, {0}, 200, 1},
	        {{100, 400}, {401, 500}, {500, 800}, 500, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		add_up(&r);
		double first[] = {cases[i].one[0], cases[i].one[1], cases[i].three[0],
		                  cases[i].three[1]};
		loop(&r, 0, 1, "prepare", first, cases[i].three[0] > 0 ? 2 : 1);
		struct model_loop *l = loop(&r, 0, 1, "work", cases[i].two, 1);
		l->work.launches = cases[i].events * (double)l->steps;
		finish(&r);
		assert_int_equal(r.m.phases.main, cases[i].main);
		end(&r);
	}
}

/* Loops that hold little of the work do not stand for the run. */
static void test_loops_of_little_work(void **state)
{
	static const double one[] = {200, 300};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1);
	r.m.totals.launches = 3000;
	finish(&r);
	assert_int_equal(r.m.phases.loops, 1);
	assert_true(r.m.phases.main == PHASE_NONE);
	assert_int_equal(r.m.steps.count, 100); /* the steps are told all the same */
	end(&r);
}

/* Some steps to warm up, a long pause, and the rest. */
static void test_a_loop_that_pauses(void **state)
{
	static const double one[] = {100, 105, 850, 950}, even[] = {100, 150, 850, 900};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 2);
	finish(&r);
	assert_int_equal(r.m.phases.main, 1);
	end(&r);
	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	loop(&r, 0, 1, "k", even, 2);
	finish(&r);
	assert_true(r.m.phases.main == PHASE_NONE); /* a half before it warms nothing up */
	end(&r);
}

/* A backward thread gives 1 piece of work of each step, the threads beside it 4, or any number. */
static void steps_of_others(struct run *r, bool alike)
{
	static const double one[] = {200, 800};

	start(r, 1);
	slices(r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(r);
	struct model_loop *l = loop(r, 0, 2, "backward", one, 1);
	l->events = 1;
	r->m.totals.launches = 3000;
	r->m.step_rows = alloc_zeroed(600, sizeof(*r->m.step_rows));
	for (size_t i = 0; i < 600; i++) {
		size_t pieces = alike ? 5 : 1 + i % 9;
		double at = 200 + (double)i;
		r->m.step_rows[i] = (struct model_step){
		        .found = true, .tid = 2, .start = at * MS, .duration = 1 * MS};
		for (size_t k = 0; k < pieces; k++) {
			event(r, at + 0.1 * (double)k, at + 0.1 * (double)k + 0.05,
			      SPY_CLASS_LAUNCH);
			r->process[0].call_log.call_events[r->process[0].call_log.count - 1].work =
			        0;
		}
	}
	r->m.step_row_count = 600;
	finish(r);
}

static void test_work_of_other_threads_in_steps(void **state)
{
	struct run r;

	steps_of_others(&r, true);
	assert_int_equal(r.m.phases.main, 1);
	end(&r);
	steps_of_others(&r, false);
	assert_true(r.m.phases.main == PHASE_NONE);
	end(&r);
}

/* What the host waits when it has given the last step is the loop's. */
static void test_the_wait_behind_a_loop(void **state)
{
	static const double one[] = {200, 600};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 60, TF_HOST_LAUNCH, 1);
	slices(&r, 0, 60, 75, TF_HOST_SYNC_USEFUL, 1);
	slices(&r, 0, 75, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1);
	r.process[0].call_log.until = 0;
	finish(&r); /* by the slices: no call is kept */
	assert_near(row(&r, 1, PHASE_LOOP)->end, 750 * MS, 1e-6);
	model_free_phases(&r.m);
	model_free_steps_figures(&r.m.steps);
	r.process[0].call_log.until = 1000 * MS;
	event(&r, 600.2, 747, SPY_CLASS_SYNC);
	event(&r, 900, 950, SPY_CLASS_SYNC); /* much later: not of the loop */
	finish(&r);
	assert_near(row(&r, 1, PHASE_LOOP)->end, 747 * MS, 1e-6);
	end(&r);
}

/* Ranks have one loop each by what tells their steps apart. */
static void test_processes(void **state)
{
	static const double one[] = {200, 800}, late[] = {300, 900}, more[] = {900, 960};
	struct run r;

	start(&r, 2);
	for (int p = 0; p < 2; p++)
		slices(&r, p, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1);
	loop(&r, 1, 1, "k", late, 1);
	loop(&r, 0, 1, "eval", more, 1);
	finish(&r);
	assert_int_equal(r.m.phases.loops, 2);
	const struct model_phase *p = row(&r, 1, PHASE_LOOP);
	assert_int_equal(p->part_count, 2);
	assert_int_equal(p->steps, 1200);
	assert_near(p->time, 1200 * MS, 1e-6);
	assert_near(p->share, 0.6, 1e-9);
	struct model *v = model_view(&r.m, 2);
	assert_false(v->processes[0].call_log.left_out);
	assert_true(v->processes[1].call_log.left_out);
	assert_near(v->host_window, 60 * MS, 1e-6);
	model_view_free(v);
	end(&r);
}

/* NVTX ranges: a long gap ends a stretch, another name is another loop. */
static void test_ranges(void **state)
{
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	r.m.totals.launches = 100000; /* most of other threads, which these ranges do not see */
	r.m.ranges = alloc_zeroed(2, sizeof(*r.m.ranges));
	r.m.range_count = 2;
	for (int i = 0; i < 2; i++)
		r.m.ranges[i] = (struct model_range){.name = alloc_string(i ? "eval" : "train"),
		                                     .parent = RANGE_NONE,
		                                     .stride = 1,
		                                     .q = {9 * MS, 9 * MS, 9 * MS},
		                                     .work = {.launches = 100}};
	r.m.step_rows = alloc_zeroed(1000, sizeof(*r.m.step_rows));
	for (int at = 100; at < 900; at += 10) {
		size_t is_eval = at / 100 % 4 == 3;
		struct model_range *range = &r.m.ranges[is_eval];
		range->count++;
		range->counted++;
		range->rows++;
		range->total += 9 * MS;
		r.m.step_rows[r.m.step_row_count++] = (struct model_step){
		        .source = is_eval, .start = at * MS, .duration = 9 * MS, .counted = true};
	}
	finish(&r);
	assert_int_equal(r.m.phases.loops, 2);
	const struct model_phase *train = row(&r, 1, PHASE_LOOP), *eval = row(&r, 2, PHASE_LOOP);
	assert_int_equal(train->stretches, 3);
	assert_int_equal(train->steps, 60);
	assert_near(train->p50, 9 * MS, 1e-6);
	assert_int_equal(eval->stretches, 2);
	assert_near(eval->start, 300 * MS, 1e-6);
	assert_int_equal(r.m.phases.main, 1);
	assert_int_equal(r.m.steps.source, STEPS_NVTX);
	assert_int_equal(r.m.steps.judged, 60);
	end(&r);
}

/* Each loop has a verdict of its own. */
static void test_a_verdict_each(void **state)
{
	struct analysis a;
	struct run r;

	alternating(&r);
	r.m.gpu.busy.by[TF_IDLE_LAUNCH] = r.m.gpu.busy.by[TF_IDLE_OUTSIDE];
	r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 0;
	for (int i = 0; i < SLICES; i++) {
		double *idle = r.process[0].overview.devices[0].idle[i];
		idle[TF_IDLE_LAUNCH] = idle[TF_IDLE_OUTSIDE];
		idle[TF_IDLE_OUTSIDE] = 0;
	}
	r.process[0].call_log.count = 0;
	finish(&r);
	analysis_make(&a, &r.m, r.m.phases.main);
	assert_int_equal(a.verdict.cls, VERDICT_LAUNCH);
	assert_near(a.verdict.window, 400 * MS, 1e-6);
	assert_near(a.verdict.busy, 0.3, 1e-6);
	assert_int_equal(a.phases[1].cls, VERDICT_LAUNCH);
	assert_int_equal(a.phases[2].cls, VERDICT_SYNC);
	assert_near(a.phases[2].gain, 0.2, 1e-6);
	assert_null(a.phases[3].reason);
	analysis_free(&a);
	analysis_make(&a, &r.m, PHASE_NONE);
	assert_near(a.verdict.window, 1000 * MS - 200 * MS - 0 * MS, 1e-6);
	analysis_free(&a);
	end(&r);
}

/* A host that gives the GPU little all the time (busy 2 %) and frees at the end for a tenth of the
 * run, as for a twentieth it loads code at its begin: what it frees at the end is tear-down. */
static void test_tear_down_of_a_host_that_starves(void **state)
{
	struct run r;
	size_t first;

	start(&r, 1);
	slices(&r, 0, 0, 5, TF_HOST_MODULE, 0);
	slices(&r, 0, 5, 90, TF_HOST_OUTSIDE, 0.02);
	slices(&r, 0, 90, 100, TF_HOST_ALLOC, 0);
	assert_int_equal(phases_teardown(&r.process[0].overview, &first), 10);
	assert_int_equal(first, 90);
	end(&r);
}

/* It allocates a larger buffer once, and goes on as before: nothing is torn down. */
static void test_one_allocation_is_no_tear_down(void **state)
{
	struct run r;
	size_t first;

	start(&r, 1);
	slices(&r, 0, 0, 80, TF_HOST_OUTSIDE, 0.02);
	slices(&r, 0, 80, 81, TF_HOST_ALLOC, 0);
	slices(&r, 0, 81, 100, TF_HOST_OUTSIDE, 0.02);
	assert_int_equal(phases_teardown(&r.process[0].overview, &first), 0);
	end(&r);
}

/* Steps that get shorter all the time, as of batches sorted by length: 3 ms at first and 1 ms at
 * the end. There is no warming up; all are judged. */
static void test_steps_that_always_get_shorter(void **state)
{
	static const double one[] = {100, 900};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
	l->steps = 400;
	r.m.step_rows = alloc_zeroed(400, sizeof(*r.m.step_rows));
	double at = 100;
	for (size_t i = 0; i < 400; i++) {
		double ms = 3 - 2 * (double)i / 399;
		r.m.step_rows[i] = (struct model_step){
		        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
		at += ms;
	}
	r.m.step_row_count = 400;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 800 * MS, 0.01);
	model_view_free(v);
	end(&r);
}

/* GPU busy for 800 ms, memory freed for 30 ms, and 170 ms of the host's own work to the end, in
 * which the GPU gets nothing. */
static void test_work_behind_tear_down(void **state)
{
	struct run r;
	size_t first;

	start(&r, 1);
	slices(&r, 0, 0, 80, TF_HOST_LAUNCH, 0.8);
	slices(&r, 0, 80, 83, TF_HOST_ALLOC, 0);
	slices(&r, 0, 83, 100, TF_HOST_OUTSIDE, 0);
	size_t count = phases_teardown(&r.process[0].overview, &first);
	assert_int_equal(count, 20);
	end(&r);
}

/* Frees in every fifth of the last 20 slices. */
static void test_tear_down_in_pieces(void **state)
{
	struct run r;
	size_t first;

	start(&r, 1);
	slices(&r, 0, 0, 80, TF_HOST_LAUNCH, 0.8);
	for (int i = 80; i < 100; i++)
		slices(&r, 0, i, i + 1, i % 5 == 0 ? TF_HOST_ALLOC : TF_HOST_OUTSIDE, 0);
	size_t count = phases_teardown(&r.process[0].overview, &first);
	assert_int_equal(count, 20);
	end(&r);
}

/* Nothing at all. */
static void test_tear_down_of_nothing(void **state)
{
	struct run r;
	size_t first = 7;

	start(&r, 1);
	assert_int_equal(phases_teardown(&r.process[0].overview, &first), 0);
	assert_int_equal(first, 0);
	r.process[0].overview.count = 0;
	assert_int_equal(phases_teardown(&r.process[0].overview, &first), 0);
	r.process[0].overview.count = SLICES;
	end(&r);
}

/* 20 first steps take 5 ms; then 1 and 2 ms in turns. */
static double window_of(int count, double odd)
{
	static const double one[] = {100, 900};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
	l->steps = (uint64_t)count;
	r.m.step_rows = alloc_zeroed((size_t)count, sizeof(*r.m.step_rows));
	double at = 100;
	for (int i = 0; i < count; i++) {
		double ms = i < 20 ? 5 : (i - 20) % 2 ? odd : 1;
		r.m.step_rows[i] = (struct model_step){
		        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
		at += ms;
	}
	r.m.step_row_count = (size_t)count;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	double window = v->host_window;
	model_view_free(v);
	end(&r);
	return window;
}

static void test_warming_up_of_steps_that_alternate(void **state)
{
	for (int count = 417; count <= 424; count++)
		assert_near(window_of(count, 2), 720 * MS, 0.03);
}

/* Two processes, the second one on a slower GPU: 1 and 1.6 ms a step, the first 20 of each 2.6
 * times as long. */
static void test_warming_up_of_a_faster_process(void **state)
{
	static const double one[] = {100, 900};
	struct run r;
	size_t n = 0;

	start(&r, 2);
	for (int i = 0; i < 2; i++)
		slices(&r, i, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	r.m.step_rows = alloc_zeroed(840, sizeof(*r.m.step_rows));
	for (uint32_t k = 0; k < 2; k++) {
		loop(&r, k, 1, "k", one, 1)->steps = k ? 430 : 400;
		double at = 100;
		for (int i = 0; i < (k ? 430 : 400); i++) {
			double ms = (k ? 1.6 : 1) * (i < 20 ? 2.6 : 1);
			r.m.step_rows[n++] = (struct model_step){.process = k,
			                                         .found = true,
			                                         .tid = 1,
			                                         .start = at * MS,
			                                         .duration = ms * MS};
			at += ms;
		}
	}
	r.m.step_row_count = n;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	/* 10 to 20 of the first steps of either */
	assert_near(v->host_window, (1600 - 1.6 * 2.6 * 16 - 2.6 * 16) * MS, 0.02);
	model_view_free(v);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_loops_that_alternate),
	        cmocka_unit_test(test_the_run_cut_to_a_loop),
	        cmocka_unit_test(test_what_is_kept_of_a_loop),
	        cmocka_unit_test(test_tables_of_a_loop),
	        cmocka_unit_test(test_time_of_copies_of_a_loop),
	        cmocka_unit_test(test_a_slice_in_two),
	        cmocka_unit_test(test_warming_up),
	        cmocka_unit_test(test_steps_that_allocate),
	        cmocka_unit_test(test_tear_down),
	        cmocka_unit_test(test_first_steps),
	        cmocka_unit_test(test_steps_that_get_faster),
	        cmocka_unit_test(test_first_of_rare_steps),
	        cmocka_unit_test(test_threads_of_one_loop),
	        cmocka_unit_test(test_threads_side_by_side),
	        cmocka_unit_test(test_loops_of_little_time),
	        cmocka_unit_test(test_a_loop_that_prepares),
	        cmocka_unit_test(test_loops_of_little_work),
	        cmocka_unit_test(test_a_loop_that_pauses),
	        cmocka_unit_test(test_work_of_other_threads_in_steps),
	        cmocka_unit_test(test_the_wait_behind_a_loop),
	        cmocka_unit_test(test_processes),
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_a_verdict_each),
	        cmocka_unit_test(test_tear_down_of_a_host_that_starves),
	        cmocka_unit_test(test_one_allocation_is_no_tear_down),
	        cmocka_unit_test(test_steps_that_always_get_shorter),
	        cmocka_unit_test(test_work_behind_tear_down),
	        cmocka_unit_test(test_tear_down_in_pieces),
	        cmocka_unit_test(test_tear_down_of_nothing),
	        cmocka_unit_test(test_warming_up_of_steps_that_alternate),
	        cmocka_unit_test(test_warming_up_of_a_faster_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
