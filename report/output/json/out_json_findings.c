/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_json.h"

json_t *out_json_place(const struct finding *f)
{
	if (!f->place || !f->site->frame_count)
		return json_null();
	const struct model_frame *head = &f->site->frames[f->site->head];
	json_t *o = json_object();
	json_put(o, "language", json_text(head->python ? "python" : "native"));
	json_put(o, "function", json_text(head->function));
	json_put(o, "file", json_text(head->file));
	json_put(o, "line", head->line ? json_count(head->line) : json_null());
	json_put(o, "module", json_text(head->module));
	json_put(o, "api", json_text(f->site->api));
	json_put(o, "thread", json_text(f->site->thread));
	json_put(o, "range", json_text(f->site->range));
	json_put(o, "after", out_json_line(f->site->after));
	json_put(o, "meanwhile", out_json_line(f->site->meanwhile));
	json_put(o, "ahead", json_boolean(f->ahead));
	json_put(o, "since", out_json_line(f->since));
	json_put(o, "until", out_json_line(f->until));
	json_put(o, "measure", json_text(f->place_measure));
	json_put(o, "share", json_share(f->place_share));
	return o;
}

json_t *out_json_findings(const struct findings *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->items[i];
		char *fix = alloc_format("CUDA: %s. %s: %s.", f->fix_cuda, f->framework, f->fix);
		json_t *o = json_object();
		json_put(o, "id", json_text(f->id));
		json_put(o, "severity", json_text(finding_severities[f->severity]));
		json_put(o, "title", json_text(f->title));
		json_put(o, "share", json_share(f->share));
		json_put(o, "evidence", json_text(f->evidence));
		json_put(o, "site", out_json_place(f));
		json_put(o, "fix", json_text(fix));
		json_put(o, "predicted_speedup", json_share(f->speedup));
		json_put(o, "predicted_speedup_low", json_share(f->speedup_low));
		json_put(o, "predicted_speedup_high", json_share(f->speedup_high));
		json_push(list, o);
		free(fix);
	}
	return list;
}
