/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gate/judge.h"
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
        {"kernel \"[^](){}]+[[:alpha:]]{3,9}(a|b+)*\\(x{,5}.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+\" "
         "launches = 1",
         "launches", "[^](){}]+[[:alpha:]]{3,9}(a|b+)*\\(x{,5}.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+.+",
         SELECT_KERNEL, false, false, false, OP_EQ, 1},
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
        {"kernel \"a++++++++++++++++++++b\" launches >= 1", 8, "repeats repetitions"},
        {"kernel \"((a{99}){99}){99}\" launches >= 1", 8, "repeats repetitions"},
        {"kernel \"(((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)\" launches >= 1", 8,
         "repeats repetitions"},
        {"kernel \"x\" syncs >= 1", 12, "single kernels"},
        {"range \"x\" bananas >= 1", 11, "unknown metric"},
        {"range \"x\" failed_calls = 0", 11, "not known of NVTX ranges"},
        {"range x launches >= 1", 7, "in quotes"},
        {"step_p50_ns_per_step <= 1", 12, "no count"},
        {"verdict != inconclusive", 12, "exit status is 3"},
        {"launches <= 1234567890123456789", 13, "more than 18"},
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
	struct run_set b, a;
	struct judge judge;
};

static void start(struct sides *s, size_t before, size_t after)
{
	*s = (struct sides){0};
	s->b = (struct run_set){s->before, before};
	s->a = (struct run_set){s->after, after};
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

static struct judgement judged(const struct sides *s, const char *text, enum judge_outcome outcome)
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

static void check(const struct sides *s, const char *text, enum judge_outcome outcome)
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

/* However large they are; what a percentage or a quotient leaves of them is rounded, and no more.
 */
static void test_counts_are_exact(void **state)
{
	struct sides s;

	start(&s, 1, 1);
	SET(s.before, METRIC_LAUNCHES, 2e9);
	SET(s.after, METRIC_LAUNCHES, 2000000001);
	check(&s, "launches <= 2000000000", OUTCOME_FAIL);
	check(&s, "launches <= 2000000001", OUTCOME_PASS);
	check(&s, "launches = 2000000000", OUTCOME_FAIL);
	check(&s, "launches != 2000000000", OUTCOME_PASS);
	check(&s, "launches > 2000000000", OUTCOME_PASS);
	check(&s, "launches < 2000000002", OUTCOME_PASS);
	check(&s, "launches >= 2000000002", OUTCOME_FAIL);
	check(&s, "launches <= +0", OUTCOME_FAIL);
	check(&s, "launches <= +0%", OUTCOME_FAIL);
	check(&s, "launches <= +1", OUTCOME_PASS);
	SET(s.before, METRIC_COPY_BYTES, 9007199254740991);
	SET(s.after, METRIC_COPY_BYTES, 9007199254740992);
	check(&s, "copy_bytes <= +0", OUTCOME_FAIL);
	s.judge.steps = 10;
	check(&s, "launches_per_step <= 200000000", OUTCOME_FAIL);
	check(&s, "launches_per_step <= 200000000.1", OUTCOME_PASS);
	s.judge.steps = 0;
	for (double before = 20; before < 20000; before += 20) {
		SET(s.before, METRIC_LAUNCHES, before);
		SET(s.after, METRIC_LAUNCHES, before * 23 / 20);
		check(&s, "launches <= +15%", OUTCOME_PASS);
		check(&s, "launches >= +15%", OUTCOME_PASS);
		check(&s, "launches = +15%", OUTCOME_PASS);
		SET(s.after, METRIC_LAUNCHES, before * 23 / 20 + 1);
		check(&s, "launches <= +15%", OUTCOME_FAIL);
	}
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

/* Three a side that all say the same: no rise is certain. */
static void test_no_scatter(void **state)
{
	struct sides s;

	start(&s, 3, 3);
	SET(s.before, METRIC_LAUNCH_P50_NS, 100, 100, 100);
	SET(s.after, METRIC_LAUNCH_P50_NS, 101, 101, 101);
	struct judgement j = judged(&s, "launch_p50_ns <= +0%", OUTCOME_INCONCLUSIVE);
	assert_non_null(strstr(j.reason, "5 a side"));
	assert_false(j.has_bounds);
	judgement_free(&j);
	check(&s, "launch_p50_ns >= +2%", OUTCOME_INCONCLUSIVE);
	check(&s, "launch_p50_ns <= +2%", OUTCOME_PASS);
	SET(s.after, METRIC_LAUNCH_P50_NS, 100, 100, 100);
	check(&s, "launch_p50_ns <= +0%", OUTCOME_PASS);
	start(&s, 5, 5);
	SET(s.before, METRIC_LAUNCH_P50_NS, 100, 100, 100, 100, 100);
	SET(s.after, METRIC_LAUNCH_P50_NS, 101, 101, 101, 101, 101);
	check(&s, "launch_p50_ns <= +0%", OUTCOME_FAIL);
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

/* What is as likely otherwise is no answer. */
static void test_doubtful_verdicts(void **state)
{
	struct sides s;

	start(&s, 0, 1);
	s.after[0].verdict = "sync-bound";
	s.after[0].doubt.unsure = true;
	check(&s, "verdict != sync-bound", OUTCOME_INCONCLUSIVE);
	check(&s, "verdict = gpu-bound", OUTCOME_INCONCLUSIVE);
	s.after[0].doubt.unsure = false;
	check(&s, "verdict != sync-bound", OUTCOME_FAIL);
	s.after[0].verdict = "mixed";
	s.after[0].doubt.first = "copy-bound";
	s.after[0].doubt.second = "sync-bound";
	check(&s, "verdict != sync-bound", OUTCOME_INCONCLUSIVE);
	check(&s, "verdict = copy-bound", OUTCOME_INCONCLUSIVE);
	check(&s, "verdict != launch-bound", OUTCOME_PASS);
	check(&s, "verdict = mixed", OUTCOME_PASS);
	s.after[0].verdict = NULL;
	s.after[0].doubt.reason = "too short";
	struct judgement j = judged(&s, "verdict != sync-bound", OUTCOME_INCONCLUSIVE);
	assert_non_null(strstr(j.reason, "its verdict is inconclusive: too short"));
	judgement_free(&j);
}

/* An absolute limit within the interval of an estimate is no answer; the ends are judged. */
static void test_estimates(void **state)
{
	struct sides s;

	start(&s, 0, 1);
	SET(s.after, METRIC_GPU_BUSY_SHARE, .60);
	s.after[0].below[METRIC_GPU_BUSY_SHARE] = .05;
	s.after[0].above[METRIC_GPU_BUSY_SHARE] = .10;
	check(&s, "gpu_busy_share >= 55%", OUTCOME_PASS);
	check(&s, "gpu_busy_share >= 56%", OUTCOME_INCONCLUSIVE);
	check(&s, "gpu_busy_share >= 70%", OUTCOME_INCONCLUSIVE);
	check(&s, "gpu_busy_share >= 71%", OUTCOME_FAIL);
	check(&s, "gpu_busy_share <= 70%", OUTCOME_PASS);
	check(&s, "gpu_busy_share <= 69%", OUTCOME_INCONCLUSIVE);
	check(&s, "gpu_busy_share <= 54%", OUTCOME_FAIL);
	check(&s, "gpu_busy_share < 55%", OUTCOME_FAIL);
	struct judgement j = judged(&s, "gpu_busy_share >= 50%", OUTCOME_PASS);
	assert_near(j.estimate_low, .55, 1e-12);
	assert_near(j.estimate_high, .70, 1e-12);
	judgement_free(&j);
	/* Repeats: the median of each end. */
	s.a.count = 3;
	SET(s.after, METRIC_GPU_BUSY_SHARE, .60, .62, .64);
	check(&s, "gpu_busy_share >= 62%", OUTCOME_PASS); /* lower ends 55, 62 and 64 % */
	check(&s, "gpu_busy_share >= 63%", OUTCOME_INCONCLUSIVE);
	check(&s, "gpu_busy_share >= 65%", OUTCOME_FAIL);
}

static struct figures_step alike(double v)
{
	return (struct figures_step){.mean = v, .min = v, .max = v};
}

static void set_steps(struct figures *f, uint64_t count, struct figures_step launches)
{
	f->steps = (struct figures_step_set){
	        .source = STEPS_NVTX, .name = "step", .count = count, .judged = count};
	f->steps.of[metric_work(&metrics[METRIC_LAUNCHES])] = launches;
}

static void test_recorded_steps(void **state)
{
	struct sides s;

	start(&s, 1, 1);
	set_steps(&s.before[0], 100, alike(10));
	set_steps(&s.after[0], 50, alike(10));
	SET(s.before, METRIC_LAUNCHES, 1007);
	SET(s.after, METRIC_LAUNCHES, 510);
	check(&s, "launches_per_step <= +0", OUTCOME_PASS);
	check(&s, "launches_per_step = 10", OUTCOME_PASS);
	s.after[0].steps.of[metric_work(&metrics[METRIC_LAUNCHES])] = alike(11);
	struct judgement j = judged(&s, "launches_per_step <= +0", OUTCOME_FAIL);
	assert_near(j.steps_low, 50, 0);
	assert_false(j.varies);
	char *text = judgement_steps(&j);
	assert_string_equal(text, "50 steps judged");
	free(text);
	judgement_free(&j);
	check(&s, "launches_per_step <= +10%", OUTCOME_PASS);
	/* With a number of steps it is the totals that are divided: 1007 / 100, 510 / 100. */
	s.judge.steps = 100;
	check(&s, "launches_per_step <= +0", OUTCOME_PASS);
	s.judge.steps = 0;
	/* What is not counted step by step: totals by the recorded number of steps. */
	SET(s.after, METRIC_FAILED_CALLS, 25);
	check(&s, "failed_calls_per_step = 0.5", OUTCOME_PASS);
	/* Lost records, low confidence, other steps: no answer, but on totals. */
	s.after[0].lost_share = .02;
	check(&s, "launches_per_step <= +0", OUTCOME_INCONCLUSIVE);
	check(&s, "launches <= 1", OUTCOME_FAIL);
	s.after[0].lost_share = 0;
	s.after[0].steps.unsure = true;
	check(&s, "launches_per_step <= 20", OUTCOME_INCONCLUSIVE);
	s.after[0].steps.unsure = false;
	s.after[0].steps.name = "another";
	check(&s, "launches_per_step <= +0", OUTCOME_INCONCLUSIVE);
	check(&s, "launches_per_step <= 11", OUTCOME_PASS); /* asks nothing of the baseline */
	s.after[0].steps.source = s.before[0].steps.source = STEPS_FOUND;
	check(&s, "launches_per_step <= +0", OUTCOME_FAIL); /* a marker of another name may be */
	s.after[0].steps.of[metric_work(&metrics[METRIC_LAUNCHES])] = alike(5);
	check(&s, "launches_per_step <= +0", OUTCOME_INCONCLUSIVE); /* not with half of the work */
	s.after[0].steps.count = 100;
	check(&s, "launches_per_step <= +0", OUTCOME_PASS); /* unless there are as many */
	s.after[0].steps.of[metric_work(&metrics[METRIC_LAUNCHES])] = alike(11);
	s.before[0].steps.source = STEPS_NONE;
	s.before[0].steps_said = 100;
	check(&s, "launches_per_step <= +0", OUTCOME_INCONCLUSIVE);
	/* What is missing of a killed run makes no step larger. */
	s.after[0].state = PROCESS_KILLED;
	check(&s, "launches_per_step <= 1", OUTCOME_INCONCLUSIVE);
}

/* Uniform in [0, 1): the same each time. */
static uint64_t seed;
static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* The steps of a run whose shapes are drawn for runs of `alike_run` steps, as a model has them. */
static void draw_steps(struct figures *f, size_t steps, size_t alike_run, double more)
{
	struct model_step *rows = calloc(steps, sizeof(*rows));
	struct model m = {.steps = {.rows = rows,
	                            .source = STEPS_NVTX,
	                            .name = "step",
	                            .count = steps,
	                            .judged = steps}};
	double launches = 0;

	for (size_t i = 0; i < steps; i++) {
		if (i % alike_run == 0)
			launches = 10 + floor(8 * uniform()) + more;
		rows[i].counted = true;
		rows[i].work.launches = launches;
	}
	free(f->steps.name);
	figures_take_steps(&f->steps, &m);
	free(rows);
}

/*
 * Runs of the same program with random shapes: at the very limit the rule fails in at most 1 % of
 * them and three standard errors of 4,000 tries; one launch more in each step is found. Shapes
 * that stay for some steps (sequences in a bucket) scatter more, and the groups see it: allowed is
 * twice that.
 */
static void test_varying_steps(void **state)
{
	const struct {
		size_t steps, alike_run;
		double most;
	} cases[] = {{20, 1, .0148},
	             {200, 1, .0148},
	             {200, 5, .0148},
	             {1000, 10, .0148},
	             {200, 20, .02}};
	const int tries = 4000;

	seed = 42;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int alarms = 0, found = 0;
		for (int k = 0; k < tries; k++) {
			struct sides s;
			struct rule r = parsed("launches_per_step <= +0");
			struct judgement j;
			start(&s, 1, 1);
			draw_steps(&s.before[0], cases[i].steps, cases[i].alike_run, 0);
			draw_steps(&s.after[0], cases[i].steps, cases[i].alike_run, 0);
			judge_rule(&j, &r, &s.judge);
			alarms += j.outcome == OUTCOME_FAIL;
			judgement_free(&j);
			draw_steps(&s.after[0], cases[i].steps, cases[i].alike_run, 4);
			judge_rule(&j, &r, &s.judge);
			found += j.outcome == OUTCOME_FAIL;
			judgement_free(&j);
			free(s.before[0].steps.name);
			free(s.after[0].steps.name);
			rule_free(&r);
		}
		printf("%zu steps, shapes of %zu: false alarms %.2f %%, 4 more of 10 to 17 found "
		       "%.1f %%\n",
		       cases[i].steps, cases[i].alike_run, 100. * alarms / tries,
		       100. * found / tries);
		assert_true(alarms <= cases[i].most * tries);
		assert_true(cases[i].steps / cases[i].alike_run < 100 || found == tries);
	}
}

static void test_ranges(void **state)
{
	const int launches = metric_work(&metrics[METRIC_LAUNCHES]);
	struct figures_range before[] = {
	        {.name = "step", .parent = RANGE_NONE, .count = 4, .counted = 4},
	        {.name = "inner step", .parent = 0, .count = 8, .counted = 8}};
	struct figures_range after[] = {
	        {.name = "step", .parent = RANGE_NONE, .count = 2, .counted = 2},
	        {.name = "inner step", .parent = 0, .count = 4, .counted = 4}};
	struct sides s;

	before[0].of[launches] = 40;
	before[1].of[launches] = 16;
	after[0].of[launches] = 30;
	after[1].of[launches] = 18;
	start(&s, 1, 1);
	check(&s, "range \"step\": launches <= +5%", OUTCOME_INCONCLUSIVE);
	s.before[0].ranges = (struct figures_ranges){before, 2, false};
	check(&s, "range \"step\": launches <= +5%", OUTCOME_INCONCLUSIVE);
	s.after[0].ranges = (struct figures_ranges){after, 2, false};
	check(&s, "range \"step\": launches <= +5%", OUTCOME_PASS);
	check(&s, "range \"step\": launches = 30", OUTCOME_PASS); /* inner ones count once */
	check(&s, "range \"inner\": launches = 18", OUTCOME_PASS);
	check(&s, "range \"inner\": launches_per_step = 4.5", OUTCOME_PASS);
	struct judgement j = judged(&s, "range \"^step\": launches_per_step <= +0", OUTCOME_FAIL);
	assert_string_equal(j.where, "step: 10 -> 15");
	judgement_free(&j);
	j = judged(&s, "range \"^step\": launches <= 29", OUTCOME_FAIL);
	assert_string_equal(j.where, "step/inner step: 16 -> 18");
	judgement_free(&j);
	/* Of one whose work is not known a total may be larger, and is already too large. */
	after[0].counted = 1.9;
	check(&s, "range \"^step\": launches <= 30", OUTCOME_INCONCLUSIVE);
	check(&s, "range \"^step\": launches <= 29", OUTCOME_FAIL);
	after[0].counted = 2;
	s.after[0].ranges.lost = true;
	check(&s, "range \"^step\": launches <= 30", OUTCOME_INCONCLUSIVE);
	s.after[0].ranges.lost = false;
	s.after[0].lost_share = .02;
	check(&s, "range \"^step\": launches <= 30", OUTCOME_INCONCLUSIVE);
}

static void test_kernels_and_where(void **state)
{
	struct figures_part before[] = {{.name = "flash_fwd", .count = 10},
	                                {.name = "gemm", .count = 5}};
	struct figures_part after[] = {{.name = "flash_bwd", .count = 1},
	                               {.name = "flash_fwd", .count = 10},
	                               {.name = "gemm", .count = 9}};
	struct sides s;

	start(&s, 1, 1);
	SET(s.before, METRIC_LAUNCHES, 15);
	SET(s.after, METRIC_LAUNCHES, 20);
	s.before[0].kernels = (struct figures_parts){before, 2};
	s.after[0].kernels = (struct figures_parts){after, 3};
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
	        cmocka_unit_test(test_counts_are_exact),
	        cmocka_unit_test(test_varying_baseline),
	        cmocka_unit_test(test_steps),
	        cmocka_unit_test(test_no_scatter),
	        cmocka_unit_test(test_killed),
	        cmocka_unit_test(test_lost_records),
	        cmocka_unit_test(test_times),
	        cmocka_unit_test(test_shares),
	        cmocka_unit_test(test_verdicts),
	        cmocka_unit_test(test_doubtful_verdicts),
	        cmocka_unit_test(test_estimates),
	        cmocka_unit_test(test_recorded_steps),
	        cmocka_unit_test(test_varying_steps),
	        cmocka_unit_test(test_ranges),
	        cmocka_unit_test(test_kernels_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
