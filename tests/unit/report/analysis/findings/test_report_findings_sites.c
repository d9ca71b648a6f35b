/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/findings/findings_internal.h"
#include "tests/unit/report/analysis/findings/findings_fixture.h"

enum { START_UP, LOOP, LINES };

static const struct finding_calls copies = {FINDING_KIND(SITE_COPY), BY_PAGEABLE, ALL_OF_THEM};
static struct model_site sites[LINES];
static struct model_place places[LINES];
static uint32_t place_of_site[LINES];

/* Two lines copy pageable memory; so much of the bytes is what those of their calls had whose line
 * is known. */
static void with_lines(struct run *r, uint64_t start_up, uint64_t loop)
{
	for (size_t i = 0; i < LINES; i++) {
		sites[i] =
		        (struct model_site){.kind = SITE_COPY, .api = "cuMemcpyHtoD", .place = i};
		places[i] = (struct model_place){.site = i, .sites = 1};
		place_of_site[i] = (uint32_t)i;
	}
	places[START_UP].pageable_bytes = start_up;
	places[LOOP].pageable_bytes = loop;
	r->m.sites = (struct model_sites){.recorded = true,
	                                  .items = sites,
	                                  .count = LINES,
	                                  .places = places,
	                                  .place_count = LINES};
	r->process.site_of = place_of_site;
	r->process.site_count = LINES;
}

/* So many copies of what is judged; the line of the first ones is known. */
static void with_copies(struct run *r, unsigned count, unsigned known, uint64_t bytes)
{
	for (unsigned i = 0; i < count; i++) {
		struct call_event *a = run_copy_back(r, FREE, 100.0 * i, 2);
		a->bytes = bytes;
		a->site = i < known ? LOOP + 1 : 0;
	}
}

static const struct model_place *line_of_copies(struct run *r)
{
	struct finding_context c = {.m = &r->m,
	                            .process = &r->process,
	                            .h = &r->process.call_log,
	                            .call_events = r->process.call_log.call_events,
	                            .count = r->process.call_log.count};
	struct finding f = {.direction = SPY_DIR_COUNT};

	finding_find_site(&c, &copies, &f);
	return f.place;
}

/* By the calls of what is judged, however much others copied before. */
static void test_known_calls(void **state)
{
	struct run r;

	run_start(&r);
	with_lines(&r, 1000000, 3000);
	with_copies(&r, 100, 3, 1000);
	assert_ptr_equal(line_of_copies(&r), &places[LOOP]);
	run_end(&r);
}

/* None of these calls has a line that is known: where nearly all bytes were copied before what is
 * judged, no line is told. */
static void test_most_was_before(void **state)
{
	struct run r;

	run_start(&r);
	with_lines(&r, 1000000, 0);
	with_copies(&r, 100, 0, 1000);
	assert_null(line_of_copies(&r));
	run_end(&r);
}

/* The same where what is judged is most of the run; and as far as its calls are still kept. */
static void test_most_is_judged(void **state)
{
	struct run r;

	run_start(&r);
	with_lines(&r, 20000, 70000);
	with_copies(&r, 100, 0, 1000);
	assert_ptr_equal(line_of_copies(&r), &places[LOOP]);
	with_lines(&r, 200000, 700000);
	assert_null(line_of_copies(&r));
	r.process.call_log.coverage = 0.1;
	assert_ptr_equal(line_of_copies(&r), &places[LOOP]);
	run_end(&r);
}

/* Samples alone have the line of a launch: where nearly all launches are judged, those of the whole
 * run tell, else the few of the recent calls. */
static void test_launches_of_the_whole_run(void **state)
{
	static const struct finding_calls launches = {FINDING_KIND(SITE_LAUNCH), BY_API,
	                                              ALL_OF_THEM};
	struct run r;

	run_start(&r);
	with_lines(&r, 0, 0);
	for (unsigned i = 0; i < 100; i++)
		run_launch(&r, FREE, 100.0 * i, 2)->site = i < 3 ? START_UP + 1 : 0;
	double one =
	        r.process.call_log.call_events[0].end - r.process.call_log.call_events[0].start;
	for (size_t i = 0; i < LINES; i++)
		sites[i].kind = SITE_LAUNCH;
	places[START_UP].api_time = 45 * one;
	places[LOOP].api_time = 60 * one;
	struct finding_context c = {.m = &r.m,
	                            .process = &r.process,
	                            .h = &r.process.call_log,
	                            .call_events = r.process.call_log.call_events,
	                            .count = r.process.call_log.count};
	struct finding f = {.direction = SPY_DIR_COUNT};
	finding_find_site(&c, &launches, &f);
	assert_ptr_equal(f.place, &places[LOOP]);
	places[LOOP].api_time = 120 * one; /* some before what is judged */
	finding_find_site(&c, &launches, &f);
	assert_ptr_equal(f.place, &places[START_UP]);
	run_end(&r);
}

/* What is freed was made elsewhere, and it is that line that can be changed; but where a pool of a
 * framework's is emptied the line that asks for it is the cause. */
static void test_allocations(void **state)
{
	static const struct finding_calls calls = {FINDING_KIND(SITE_ALLOC), BY_API, THAT_ALLOCATE};
	static const enum framework frameworks[] = {FRAMEWORK_NONE, FRAMEWORK_NUMBA, FRAMEWORK_JAX,
	                                            FRAMEWORK_CUPY, FRAMEWORK_PYTORCH};

	for (size_t k = 0; k < sizeof(frameworks) / sizeof(frameworks[0]); k++) {
		struct run r;
		run_start(&r);
		with_lines(&r, 50, 100);
		for (size_t i = 0; i < LINES; i++)
			sites[i].kind = SITE_ALLOC;
		for (unsigned i = 0; i < 20; i++) {
			run_call(&r, SPY_CLASS_ALLOC, 100.0 * i, 20)->site = START_UP + 1;
			struct call_event *frees =
			        run_call(&r, SPY_CLASS_ALLOC, 100.0 * i + 50, 40);
			frees->site = LOOP + 1;
			frees->is_free = true;
		}
		struct finding_context c = {.m = &r.m,
		                            .process = &r.process,
		                            .h = &r.process.call_log,
		                            .call_events = r.process.call_log.call_events,
		                            .count = r.process.call_log.count,
		                            .framework = frameworks[k]};
		struct finding f = {.direction = SPY_DIR_COUNT};
		finding_find_site(&c, &calls, &f);
		assert_ptr_equal(f.place, &places[k < 3 ? START_UP : LOOP]);
		run_end(&r);
	}
}

/* A finding about one direction has a line of that, whatever the other took. */
static void test_the_direction(void **state)
{
	static const struct {
		enum spy_direction direction;
		enum finding_measure by;
		size_t line; /* of the longer copies to the device, or those to the host */
	} runs[] = {{SPY_DIR_COUNT, BY_API, START_UP},
	            {SPY_DIR_DTOH, BY_API, LOOP},
	            {SPY_DIR_HTOD, BY_PAGEABLE, START_UP},
	            {SPY_DIR_DTOH, BY_PAGEABLE, LOOP}};

	for (size_t k = 0; k < sizeof(runs) / sizeof(runs[0]); k++) {
		const struct finding_calls calls = {FINDING_KIND(SITE_COPY), runs[k].by,
		                                    ALL_OF_THEM};
		struct run r;
		run_start(&r);
		with_lines(&r, 100, 50);
		for (unsigned i = 0; i < 20; i++) {
			struct call_event *to = run_copy_back(&r, FREE, 100.0 * i, 40);
			to->direction = SPY_DIR_HTOD;
			to->bytes = 2000;
			to->site = START_UP + 1;
			struct call_event *back = run_copy_back(&r, FREE, 100.0 * i + 50, 20);
			back->bytes = 1000;
			back->site = LOOP + 1;
		}
		struct finding_context c = {.m = &r.m,
		                            .process = &r.process,
		                            .h = &r.process.call_log,
		                            .call_events = r.process.call_log.call_events,
		                            .count = r.process.call_log.count};
		struct finding f = {.direction = runs[k].direction};
		finding_find_site(&c, &calls, &f);
		assert_ptr_equal(f.place, &places[runs[k].line]);
		run_end(&r);
	}
}

/* Nothing is kept: all lines are of what is judged. */
static void test_no_calls(void **state)
{
	struct run r;

	run_start(&r);
	with_lines(&r, 200, 700);
	assert_ptr_equal(line_of_copies(&r), &places[LOOP]);
	run_end(&r);
}

/* XLA waits outside CUDA for what it reads: the line is that of the copies that bring it, not of
 * those that take something there. Where there are waits, it is theirs. */
static void test_reads_without_waits(void **state)
{
	struct run r;

	run_start(&r);
	with_lines(&r, 0, 0);
	for (unsigned i = 0; i < 100; i++) {
		struct call_event *to = run_copy_back(&r, FREE, 100.0 * i, 20);
		to->direction = SPY_DIR_HTOD;
		to->memory = SPY_MEM_PINNED;
		to->site = START_UP + 1;
		run_launch(&r, FREE, 100.0 * i + 30, 2);
		struct call_event *back = run_copy_back(&r, FREE, 100.0 * i + 40, 2);
		back->memory = SPY_MEM_PINNED;
		back->async = true;
		back->site = LOOP + 1;
	}
	run_finding(&r, "none");
	assert_ptr_equal(r.found.of_class[VERDICT_SYNC].place, &places[LOOP]);
	sites[START_UP].kind = SITE_WAIT;
	sites[START_UP].api = "cuStreamSynchronize";
	run_sync(&r, FREE, 10000, 50)->site = START_UP + 1;
	run_finding(&r, "none");
	assert_ptr_equal(r.found.of_class[VERDICT_SYNC].place, &places[START_UP]);
	run_end(&r);
}

/* The host reads a result in each step by a blocking copy, and waits once at the end, as in Numba:
 * the line of the waits is that of the reads, not of the large copies to the host. Where the wait
 * takes longer than the reads it is its line. */
static void test_reads_that_wait(void **state)
{
	for (int longer = 0; longer < 2; longer++) {
		struct run r;
		run_start(&r);
		with_lines(&r, 0, 0);
		for (unsigned i = 0; i < 100; i++) {
			run_launch(&r, FREE, 100.0 * i, 2);
			run_copy_back(&r, FREE, 100.0 * i + 10, 2)->site = LOOP + 1;
			struct call_event *large = run_copy_back(&r, FREE, 100.0 * i + 20, 50);
			large->bytes = 1 << 20;
			large->site = START_UP + 1;
		}
		if (longer) {
			sites[START_UP].kind = SITE_WAIT;
			sites[START_UP].api = "cudaDeviceSynchronize";
		}
		run_sync(&r, FREE, 10000, longer ? 500 : 100)->site = longer ? START_UP + 1 : 0;
		r.verdict = (struct verdict){.cls = VERDICT_SYNC,
		                             .first = VERDICT_SYNC,
		                             .second = VERDICT_NONE,
		                             .window = 1000 * MS,
		                             .gain = 0.3};
		run_idle(&r, TF_IDLE_OUTSIDE, 450);
		const struct finding *f = run_finding(&r, "sync-every-step");
		const struct model_place *line = &places[longer ? START_UP : LOOP];
		assert_non_null(f);
		assert_int_equal(f->of_reads, !longer);
		assert_ptr_equal(f->place, line);
		assert_ptr_equal(r.found.of_class[VERDICT_SYNC].place, line);
		run_end(&r);
	}
}

/* Steps of a call at each of two lines and work of the host's own between the second and the next
 * step's first; by a thread that runs no lines the first one, `apart` us ahead of the program's. */
static const struct finding *between(struct run *r, bool library, double apart)
{
	static struct model_frame frames[LINES + 1] = {{.python = true, .line = 10, .hash = 1},
	                                               {.python = true, .line = 20, .hash = 1},
	                                               {.python = true, .line = 10, .hash = 1}};

	run_start(r);
	with_lines(r, 0, 0);
	for (size_t i = 0; i < LINES; i++) {
		sites[i].frames = &frames[i];
		sites[i].frame_count = 1;
	}
	sites[START_UP].thread = library ? "python3" : NULL;
	for (int i = 0; i < 100; i++) {
		double at = i * 1000.0;
		struct call_event *a = run_copy_back(r, FREE, at, 2);
		a->thread = library ? 1 : 2;
		a->site = START_UP + 1;
		a = run_launch(r, FREE, at + apart, 2);
		a->thread = 2;
		a->site = LOOP + 1;
	}
	run_idle(r, TF_IDLE_OUTSIDE, 900);
	return run_finding(r, "host-starves-gpu");
}

static void test_between_two_lines(void **state)
{
	struct run r;

	const struct finding *f = between(&r, false, 20);
	assert_true(f->ahead);
	assert_int_equal(f->since->line, 20);
	assert_int_equal(f->until->line, 10);
	run_end(&r);
	f = between(&r, true, 20);
	assert_string_equal(f->site->thread, "python3");
	assert_int_equal(f->since->line, 20);
	assert_int_equal(f->until->line, 20);
	run_end(&r);
	f = between(&r, true, 300); /* what the program calls next is far behind */
	assert_true(f->ahead && !f->since && !f->until);
	run_end(&r);
}

/* Of the step's last launch the stack is seldom taken: the line is that of its kind of work, where
 * that has one, and never that of a call before it. */
static void test_between_the_last_launch(void **state)
{
	static struct model_frame frames[] = {{.python = true, .line = 10, .hash = 1},
	                                      {.python = true, .line = 20, .hash = 1}};
	struct run r;

	for (int known = 0; known < 2; known++) {
		run_start(&r);
		with_lines(&r, 0, 0);
		for (size_t i = 0; i < LINES; i++) {
			sites[i].frames = &frames[i];
			sites[i].frame_count = 1;
		}
		for (int i = 0; i < 100; i++) {
			double at = i * 1000.0;
			run_copy_back(&r, FREE, at, 2)->site = START_UP + 1;
			struct call_event *first = run_launch(&r, FREE, at + 10, 2);
			first->work = 1;
			first->site = START_UP + 1;
			struct call_event *last = run_launch(&r, FREE, at + 20, 2);
			last->work = 2;
			last->site = known && i % 10 == 5 ? LOOP + 1 : 0;
		}
		run_idle(&r, TF_IDLE_OUTSIDE, 900);
		const struct finding *f = run_finding(&r, "host-starves-gpu");
		assert_true(f->ahead);
		if (known) {
			assert_int_equal(f->since->line, 20);
			assert_int_equal(f->until->line, 10);
		} else {
			assert_null(f->since);
		}
		run_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_between_two_lines),
	        cmocka_unit_test(test_between_the_last_launch),
	        cmocka_unit_test(test_known_calls),
	        cmocka_unit_test(test_most_was_before),
	        cmocka_unit_test(test_most_is_judged),
	        cmocka_unit_test(test_allocations),
	        cmocka_unit_test(test_the_direction),
	        cmocka_unit_test(test_launches_of_the_whole_run),
	        cmocka_unit_test(test_no_calls),
	        cmocka_unit_test(test_reads_without_waits),
	        cmocka_unit_test(test_reads_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
