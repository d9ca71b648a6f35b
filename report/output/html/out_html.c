/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/gate/metrics.h"
#include "report/output/html/html_page.h"
#include "report/output/json/out_json.h"
#include "report/output/out_diff.h"

/* Of each table of a side. */
#define SIDE_ROWS 1000u

void out_html(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	json_t *data = json_object();

	json_put(data, "report", out_json_report(m, a, o));
	json_put(data, "extra", html_extra(m, a));
	html_page_write(o->to, data);
}

char *out_html_side(const struct model *m, const struct analysis *a)
{
	static const char *const left_out[] = {"works",   "ranges",   "graphs",
	                                       "streams", "what_if",  "environment",
	                                       "gaps",    "findings", "expect_kernels"};
	struct out_options o = {.limit = SIDE_ROWS, .limit_given = true};
	json_t *data = json_object(), *report = out_json_report(m, a, &o);

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		json_object_del(report, left_out[i]);
	json_put(data, "report", report);
	json_put(data, "extra", html_judged(m, a));
	char *text = json_dumps(data, JSON_COMPACT);
	json_decref(data);
	if (!text)
		alloc_failed();
	return text;
}

/* NULL: that side is a baseline. */
static json_t *side(const char *text)
{
	json_t *data = text ? json_loads(text, 0, NULL) : json_null();

	if (!data)
		alloc_failed();
	return data;
}

/* What the figures of a comparison are, by their names. */
static json_t *metric_words(void)
{
	json_t *words = json_object();

	for (size_t i = 0; i < METRICS; i++)
		json_put(words, metrics[i].name, json_text(metrics[i].about));
	return words;
}

void out_diff_html(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o, const char *before, const char *after)
{
	json_t *data = json_object();

	json_put(data, "diff", out_json_diff(c, h, o));
	json_put(data, "metrics", metric_words());
	json_put(data, "before", side(before));
	json_put(data, "after", side(after));
	html_page_write(o->to, data);
}
