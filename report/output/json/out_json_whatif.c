/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/json/out_json.h"

static json_t *assumptions(const struct whatif_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->assumption_count; i++)
		json_push(list, json_text(r->assumptions[i]));
	return list;
}

json_t *json_whatif(struct whatifs *w, const struct out_options *o)
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
		json_put(row, "assumptions", assumptions(&r));
		json_put(row, "unknown_because", known ? json_null() : json_text(r.why));
		json_push(list, row);
	}
	return list;
}
