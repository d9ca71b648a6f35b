/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/export/export_sqlite.h"
#include "report/output/export/export_tables.h"

/* ---- the tables of the report, as they are ---- */

static const char *type_of(const struct export_table *t, size_t column)
{
	bool real = false, any = false;

	for (size_t i = 0; i < t->row_count; i++) {
		const json_t *cell = export_cell(t, i, column);
		if (json_is_string(cell))
			return "TEXT";
		real |= json_is_real(cell);
		any |= cell != NULL;
	}
	return real ? "REAL" : any ? "INTEGER" : "";
}

static void put(struct database_table *to, const json_t *cell)
{
	if (json_is_string(cell))
		row_text(to, json_string_value(cell));
	else if (json_is_real(cell))
		row_real(to, json_real_value(cell));
	else if (json_is_integer(cell))
		row_int(to, json_integer_value(cell));
	else if (json_is_boolean(cell))
		row_int(to, json_is_true(cell));
	else
		row_null(to);
}

/* Readers of nsys' tables have names of their own, `kernels` for one: all of ours have ours in
 * front. Steps are the rows themselves; what the report says of them together is their summary. */
static void add_table(struct sqlite_export *x, const struct export_table *t)
{
	char *name =
	        alloc_format("cudaspy_%s", strcmp(t->name, "steps") ? t->name : "steps_summary");
	struct database_table to;
	char *columns = NULL;

	for (size_t i = 0; i < t->column_count; i++) {
		char *quoted = database_quoted(t->columns[i]);
		alloc_append(&columns, "%s%s %s", i ? ", " : "", quoted, type_of(t, i));
		free(quoted);
	}
	if (columns)
		database_create(&x->db, &to, name, columns);
	for (size_t i = 0; columns && i < t->row_count; i++) {
		for (size_t k = 0; k < t->column_count; k++)
			put(&to, export_cell(t, i, k));
		row_end(&to);
	}
	if (columns)
		database_end(&to);
	free(columns);
	free(name);
}

/* What queries ask for is there where the run has nothing of it, too: its main columns. */
static void add_missing(struct sqlite_export *x, const struct export_tables *tables)
{
	static const struct {
		const char *name, *columns;
	} all[] = {
	        {"phases", "kind TEXT, number INTEGER, start_ns INTEGER, end_ns INTEGER, "
	                   "time_ns INTEGER, share_of_window REAL, steps INTEGER, "
	                   "step_ns_mean REAL, step_ns_p50 REAL, step_ns_p99 REAL"},
	        {"kernels", "name TEXT, launches INTEGER, api_total_ns INTEGER, "
	                    "gpu_total_ns INTEGER, gpu_low_ns INTEGER, gpu_high_ns INTEGER"},
	        {"copies", "direction TEXT, host_memory TEXT, async INTEGER, count INTEGER, "
	                   "bytes INTEGER, api_total_ns INTEGER, gpu_total_ns INTEGER"},
	        {"sites", "kind TEXT, api TEXT, calls REAL, api_total_ns INTEGER, "
	                  "wasted_ns INTEGER, gpu_total_ns INTEGER, called_from TEXT"},
	        {"sites_frames", "sites_row INTEGER, language TEXT, function TEXT, file TEXT, "
	                         "line INTEGER, module TEXT"},
	        {"findings", "id TEXT, title TEXT, severity TEXT, share REAL, evidence TEXT"},
	};
	struct database_table to;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		bool there = false;
		for (size_t k = 0; k < tables->count; k++)
			there |= !strcmp(tables->items[k].name, all[i].name);
		if (there)
			continue;
		char *name = alloc_format("cudaspy_%s", all[i].name);
		database_create(&x->db, &to, name, all[i].columns);
		database_end(&to);
		free(name);
	}
}

/* ---- each step ---- */

static const struct model_phase *phase_of(const struct model *m, const struct model_step *s)
{
	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		if (p->kind != PHASE_LOOP || p->found != s->found)
			continue;
		for (size_t k = 0; k < p->part_count; k++)
			if (p->parts[k].process == s->process && p->parts[k].source == s->source)
				return p;
	}
	return NULL;
}

/* Times as of the other tables: since the first process of the run was started. */
static void add_steps(struct sqlite_export *x)
{
	const struct model *m = x->job->model;
	struct database_table t;
	char *columns = alloc_string("pid INTEGER, tid INTEGER, loop INTEGER, start_ns INTEGER, "
	                             "duration_ns INTEGER, odd INTEGER");

	for (unsigned k = 0; k < WORK_FIGURES; k++)
		alloc_append(&columns, ", %s REAL", model_work_figure_names[k]);
	database_create(&x->db, &t, "cudaspy_steps", columns);
	free(columns);
	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *s = &m->step_rows[i];
		const struct model_process *p = &m->processes[s->process];
		const struct model_phase *phase = phase_of(m, s);
		if (!phase) /* another way to divide the same work */
			continue;
		row_count(&t, p->pid);
		row_known(&t, s->tid, s->tid);
		row_int(&t, phase->number);
		row_ns(&t, p->start_realtime - x->base + p->startup + s->start);
		row_ns(&t, s->duration);
		row_int(&t, s->odd);
		for (unsigned k = 0; k < WORK_FIGURES; k++)
			row_real(&t, model_work_figure(&s->work, k));
		row_end(&t);
	}
	database_end(&t);
}

/* ---- what is estimated, and what it lies between ---- */

static void estimate(struct database_table *t, const char *what, const char *name, const char *unit,
                     double value, double low, double high)
{
	if (!isfinite(value))
		return;
	row_text(t, what);
	row_text(t, name);
	row_text(t, unit);
	row_real(t, value);
	row_real(t, low);
	row_real(t, high);
	row_int(t, low == high);
	row_end(t);
}

static void add_estimates(struct sqlite_export *x, const struct export_tables *tables)
{
	const struct model *m = x->job->model;
	const struct findings *f = &x->job->analysis->findings;
	const struct {
		const char *name;
		const struct model_gpu_time *t;
	} kinds[] = {{"kernel", &m->gpu.kernels},
	             {"graph", &m->gpu.graphs},
	             {"copy", &m->gpu.copies},
	             {"set", &m->gpu.sets}};
	struct database_table t;

	database_create(&x->db, &t, "cudaspy_estimates",
	                "what TEXT, name TEXT, unit TEXT, value REAL, low REAL, high REAL, "
	                "exact INTEGER");
	if (m->gpu.has_busy)
		estimate(&t, "gpu_busy", "run", "ns", m->gpu.busy.busy, m->gpu.busy.low,
		         m->gpu.busy.high);
	for (size_t i = 0; i < m->gpu.device_count; i++) {
		const struct model_gpu_device *d = &m->gpu.devices[i];
		char *name = alloc_format("%s:%u", d->host ? d->host : "", d->index);
		if (d->known)
			estimate(&t, "gpu_busy", name, "ns", d->time.busy, d->time.low,
			         d->time.high);
		free(name);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		estimate(&t, "gpu_work", kinds[i].name, "ns", kinds[i].t->total, kinds[i].t->low,
		         kinds[i].t->high);
	for (size_t i = 0; i < m->kernel_count; i++)
		estimate(&t, "kernel_gpu", m->kernels[i].name, "ns", m->kernels[i].gpu.total,
		         m->kernels[i].gpu.low, m->kernels[i].gpu.high);
	for (size_t i = 0; i < f->count; i++)
		estimate(&t, "finding_speedup", f->items[i].id, "ratio", f->items[i].speedup,
		         f->items[i].speedup_low, f->items[i].speedup_high);
	for (size_t i = 0; i < WHATIF_STEP; i++) {
		struct whatif_result r;
		const struct whatif_question *q = &tables->whatifs[i];
		if (q->text &&
		    whatif_predict(x->job->analysis->whatifs, q->what, q->kernel, q->factor, &r))
			estimate(&t, "what_if", q->text, "ns", r.predicted, r.low, r.high);
	}
	database_end(&t);
}

void sqlite_own(struct sqlite_export *x)
{
	struct export_tables tables;

	export_tables_make(&tables, x->job);
	for (size_t i = 0; i < tables.count; i++)
		add_table(x, &tables.items[i]);
	add_missing(x, &tables);
	add_steps(x);
	add_estimates(x, &tables);
	export_tables_free(&tables);
}
