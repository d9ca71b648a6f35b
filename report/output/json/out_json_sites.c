/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/output/json/out_json.h"

static json_t *frame(const struct model_frame *f)
{
	json_t *o = json_object();

	json_put(o, "language", json_text(f->python ? "python" : "native"));
	json_put(o, "function", json_text(f->function));
	json_put(o, "file", json_text(f->file));
	json_put(o, "line", f->line ? json_count(f->line) : json_null());
	json_put(o, "local_file", json_text(f->local));
	json_put(o, "module", json_text(f->module));
	json_put(o, "offset", f->python ? json_null() : json_count(f->address));
	json_put(o, "library", json_boolean(f->foreign));
	return o;
}

json_t *out_json_line(const struct model_frame *f)
{
	if (!f)
		return json_null();
	json_t *o = json_object();
	json_put(o, "function", json_text(f->function));
	json_put(o, "file", json_text(f->file));
	json_put(o, "line", f->line ? json_count(f->line) : json_null());
	return o;
}

json_t *out_json_sites(const struct model *m, size_t limit)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->sites.count && i < limit; i++) {
		const struct model_site *s = &m->sites.items[i];
		json_t *o = json_object(), *frames = json_array();
		json_put(o, "kind", json_text(site_kind_names[s->kind]));
		json_put(o, "api", json_text(s->api));
		json_put(o, "calls", s->whole ? json_count(s->seen) : json_null());
		json_put(o, "seen", json_count(s->seen));
		json_put(o, "failed", json_count(s->failed));
		json_put(o, "calls_estimated", s->estimated ? json_ns(s->calls) : json_null());
		json_put(o, "api_total_ns", json_ns(s->api_time));
		json_put(o, "estimated", json_boolean(s->estimated));
		json_put(o, "wasted_ns", json_ns(s->kind == SITE_WAIT ? s->wasted : NAN));
		json_put(o, "gpu_total_ns", json_ns(s->gpu));
		json_put(o, "samples", json_count(s->samples));
		json_put(o, "bytes", json_count(s->bytes));
		json_put(o, "pageable_bytes", json_count(s->pageable_bytes));
		json_put(o, "thread", json_text(s->thread));
		json_put(o, "range", json_text(s->range));
		char *from = s->frame_count || s->thread ? site_headline(s, false) : NULL;
		json_put(o, "called_from", json_text(from));
		free(from);
		json_put(o, "after", out_json_line(s->after));
		json_put(o, "meanwhile", out_json_line(s->meanwhile));
		json_put(o, "headline", s->frame_count ? json_count(s->head) : json_null());
		for (size_t k = 0; k < s->frame_count; k++)
			json_push(frames, frame(&s->frames[k]));
		json_put(o, "frames", frames);
		json_put(o, "frames_cut", json_boolean(s->cut));
		json_push(list, o);
	}
	return list;
}
