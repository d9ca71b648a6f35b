/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/output/json/out_json.h"

#define OUTLIERS_MOST 20u

static json_t *spread(const struct model_spread_of *s)
{
	json_t *o = json_object();

	json_put(o, "mean", json_fraction(s->mean));
	json_put(o, "min", json_fraction(s->min));
	json_put(o, "p50", json_fraction(s->p50));
	json_put(o, "max", json_fraction(s->max));
	return o;
}

static void put_work(json_t *o, const struct model_work_done *w)
{
	double v[WORK_FIGURES];

	memcpy(v, w, sizeof(v));
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		json_put(o, model_work_figure_names[i], json_fraction(v[i]));
}

static json_t *outliers(const struct model *m)
{
	const struct model_steps_figures *s = &m->steps;
	json_t *list = json_array();

	for (size_t i = 0; i < s->outlier_count && i < OUTLIERS_MOST; i++) {
		const struct model_step *row = &s->outliers[i];
		json_t *o = json_object();
		json_put(o, "pid", json_count(m->processes[row->process].pid));
		json_put(o, "start_ns", json_ns(row->start));
		json_put(o, "duration_ns", json_ns(row->duration));
		put_work(o, &row->work);
		json_push(list, o);
	}
	return list;
}

json_t *out_json_steps(const struct model *m, const struct out_options *o)
{
	const struct model_steps_figures *s = &m->steps;
	bool any = s->source != STEPS_NONE;
	json_t *steps = json_object();

	json_put(steps, "source", json_text(model_steps_source_names[s->source]));
	json_put(steps, "name", json_text(s->name));
	json_put(steps, "domain", json_text(s->domain));
	json_put(steps, "confidence", json_text(s->confidence));
	json_put(steps, "alike", json_share(s->alike));
	json_put(steps, "count", any ? json_count(s->count) : json_null());
	json_put(steps, "judged", any ? json_count(s->judged) : json_null());
	json_put(steps, "skipped", any ? json_count(s->skipped) : json_null());
	json_put(steps, "odd", any ? json_count(s->odd) : json_null());
	json_put(steps, "stride", any ? json_count(s->stride) : json_null());
	json_t *duration = spread(&s->duration);
	json_put(duration, "p99", json_fraction(s->duration.p99));
	json_put(steps, "duration_ns", duration);
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		json_put(steps, model_work_figure_names[i], spread(&s->work[i]));
	json_put(steps, "gpu_timed", any ? json_count(s->timed) : json_null());
	json_put(steps, "per_s", json_fraction(s->per_s));
	json_put(steps, "units_per_s",
	         json_fraction(o->unit_per_step > 0 ? o->unit_per_step * s->per_s : NAN));
	json_put(steps, "judged_per_s", json_fraction(s->judged_per_s));
	json_put(steps, "outlier_count", any ? json_count(s->outlier_count) : json_null());
	json_put(steps, "outliers", outliers(m));
	return steps;
}

/* Flat, parents first; `parent` is an index in this list. */
json_t *out_json_ranges(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->range_count; i++) {
		const struct model_range *r = &m->ranges[i];
		json_t *o = json_object();
		json_put(o, "name", json_text(r->name));
		json_put(o, "domain", json_text(r->domain));
		json_put(o, "parent",
		         r->parent == RANGE_NONE ? json_null() : json_count(r->parent));
		json_put(o, "level", json_count(r->level));
		json_put(o, "count", json_count(r->count));
		json_put(o, "counted", json_count(r->counted));
		json_put(o, "total_ns", json_ns(r->total));
		json_put(o, "mean_ns", json_ns(r->mean));
		json_put(o, "min_ns", json_ns(r->min));
		json_put(o, "p50_ns", json_ns(r->q.p50));
		json_put(o, "p99_ns", json_ns(r->q.p99));
		json_put(o, "max_ns", json_ns(r->count ? r->max : NAN));
		put_work(o, &r->work);
		json_push(list, o);
	}
	return list;
}
