/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model.h"

const char *const sort_key_names[] = {
        [SORT_TOTAL] = "total",   [SORT_CALLS] = "calls",
        [SORT_MEAN] = "mean",     [SORT_P50] = "p50",
        [SORT_P99] = "p99",       [SORT_MAX] = "max",
        [SORT_FAILED] = "failed", [SORT_GPU] = "gpu",
        [SORT_NAME] = "name",     NULL,
};

struct row { /* what all tables that can be sorted have */
	const char *name;
	double key, second; /* of equal keys, and of unknown ones, the second decides */
	size_t index;
};

static double choose(enum model_sort_key key, double total, double mean, double max,
                     const struct model_quantiles *q, uint64_t calls, uint64_t failed)
{
	switch (key) {
	case SORT_CALLS:
		return (double)calls;
	case SORT_MEAN:
		return mean;
	case SORT_P50:
		return q->p50;
	case SORT_P99:
		return q->p99;
	case SORT_MAX:
		return max;
	case SORT_FAILED:
		return (double)failed;
	case SORT_NAME:
		return 0;
	case SORT_GPU:
	case SORT_TOTAL:
		break;
	}
	return total;
}

/* Largest first, unknown last, then by name: the order is the same in every run. */
static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (isnan(x->key) != isnan(y->key))
		return isnan(x->key) ? 1 : -1;
	if (x->key > y->key || x->key < y->key)
		return x->key > y->key ? -1 : 1;
	if (x->second > y->second || x->second < y->second)
		return x->second > y->second ? -1 : 1;
	int order = strcmp(x->name, y->name);
	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static void sort_apis(struct model *m, enum model_sort_key key)
{
	struct row *rows = alloc_zeroed(m->api_count, sizeof(*rows));
	struct model_api *sorted = alloc_zeroed(m->api_count, sizeof(*sorted));
	uint32_t *now_at = alloc_zeroed(m->api_count, sizeof(*now_at));

	for (size_t i = 0; i < m->api_count; i++) {
		const struct model_api *a = &m->apis[i];
		rows[i] = (struct row){
		        a->name, choose(key, a->total, a->mean, a->max, &a->q, a->calls, a->failed),
		        0, i};
	}
	if (m->api_count) {
		qsort(rows, m->api_count, sizeof(*rows), by_key);
		for (size_t i = 0; i < m->api_count; i++) {
			sorted[i] = m->apis[rows[i].index];
			now_at[rows[i].index] = (uint32_t)i;
		}
		memcpy(m->apis, sorted, m->api_count * sizeof(*sorted));
		for (size_t i = 0; i < m->failure_count; i++)
			m->failures[i].api = now_at[m->failures[i].api];
	}
	free(rows);
	free(sorted);
	free(now_at);
}

static void sort_kernels(struct model *m, enum model_sort_key key)
{
	struct row *rows = alloc_zeroed(m->kernel_count, sizeof(*rows));
	struct model_kernel *sorted = alloc_zeroed(m->kernel_count, sizeof(*sorted));

	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		rows[i] = (struct row){k->name,
		                       key == SORT_GPU ? k->gpu.total
		                                       : choose(key, k->total, k->mean, k->max,
		                                                &k->q, k->launches, k->failed),
		                       key == SORT_GPU ? k->total : 0, i};
	}
	if (m->kernel_count) {
		qsort(rows, m->kernel_count, sizeof(*rows), by_key);
		for (size_t i = 0; i < m->kernel_count; i++)
			sorted[i] = m->kernels[rows[i].index];
		memcpy(m->kernels, sorted, m->kernel_count * sizeof(*sorted));
	}
	free(rows);
	free(sorted);
}

static int graphs_by_total(const void *a, const void *b)
{
	const struct model_graph *x = a, *y = b;

	if (x->total > y->total || x->total < y->total)
		return x->total > y->total ? -1 : 1;
	return x->handle < y->handle ? -1 : x->handle > y->handle;
}

void model_sort(struct model *m, enum model_sort_key key)
{
	sort_apis(m, key);
	sort_kernels(m, key);
	if (m->graph_count)
		qsort(m->graphs, m->graph_count, sizeof(*m->graphs), graphs_by_total);
}
