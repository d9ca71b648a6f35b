/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/out_check.h"
#include "report/output/json/out_json.h"

/* In the unit of the metric; counts stay whole. */
static json_t *range(double low, double high)
{
	json_t *list = json_array();

	if (!isfinite(low)) {
		json_decref(list);
		return json_null();
	}
	json_push(list, json_number(low));
	json_push(list, json_number(high));
	return list;
}

/* Of each recording: what its steps are, and how many were judged. */
static json_t *steps(const struct run_set *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++) {
		const struct figures_step_set *x = &s->runs[i].steps;
		bool any = x->source != STEPS_NONE;
		json_t *o = json_object();
		json_put(o, "source", json_text(model_steps_source_names[x->source]));
		json_put(o, "name", json_text(x->name));
		json_put(o, "count", any ? json_count(x->count) : json_null());
		json_put(o, "judged", any ? json_count(x->judged) : json_null());
		json_put(o, "skipped", any ? json_count(x->skipped) : json_null());
		json_put(o, "odd", any ? json_count(x->odd) : json_null());
		json_push(list, o);
	}
	return list;
}

static json_t *site(const struct judgement *j)
{
	const struct figures_site *s = j->site, *b = j->site_before;

	if (!s)
		return json_null();
	json_t *o = json_object();
	json_put(o, "kind", json_text(site_kind_names[s->kind]));
	json_put(o, "api", json_text(s->api));
	json_put(o, "language", json_text(s->python ? "python" : "native"));
	json_put(o, "function", json_text(s->function));
	json_put(o, "file", json_text(s->file));
	json_put(o, "local_file", json_text(s->local));
	json_put(o, "line", s->line ? json_count(s->line) : json_null());
	json_put(o, "module", json_text(s->module));
	json_put(o, "calls", s->whole ? json_ns(s->calls) : json_null());
	json_put(o, "api_total_ns", json_ns(s->api_time));
	json_put(o, "calls_before", b && b->whole ? json_ns(b->calls) : json_null());
	json_put(o, "api_total_ns_before", json_ns(b ? b->api_time : NAN));
	json_put(o, "appeared", j->site_compared ? json_boolean(!b) : json_null());
	return o;
}

static json_t *rule(const struct judgement *j)
{
	static const char *const selects[] = {
	        [SELECT_RUN] = "run", [SELECT_KERNEL] = "kernel", [SELECT_RANGE] = "range"};
	const struct rule *r = j->rule;
	json_t *o = json_object();
	char *name = alloc_format("%s%s", r->metric->name, r->per_step ? "_per_step" : "");
	char *sentence = out_check_sentence(j);

	json_put(o, "rule", json_text(r->text));
	json_put(o, "outcome", json_text(outcome_names[j->outcome]));
	json_put(o, "metric", json_text(name));
	json_put(o, "of", json_text(selects[r->select]));
	json_put(o, "pattern", json_text(r->pattern));
	json_put(o, "file", json_text(r->file));
	json_put(o, "line", r->file ? json_count(r->line) : json_null());
	if (r->metric->kind == METRIC_WORD) {
		json_put(o, "after", json_text(j->after_word));
		json_put(o, "limit", json_text(r->word));
	} else {
		json_put(o, "before", range(j->before_low, j->before_high));
		json_put(o, "after", range(j->after_low, j->after_high));
		json_put(o, "limit", range(j->limit_low, j->limit_high));
	}
	json_put(o, "estimate", range(j->estimate_low, j->estimate_high));
	if (j->has_bounds) {
		json_t *b = json_object();
		bool ratio = r->percent && r->metric->kind != METRIC_SHARE;
		json_put(b, ratio ? "ratio" : "difference", json_number(j->bounds.estimate));
		json_put(b, "lower", json_number(j->bounds.lower));
		json_put(b, "upper", json_number(j->bounds.upper));
		json_put(b, "confidence", json_real(1 - BOUNDS_ALPHA));
		json_put(b, "method", json_text(bounds_method_names[j->bounds.method]));
		json_put(o, "change", b);
	} else {
		json_put(o, "change", json_null());
	}
	json_put(o, "steps_judged", range(j->steps_low, j->steps_high));
	json_put(o, "step_before", range(j->least_before, j->most_before));
	json_put(o, "step_after", range(j->least_after, j->most_after));
	json_put(o, "reason", json_text(j->reason));
	json_put(o, "note", json_text(j->note));
	json_put(o, "where", json_text(j->where));
	json_put(o, "site", site(j));
	json_put(o, "message", json_text(sentence));
	free(name);
	free(sentence);
	return o;
}

static json_t *names(const struct run_set *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++)
		json_push(list, json_text(s->runs[i].name));
	return list;
}

void out_check_json(const struct out_check *c, const struct out_options *o)
{
	json_t *root = json_object(), *rules = json_array();
	char *differs = machine_difference(&c->before, &c->after);

	if (!root || !rules)
		alloc_failed();
	json_put(root, "schema", json_text("cudaspy.check/1"));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "outcome", json_text(outcome_names[c->outcome]));
	json_put(root, "passed", json_count(c->outcomes[OUTCOME_PASS]));
	json_put(root, "failed", json_count(c->outcomes[OUTCOME_FAIL]));
	json_put(root, "inconclusive", json_count(c->outcomes[OUTCOME_INCONCLUSIVE]));
	json_put(root, "baseline", json_text(c->baseline));
	json_put(root, "baseline_recordings", json_count(c->before.count));
	json_put(root, "recordings", names(&c->after));
	json_put(root, "steps", steps(&c->after));
	json_put(root, "machines_differ", json_text(differs));
	for (size_t i = 0; i < c->count; i++)
		json_push(rules, rule(&c->judgements[i]));
	json_put(root, "rules", rules);
	json_dumpf(root, o->to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', o->to);
	json_decref(root);
	free(differs);
}
