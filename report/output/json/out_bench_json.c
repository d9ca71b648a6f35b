/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_compare_json.h"
#include "report/output/out_bench.h"

#define VERDICTS 16

static json_t *summary(const struct bench_summary *s)
{
	json_t *o = json_object();

	if (!s->count) {
		json_decref(o);
		return json_null();
	}
	json_put(o, "runs", json_count(s->count));
	json_put(o, "median", json_number(s->median));
	json_put(o, "low", json_number(s->low));
	json_put(o, "high", json_number(s->high));
	json_put(o, "least", json_number(s->least));
	json_put(o, "most", json_number(s->most));
	return o;
}

static json_t *values(const struct bench_values *v)
{
	struct bench_summary s = bench_summary(v);
	json_t *o = summary(&s), *all = json_array();

	for (size_t i = 0; i < v->count; i++)
		json_push(all, json_number(rint(v->items[i])));
	if (json_is_object(o))
		json_put(o, "values", all);
	else
		json_decref(all);
	return o;
}

static json_t *figures(const struct bench *b, size_t side, bool counts)
{
	json_t *o = json_object();

	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *t = &b->found.totals[i];
		if (metric_is_count(t->metric) != counts)
			continue;
		char *name = alloc_format("%s%s", t->metric->name, t->per_step ? "_per_step" : "");
		struct bench_summary s = bench_summary_of(b, side, t->metric, t->per_step);
		json_put(o, name, summary(&s));
		free(name);
	}
	return o;
}

static json_t *verdicts(const struct bench *b, size_t side)
{
	struct bench_verdict found[VERDICTS];
	size_t n = bench_verdicts(b, side, found, VERDICTS);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();
		json_put(o, "class", json_text(found[i].name));
		json_put(o, "runs", json_count(found[i].count));
		json_push(list, o);
	}
	return list;
}

static json_t *command(const struct bench *b, size_t side)
{
	const struct bench_side *s = &b->sides[side];
	const struct run_set *runs = bench_runs(b, side);
	const struct figures *f = &runs->runs[0];
	json_t *o = json_object(), *names = json_array();

	for (size_t i = 0; i < runs->count && b->keep; i++)
		json_push(names, json_text(runs->runs[i].name));
	json_put(o, "label", json_text(s->label));
	json_put(o, "command", json_text(s->command));
	json_put(o, "recordings", names);
	json_put(o, "missing", out_compare_missing(runs));
	json_put(o, "gpus", json_text(f->machine.gpus));
	json_put(o, "driver", json_text(f->machine.driver));
	json_put(o, "gpu_mode", json_text(f->machine.mode));
	json_put(o, "steps_name", json_text(f->steps.name));
	json_put(o, "verdicts", verdicts(b, side));
	json_put(o, "wall_ns", values(&s->wall));
	json_put(o, "cpu_ns", values(&s->cpu));
	json_put(o, "bare_wall_ns", values(&s->bare_wall));
	json_put(o, "bare_cpu_ns", values(&s->bare_cpu));
	json_put(o, "recording_cost", b->bare ? out_compare_timing(&s->cost, true) : json_null());
	json_put(o, "counts", figures(b, side, true));
	json_put(o, "times", figures(b, side, false));
	return o;
}

static json_t *comparison(const struct bench *b)
{
	json_t *o = json_object();

	if (b->side_count < 2) {
		json_decref(o);
		return json_null();
	}
	json_put(o, "headline", out_compare_headline(&b->headline));
	json_put(o, "machines_differ", json_text(b->found.differs));
	json_put(o, "wall_ns", out_compare_timing(&b->wall, true));
	json_put(o, "cpu_ns", out_compare_timing(&b->cpu, true));
	json_put(o, "counts", out_compare_totals(&b->found, true));
	json_put(o, "times", out_compare_totals(&b->found, false));
	return o;
}

void out_bench_json(const struct bench *b, const struct out_options *o)
{
	json_t *root = json_object(), *commands = json_array();

	if (!root)
		alloc_failed();
	for (size_t i = 0; i < b->side_count; i++)
		json_push(commands, command(b, i));
	json_put(root, "schema", json_text("cudaspy.bench/1"));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "runs", json_count(b->runs));
	json_put(root, "warmup", json_count(b->warmup));
	json_put(root, "bare", json_boolean(b->bare));
	json_put(root, "commands", commands);
	json_put(root, "comparison", comparison(b));
	json_dumpf(root, o->to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', o->to);
	json_decref(root);
}
