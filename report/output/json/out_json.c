/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/framework.h"
#include "report/output/json/out_json.h"
#include "report/base/units.h"

/* Stacks, unless more are asked for: a framework has thousands, of fifty frames each. */
#define SITES_BRIEF 200u

static json_t *totals(const struct model *m)
{
	const struct model_totals *t = &m->totals;
	json_t *o = json_object();

	json_put(o, "calls", out_json_count(m, t->calls));
	json_put(o, "failed", out_json_count(m, t->failed));
	json_put(o, "launches", out_json_count(m, t->launches));
	json_put(o, "graph_launches", out_json_count(m, t->graph_launches));
	json_put(o, "captured", out_json_count(m, t->captured));
	json_put(o, "copies", out_json_count(m, t->copies));
	json_put(o, "pageable_copies", out_json_count(m, t->pageable_copies));
	json_put(o, "copy_bytes", out_json_count(m, t->copy_bytes));
	json_put(o, "sets", out_json_count(m, t->sets));
	json_put(o, "syncs", out_json_count(m, t->syncs));
	json_put(o, "implicit_syncs",
	         t->implicit_known ? out_json_count(m, t->implicit_syncs) : json_null());
	json_put(o, "allocs", out_json_count(m, t->allocs));
	json_put(o, "allocated_bytes", out_json_count(m, t->allocated_bytes));
	json_put(o, "freed_bytes", out_json_count(m, t->freed_bytes));
	return o;
}

/* What ran by launches of graphs; null where nothing of that is known. */
static json_t *in_graphs(const struct model *m)
{
	const struct model_in_graphs *in = &m->in_graphs;
	json_t *o = json_object();

	if (!model_graphs_known(m)) {
		json_decref(o);
		return json_null();
	}
	json_put(o, "launches", json_count(m->totals.graph_launches));
	json_put(o, "launches_known", json_count(in->launches));
	json_put(o, "launches_in_part", json_count(in->launches_in_part));
	json_put(o, "kernels", json_count(in->kernels));
	json_put(o, "copies", json_count(in->copies));
	json_put(o, "copy_bytes", json_count(in->copy_bytes));
	json_put(o, "sets", json_count(in->sets));
	json_put(o, "others", json_count(in->others));
	return o;
}

/* What is missing of its recordings (free it); NULL = nothing. */
static char *damage_of(const struct model *m)
{
	char *all = NULL;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		if (p->damage)
			alloc_append(&all, "%sprocess %llu: %s", all ? "; " : "",
			             (unsigned long long)p->pid, p->damage);
	}
	return all;
}

static json_t *lost(const struct model *m)
{
	json_t *o = json_object();

	json_put(o, "records", out_json_count(m, m->lost));
	json_put(o, "share", json_share(model_is_known(m) ? m->lost_share : NAN));
	json_put(o, "written", out_json_count(m, m->written));
	json_put(o, "calls", out_json_count(m, m->lost_calls));
	char *damage = damage_of(m);
	json_put(o, "damaged", json_text(damage));
	free(damage);
	return o;
}

static json_t *overhead(const struct model *m, const struct analysis *a)
{
	json_t *o = json_object();

	json_put(o, "per_call_ns", json_share(m->per_call));
	json_put(o, "calls_ns", json_ns(m->calls_cost));
	json_put(o, "samples_ns", json_ns(m->samples_cost));
	json_put(o, "graphs_ns", json_ns(m->graphs_cost));
	json_put(o, "sites_ns", json_ns(m->sites_cost));
	json_put(o, "collector_ns", json_ns(m->collector));
	json_put(o, "share", json_share(m->overhead_share));
	json_put(o, "own_share", json_share(m->own_share));
	json_put(o, "own_judged_share", json_share(model_own_judged(m, a->of)));
	json_put(o, "own_share_budget", json_share(OWN_SHARE_BUDGET));
	return o;
}

static json_t *verdict_class(enum verdict_class cls)
{
	return cls == VERDICT_NONE ? json_null() : json_text(verdict_names[cls]);
}

json_t *out_json_verdict(const struct verdict *v)
{
	json_t *o = json_object();

	json_put(o, "class", json_text(verdict_names[v->cls]));
	json_put(o, "confidence", json_text(verdict_confidences[v->confidence]));
	json_put(o, "reason", json_text(v->reason));
	json_put(o, "first", verdict_class(v->first));
	json_put(o, "second", verdict_class(v->second));
	json_put(o, "gain_share", json_share(v->gain));
	json_put(o, "second_gain_share", json_share(v->second_gain));
	json_put(o, "window_ns", json_ns(v->window));
	json_put(o, "startup_ns", json_ns(v->startup));
	return o;
}

static json_t *warnings(const struct model *m, const struct analysis *a)
{
	json_t *list = json_array();

	if (m->own_warning)
		json_push(list, json_text(m->own_warning));
	char *judged = model_own_judged_warning(m, a->of);
	if (judged)
		json_push(list, json_text(judged));
	free(judged);
	for (size_t i = 0; i < m->warnings.count; i++)
		json_push(list, json_text(m->warnings.text[i]));
	if (m->warnings.left_out) {
		char *text = alloc_format("and %zu more", m->warnings.left_out);
		json_push(list, json_text(text));
		free(text);
	}
	return list;
}

/* The ids of the processes agree, or there is no one id. */
static json_t *run_id(const struct model *m)
{
	return m->process_count ? json_text(m->processes[0].run_id) : json_null();
}

json_t *out_json_report(const struct model *m, const struct analysis *a,
                        const struct out_options *o)
{
	char date[UNIT_BYTES];
	size_t limit = o->limit_given ? o->limit : SIZE_MAX;
	json_t *root = json_object();

	if (!root)
		alloc_failed();
	json_put(root, "schema", json_text("cudaspy.report/1"));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "run_id", run_id(m));
	json_put(root, "run", out_json_run(m));
	json_put(root, "framework", json_text(framework_names[framework_of(m)]));
	json_put(root, "start_time",
	         isfinite(m->start_realtime) ? json_text(unit_date(date, m->start_realtime))
	                                     : json_null());
	json_put(root, "wall_ns", json_ns(m->wall));
	json_put(root, "window_ns", json_ns(m->window));
	json_put(root, "startup_ns", json_ns(m->startup));
	json_put(root, "totals", totals(m));
	json_put(root, "in_graphs", in_graphs(m));
	json_put(root, "lost", lost(m));
	json_put(root, "overhead", overhead(m, a));
	json_put(root, "host", out_json_host(m));
	json_put(root, "gpu", out_json_gpu(m));
	json_put(root, "verdict", out_json_verdict(&a->verdict));
	json_put(root, "phase", out_json_phase(m, a));
	json_put(root, "phases", out_json_phases(m, a));
	json_put(root, "phases_between_ns", json_ns(m->phases.count ? m->phases.between : NAN));
	json_put(root, "apis", out_json_apis(m, limit));
	json_put(root, "kernels", out_json_kernels(m, limit));
	json_put(root, "copies", out_json_copies(m));
	json_put(root, "graphs", out_json_graphs(m));
	json_put(root, "streams", out_json_streams(m));
	json_put(root, "works", out_json_works(m));
	json_put(root, "steps", out_json_steps(a->of, o));
	json_put(root, "ranges", out_json_ranges(m));
	size_t sites = o->limit_given || o->sites ? limit : SITES_BRIEF;
	json_put(root, "sites", out_json_sites(m, sites));
	json_put(root, "sites_left_out",
	         json_count(m->sites.count > sites ? m->sites.count - sites : 0));
	/* Why the stacks lack frames of Python; null: they do not. */
	json_put(root, "sites_python_trouble", json_text(m->sites.python_trouble));
	json_put(root, "findings", out_json_findings(&a->findings));
	json_put(root, "what_if", out_json_whatif(a->whatifs, o));
	json_put(root, "processes", out_json_processes(m));
	json_put(root, "ranks", out_json_ranks(m, a));
	json_put(root, "gaps", out_json_gaps(m));
	json_put(root, "environment", out_json_environment(m));
	json_put(root, "expect_kernels", out_json_expect(m, o));
	json_put(root, "warnings", warnings(m, a));
	return root;
}

void out_json(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	json_t *root = out_json_report(m, a, o);

	/* ASCII alone: no character of a name reaches a terminal raw. */
	json_dumpf(root, o->to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', o->to);
	json_decref(root);
}
