/* SPDX-License-Identifier: Apache-2.0 */
/* What is not judged: the first steps of a loop, which warm up, and what is torn down at the end.
 */
#include "tests/unit/report/model/phases_fixture.h"

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

/* Of a few long steps too: the first of 16 compiles, and takes four times as long. Of six none can
 * be told from the others, nor where every eighth is as long. */
static void test_the_first_of_few_steps(void **state)
{
	static const double one[] = {200, 800};
	static const struct {
		uint64_t steps, every, judged;
	} runs[] = {{16, 16, 15}, {6, 6, 6}, {16, 8, 16}};

	for (size_t k = 0; k < sizeof(runs) / sizeof(runs[0]); k++) {
		struct run r;
		uint64_t steps = runs[k].steps, every = runs[k].every;
		start(&r, 1);
		slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
		add_up(&r);
		struct model_loop *l = loop(&r, 0, 1, "k", one, 1);
		double usual = 600.0 / (double)(steps + 3 * steps / every);
		l->steps = steps;
		r.m.step_rows = alloc_zeroed(steps, sizeof(*r.m.step_rows));
		for (double at = 200; r.m.step_row_count < steps;) {
			size_t i = r.m.step_row_count++;
			double ms = i % every ? usual : 4 * usual;
			r.m.step_rows[i] = (struct model_step){
			        .found = true, .tid = 1, .start = at * MS, .duration = ms * MS};
			at += ms;
		}
		finish(&r);
		struct model *v = model_view(&r.m, 1);
		assert_near(v->phase_steps, (double)runs[k].judged, 1e-6);
		assert_near(v->steps.judged_per_s,
		            1e3 * (double)runs[k].judged /
		                    (runs[k].judged < steps ? 600 - 4 * usual : 600),
		            0.02);
		assert_near(v->host_window, (600 - (runs[k].judged < steps ? 4 * usual : 0)) * MS,
		            0.01);
		model_view_free(v);
		end(&r);
	}
}

/* The slices reach from load to exit, the shares are of the window: 300 ms of imports ahead of it
 * and 100 ms behind it are no time of the loop's kind. */
static void test_time_beyond_the_window(void **state)
{
	static const double one[] = {300, 600};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 60, TF_HOST_OUTSIDE, 0);
	for (int i = 60; i < 90; i++)
		slices(&r, 0, i, i + 1, i % 2 ? TF_HOST_OUTSIDE : TF_HOST_LAUNCH, 0.5);
	slices(&r, 0, 90, 100, TF_HOST_OUTSIDE, 0);
	add_up(&r);
	r.process[0].overview.window = 300 * MS;
	r.process[0].window = r.m.window = r.m.host_window = r.m.host.alive = 600 * MS;
	r.m.host.outside = 450 * MS; /* in the window */
	loop(&r, 0, 1, "k", one, 1);
	finish(&r);
	struct model *v = model_view(&r.m, r.m.phases.main);
	assert_near(v->host_window, 300 * MS, 1e-6);
	assert_near(v->host.launch_api, 150 * MS, 1e-6);
	assert_near(v->host.outside, 150 * MS, 1e-6);
	model_view_free(v);
	end(&r);
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

/* The first step takes longer than the 300 others together, as in a short run that makes its code
 * then: it is no usual one. */
static void test_a_first_step_longer_than_the_rest(void **state)
{
	static const double one[] = {100, 900};
	struct run r;

	start(&r, 1);
	slices(&r, 0, 0, 100, TF_HOST_LAUNCH, 0.5);
	add_up(&r);
	loop(&r, 0, 1, "k", one, 1)->steps = 301;
	r.m.step_rows = alloc_zeroed(301, sizeof(*r.m.step_rows));
	for (int i = 0; i < 301; i++)
		r.m.step_rows[i] = (struct model_step){.found = true,
		                                       .tid = 1,
		                                       .start = (i ? 600.0 + (i - 1) : 100.0) * MS,
		                                       .duration = (i ? 1 : 500) * MS};
	r.m.step_row_count = 301;
	finish(&r);
	struct model *v = model_view(&r.m, 1);
	assert_near(v->host_window, 300 * MS, 1e-6);
	assert_near(v->phase_steps, 300, 1e-9);
	model_view_free(v);
	end(&r);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_warming_up),
	        cmocka_unit_test(test_time_beyond_the_window),
	        cmocka_unit_test(test_the_first_of_few_steps),
	        cmocka_unit_test(test_steps_that_allocate),
	        cmocka_unit_test(test_first_steps),
	        cmocka_unit_test(test_steps_that_get_faster),
	        cmocka_unit_test(test_first_of_rare_steps),
	        cmocka_unit_test(test_steps_that_always_get_shorter),
	        cmocka_unit_test(test_warming_up_of_steps_that_alternate),
	        cmocka_unit_test(test_a_first_step_longer_than_the_rest),
	        cmocka_unit_test(test_warming_up_of_a_faster_process),
	        cmocka_unit_test(test_tear_down),
	        cmocka_unit_test(test_tear_down_of_a_host_that_starves),
	        cmocka_unit_test(test_one_allocation_is_no_tear_down),
	        cmocka_unit_test(test_work_behind_tear_down),
	        cmocka_unit_test(test_tear_down_in_pieces),
	        cmocka_unit_test(test_tear_down_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
