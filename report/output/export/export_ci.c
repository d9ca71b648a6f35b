/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/json.h"
#include "report/output/export/export_figures.h"

static int put(json_t *root, const struct export_job *job)
{
	json_dumpf(root, job->to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', job->to);
	json_decref(root);
	return 0;
}

/* Bencher Metric Format: by benchmark and measure a value, and what it lies between. */
int export_bmf(const struct export_job *job)
{
	struct export_figures figures;
	json_t *root = json_object();

	export_figures_make(&figures, job);
	for (size_t i = 0; i < figures.count; i++) {
		const struct export_figure *f = &figures.items[i];
		json_t *benchmark = json_object_get(root, f->benchmark), *metric = json_object();
		if (!benchmark) {
			benchmark = json_object();
			json_put(root, f->benchmark, benchmark);
		}
		/* A measure has no unit of its own in this format. */
		char *measure = *f->unit && strcmp(f->unit, "B")
		                        ? alloc_format("%s-%s", f->measure,
		                                       strcmp(f->unit, "%") ? f->unit : "percent")
		                        : alloc_string(f->measure);
		json_put(metric, "value", json_number(f->value));
		if (isfinite(f->low)) {
			json_put(metric, "lower_value", json_number(f->low));
			json_put(metric, "upper_value", json_number(f->high));
		}
		json_put(benchmark, measure, metric);
		free(measure);
	}
	export_figures_free(&figures);
	return put(root, job);
}

/* The custom input of github-action-benchmark where less is good: what the GPU is busy becomes what
 * it is idle. */
int export_gha(const struct export_job *job)
{
	struct export_figures figures;
	json_t *root = json_array();

	export_figures_make(&figures, job);
	for (size_t i = 0; i < figures.count; i++) {
		const struct export_figure *f = &figures.items[i];
		json_t *entry = json_object();
		bool turned = f->more_is_good;
		char *name = alloc_format("%s: %s", f->benchmark, turned ? "gpu-idle" : f->measure);
		json_put(entry, "name", json_text(name));
		json_put(entry, "unit", json_text(*f->unit ? f->unit : "count"));
		json_put(entry, "value", json_number(turned ? 100 - f->value : f->value));
		if (isfinite(f->low)) {
			char *range = alloc_format("%.6g..%.6g", turned ? 100 - f->high : f->low,
			                           turned ? 100 - f->low : f->high);
			json_put(entry, "range", json_text(range));
			free(range);
		}
		json_put(entry, "extra",
		         json_text(turned ? "share of the window in which the GPU did not work"
		                          : f->about));
		json_push(root, entry);
		free(name);
	}
	export_figures_free(&figures);
	return put(root, job);
}
