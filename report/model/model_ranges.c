/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

#define NAME_MOST      255u /* bytes: as much as the shim takes */
#define VARIANTS_LEAST 3u   /* numbered names, each used once, that are one range with numbers */

struct range_entry {
	char *key; /* parent, domain and name */
	size_t index;
	UT_hash_handle hh;
};

static const struct tf_nvtx_range *range_at(const struct model_part *p, uint32_t i)
{
	return i < p->recording->ranges ? tf_entry(&p->recording->map, &p->header->ranges, i,
	                                           sizeof(struct tf_nvtx_range))
	                                : NULL;
}

/* Free it; NULL when there is none. */
static char *text_at(const struct model_part *p, uint64_t offset)
{
	uint32_t bytes;
	const char *text = offset ? tf_text(&p->recording->map, offset, &bytes) : NULL;

	return text ? alloc_copy(text, strnlen(text, bytes < NAME_MOST ? bytes : NAME_MOST)) : NULL;
}

/* The model's row, made when it is new. */
static size_t range_row(struct model *m, size_t parent, char *name, char *domain)
{
	char *key = alloc_format("%zx\x1f%s\x1f%s", parent, domain ? domain : "", name);
	struct range_entry *entry;

	HASH_FIND_STR(m->scratch->ranges_by_name, key, entry);
	if (entry) {
		free(key);
		free(name);
		free(domain);
		return entry->index;
	}
	entry = alloc_zeroed(1, sizeof(*entry));
	entry->key = key;
	entry->index = m->range_count;
	HASH_ADD_KEYPTR(hh, m->scratch->ranges_by_name, entry->key, strlen(entry->key), entry);
	ALLOC_ROOM(m->ranges, m->range_count);
	ALLOC_ROOM(m->scratch->range_spreads, m->range_count);
	m->scratch->range_spreads[m->range_count] = (struct model_spread){0};
	m->ranges[m->range_count] = (struct model_range){
	        .name = name,
	        .domain = domain,
	        .parent = parent,
	        .level = parent == RANGE_NONE ? 0 : m->ranges[parent].level + 1,
	        .min = INFINITY,
	};
	return m->range_count++;
}

static void add_work(struct model_work_done *to, const struct tf_counts *c,
                     const struct clock *clock)
{
	to->launches += (double)c->launches;
	to->graph_launches += (double)c->graph_launches;
	to->syncs += (double)c->syncs;
	to->copies += (double)c->copies;
	to->pageable_copies += (double)c->pageable_copies;
	to->sets += (double)c->sets;
	to->copy_bytes += (double)c->copy_bytes;
	to->alloc_calls += (double)c->allocs;
	to->launch_ns += clock_ns(clock, c->launch_ticks);
	to->gpu_ns = NAN;
}

static void add_range(struct model_part *p, const struct tf_nvtx_range *r, size_t index)
{
	struct model_range *to = &p->model->ranges[index];
	const struct tf_hist *hist = tf_at(&p->recording->map, r->hist, sizeof(*hist));

	if (!r->count)
		return;
	CLAMP_ADD(to->count, r->count);
	CLAMP_ADD(to->counted, r->counted);
	CLAMP_ADD(to->rows, r->rows);
	to->total += clock_ns(&p->clock, r->ticks);
	to->min = fmin(to->min, clock_ns(&p->clock, r->min_ticks));
	to->max = fmax(to->max, clock_ns(&p->clock, r->max_ticks));
	to->stride = r->stride > to->stride ? r->stride : to->stride;
	add_work(&to->work, &r->counts, &p->clock);
	if (hist)
		spread_add(&p->model->scratch->range_spreads[index], hist, p->clock.ns_per_tick);
}

struct variants { /* of a pattern */
	uint32_t count;
	bool repeated; /* one of them occurred more than once */
};

/* Whether names of this pattern share its row: the shim had to put some together, or they number
 * what is one thing. */
static bool shared(const struct tf_nvtx_range *pattern, const struct variants *v)
{
	return pattern->count || (v->count >= VARIANTS_LEAST && !v->repeated);
}

/* The range whose name `r` goes by. */
static const struct tf_nvtx_range *
named_as(const struct model_part *p, const struct tf_nvtx_range *r, const struct variants *variants)
{
	const struct tf_nvtx_range *pattern = r->pattern ? range_at(p, r->pattern - 1) : NULL;

	return pattern && shared(pattern, &variants[r->pattern - 1]) ? pattern : r;
}

void model_add_ranges(struct model_part *p)
{
	uint32_t count = p->recording->ranges;
	size_t *row_of = alloc_zeroed((size_t)count + 1, sizeof(*row_of));
	struct variants *variants = alloc_zeroed((size_t)count + 1, sizeof(*variants));

	for (uint32_t i = 0; i < count; i++) {
		const struct tf_nvtx_range *r = range_at(p, i);
		if (!r || !r->pattern || r->pattern > count)
			continue;
		variants[r->pattern - 1].count++;
		variants[r->pattern - 1].repeated |= r->count > 1;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct tf_nvtx_range *r = range_at(p, i);
		row_of[i] = RANGE_NONE;
		if (!r || ((i == TF_RANGE_OTHER || r->flags & TF_RANGE_PATTERN) && !r->count))
			continue;
		size_t parent = r->parent && r->parent <= i ? row_of[r->parent - 1] : RANGE_NONE;
		char *name = text_at(p, named_as(p, r, variants)->name);
		row_of[i] = range_row(p->model, parent, name ? name : alloc_string(""),
		                      text_at(p, r->domain));
		add_range(p, r, row_of[i]);
	}
	CLAMP_ADD(p->model->ranges_lost, p->header->ranges_lost);
	free(variants);
	model_add_steps(p, row_of);
	free(row_of);
}

/* GPU time of all that were counted, by the mean of those whose calls are held. */
static void find_gpu(struct model *m)
{
	double *sum = alloc_zeroed(m->range_count + 1, sizeof(*sum));
	double *count = alloc_zeroed(m->range_count + 1, sizeof(*count));

	for (size_t i = 0; i < m->step_row_count; i++) {
		const struct model_step *row = &m->step_rows[i];
		if (row->found || row->source >= m->range_count || isnan(row->work.gpu_ns))
			continue;
		sum[row->source] += row->work.gpu_ns;
		count[row->source]++;
	}
	for (size_t i = 0; i < m->range_count; i++)
		m->ranges[i].work.gpu_ns =
		        count[i] > 0 ? sum[i] / count[i] * (double)m->ranges[i].counted : NAN;
	free(sum);
	free(count);
}

void model_finish_ranges(struct model *m)
{
	struct range_entry *entry, *next;

	if (!m->scratch)
		return;
	for (size_t i = 0; i < m->range_count; i++) {
		struct model_range *r = &m->ranges[i];
		r->mean = r->count ? r->total / (double)r->count : NAN;
		r->min = r->count ? r->min : NAN;
		r->q = spread_quantiles(&m->scratch->range_spreads[i], r->max);
		free(m->scratch->range_spreads[i].hist);
	}
	HASH_ITER(hh, m->scratch->ranges_by_name, entry, next)
	{
		HASH_DELETE(hh, m->scratch->ranges_by_name, entry);
		free(entry->key);
		free(entry);
	}
	free(m->scratch->range_spreads);
	m->scratch->range_spreads = NULL;
	find_gpu(m);
}
