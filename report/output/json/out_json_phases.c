/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_json.h"

const char *const out_json_host_names[TF_HOSTS] = {
        [TF_HOST_LAUNCH] = "launch_ns",
        [TF_HOST_BACK_PRESSURE] = "back_pressure_ns",
        [TF_HOST_CONTENTION] = "contention_ns",
        [TF_HOST_SYNC_USEFUL] = "sync_useful_ns",
        [TF_HOST_SYNC_WASTED] = "sync_wasted_ns",
        [TF_HOST_COPY] = "copy_ns",
        [TF_HOST_ALLOC] = "alloc_ns",
        [TF_HOST_MODULE] = "module_ns",
        [TF_HOST_OTHER] = "other_ns",
        [TF_HOST_OUTSIDE] = "outside_ns",
        [TF_HOST_OWN] = "sampling_ns",
};

static json_t *anchors(unsigned flags)
{
	json_t *list = json_array();

	if (flags & MODEL_ANCHOR_WAIT)
		json_push(list, json_text("wait"));
	if (flags & MODEL_ANCHOR_UPLOAD)
		json_push(list, json_text("upload"));
	if (flags & MODEL_ANCHOR_GAP)
		json_push(list, json_text("gap"));
	return list;
}

static json_t *levels(const struct model *m, const struct model_phase *p)
{
	const struct model_loop *l =
	        p->kind == PHASE_LOOP && p->found ? &m->loops[p->source] : NULL;
	json_t *list = json_array();

	for (unsigned i = 0; l && i < l->level_count; i++) {
		json_t *o = json_object();
		json_put(o, "marker", json_text(l->levels[i].marker));
		json_put(o, "work_per_piece", json_fraction(l->levels[i].events));
		json_put(o, "pieces", json_fraction(l->levels[i].seen));
		json_put(o, "anchors", anchors(l->levels[i].anchors));
		json_put(o, "is_step", json_boolean(i == l->step_level));
		json_push(list, o);
	}
	return list;
}

static json_t *spread(const struct model_phase *p)
{
	json_t *o = json_object();

	json_put(o, "mean", json_fraction(p->mean));
	json_put(o, "p50", json_fraction(p->p50));
	json_put(o, "p99", json_fraction(p->p99));
	return o;
}

/* Per step. */
static json_t *work(const struct model_phase *p)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < WORK_FIGURES; i++)
		json_put(o, model_work_figure_names[i],
		         json_fraction(p->steps ? model_work_figure(&p->work, i) / (double)p->steps
		                                : NAN));
	return o;
}

static json_t *host(const struct model_phase *p)
{
	json_t *o = json_object();

	for (int k = 0; k < TF_HOSTS; k++)
		json_put(o, out_json_host_names[k], json_ns(p->has_host ? p->host[k] : NAN));
	return o;
}

static json_t *stretches(const struct model_phase *p)
{
	json_t *list = json_array();

	/* Of one process: those of several have no one time. */
	for (size_t i = 0; p->part_count == 1 && i < p->parts[0].stretch_count && i < 64; i++) {
		const struct model_stretch *s = &p->parts[0].stretches[i];
		json_t *o = json_object();
		json_put(o, "start_ns", json_ns(s->start));
		json_put(o, "end_ns", json_ns(s->end));
		json_put(o, "steps", p->kind == PHASE_LOOP ? json_fraction(s->steps) : json_null());
		json_push(list, o);
	}
	return list;
}

static const char *name_of(const struct model *m, const struct model_phase *p)
{
	return p->kind != PHASE_LOOP ? NULL
	       : p->found            ? m->loops[p->source].marker
	                             : m->ranges[p->source].name;
}

static json_t *row(const struct model *m, const struct analysis *a, size_t i)
{
	const struct model_phase *p = &m->phases.rows[i];
	const struct verdict *v = &a->phases[i];
	bool loop = p->kind == PHASE_LOOP;
	json_t *o = json_object(), *gpu = json_object();

	json_put(o, "kind", json_text(model_phase_names[p->kind]));
	json_put(o, "number", loop ? json_count(p->number) : json_null());
	json_put(o, "prepares", p->prepares ? json_count(p->prepares) : json_null());
	json_put(o, "start_ns", json_ns(p->start));
	json_put(o, "end_ns", json_ns(p->end));
	json_put(o, "time_ns", json_ns(p->time));
	json_put(o, "share_of_window", json_share(p->share));
	json_put(o, "source",
	         loop ? json_text(model_steps_source_names[p->found ? STEPS_FOUND : STEPS_NVTX])
	              : json_null());
	json_put(o, "name", json_text(name_of(m, p)));
	json_put(o, "steps", loop ? json_count(p->steps) : json_null());
	json_put(o, "threads", loop && p->found ? json_count(p->threads) : json_null());
	json_put(o, "step_ns", spread(p));
	json_put(o, "per_step", work(p));
	json_put(o, "verdict", v->reason ? out_json_verdict(v) : json_null());
	json_put(gpu, "busy_share", json_share(v->reason ? v->busy : NAN));
	json_put(gpu, "busy_share_low", json_share(v->reason ? v->busy_low : NAN));
	json_put(gpu, "busy_share_high", json_share(v->reason ? v->busy_high : NAN));
	json_put(o, "gpu", gpu);
	json_put(o, "host", host(p));
	json_put(o, "anchors", anchors(loop && p->found ? m->loops[p->source].anchors : 0));
	json_put(o, "levels", levels(m, p));
	json_put(o, "stretch_count", json_count(p->stretches));
	json_put(o, "stretches", stretches(p));
	json_put(o, "processes", json_count(p->part_count));
	return o;
}

json_t *out_json_phases(const struct model *m, const struct analysis *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->phases.count; i++)
		json_push(list, row(m, a, i));
	return list;
}

json_t *out_json_phase(const struct model *m, const struct analysis *a)
{
	return a->phase < m->phases.count ? json_count(a->phase) : json_null();
}
