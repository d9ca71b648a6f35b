/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_view_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"

/* What the recent calls of a phase are, times what they stand for. */
struct rows {
	double *kernels; /* launches, by index in the model */
	struct model_copy *copies;
	double *calls, *ns; /* by API */
};

static size_t kernel_row(const struct model *m, const char *name)
{
	for (size_t i = 0; name && i < m->kernel_count; i++)
		if (m->kernels[i].name == name)
			return i;
	return m->kernel_count;
}

static size_t api_row(const struct model *m, const struct call_log_call *c)
{
	for (size_t i = 0; i < m->api_count; i++)
		if (m->apis[i].level == c->level && !strcmp(m->apis[i].name, c->name))
			return i;
	return m->api_count;
}

static void add_copy(const struct model *m, struct rows *to, const struct call_event *e, double by)
{
	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		if (c->direction != e->direction || c->memory != e->memory || c->async != e->async)
			continue;
		to->copies[i].gpu.known += e->items * by; /* added up here, as the next ones */
		to->copies[i].gpu.total += (double)e->bytes * by;
		to->copies[i].total += (e->end - e->start) * by;
		return;
	}
}

static void add_process(const struct model *m, struct rows *to, const struct call_log *h)
{
	size_t *kernels = alloc_zeroed(h->work_count + 1, sizeof(*kernels));
	size_t *apis = alloc_zeroed(h->call_count + 1, sizeof(*apis));
	double by = 1 / h->coverage;

	for (size_t i = 0; i < h->work_count; i++)
		kernels[i] = kernel_row(m, h->works[i].kernel);
	for (size_t i = 0; i < h->call_count; i++)
		apis[i] = api_row(m, &h->calls[i]);
	for (size_t i = call_log_steady(h); i < h->count; i++) {
		const struct call_event *e = &h->call_events[i];
		size_t kernel = e->work < h->work_count ? kernels[e->work] : m->kernel_count,
		       api = e->call < h->call_count ? apis[e->call] : m->api_count;
		if (kernel < m->kernel_count)
			to->kernels[kernel] += e->items * by;
		if (api < m->api_count) {
			to->calls[api] += by;
			to->ns[api] += (e->end - e->start) * by;
		}
		if (e->kind == TF_WORK_COPY && !e->result)
			add_copy(m, to, e, by);
	}
	free(kernels);
	free(apis);
}

static uint64_t at_most(double v, uint64_t most)
{
	return v < (double)most ? (uint64_t)(fmax(0, v) + 0.5) : most;
}

static void scale_time(struct model_gpu_time *t, double by)
{
	t->total *= by;
	t->low *= by;
	t->high *= by;
}

/* No row has more than in the whole run. */
static void put_rows(struct model *m, const struct rows *from, double graphs)
{
	double before = 0, after = 0;

	for (size_t i = 0; i < m->kernel_count; i++) {
		struct model_kernel *k = &m->kernels[i];
		double share = k->launches ? fmin(1, from->kernels[i] / (double)k->launches) : 0;
		before += k->gpu.total > 0 ? k->gpu.total : 0;
		k->launches = at_most(from->kernels[i], k->launches);
		k->total *= share;
		scale_time(&k->gpu, share);
		after += k->gpu.total > 0 ? k->gpu.total : 0;
	}
	double others = fmax(0, m->gpu.launched.total - before) * graphs;
	if (m->gpu.launched.total > 0)
		scale_time(&m->gpu.launched, fmin(1, (after + others) / m->gpu.launched.total));
	for (size_t i = 0; i < m->copy_count; i++) {
		struct model_copy *c = &m->copies[i];
		const struct model_copy *in = &from->copies[i];
		double share = c->count ? fmin(1, in->gpu.known / (double)c->count) : 0;
		c->count = at_most(in->gpu.known, c->count);
		c->bytes = at_most(in->gpu.total, c->bytes);
		c->total = fmin(c->total, in->total);
		c->timed_bytes *= share;
		scale_time(&c->gpu, share);
	}
	for (size_t i = 0; i < m->api_count; i++) {
		struct model_api *a = &m->apis[i];
		a->calls = at_most(from->calls[i], a->calls);
		a->total = fmin(a->total, from->ns[i]);
	}
}

static void *copy_of(const void *from, size_t count, size_t bytes)
{
	void *to = alloc_zeroed(count + 1, bytes);

	if (count)
		memcpy(to, from, count * bytes);
	return to;
}

bool view_cut_tables(struct model *m, double graphs)
{
	struct rows rows;
	bool any = false;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct call_log *h = &m->processes[i].call_log;
		if (h->left_out)
			continue;
		if (!(h->coverage > 0) || !h->count)
			return false;
		any = true;
	}
	if (!any)
		return false;
	rows = (struct rows){.kernels = alloc_zeroed(m->kernel_count + 1, sizeof(double)),
	                     .copies = alloc_zeroed(m->copy_count + 1, sizeof(*rows.copies)),
	                     .calls = alloc_zeroed(m->api_count + 1, sizeof(double)),
	                     .ns = alloc_zeroed(m->api_count + 1, sizeof(double))};
	for (size_t i = 0; i < m->process_count; i++)
		if (!m->processes[i].call_log.left_out)
			add_process(m, &rows, &m->processes[i].call_log);
	m->kernels = copy_of(m->kernels, m->kernel_count, sizeof(*m->kernels));
	m->copies = copy_of(m->copies, m->copy_count, sizeof(*m->copies));
	m->apis = copy_of(m->apis, m->api_count, sizeof(*m->apis));
	put_rows(m, &rows, graphs);
	free(rows.kernels);
	free(rows.copies);
	free(rows.calls);
	free(rows.ns);
	return true;
}
