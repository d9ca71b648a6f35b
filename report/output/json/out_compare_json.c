/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_compare_json.h"

json_t *out_compare_span(const struct compare_span *s)
{
	json_t *o = json_object();

	if (!isfinite(s->low)) {
		json_decref(o);
		return json_null();
	}
	json_put(o, "least", json_number(s->low));
	json_put(o, "median", json_number(s->middle));
	json_put(o, "most", json_number(s->high));
	return o;
}

void out_compare_put_counts(json_t *o, const struct compare_span *before,
                            const struct compare_span *after)
{
	json_put(o, "before", out_compare_span(before));
	json_put(o, "after", out_compare_span(after));
	json_put(o, "difference", json_number(after->middle - before->middle));
	json_put(o, "changed",
	         isfinite(before->low) && isfinite(after->low)
	                 ? json_boolean(span_differs(before, after))
	                 : json_null());
}

json_t *out_compare_timing(const struct compare_timing *t, bool ratio)
{
	static const char *const moves[] = {"fell", "none", "rose"};
	bool bounded = t->judged && !t->bounds.tied;
	json_t *o = json_object();

	json_put(o, "before", out_compare_span(&t->before));
	json_put(o, "after", out_compare_span(&t->after));
	json_put(o, ratio ? "ratio" : "difference",
	         t->judged ? json_number(t->bounds.estimate) : json_null());
	json_put(o, "lower", bounded ? json_number(t->bounds.lower) : json_null());
	json_put(o, "upper", bounded ? json_number(t->bounds.upper) : json_null());
	json_put(o, "method",
	         bounded ? json_text(bounds_method_names[t->bounds.method]) : json_null());
	json_put(o, "beyond_noise",
	         t->judged ? json_text(moves[timing_moved(t, ratio) + 1]) : json_null());
	return o;
}

json_t *out_compare_totals(const struct compare_result *c, bool counts)
{
	json_t *all = json_object();

	for (size_t i = 0; i < c->total_count; i++) {
		const struct compare_total *t = &c->totals[i];
		char *name = alloc_format("%s%s", t->metric->name, t->per_step ? "_per_step" : "");
		json_t *o = json_object();
		if (metric_is_count(t->metric) != counts) {
			json_decref(o);
		} else if (counts) {
			out_compare_put_counts(o, &t->before, &t->after);
			json_put(all, name, o);
		} else {
			json_decref(o);
			json_put(all, name,
			         out_compare_timing(&t->time, t->metric->kind == METRIC_TIME));
		}
		free(name);
	}
	return all;
}

json_t *out_compare_missing(const struct run_set *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++) {
		if (!s->runs[i].missing)
			continue;
		char *text = alloc_format("%s: %s", s->runs[i].name, s->runs[i].missing);
		json_push(list, json_text(text));
		free(text);
	}
	if (json_array_size(list))
		return list;
	json_decref(list);
	return json_null();
}

json_t *out_compare_headline(const struct headline *h)
{
	static const char *const moves[] = {"faster", "none", "slower"};
	json_t *o = json_object();

	json_put(o, "text", json_text(h->text));
	json_put(o, "of", json_text(headline_of_names[h->of]));
	json_put(o, "moved", h->of == HEADLINE_NONE ? json_null() : json_text(moves[h->moved + 1]));
	json_put(o, "judged", json_boolean(h->judged));
	json_put(o, "time",
	         h->of == HEADLINE_NONE ? json_null() : out_compare_timing(&h->time, true));
	json_put(o, "steps_apart", json_text(h->steps_apart));
	return o;
}
