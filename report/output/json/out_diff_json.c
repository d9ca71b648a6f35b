/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/out_diff.h"
#include "report/output/json/out_compare_json.h"
#include "report/output/json/out_json.h"

static json_t *shape(const struct figures_part *p)
{
	json_t *o = json_object();

	if (!p || !p->shapes) {
		json_decref(o);
		return json_null();
	}
	json_put(o, "shapes", json_count(p->shapes));
	json_put(o, "grid", json_triple(p->grid));
	json_put(o, "block", json_triple(p->block));
	return o;
}

static json_t *pairs(const struct compare_pairs *p, size_t limit, size_t kind)
{
	static const char *const presences[] = {[PRESENCE_BOTH] = "both",
	                                        [PRESENCE_APPEARED] = "appeared",
	                                        [PRESENCE_VANISHED] = "vanished",
	                                        [PRESENCE_UNKNOWN] = NULL};
	json_t *list = json_array();

	for (size_t i = 0; i < p->count && i < limit; i++) {
		const struct compare_pair *pair = &p->items[i];
		json_t *o = json_object();
		json_put(o, "name", json_text(pair->name));
		json_put(o, "presence", json_text(presences[pair_presence(pair)]));
		out_compare_put_counts(o, &pair->count_before, &pair->count_after);
		json_put(o, "p50_ns", out_compare_timing(&pair->p50, true));
		if (kind == offsetof(struct figures, kernels)) {
			json_put(o, "shape_before", shape(pair->before));
			json_put(o, "shape_after", shape(pair->after));
			json_put(o, "reshaped", json_boolean(pair->reshaped));
		} else if (kind == offsetof(struct figures, copies)) {
			json_put(o, "bytes_before", out_compare_span(&pair->bytes_before));
			json_put(o, "bytes_after", out_compare_span(&pair->bytes_after));
		}
		json_push(list, o);
	}
	return list;
}

static json_t *side_of_site(const struct figures_site *s)
{
	json_t *o;

	if (!s)
		return json_null();
	o = json_object();
	json_put(o, "line", s->line ? json_count(s->line) : json_null());
	json_put(o, "calls", s->whole ? json_ns(s->calls) : json_null());
	json_put(o, "api_total_ns", json_ns(s->api_time));
	json_put(o, "wasted_ns", json_ns(s->wasted));
	return o;
}

static json_t *sites(const struct compare_result *c, size_t limit)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->site_count && i < limit; i++) {
		const struct figures_site_pair *p = &c->sites[i];
		const struct figures_site *s = p->after ? p->after : p->before;
		json_t *o = json_object();
		json_put(o, "presence",
		         json_text(!p->before  ? "appeared"
		                   : !p->after ? "vanished"
		                               : "both"));
		json_put(o, "kind", json_text(site_kind_names[s->kind]));
		json_put(o, "api", json_text(s->api));
		json_put(o, "language", json_text(s->python ? "python" : "native"));
		json_put(o, "function", json_text(s->function));
		json_put(o, "file", json_text(s->file));
		json_put(o, "module", json_text(s->module));
		json_put(o, "before", side_of_site(p->before));
		json_put(o, "after", side_of_site(p->after));
		json_push(list, o);
	}
	return list;
}

static json_t *side(const struct run_set *s)
{
	const struct figures *f = &s->runs[0];
	json_t *o = json_object(), *names = json_array();

	for (size_t i = 0; i < s->count; i++)
		json_push(names, json_text(s->runs[i].name));
	json_put(o, "recordings", names);
	json_put(o, "count", json_count(s->count));
	json_put(o, "gpus", json_text(f->machine.gpus));
	json_put(o, "driver", json_text(f->machine.driver));
	json_put(o, "gpu_mode", json_text(f->machine.mode));
	json_put(o, "state", json_text(process_state_names[f->state]));
	json_put(o, "missing", out_compare_missing(s));
	json_put(o, "verdict", json_text(f->verdict));
	json_put(o, "steps",
	         f->steps.source == STEPS_NONE ? json_null() : json_count(f->steps.count));
	json_put(o, "steps_judged",
	         f->steps.source == STEPS_NONE ? json_null() : json_count(f->steps.judged));
	json_put(o, "steps_name", json_text(f->steps.name));
	return o;
}

json_t *out_json_diff(const struct compare_result *c, const struct headline *h,
                      const struct out_options *o)
{
	json_t *root = json_object();
	size_t limit = o->limit_given ? o->limit : SIZE_MAX;

	if (!root)
		alloc_failed();
	json_put(root, "schema", json_text("cudaspy.diff/1"));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "before", side(&c->before));
	json_put(root, "after", side(&c->after));
	json_put(root, "machines_differ", json_text(c->differs));
	json_put(root, "headline", out_compare_headline(h));
	json_put(root, "times_judged", json_boolean(c->judged));
	json_put(root, "counts", out_compare_totals(c, true));
	json_put(root, "times", out_compare_totals(c, false));
	json_put(root, "kernels", pairs(&c->kernels, limit, offsetof(struct figures, kernels)));
	json_put(root, "apis",
	         c->has_parts ? pairs(&c->apis, limit, offsetof(struct figures, apis))
	                      : json_null());
	json_put(root, "copies",
	         c->has_parts ? pairs(&c->copies, limit, offsetof(struct figures, copies))
	                      : json_null());
	json_put(root, "sites", c->has_sites ? sites(c, limit) : json_null());
	return root;
}

void out_diff_json(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o)
{
	json_t *root = out_json_diff(c, h, o);

	json_dumpf(root, o->to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', o->to);
	json_decref(root);
}
