/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/output/csv/csv.h"
#include "report/output/out.h"

const char *const out_table_names[] = {
        [TABLE_APIS] = "apis",       [TABLE_KERNELS] = "kernels", [TABLE_COPIES] = "copies",
        [TABLE_THREADS] = "threads", [TABLE_WHATIF] = "what-if",  NULL,
};

/* What is not known is an empty field. */
static void put_count(FILE *to, const struct model *m, uint64_t v)
{
	if (model_is_known(m))
		fprintf(to, ",%" PRIu64, v);
	else
		putc(',', to);
}

static void put_ns(FILE *to, double ns)
{
	if (isfinite(ns))
		fprintf(to, ",%.0f", ns);
	else
		putc(',', to);
}

static void put_share(FILE *to, double share)
{
	if (isfinite(share))
		fprintf(to, ",%.6g", share);
	else
		putc(',', to);
}

#define GPU_HEAD "gpu_total_ns,gpu_mean_ns,gpu_low_ns,gpu_high_ns,gpu_known_share,samples"

static void put_gpu_time(FILE *to, const struct model_gpu_time *t)
{
	put_ns(to, t->total);
	put_share(to, t->mean);
	put_ns(to, t->low);
	put_ns(to, t->high);
	put_share(to, t->known);
	put_ns(to, isfinite(t->total) ? (double)t->samples : NAN);
}

static void apis(const struct model *m, size_t limit, FILE *to)
{
	fputs("name,level,class,calls,failed,total_ns,mean_ns,p50_ns,p90_ns,p99_ns,max_ns\r\n", to);
	for (size_t i = 0; i < m->api_count && i < limit; i++) {
		const struct model_api *a = &m->apis[i];
		csv_text(to, a->name);
		fprintf(to, ",%s,%s", model_level_name(a->level), model_class_names[a->cls]);
		put_count(to, m, a->calls);
		put_count(to, m, a->failed);
		put_ns(to, a->total);
		put_ns(to, a->mean);
		put_ns(to, a->q.p50);
		put_ns(to, a->q.p90);
		put_ns(to, a->q.p99);
		put_ns(to, a->max);
		fputs("\r\n", to);
	}
}

static const char *kernel_name(const struct model_kernel *k, enum out_names names)
{
	if (names == NAMES_MANGLED)
		return k->mangled ? k->mangled : k->name;
	return names == NAMES_SHORT ? k->brief : k->name;
}

static void kernels(const struct model *m, size_t limit, enum out_names names, FILE *to)
{
	fputs("name,launches,captured,failed,api_total_ns,api_mean_ns,api_p50_ns,api_p90_ns,api_"
	      "p99_ns,api_max_ns,"
	      "shapes,grid_x,grid_y,grid_z,block_x,block_y,block_z,first_launches,first_ns,"
	      "launch_ns,queue_p50_ns,queue_count," GPU_HEAD
	      ",registers,occupancy,graph_launches\r\n",
	      to);
	for (size_t i = 0; i < m->kernel_count && i < limit; i++) {
		const struct model_kernel *k = &m->kernels[i];
		csv_text(to, kernel_name(k, names));
		put_count(to, m, k->launches);
		put_count(to, m, k->captured);
		put_count(to, m, k->failed);
		put_ns(to, k->total);
		put_ns(to, k->mean);
		put_ns(to, k->q.p50);
		put_ns(to, k->q.p90);
		put_ns(to, k->q.p99);
		put_ns(to, k->max);
		if (k->most.launches)
			fprintf(to, ",%" PRIu64 ",%u,%u,%u,%u,%u,%u", k->shapes, k->most.grid[0],
			        k->most.grid[1], k->most.grid[2], k->most.block[0],
			        k->most.block[1], k->most.block[2]);
		else
			fputs(",,,,,,,", to);
		put_count(to, m, k->firsts);
		put_ns(to, k->first);
		put_ns(to, k->overhead);
		put_ns(to, k->queue_p50);
		put_ns(to, isfinite(k->queue) ? (double)k->queued : NAN);
		put_gpu_time(to, &k->gpu);
		put_ns(to, k->most.registers ? k->most.registers : NAN);
		put_share(to, shape_occupancy(&k->most));
		put_ns(to, model_graphs_known(m) ? (double)k->graph_launches : NAN);
		fputs("\r\n", to);
	}
}

static void copies(const struct model *m, size_t limit, FILE *to)
{
	fputs("direction,host_memory,async,count,bytes,api_total_ns,api_max_ns," GPU_HEAD "\r\n",
	      to);
	for (size_t i = 0; i < m->copy_count && i < limit; i++) {
		const struct model_copy *c = &m->copies[i];
		fprintf(to, "%s,%s,%s", model_direction_names[c->direction],
		        model_memory_names[c->memory], c->async ? "true" : "false");
		put_count(to, m, c->count);
		put_count(to, m, c->bytes);
		put_ns(to, c->total);
		put_ns(to, c->max);
		put_gpu_time(to, &c->gpu);
		fputs("\r\n", to);
	}
}

static void threads(const struct model *m, size_t limit, FILE *to)
{
	fputs("pid,tid,name,calls,failed,api_ns,window_ns,launch_api_ns,sync_ns,copy_ns,alloc_ns,"
	      "module_ns,"
	      "other_cuda_ns,outside_ns,absent_ns,launch_ns,back_pressure_ns,contention_ns,"
	      "sync_useful_ns,sync_wasted_ns,sampling_ns\r\n",
	      to);
	for (size_t i = 0; i < m->thread_count && i < limit; i++) {
		const struct model_thread *t = &m->threads[i];
		const struct model_split *s = &t->split;
		fprintf(to, "%" PRIu64 ",%" PRIu64 ",", m->processes[t->process].pid, t->tid);
		csv_text(to, t->name);
		put_count(to, m, t->calls);
		put_count(to, m, t->failed);
		const double ns[] = {
		        t->api,        t->window,      s->launch_api,  s->sync,
		        s->copy,       s->alloc,       s->module,      s->other,
		        s->outside,    s->absent,      s->launch,      s->back_pressure,
		        s->contention, s->sync_useful, s->sync_wasted, s->sampling};
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++)
			put_ns(to, ns[k]);
		fputs("\r\n", to);
	}
}

static void whatifs(struct whatifs *w, const struct out_options *o, size_t limit)
{
	FILE *to = o->to;

	fputs("change,known,window_ns,predicted_ns,predicted_low_ns,predicted_high_ns,saved_ns,"
	      "speedup,speedup_low,speedup_high,coverage,model_error\r\n",
	      to);
	for (size_t i = 0; i < o->whatif_count && i < limit; i++) {
		struct whatif_result r;
		const struct whatif_question *q = &o->whatifs[i];
		whatif_predict(w, q->what, q->kernel, q->factor, &r);
		csv_text(to, q->text);
		fputs(r.known ? ",true" : ",false", to);
		const double ns[] = {r.window, r.predicted, r.low, r.high, r.saved};
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++)
			put_ns(to, ns[k]);
		const double shares[] = {r.speedup, r.speedup_low, r.speedup_high, r.coverage,
		                         r.error};
		for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
			put_share(to, shares[k]);
		fputs("\r\n", to);
	}
}

void out_csv(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	static void (*const tables[])(const struct model *, size_t, FILE *) = {
	        [TABLE_APIS] = apis,
	        [TABLE_COPIES] = copies,
	        [TABLE_THREADS] = threads,
	};

	size_t limit = o->limit_given ? o->limit : SIZE_MAX;

	if (o->table == TABLE_WHATIF)
		whatifs(a->whatifs, o, limit);
	else if (o->table == TABLE_KERNELS)
		kernels(m, limit, o->names, o->to);
	else
		tables[o->table](m, limit, o->to);
}
