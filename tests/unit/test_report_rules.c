#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/judge.h"
#include "tests/unit/unit.h"

static struct rule parsed(const char *text)
{
	struct rule_error error = {0};
	struct rule r;

	if (!rule_parse(&r, text, &error))
		fail_msg("%s: column %zu: %s", text, error.column, error.text);
	return r;
}

static const struct {
	const char *text, *metric, *pattern;
	enum rule_select select;
	bool per_step, relative, percent;
	enum rule_op op;
	double value;
} forms[] = {
        {"launches <= +0", "launches", NULL, SELECT_RUN, false, true, false, OP_LE, 0},
        {"launches<=+0", "launches", NULL, SELECT_RUN, false, true, false, OP_LE, 0},
        {"  syncs_per_step  <=  2 ", "syncs", NULL, SELECT_RUN, true, false, false, OP_LE, 2},
        {"syncs_per_step <= 2.5", "syncs", NULL, SELECT_RUN, true, false, false, OP_LE, 2.5},
        {"pageable_copies = 0", "pageable_copies", NULL, SELECT_RUN, false, false, false, OP_EQ, 0},
        {"failed_calls == 0", "failed_calls", NULL, SELECT_RUN, false, false, false, OP_EQ, 0},
        {"copies != 3", "copies", NULL, SELECT_RUN, false, false, false, OP_NE, 3},
        {"launches <= -5%", "launches", NULL, SELECT_RUN, false, true, true, OP_LE, -5},
        {"launches > 7", "launches", NULL, SELECT_RUN, false, false, false, OP_GT, 7},
        {"launches < 7", "launches", NULL, SELECT_RUN, false, false, false, OP_LT, 7},
        {"launch_p50_ns <= +15%", "launch_p50_ns", NULL, SELECT_RUN, false, true, true, OP_LE, 15},
        {"launch_p50_ns <= 4.5us", "launch_p50_ns", NULL, SELECT_RUN, false, false, false, OP_LE,
         4500},
        {"launch_p50_ns <= +300", "launch_p50_ns", NULL, SELECT_RUN, false, true, false, OP_LE,
         300},
        {"copy_bytes <= 2MiB", "copy_bytes", NULL, SELECT_RUN, false, false, false, OP_LE, 2097152},
        {"copy_bytes <= 2MB", "copy_bytes", NULL, SELECT_RUN, false, false, false, OP_LE, 2e6},
        {"gpu_busy_share >= 60%", "gpu_busy_share", NULL, SELECT_RUN, false, false, false, OP_GE,
         0.6},
        {"gpu_busy_share >= -5%", "gpu_busy_share", NULL, SELECT_RUN, false, true, true, OP_GE, -5},
        {"kernel \"flash.*\" launches >= 1", "launches", "flash.*", SELECT_KERNEL, false, false,
         false, OP_GE, 1},
        {"kernel \"a\\\"b\": launches_per_step >= 1", "launches", "a\"b", SELECT_KERNEL, true,
         false, false, OP_GE, 1},
        {"range \"train_step\": launches <= +5%", "launches", "train_step", SELECT_RANGE, false,
         true, true, OP_LE, 5},
};

static void test_forms(void **state)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct rule r = parsed(forms[i].text);
		assert_string_equal(r.metric->name, forms[i].metric);
		assert_int_equal(r.select, forms[i].select);
		if (forms[i].pattern)
			assert_string_equal(r.pattern, forms[i].pattern);
		assert_int_equal(r.per_step, forms[i].per_step);
		assert_int_equal(r.relative, forms[i].relative);
		assert_int_equal(r.percent, forms[i].percent);
		assert_int_equal(r.op, forms[i].op);
		assert_near(r.value, forms[i].value, 1e-12);
		rule_free(&r);
	}
}

static const struct {
	const char *text;
	size_t column;
	const char *part;
} errors[] = {
        {"", 1, "expected a metric"},
        {"<= 5", 1, "expected a metric"},
        {"launchs <= +0", 1, "did you mean launches"},
        {"zzz <= +0", 1, "unknown metric zzz"},
        {"launch_p50_ns_per_step <= +1", 14, "no count"},
        {"launches", 9, "expected a comparison"},
        {"launches ~ 5", 10, "expected a comparison"},
        {"launches <=", 12, "expected a limit"},
        {"launches <= x", 13, "expected a limit"},
        {"launches <= 1234567890123456789012", 13, "18 characters"},
        {"launches <= 5ms", 14, "takes no unit"},
        {"launches <= 5%", 13, "+5% is over the baseline"},
        {"launches <= 2.5", 13, "whole number"},
        {"launches != +5", 13, "without a sign"},
        {"launches <= +0 and more", 16, "too much"},
        {"launch_p50_ns <= 15%", 18, "percentage of what"},
        {"launch_p50_ns <= 5MiB", 19, "ns, us, ms or s"},
        {"launch_p50_ns = 5us", 15, "never equal"},
        {"copy_bytes <= 5us", 16, "in bytes"},
        {"gpu_busy_share >= 60", 19, "give it in %"},
        {"gpu_busy_share >= 60ms", 21, "give it in %"},
        {"verdict <= sync-bound", 9, "= or !="},
        {"verdict != sync", 12, "did you mean sync-bound"},
        {"verdict !=", 11, "class of verdict"},
        {"kernel flash launches >= 1", 8, "in quotes"},
        {"kernel \"flash launches >= 1", 8, "not closed"},
        {"kernel \"\" launches >= 1", 8, "empty"},
        {"kernel \"fl(\" launches >= 1", 8, "regular expression"},
        {"kernel \"x\" syncs >= 1", 12, "single kernels"},
        {"range \"x\" bananas >= 1", 11, "unknown metric"},
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct rule_error error;
		struct rule r;
		if (rule_parse(&r, errors[i].text, &error))
			fail_msg("%s is a rule", errors[i].text);
		if (error.column != errors[i].column || !strstr(error.text, errors[i].part))
			fail_msg("%s: column %zu: %s", errors[i].text, error.column, error.text);
	}
}

/* Cut anywhere, or with any byte in the place of another, a rule is one or has its error. */
static void test_damaged_rules(void **state)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char text[128];
		size_t bytes = strlen(forms[i].text);
		for (size_t at = 0; at <= bytes; at++)
			for (int c = 0; c < 256; c++) {
				struct rule_error error;
				struct rule r;
				memcpy(text, forms[i].text, bytes + 1);
				text[at] = (char)c;
				text[bytes] = '\0';
				if (rule_parse(&r, text, &error)) {
					assert_true(isfinite(r.value));
					rule_free(&r);
				} else {
					assert_in_range(error.column, 1, strlen(text) + 1);
				}
			}
	}
}

/* Runs of which only what a test names is not zero. */
#define RUNS_MOST 8
struct sides {
	struct figures before[RUNS_MOST], after[RUNS_MOST];
	struct side b, a;
	struct judge judge;
};

static void start(struct sides *s, size_t before, size_t after)
{
	*s = (struct sides){0};
	s->b = (struct side){s->before, before};
	s->a = (struct side){s->after, after};
	for (size_t i = 0; i < RUNS_MOST; i++)
		s->before[i].name = s->after[i].name = "run";
	s->judge = (struct judge){.before = &s->b, .after = &s->a};
}

static void set(struct figures *runs, enum metric_id id, size_t count, const double *values)
{
	for (size_t i = 0; i < count; i++)
		runs[i].values[id] = values[i];
}
#define SET(runs, id, ...)                                                                         \
	set(runs, id, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static struct judgement judged(const struct sides *s, const char *text, enum outcome outcome)
{
	static struct rule r;
	struct judgement j;

	rule_free(&r);
	r = parsed(text);
	judge_rule(&j, &r, &s->judge);
	if (j.outcome != outcome)
		fail_msg("%s: %s: %s", text, outcome_names[j.outcome], j.reason ? j.reason : "");
	assert_int_equal(j.outcome == OUTCOME_INCONCLUSIVE, j.reason != NULL);
	return j;
}

static void check(const struct sides *s, const char *text, enum outcome outcome)
{
	struct judgement j = judged(s, text, outcome);

	judgement_free(&j);
}

static void test_counts(void **state)
{
	struct sides s;

	start(&s, 1, 2);
	SET(s.before, METRIC_LAUNCHES, 100);
	SET(s.after, METRIC_LAUNCHES, 100, 105);
	check(&s, "launches <= +0", OUTCOME_FAIL); /* one repeat alone breaks it */
	check(&s, "launches <= +4", OUTCOME_FAIL);
	check(&s, "launches <= +5", OUTCOME_PASS);
	check(&s, "launches <= +5%", OUTCOME_PASS);
	check(&s, "launches <= +4.9%", OUTCOME_FAIL);
	check(&s, "launches < +5", OUTCOME_FAIL);
	check(&s, "launches >= +0", OUTCOME_PASS);
	check(&s, "launches >= +1", OUTCOME_FAIL);
	check(&s, "launches = +0", OUTCOME_FAIL);
	check(&s, "launches <= 105", OUTCOME_PASS);
	check(&s, "launches <= 104", OUTCOME_FAIL);
	check(&s, "launches != 105", OUTCOME_FAIL);
	check(&s, "launches > 99", OUTCOME_PASS);
	check(&s, "syncs <= +50%", OUTCOME_PASS); /* of nothing: nothing */
	SET(s.after, METRIC_SYNCS, 1);
	check(&s, "syncs <= +50%", OUTCOME_FAIL);
}

/* Of several in the baseline, the one that allows more. */
static void test_varying_baseline(void **state)
{
	struct sides s;

	start(&s, 3, 1);
	SET(s.before, METRIC_LAUNCHES, 100, 110, 105);
	SET(s.after, METRIC_LAUNCHES, 110);
	check(&s, "launches <= +0", OUTCOME_PASS);
	check(&s, "launches = +0", OUTCOME_PASS);
	SET(s.after, METRIC_LAUNCHES, 111);
	check(&s, "launches <= +0", OUTCOME_FAIL);
	SET(s.after, METRIC_LAUNCHES, 99);
	check(&s, "launches >= +0", OUTCOME_FAIL);
}

static void test_steps(void **state)
{
	struct sides s;

	start(&s, 1, 1);
	SET(s.before, METRIC_LAUNCHES, 1000);
	SET(s.after, METRIC_LAUNCHES, 1001);
	check(&s, "launches_per_step <= 10", OUTCOME_INCONCLUSIVE);
	s.judge.steps = 100;
	check(&s, "launches_per_step <= 10", OUTCOME_FAIL);
	check(&s, "launches_per_step <= +0.01", OUTCOME_PASS);
	struct judgement j = judged(&s, "launches_per_step <= 11", OUTCOME_PASS);
	assert_non_null(strstr(j.note, "1001 over 100 steps is no whole number"));
	judgement_free(&j);
	/* A run's own steps come before those that somebody said. */
	s.before[0].steps_said = 50;
	check(&s, "launches_per_step <= -9", OUTCOME_PASS);
}

static void test_killed(void **state)
{
	struct sides s;

	start(&s, 1, 1);
	SET(s.before, METRIC_LAUNCHES, 100);
	SET(s.after, METRIC_LAUNCHES, 90);
	s.after[0].state = PROCESS_KILLED;
	check(&s, "launches <= +0", OUTCOME_INCONCLUSIVE);
	check(&s, "launches >= 95", OUTCOME_INCONCLUSIVE);
	check(&s, "launches <= 80", OUTCOME_FAIL); /* and would have been more */
	check(&s, "launches = 80", OUTCOME_FAIL);
	check(&s, "launches = 95", OUTCOME_INCONCLUSIVE);
	s.judge.allow_killed = true;
	check(&s, "launches <= +0", OUTCOME_PASS);
	check(&s, "launches >= 95", OUTCOME_FAIL);
	s.after[0].lost_calls = 1;
	check(&s, "launches <= +0", OUTCOME_INCONCLUSIVE);
	s.judge.allow_killed = false;
	s.after[0].state = PROCESS_COMPLETE;
	s.after[0].lost_calls = 0;
	s.before[0].state = PROCESS_RUNNING;
	check(&s, "launches <= +0", OUTCOME_INCONCLUSIVE);
	check(&s, "launches <= 100", OUTCOME_PASS); /* asks nothing of the baseline */
}

static void test_lost_records(void **state)
{
	struct sides s;

	start(&s, 0, 1);
	SET(s.after, METRIC_LAUNCHES, 100);
	SET(s.after, METRIC_LAUNCH_P50_NS, 2000);
	s.after[0].lost_share = 0.009;
	check(&s, "launch_p50_ns <= 3us", OUTCOME_PASS);
	s.after[0].lost_share = 0.011;
	check(&s, "launch_p50_ns <= 3us", OUTCOME_INCONCLUSIVE);
	check(&s, "launch_p50_ns <= 1us", OUTCOME_INCONCLUSIVE);
	check(&s, "launches <= 100", OUTCOME_PASS);
	check(&s, "launches <= 99", OUTCOME_FAIL);
}

static void test_times(void **state)
{
	struct sides s;

	start(&s, 5, 5);
	SET(s.before, METRIC_LAUNCH_P50_NS, 1000, 1010, 990, 1005, 995);
	SET(s.after, METRIC_LAUNCH_P50_NS, 1100, 1110, 1090, 1105, 1095);
	check(&s, "launch_p50_ns <= +5%", OUTCOME_FAIL);
	check(&s, "launch_p50_ns <= +50ns", OUTCOME_FAIL);
	check(&s, "launch_p50_ns <= +10%", OUTCOME_PASS);
	check(&s, "launch_p50_ns >= -5%", OUTCOME_PASS);
	check(&s, "launch_p50_ns >= +15%", OUTCOME_FAIL);
	check(&s, "launch_p50_ns <= 1.1us", OUTCOME_PASS); /* the median */
	check(&s, "launch_p50_ns < 1.1us", OUTCOME_FAIL);
	s.b.count = 2;
	check(&s, "launch_p50_ns <= +5%", OUTCOME_INCONCLUSIVE);
	s.b.count = 5;
	s.after[3].machine.gpus = "another";
	check(&s, "launch_p50_ns <= +5%", OUTCOME_INCONCLUSIVE);
	check(&s, "launches <= +0", OUTCOME_PASS);
	s.after[3].machine.gpus = NULL;
	s.after[2].values[METRIC_LAUNCH_P50_NS] = NAN;
	check(&s, "launch_p50_ns <= +5%", OUTCOME_INCONCLUSIVE);
}

static void test_shares(void **state)
{
	struct sides s;

	start(&s, 5, 5);
	SET(s.before, METRIC_GPU_BUSY_SHARE, .80, .81, .79, .80, .80);
	SET(s.after, METRIC_GPU_BUSY_SHARE, .70, .71, .69, .70, .70);
	check(&s, "gpu_busy_share >= 60%", OUTCOME_PASS);
	check(&s, "gpu_busy_share >= 75%", OUTCOME_FAIL);
	check(&s, "gpu_busy_share >= -5%", OUTCOME_FAIL); /* points */
	check(&s, "gpu_busy_share >= -12%", OUTCOME_PASS);
	s.after[1].values[METRIC_GPU_BUSY_SHARE] = NAN;
	check(&s, "gpu_busy_share >= 75%", OUTCOME_INCONCLUSIVE);
}

static void test_verdicts(void **state)
{
	struct sides s;

	start(&s, 0, 2);
	s.after[0].verdict = "gpu-bound";
	check(&s, "verdict = gpu-bound", OUTCOME_INCONCLUSIVE);
	check(&s, "verdict != gpu-bound", OUTCOME_FAIL); /* whatever the other is */
	s.after[1].verdict = "sync-bound";
	check(&s, "verdict != sync-bound", OUTCOME_FAIL);
	check(&s, "verdict != host-bound", OUTCOME_PASS);
	check(&s, "verdict = sync-bound", OUTCOME_FAIL);
}

static void test_ranges_have_no_answer(void **state)
{
	struct sides s;

	start(&s, 1, 1);
	check(&s, "range \"train_step\": launches <= +5%", OUTCOME_INCONCLUSIVE);
}

static void test_kernels_and_where(void **state)
{
	struct part before[] = {{.name = "flash_fwd", .count = 10}, {.name = "gemm", .count = 5}};
	struct part after[] = {{.name = "flash_bwd", .count = 1},
	                       {.name = "flash_fwd", .count = 10},
	                       {.name = "gemm", .count = 9}};
	struct sides s;

	start(&s, 1, 1);
	SET(s.before, METRIC_LAUNCHES, 15);
	SET(s.after, METRIC_LAUNCHES, 20);
	s.before[0].kernels = (struct parts){before, 2};
	s.after[0].kernels = (struct parts){after, 3};
	check(&s, "kernel \"flash.*\" launches >= 11", OUTCOME_PASS);
	check(&s, "kernel \"^flash_b\" launches = 1", OUTCOME_PASS);
	check(&s, "kernel \"nothing\" launches >= 1", OUTCOME_FAIL);
	struct judgement j = judged(&s, "launches <= +0", OUTCOME_FAIL);
	assert_string_equal(j.where, "gemm: 5 -> 9");
	judgement_free(&j);
	j = judged(&s, "kernel \"flash\" launches <= +0", OUTCOME_FAIL);
	assert_string_equal(j.where, "flash_bwd: 0 -> 1");
	judgement_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_forms),
	        cmocka_unit_test(test_errors),
	        cmocka_unit_test(test_damaged_rules),
	        cmocka_unit_test(test_counts),
	        cmocka_unit_test(test_varying_baseline),
	        cmocka_unit_test(test_steps),
	        cmocka_unit_test(test_killed),
	        cmocka_unit_test(test_lost_records),
	        cmocka_unit_test(test_times),
	        cmocka_unit_test(test_shares),
	        cmocka_unit_test(test_verdicts),
	        cmocka_unit_test(test_ranges_have_no_answer),
	        cmocka_unit_test(test_kernels_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
