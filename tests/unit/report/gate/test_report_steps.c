/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and NVTX ranges of a recording, as reports, baselines and the judge have them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/render.h"
#include "report/base/alloc.h"
#include "report/gate/baseline.h"
#include "report/gate/judge.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static void read_stepped(struct model *m, uint64_t skip, const char *from)
{
	char error[READER_ERROR_BYTES];
	struct recording r;
	struct made made;

	made_stepped(&made);
	*m = (struct model){.skip_steps = skip, .steps_from = from};
	assert_int_equal(
	        recording_from_memory(&r, made.map.base, made_bytes(&made), &m->warnings, error),
	        0);
	model_add(m, &r);
	recording_close(&r);
	model_finish(m);
	made_free(&made);
}

static double launches_of(const struct figures *f)
{
	return f->steps.of[metric_work(&metrics[METRIC_LAUNCHES])].mean;
}

static void test_which_steps(void **state)
{
	static const struct {
		uint64_t skip;
		const char *from;
		enum model_steps_source source;
		const char *name;
		uint64_t judged;
		double launches;
	} cases[] = {
	        {0, NULL, STEPS_NVTX, "train_step", 20, 3},
	        {5, NULL, STEPS_NVTX, "train_step", 15, 3},
	        {99, NULL, STEPS_NVTX, "train_step", 0, NAN},
	        {0, "train_step", STEPS_NVTX, "train_step", 20, 3},
	        {2, "forward", STEPS_NVTX, "forward", 18, 2},
	        {0, "train", STEPS_NONE, NULL, 0, NAN}, /* a name, no part of one */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct figures f;
		struct model m;
		read_stepped(&m, cases[i].skip, cases[i].from);
		render_figures(&f, &m);
		assert_int_equal(f.steps.source, cases[i].source);
		assert_int_equal(f.steps.judged, cases[i].judged);
		assert_int_equal(f.steps.name != NULL, cases[i].name != NULL);
		if (cases[i].name)
			assert_string_equal(f.steps.name, cases[i].name);
		assert_true(isnan(cases[i].launches) ? isnan(launches_of(&f))
		                                     : launches_of(&f) == cases[i].launches);
		figures_free(&f);
		model_free(&m);
	}
}

/* Where found steps begin and end is not known of the first and the last. */
static void test_found_steps_lose_their_edges(void **state)
{
	struct model_step rows[12] = {{0}};
	struct model m = {
	        .steps = {.rows = rows, .source = STEPS_FOUND, .count = 12, .judged = 12}};
	struct figures_step_set s;

	for (int i = 0; i < 12; i++) {
		rows[i].process = i >= 9; /* nine steps of one process, three of another */
		rows[i].counted = true;
		rows[i].work.launches = i == 0 || i == 8 ? 100 : 5;
	}
	figures_take_steps(&s, &m);
	assert_int_equal(s.judged, 7 + 3);
	assert_near(s.of[0].max, 5, 0);
	assert_near(s.of[0].error, 0, 0);
	m.steps.source = STEPS_NVTX;
	figures_take_steps(&s, &m);
	assert_int_equal(s.judged, 12);
	assert_near(s.of[0].max, 100, 0);
	assert_true(s.of[0].error > 0);
}

static void test_error_of_a_mean(void **state)
{
	struct model_step rows[40] = {{0}};
	struct model m = {.steps = {.rows = rows, .source = STEPS_NVTX, .count = 40, .judged = 40}};
	struct figures_step_set s;

	/* Ten groups of four, their means 1 and 2 in turn: sd 0.527, over the root of ten. */
	for (int i = 0; i < 40; i++) {
		rows[i].counted = true;
		rows[i].work.launches = 1 + i / 4 % 2;
	}
	figures_take_steps(&s, &m);
	assert_near(s.of[0].mean, 1.5, 1e-12);
	assert_near(s.of[0].error, sqrt(.25 / 9), 1e-12);
	assert_near(s.of[0].freedom, 9, 0);
	/* Fewer steps than groups: each by itself. */
	m.steps.judged = 2;
	rows[1].work.launches = 3;
	figures_take_steps(&s, &m);
	assert_near(s.of[0].error, 1, 1e-12);
	assert_near(s.of[0].freedom, 1, 0);
}

static void must_be_same(const struct figures *a, const struct figures *b)
{
	assert_string_equal(a->verdict, b->verdict);
	assert_int_equal(a->kernels.count, b->kernels.count);
	for (size_t i = 0; i < a->kernels.count; i++)
		assert_string_equal(a->kernels.items[i].name, b->kernels.items[i].name);
	assert_int_equal(a->steps.source, b->steps.source);
	assert_string_equal(a->steps.name, b->steps.name);
	assert_int_equal(a->steps.judged, b->steps.judged);
	for (size_t i = 0; i < METRICS; i++) {
		int work = metric_work(&metrics[i]);
		if (work < 0)
			continue;
		const struct figures_step *x = &a->steps.of[work], *y = &b->steps.of[work];
		assert_near(x->mean, y->mean, 0);
		assert_near(x->min, y->min, 0);
		assert_near(x->max, y->max, 0);
		assert_near(x->error, y->error, 0);
	}
	assert_int_equal(a->ranges.count, b->ranges.count);
	for (size_t i = 0; i < a->ranges.count; i++) {
		const struct figures_range *x = &a->ranges.items[i], *y = &b->ranges.items[i];
		assert_string_equal(x->name, y->name);
		assert_true(x->parent == y->parent);
		assert_near(x->count, y->count, 0);
		for (size_t k = 0; k < METRICS; k++)
			if (metric_work(&metrics[k]) >= 0)
				assert_near(x->of[metric_work(&metrics[k])],
				            y->of[metric_work(&metrics[k])], 0);
	}
}

static void renamed(char **name, const char *to)
{
	free(*name);
	*name = strdup(to);
}

/* What a baseline holds of steps and ranges, and the names of all, is what its recordings have, one
 * by one. */
static void test_baseline_holds_them(void **state)
{
	struct figures runs[2];
	struct run_set s = {runs, 2}, read = {0};
	char path[64];
	int fd = memfd_create("baseline", 0);

	for (int i = 0; i < 2; i++) {
		struct model m;
		read_stepped(&m, 0, NULL);
		render_figures(&runs[i], &m);
		runs[i].name = NULL;
		model_free(&m);
	}
	struct figures_step *launches = &runs[1].steps.of[metric_work(&metrics[METRIC_LAUNCHES])];
	*launches = (struct figures_step){10. / 3, 3, 4, 1. / 7, 9};
	runs[1].ranges.items[1].of[metric_work(&metrics[METRIC_LAUNCHES])] = 50;
	for (int i = 0; i < 2; i++) { /* what JSON's text cannot hold, and what looks like it */
		renamed(&runs[i].ranges.items[1].name, "\\x1b\\\\ \x7f\xff");
		renamed(&runs[i].verdict, "a\\xff\x7f");
		ALLOC_ROOM(runs[i].kernels.items, runs[i].kernels.count);
		runs[i].kernels.items[runs[i].kernels.count++] =
		        (struct figures_part){.name = strdup("k\\x1b\xff"), .count = 3};
	}
	FILE *to = fdopen(dup(fd), "w");
	baseline_write(&s, to);
	fclose(to);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(baseline_is(path));
	assert_int_equal(baseline_load(&read, path), 0);
	assert_int_equal(read.count, 2);
	for (int i = 0; i < 2; i++) {
		must_be_same(&runs[i], &read.runs[i]);
		figures_free(&runs[i]);
	}
	run_set_free(&read);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_which_steps),
	        cmocka_unit_test(test_found_steps_lose_their_edges),
	        cmocka_unit_test(test_error_of_a_mean),
	        cmocka_unit_test(test_baseline_holds_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
