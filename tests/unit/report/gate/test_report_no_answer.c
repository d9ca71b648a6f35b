/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that a recording cannot answer: nothing of it is known, or not which kernels ran. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gate/judge.h"
#include "tests/unit/unit.h"

#define KERNELS 3

struct one { /* a run with a few kernels */
	struct figures run;
	struct figures_part kernels[KERNELS];
};

static void start(struct one *o, uint64_t gemm, const char *name, uint64_t launches)
{
	*o = (struct one){.kernels = {{.name = (char *)name, .count = launches},
	                              {.name = (char *)"gemm", .count = gemm},
	                              {.name = (char *)"scale", .count = 1}}};
	o->run = (struct figures){
	        .name = (char *)"run", .has_times = true, .kernels = {o->kernels, KERNELS}};
	o->run.values[METRIC_LAUNCHES] = (double)(gemm + launches + 1);
}

static struct judgement judged(const char *text, bool expected, struct figures *before,
                               struct figures *after)
{
	const struct run_set sides[] = {{before, before != NULL}, {after, 1}};
	const struct judge judge = {.before = &sides[0], .after = &sides[1]};
	struct rule_error error;
	struct judgement j;
	struct rule r;

	assert_true(expected ? rule_expect(&r, text, &error) : rule_parse(&r, text, &error));
	judge_rule(&j, &r, &judge);
	rule_free(&r);
	j.rule = NULL;
	return j;
}

static void check(const char *text, struct figures *before, struct figures *after,
                  enum judge_outcome wanted, const char *why)
{
	struct judgement j = judged(text, false, before, after);

	if (j.outcome != wanted || (why && !strstr(j.reason, why)))
		fail_msg("%s: %s, not %s: %s", text, outcome_names[j.outcome],
		         outcome_names[wanted], j.reason ? j.reason : "");
	judgement_free(&j);
}

static void test_nothing_is_known(void **state)
{
	static const char *const rules[] = {"launches <= 1",
	                                    "launches >= 1",
	                                    "syncs = 0",
	                                    "launches_per_step <= 5",
	                                    "window_ns <= 1s",
	                                    "verdict != sync-bound",
	                                    "gpu_busy_share >= 1%",
	                                    "step_p50_ns <= 1us",
	                                    "step_period_ns <= 1us",
	                                    "kernel \"gemm\" launches >= 1",
	                                    "range \"a\" syncs = 0",
	                                    "kernel \".\" launches = 0"};
	struct one o;

	start(&o, 10, "copy", 5);
	o.run.missing = (char *)"the recording is damaged: half of it is gone";
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		check(rules[i], NULL, &o.run, OUTCOME_INCONCLUSIVE,
		      "run: the recording is damaged");
}

/* A single record that was lost may have been in the loop. */
static void test_a_loop_with_holes(void **state)
{
	struct one o;

	start(&o, 10, "copy", 5);
	o.run.steps = (struct figures_step_set){.source = STEPS_FOUND, .count = 20, .judged = 18};
	for (unsigned f = 0; f < WORK_FIGURES; f++)
		o.run.steps.of[f] = (struct figures_step){.mean = 2, .min = 2, .max = 2};
	o.run.values[METRIC_LOOP_STEPS] = 20;
	o.run.values[METRIC_STEP_P50_NS] = 1e6;
	check("loop.launches <= 2", NULL, &o.run, OUTCOME_PASS, NULL);
	check("loop.steps >= 21", NULL, &o.run, OUTCOME_FAIL, NULL);
	o.run.lost_share = 1e-6;
	check("launches_per_step <= 2", NULL, &o.run, OUTCOME_PASS, NULL);
	check("loop.launches <= 2", NULL, &o.run, OUTCOME_INCONCLUSIVE, "records were lost");
	check("loop.allocs <= 1", NULL, &o.run, OUTCOME_INCONCLUSIVE, "records were lost");
	check("loop.steps >= 20", NULL, &o.run, OUTCOME_INCONCLUSIVE, "records were lost");
	check("loop.step_ns <= 1s", NULL, &o.run, OUTCOME_INCONCLUSIVE, "records were lost");
}

/* A rule that asks nothing of the baseline has its answer. */
static void test_nothing_is_known_of_the_baseline(void **state)
{
	struct one before, after;

	start(&before, 10, "copy", 5);
	start(&after, 10, "copy", 5);
	before.run.missing = (char *)"its range never opened";
	check("launches <= +0", &before.run, &after.run, OUTCOME_INCONCLUSIVE, "never opened");
	check("kernel \"gemm\" launches <= +5", &before.run, &after.run, OUTCOME_INCONCLUSIVE,
	      "never opened");
	check("launches <= 16", &before.run, &after.run, OUTCOME_PASS, NULL);
	check("launches <= 15", &before.run, &after.run, OUTCOME_FAIL, NULL);
}

static void test_kernels_without_a_name(void **state)
{
	static const char *const names[] = {"(other)", "(unknown)", "(damaged name)",
	                                    "(names too long)"};
	struct one o, whole;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		start(&o, 10, names[i], 5);
		start(&whole, 10, "copy", 5);
		check("kernel \"gemm\" launches <= 10", NULL, &o.run, OUTCOME_INCONCLUSIVE,
		      "5 launches are of kernels whose name is not known");
		check("kernel \"gemm\" launches = 10", NULL, &o.run, OUTCOME_INCONCLUSIVE, NULL);
		check("kernel \"new\" launches = 0", NULL, &o.run, OUTCOME_INCONCLUSIVE, NULL);
		check("kernel \"gemm\" launches >= 12", NULL, &o.run, OUTCOME_INCONCLUSIVE, NULL);
		check("kernel \"gemm\" launches <= +0", &whole.run, &o.run, OUTCOME_INCONCLUSIVE,
		      NULL);
		check("kernel \"gemm\" launches >= +0", &o.run, &whole.run, OUTCOME_INCONCLUSIVE,
		      NULL);
		/* Whichever they are, they change nothing. */
		check("kernel \"gemm\" launches <= 9", NULL, &o.run, OUTCOME_FAIL, NULL);
		check("kernel \"gemm\" launches >= 10", NULL, &o.run, OUTCOME_PASS, NULL);
		check("kernel \"gemm\" launches > 9", NULL, &o.run, OUTCOME_PASS, NULL);
		check("kernel \".*\" launches = 16", NULL, &o.run, OUTCOME_PASS, NULL);
		check("launches = 16", NULL, &o.run, OUTCOME_PASS, NULL);
		check("kernel \"gemm\" launches = 10", NULL, &whole.run, OUTCOME_PASS, NULL);
	}
	/* Their row is not one of a name that happens to be a part of ours. */
	start(&o, 10, "(other)", 5);
	check("kernel \"o\" launches <= 1", NULL, &o.run, OUTCOME_INCONCLUSIVE, NULL);
}

/* Launches of a thread that had no room for another kernel are in no row. */
static void test_launches_in_no_row(void **state)
{
	struct one o;

	start(&o, 10, "copy", 5);
	o.run.values[METRIC_LAUNCHES] += 100;
	check("kernel \"gemm\" launches <= 10", NULL, &o.run, OUTCOME_INCONCLUSIVE,
	      "100 launches are of kernels");
	check("kernel \".\" launches <= 1000", NULL, &o.run, OUTCOME_INCONCLUSIVE, NULL);
}

static void test_expected_kernels(void **state)
{
	struct one o;

	start(&o, 10, "(other)", 5);
	struct judgement j = judged("gemm", true, NULL, &o.run);
	assert_int_equal(j.outcome, OUTCOME_PASS);
	judgement_free(&j);
	j = judged("flash", true, NULL, &o.run);
	assert_int_equal(j.outcome, OUTCOME_INCONCLUSIVE);
	judgement_free(&j);
	start(&o, 10, "copy", 5);
	j = judged("flash", true, NULL, &o.run);
	assert_int_equal(j.outcome, OUTCOME_FAIL);
	judgement_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nothing_is_known),
	        cmocka_unit_test(test_a_loop_with_holes),
	        cmocka_unit_test(test_nothing_is_known_of_the_baseline),
	        cmocka_unit_test(test_kernels_without_a_name),
	        cmocka_unit_test(test_launches_in_no_row),
	        cmocka_unit_test(test_expected_kernels),
	};

	return cmocka_run_group_tests_name("no answer", tests, NULL, NULL);
}
