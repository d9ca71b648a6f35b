/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export_stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_names.h"

static void add(struct export_stacks *to, const struct export_stack *s)
{
	ALLOC_ROOM(to->items, to->count);
	to->items[to->count++] = *s;
	for (int i = 0; i < STACK_VALUES; i++)
		to->known[i] |= isfinite(s->value[i]);
}

static void add_site(struct export_stacks *to, const struct model_site *s)
{
	add(to, &(struct export_stack){
	                .api = s->api ? s->api : "(unknown call)",
	                .site = s,
	                .kind = site_kind_names[s->kind],
	                .value = {s->calls, s->api_time, s->wasted, s->gpu,
	                          s->kind == SITE_COPY || s->kind == SITE_ALLOC ? (double)s->bytes
	                                                                        : NAN},
	                .estimated = s->estimated,
	        });
}

struct rest { /* of an API, less its sites */
	const struct model_api *api;
	double calls, time;
};

static int by_name(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	return strcmp(x->api->name, y->api->name);
}

/* The first of a name; NULL where there is none. */
static struct rest *find(struct rest *rests, size_t count, const char *name)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(rests[middle].api->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && !strcmp(rests[low].api->name, name) ? &rests[low] : NULL;
}

/* What sites stand for is taken from their function; an estimate may take a little too much. */
static void add_rests(struct export_stacks *to, const struct model *m)
{
	struct rest *rests = alloc_zeroed(m->api_count + 1, sizeof(*rests));

	for (size_t i = 0; i < m->api_count; i++)
		rests[i] = (struct rest){&m->apis[i], (double)m->apis[i].calls, m->apis[i].total};
	qsort(rests, m->api_count, sizeof(*rests), by_name);
	for (size_t i = 0; i < to->count; i++) {
		struct rest *r = find(rests, m->api_count, to->items[i].api);
		if (r) {
			r->calls -= to->items[i].value[STACK_CALLS];
			r->time -= to->items[i].value[STACK_API];
		}
	}
	for (size_t i = 0; i < m->api_count; i++)
		if (rests[i].calls >= 0.5)
			add(to, &(struct export_stack){
			                .api = rests[i].api->name,
			                .kind = model_class_names[rests[i].api->cls],
			                .value = {rests[i].calls, fmax(0, rests[i].time), NAN, NAN,
			                          NAN},
			        });
	free(rests);
}

void export_stacks_make(struct export_stacks *to, const struct model *m)
{
	double gpu = m->gpu.all.total;

	*to = (struct export_stacks){0};
	for (size_t i = 0; i < m->sites.count; i++) {
		add_site(to, &m->sites.items[i]);
		if (isfinite(m->sites.items[i].gpu))
			gpu -= m->sites.items[i].gpu;
	}
	to->sites = to->count;
	add_rests(to, m);
	if (gpu >= 1)
		add(to, &(struct export_stack){
		                .api = STACK_GPU_REST,
		                .kind = "gpu",
		                .value = {NAN, NAN, NAN, gpu, NAN},
		        });
}

char *export_stack_root(const struct export_stack *s)
{
	char *thread = s->site ? site_thread_text(s->site) : NULL;

	if (thread || (s->site && s->site->frame_count) || !strcmp(s->api, STACK_GPU_REST))
		return thread;
	return alloc_string("(no stack taken)");
}

void export_stacks_free(struct export_stacks *s)
{
	free(s->items);
	*s = (struct export_stacks){0};
}
