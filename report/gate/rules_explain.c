/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/gate/bounds.h"
#include "report/gate/judge.h"
#include "report/base/text_layout.h"

static void explain_steps(const struct rule *r, struct text_layout *page)
{
	if (r->select == SELECT_RUN && metric_work(r->metric) >= 0)
		text_layout_fact(
		        page, "steps",
		        "those recorded: NVTX ranges (--steps-from NAME says which), else found "
		        "in the work that repeats, without the first and the last; --skip-steps N "
		        "leaves more out. With --steps N the run's total is divided by N, start-up "
		        "included");
	else
		text_layout_fact(
		        page, "steps",
		        "%s not counted step by step: the run's total is divided by the number "
		        "of steps recorded, or by N with --steps N",
		        r->select == SELECT_KERNEL            ? "launches of single kernels are"
		        : r->metric - metrics == METRIC_CALLS ? "calls are"
		                                              : "failed calls are");
}

static void explain_metric(const struct rule *r, struct text_layout *page)
{
	const struct metric *m = r->metric;
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "a count, exact",  [METRIC_BYTES] = "a count of bytes, exact",
	        [METRIC_TIME] = "a time, measured", [METRIC_SHARE] = "a share, measured",
	        [METRIC_WORD] = "a word",
	};

	text_layout_fact(page, "metric", "%s: %s (%s%s)", m->name, m->about, kinds[m->kind],
	                 m->flags & METRIC_GPU
	                         ? "; GPU times are estimated, but with CUDASPY_GPU=cupti"
	                         : "");
	if (r->select == SELECT_KERNEL)
		text_layout_fact(page, "of",
		                 "kernels whose name matches the regular expression %s, "
		                 "summed; names as cudaspy report --full-names prints them",
		                 r->pattern);
	else if (r->select == SELECT_RANGE)
		text_layout_fact(
		        page, "of",
		        "NVTX ranges whose name matches the regular expression %s, what lies "
		        "within them included: %s",
		        r->pattern,
		        r->per_step ? "on average of each such range" : "summed over the run");
	else
		text_layout_fact(page, "of", "%s",
		                 r->per_step ? r->loop ? "one step of the loop that holds most "
		                                         "time: the mean of those judged"
		                                       : "one step: the mean of those judged"
		                 : r->metric->flags & METRIC_STEPS
		                         ? "the steps of the loop that holds most time"
		                 : r->metric - metrics == METRIC_VERDICT
		                         ? "what a report judges: the loop that holds most time, "
		                           "where there is one"
		                         : "the whole run, all its processes summed");
	if (r->per_step && r->select != SELECT_RANGE)
		explain_steps(r, page);
}

static void explain_limit(const struct rule *r, struct text_layout *page)
{
	static const char *const words[] = {
	        [OP_LE] = "at most", [OP_GE] = "at least",  [OP_EQ] = "exactly",
	        [OP_NE] = "not",     [OP_LT] = "less than", [OP_GT] = "more than",
	};
	const struct metric *m = r->metric;
	const char *word = words[r->op];

	if (r->word) {
		text_layout_fact(page, "limit", "%s %s", r->op == OP_EQ ? "is" : "is not", r->word);
	} else if (!r->relative) {
		char *value = metric_text(m->kind, r->value, r->value);
		text_layout_fact(page, "limit", "%s %s", word, value);
		free(value);
	} else if (r->value == 0) {
		text_layout_fact(page, "limit", "%s what the baseline has", word);
	} else {
		const char *side = r->value < 0 ? "less" : "more";
		double by = fabs(r->value);
		char *value = r->percent ? alloc_format("%.10g %s", by,
		                                        r->metric->kind == METRIC_SHARE
		                                                ? "percentage points"
		                                                : "%")
		                         : metric_text(m->kind, by, by);
		text_layout_fact(page, "limit", "%s the baseline's and %s %s", word, value, side);
		free(value);
	}
}

static void explain_judging(const struct rule *r, struct text_layout *page)
{
	const struct metric *m = r->metric;

	if (metric_is_count(m)) {
		text_layout_fact(
		        page, "fails", "when one recording alone breaks it%s%s",
		        r->relative ? "; of several in the baseline the one that allows more "
		                      "counts"
		                    : "",
		        r->relative && r->per_step && r->select == SELECT_RUN && metric_work(m) >= 0
		                ? ". Where the steps of the baseline differ from one another, "
		                  "the mean must be beyond the limit by more than the steps' "
		                  "scatter explains, with 99 % confidence (Welch's t test on "
		                  "means of groups of consecutive steps)"
		                : "");
	} else if (r->relative) {
		text_layout_fact(
		        page, "fails",
		        "when the change is beyond the limit with %.0f %% confidence: by the exact "
		        "rank test where there are enough recordings (5 a side), else by Welch's "
		        "t test on logarithms as well",
		        100 * (1 - BOUNDS_ALPHA));
	} else if (m->kind != METRIC_WORD) {
		text_layout_fact(page, "fails", "when the median of the recordings breaks it%s",
		                 m->flags & METRIC_GPU
		                         ? ", at both ends of its 95 % interval where it is "
		                           "estimated"
		                         : "");
	} else {
		text_layout_fact(page, "fails", "when one recording alone breaks it");
	}
}

/* When the answer is exit status 3: each of these that applies. */
static void explain_doubt(const struct rule *r, struct text_layout *page)
{
	const struct metric *m = r->metric;
	bool count = metric_is_count(m), word = m->kind == METRIC_WORD;
	bool steps = m->flags & METRIC_STEPS || (r->per_step && r->select != SELECT_RANGE);
	const struct {
		bool applies;
		const char *text;
	} doubts[] = {
	        {true, "when a process was killed or runs, without --allow-killed"},
	        {r->relative && !count,
	         "with fewer than three recordings a side; when GPU, driver or CUDASPY_GPU differ"},
	        {m->flags & METRIC_RECORDS || r->select == SELECT_RANGE || r->per_step,
	         r->loop ? "when any records were lost"
	                 : "when more than 1 % of the records were lost"},
	        {m->flags & METRIC_GPU, "where GPU time is not known"},
	        {m->flags & METRIC_GPU && !r->relative,
	         "when the limit lies within the interval of an estimate"},
	        {steps, "where no steps were recorded, or found with low confidence, or other ones "
	                "than in the baseline"},
	        {r->select == SELECT_KERNEL, "where no kernel matches, unless the limit is 0"},
	        {r->select == SELECT_RANGE, "where no NVTX range matches, or some were lost"},
	        {word, "when the verdict is inconclusive, of low confidence, or mixed of the one "
	               "named and another"},
	};
	char *all = alloc_format("(exit status 3)");

	for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++) {
		if (!doubts[i].applies)
			continue;
		alloc_append(&all, "%s %s", i ? ";" : "", doubts[i].text);
	}
	text_layout_fact(page, "no answer", "%s", all);
	free(all);
}

void rule_explain(const struct rule *r, FILE *to, size_t width)
{
	struct text_layout page = {.to = to, .width = width};

	text_layout_fact(&page, "rule", "%s", r->text);
	explain_metric(r, &page);
	explain_limit(r, &page);
	explain_judging(r, &page);
	explain_doubt(r, &page);
}
