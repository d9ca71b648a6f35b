#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/bounds.h"
#include "report/judge.h"
#include "report/page.h"

static void explain_metric(const struct rule *r, struct page *page)
{
	const struct metric *m = r->metric;
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "a count, exact",  [METRIC_BYTES] = "a count of bytes, exact",
	        [METRIC_TIME] = "a time, measured", [METRIC_SHARE] = "a share, measured",
	        [METRIC_WORD] = "a word",
	};

	page_fact(page, "metric", "%s: %s (%s)", m->name, m->about, kinds[m->kind]);
	if (r->select == SELECT_KERNEL)
		page_fact(page, "of",
		          "kernels whose name matches the regular expression %s, "
		          "summed; names as cudaspy report --full-names prints them",
		          r->pattern);
	else if (r->select == SELECT_RANGE)
		page_fact(page, "of", "NVTX ranges whose name matches the regular expression %s",
		          r->pattern);
	else
		page_fact(page, "of", "the whole run, all its processes summed%s",
		          r->per_step ? ", divided by its steps" : "");
}

static void explain_limit(const struct rule *r, struct page *page)
{
	static const char *const words[] = {
	        [OP_LE] = "at most", [OP_GE] = "at least",  [OP_EQ] = "exactly",
	        [OP_NE] = "not",     [OP_LT] = "less than", [OP_GT] = "more than",
	};
	const struct metric *m = r->metric;
	const char *word = words[r->op];

	if (r->word) {
		page_fact(page, "limit", "%s %s", r->op == OP_EQ ? "is" : "is not", r->word);
	} else if (!r->relative) {
		char *value = metric_text(m->kind, r->value, r->value);
		page_fact(page, "limit", "%s %s", word, value);
		free(value);
	} else if (r->value == 0) {
		page_fact(page, "limit", "%s what the baseline has", word);
	} else {
		const char *side = r->value < 0 ? "less" : "more";
		double by = fabs(r->value);
		char *value = r->percent ? alloc_format("%.10g %s", by,
		                                        r->metric->kind == METRIC_SHARE
		                                                ? "percentage points"
		                                                : "%")
		                         : metric_text(m->kind, by, by);
		page_fact(page, "limit", "%s the baseline's and %s %s", word, value, side);
		free(value);
	}
}

static void explain_judging(const struct rule *r, struct page *page)
{
	const struct metric *m = r->metric;

	if (metric_is_count(m)) {
		page_fact(page, "fails", "when one recording alone breaks it%s",
		          r->relative ? "; of several in the baseline the one that allows more "
		                        "counts"
		                      : "");
	} else if (r->relative) {
		page_fact(
		        page, "fails",
		        "when the change is beyond the limit with %.0f %% confidence: by the exact "
		        "rank test where there are enough recordings (5 a side), else by Welch's "
		        "t test on logarithms as well",
		        100 * (1 - BOUNDS_ALPHA));
	} else if (m->kind != METRIC_WORD) {
		page_fact(page, "fails", "when the median of the recordings breaks it");
	} else {
		page_fact(page, "fails", "when one recording alone breaks it");
	}
}

static void explain_doubt(const struct rule *r, struct page *page)
{
	const struct metric *m = r->metric;

	page_fact(page, "no answer",
	          "(exit status 3) when a process was killed or runs, without "
	          "--allow-killed%s%s%s%s%s",
	          r->relative && !metric_is_count(m) && m->kind != METRIC_WORD
	                  ? "; with fewer than three recordings a side; when GPU, driver or "
	                    "CUDASPY_GPU differ"
	                  : "",
	          m->flags & METRIC_RECORDS ? "; when more than 1 % of the records were lost" : "",
	          m->flags & METRIC_GPU    ? "; where GPU time is not known"
	          : m->kind == METRIC_WORD ? "; where the recordings hold no verdict"
	                                   : "",
	          r->per_step ? "; without --steps N: the recordings hold no steps" : "",
	          r->select == SELECT_RANGE ? "; always: the recordings hold no NVTX ranges" : "");
}

void rule_explain(const struct rule *r, FILE *to)
{
	struct page page = {.to = to, .width = 80};

	page_fact(&page, "rule", "%s", r->text);
	explain_metric(r, &page);
	explain_limit(r, &page);
	explain_judging(r, &page);
	explain_doubt(r, &page);
}
