/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/analysis.h"
#include "tests/unit/report/model/phases_fixture.h"

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

/* 500 steps are given in 50 ms, 0.1 ms each, and then the host waits for 550 ms: they are made at
 * the pace of the loop. Where they take all of it, by what they take. */
static void test_steps_given_ahead(void **state)
{
	static const double one[] = {200, 800};

	for (int ahead = 0; ahead < 2; ahead++) {
		struct run r;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		add_up(&r);
		loop(&r, 0, 1, "k", one, 1)->steps = 500;
		r.m.step_rows = alloc_zeroed(500, sizeof(*r.m.step_rows));
		double ms = ahead ? 0.1 : 1.2;
		for (size_t i = 0; i < 500; i++)
			r.m.step_rows[i] = (struct model_step){.found = true,
			                                       .tid = 1,
			                                       .start = (200 + (double)i * ms) * MS,
			                                       .duration = ms * MS};
		r.m.step_row_count = 500;
		finish(&r);
		assert_int_equal(r.m.steps.apart, ahead);
		assert_near(r.m.steps.per_s, 500 / 0.6, 1e-3);
		assert_near(r.m.steps.duration.mean, ms * MS, 1e-6);
		end(&r);
	}
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

/* Where most steps take next to no time and a few take all of it, that is the loop's as far as the
 * GPU works in it: the host ran ahead, and waits. What it spends else, as for code that is
 * compiled, makes no loop of a few calls. */
static void test_a_loop_that_runs_ahead(void **state)
{
	static const double first[] = {100, 300}, later[] = {400, 900};
	static const struct {
		double busy; /* of the GPU, in the later one */
		size_t main;
	} cases[] = {{0.9, 2}, {0.3, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;
		start(&r, 1);
		slices(&r, 0, 0, 40, TF_HOST_LAUNCH, 0);
		slices(&r, 0, 40, 90, TF_HOST_OUTSIDE, cases[i].busy);
		slices(&r, 0, 90, 100, TF_HOST_OUTSIDE, 0);
		add_up(&r);
		loop(&r, 0, 1, "first", first, 1);
		loop(&r, 0, 1, "later", later, 1)->q.p50 = 0.05 * MS;
		finish(&r);
		assert_near(row(&r, 2, PHASE_LOOP)->busy, cases[i].busy * 500 * MS, 1e-6);
		assert_int_equal(r.m.phases.main, cases[i].main);
		end(&r);
	}
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
		assert_int_equal(r.m.phases.rows[1].prepares, cases[i].main == 2 ? 2 : 0);
		assert_int_equal(r.m.phases.rows[2].prepares, 0);
		end(&r);
	}
}

/*
 * A loop in which XLA tries its kernels is never judged where there is another, however long it
 * took, whether it goes on later (more is compiled), comes after it or has most of the work. It
 * prepares those that begin later.
 */
static void test_a_loop_that_tries_kernels(void **state)
{
	static const char *const ours = "void shop::DelayKernel(float *)",
	                         *const delay = "stream_executor::gpu::(anonymous namespace)::"
	                                        "DelayKernel(stream_executor::GpuSemaphoreState)",
	                         *const compare = "void stream_executor::gpu::xla_fp_comparison"
	                                          "<float, double>(float *, float *)",
	                         *const older = "void xla::gpu::buffer_comparator::"
	                                        "xla_fp_comparison<float>(float *, float *)";
	const struct {
		const char *name[3];
		double at[3][4];
		size_t main; /* row, of loops by their starts from 1 on */
		unsigned prepares[3];
	} cases[] = {
	        {{delay, "work"}, {{100, 500}, {550, 600}}, 2, {2}},
	        {{compare, "work"}, {{100, 500}, {550, 600}}, 2, {2}},
	        {{older, "work"}, {{100, 500}, {550, 600}}, 2, {2}},
	        {{ours, "work"}, {{100, 500}, {550, 600}}, 1, {0}},
	        {{delay, compare}, {{100, 500}, {550, 600}}, 1, {0}},
	        {{delay, "work"}, {{100, 500, 800, 820}, {510, 790}}, 2, {2}},
	        {{"work", delay}, {{100, 300}, {310, 900}}, 1, {0}},
	        {{"work", delay, "rest"}, {{100, 400}, {420, 900}, {910, 930}}, 1, {0}},
	        {{delay, "rest"}, {{50, 850}, {860, 880}}, 2, {2}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;
		size_t count = 0;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		for (; count < 3 && cases[i].name[count]; count++)
			loop(&r, 0, 1, cases[i].name[count], cases[i].at[count],
			     cases[i].at[count][2] > 0 ? 2 : 1);
		add_up(&r);
		finish(&r);
		assert_int_equal(r.m.phases.main, cases[i].main);
		for (size_t k = 0; k < count; k++)
			assert_int_equal(r.m.phases.rows[1 + k].prepares, cases[i].prepares[k]);
		end(&r);
	}
}

/* Where nothing else repeats it is judged, whatever else is launched; ranges of the program's own
 * come before it, however little they launch. */
static void test_tuning_and_little_else(void **state)
{
	static const double at[] = {50, 750};

	for (int ranges = 0; ranges < 2; ranges++) {
		struct run r;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		loop(&r, 0, 1, "stream_executor::gpu::DelayKernel()", at, 1);
		r.m.totals.launches += 200;
		r.m.step_rows = alloc_zeroed(1000, sizeof(*r.m.step_rows));
		if (ranges) {
			r.m.ranges = alloc_zeroed(1, sizeof(*r.m.ranges));
			r.m.range_count = 1;
			r.m.ranges[0] = (struct model_range){.name = alloc_string("step"),
			                                     .parent = RANGE_NONE,
			                                     .rows = 200,
			                                     .total = 200 * MS,
			                                     .stride = 1,
			                                     .q = {1 * MS, 1 * MS, 1 * MS},
			                                     .mean = 1 * MS,
			                                     .count = 200,
			                                     .counted = 200,
			                                     .work = {.launches = 200}};
			for (int i = 0; i < 200; i++)
				r.m.step_rows[r.m.step_row_count++] =
				        (struct model_step){.tid = 1,
				                            .start = (760 + i) * MS,
				                            .duration = 0.9 * MS,
				                            .counted = true};
		}
		add_up(&r);
		finish(&r);
		assert_true(r.m.phases.main != PHASE_NONE);
		assert_int_equal(r.m.phases.rows[r.m.phases.main].found, !ranges);
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

/* The steps of a range are found as well, and the first of these stood still ahead of its range:
 * with more than twice the range's time it is the same loop all the same. */
static void test_a_range_and_its_steps_found(void **state)
{
	static const double one[] = {80, 900};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	struct model_loop *found = loop(&r, 0, 1, "k", one, 1);
	found->steps = found->stretches[0].steps = 41;
	r.m.ranges = alloc_zeroed(1, sizeof(*r.m.ranges));
	r.m.range_count = 1;
	r.m.ranges[0] = (struct model_range){.name = alloc_string("step"),
	                                     .parent = RANGE_NONE,
	                                     .count = 40,
	                                     .counted = 40,
	                                     .rows = 40,
	                                     .stride = 1,
	                                     .total = 40 * 9 * MS,
	                                     .q = {9 * MS, 9 * MS, 9 * MS},
	                                     .work = {.launches = 400}};
	r.m.step_rows = alloc_zeroed(1000, sizeof(*r.m.step_rows));
	for (int at = 500; at < 900; at += 10)
		r.m.step_rows[r.m.step_row_count++] =
		        (struct model_step){.start = at * MS, .duration = 9 * MS, .counted = true};
	finish(&r);
	assert_int_equal(r.m.phases.loops, 1);
	assert_int_equal(row(&r, 1, PHASE_LOOP)->steps, 40);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_loops_that_alternate),
	        cmocka_unit_test(test_the_run_cut_to_a_loop),
	        cmocka_unit_test(test_what_is_kept_of_a_loop),
	        cmocka_unit_test(test_tables_of_a_loop),
	        cmocka_unit_test(test_time_of_copies_of_a_loop),
	        cmocka_unit_test(test_a_slice_in_two),
	        cmocka_unit_test(test_threads_of_one_loop),
	        cmocka_unit_test(test_threads_side_by_side),
	        cmocka_unit_test(test_steps_given_ahead),
	        cmocka_unit_test(test_loops_of_little_time),
	        cmocka_unit_test(test_a_loop_that_runs_ahead),
	        cmocka_unit_test(test_a_loop_that_prepares),
	        cmocka_unit_test(test_a_loop_that_tries_kernels),
	        cmocka_unit_test(test_tuning_and_little_else),
	        cmocka_unit_test(test_loops_of_little_work),
	        cmocka_unit_test(test_a_loop_that_pauses),
	        cmocka_unit_test(test_work_of_other_threads_in_steps),
	        cmocka_unit_test(test_the_wait_behind_a_loop),
	        cmocka_unit_test(test_processes),
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_a_range_and_its_steps_found),
	        cmocka_unit_test(test_a_verdict_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
