/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/output/json/out_json.h"

static json_t *assumptions(const struct whatif_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->assumption_count; i++)
		json_push(list, json_text(r->assumptions[i]));
	return list;
}

static json_t *blocked(const struct whatif_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->blocked_count; i++) {
		json_t *row = json_object();
		json_put(row, "kind", json_text(whatif_blocks[r->blocked[i].kind]));
		json_put(row, "call", json_text(r->blocked[i].call));
		json_put(row, "count", json_ns(r->blocked[i].count));
		json_put(row, "per_step", json_number(r->blocked[i].per_step));
		json_push(list, row);
	}
	return list;
}

/* How launches become graphs; of the other changes there is one form alone. */
static void put_form(json_t *row, const struct whatifs *w, const struct whatif_result *r,
                     bool known)
{
	bool graphs = r->what == WHATIF_GRAPHS;

	json_put(row, "form", graphs && known ? json_text(whatif_forms[r->form]) : json_null());
	json_put(row, "steps", json_ns(graphs ? r->steps : NAN));
	json_put(row, "steps_alike", json_ns(graphs ? r->repeated : NAN));
	json_put(row, "stays_ns", json_ns(graphs && r->form == WHATIF_WHOLE ? r->stays : NAN));
	json_put(row, "blocked_by", blocked(r));
	json_put(row, "how", graphs ? json_text(whatif_graph_way(whatif_model(w))) : json_null());
}

json_t *out_json_whatif(struct whatifs *w, const struct out_options *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->whatif_count; i++) {
		const struct whatif_question *q = &o->whatifs[i];
		json_t *row = json_object();
		struct whatif_result r;
		bool known = whatif_predict(w, q->what, q->kernel, q->factor, &r);
		json_put(row, "change", json_text(q->text));
		json_put(row, "window_ns", json_ns(r.window));
		json_put(row, "predicted_ns", json_ns(r.predicted));
		json_put(row, "predicted_low_ns", json_ns(r.low));
		json_put(row, "predicted_high_ns", json_ns(r.high));
		json_put(row, "saved_ns", json_ns(r.saved));
		json_put(row, "speedup", json_share(r.speedup));
		json_put(row, "speedup_low", json_share(r.speedup_low));
		json_put(row, "speedup_high", json_share(r.speedup_high));
		json_put(row, "gpu_bound_ns", json_ns(r.bound));
		json_put(row, "coverage", json_share(r.coverage));
		json_put(row, "model_error", json_share(r.error));
		json_put(row, "calls_changed", json_ns(known ? r.changed : 0));
		put_form(row, w, &r, known);
		json_put(row, "assumptions", assumptions(&r));
		json_put(row, "unknown_because", known ? json_null() : json_text(r.why));
		json_push(list, row);
	}
	return list;
}
