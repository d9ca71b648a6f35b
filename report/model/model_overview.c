/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

static void add_host(const struct model_part *p, struct overview *to, const struct tf_slices *s)
{
	bool any = false;

	to->host = alloc_zeroed(to->count, sizeof(*to->host));
	for (size_t i = 0; i < to->count; i++)
		for (int k = 0; k < TF_HOSTS; k++) {
			to->host[i][k] = clock_ns(&p->clock, s->slice[i].host_ticks[k]);
			any |= s->slice[i].host_ticks[k] != 0;
		}
	if (!any) {
		free(to->host);
		to->host = NULL;
	}
}

static void add_cpu(const struct model_part *p, struct overview *to, const struct tf_slices *s)
{
	bool any = false;

	for (size_t i = 0; i < to->count; i++)
		any |= s->slice[i].cpu_known_ticks != 0;
	if (!any)
		return;
	to->cpu_wait = alloc_zeroed(to->count, sizeof(double));
	to->cpu_known = alloc_zeroed(to->count, sizeof(double));
	for (size_t i = 0; i < to->count; i++) {
		to->cpu_known[i] = clock_ns(&p->clock, s->slice[i].cpu_known_ticks);
		to->cpu_wait[i] = fmin((double)s->slice[i].cpu_wait_ns, to->cpu_known[i]);
	}
}

static void add_device(const struct model_part *p, struct overview *to, uint32_t index,
                       const struct tf_device_time *d)
{
	ALLOC_ROOM(to->devices, to->device_count);
	struct overview_device *row = &to->devices[to->device_count++];

	*row = (struct overview_device){
	        .index = index,
	        .busy = alloc_zeroed(to->count, sizeof(double)),
	        .covered = alloc_zeroed(to->count, sizeof(double)),
	        .idle = alloc_zeroed(to->count, sizeof(*row->idle)),
	};
	for (size_t i = 0; i < to->count; i++) {
		const struct tf_busy *b = &d->slices.busy[i];
		row->busy[i] = clock_ns(&p->clock, b->busy);
		row->covered[i] = row->busy[i];
		for (int k = 0; k < TF_IDLES; k++) {
			row->idle[i][k] = clock_ns(&p->clock, b->idle[k]);
			row->covered[i] += row->idle[i][k];
		}
	}
}

void model_add_overview(struct model_part *p)
{
	const struct tf_header *h = p->header;
	const struct tf_slices *s = tf_at(&p->recording->map, h->slices, sizeof(*s));
	struct overview *to = &p->process->overview;

	if (!s || !s->width || !s->used || !(p->clock.ns_per_tick > 0) || !h->window_start)
		return;
	to->count = s->used < TF_SLICES ? s->used : TF_SLICES;
	to->width = clock_ns(&p->clock, s->width);
	to->origin = clock_between(&p->clock, h->load, s->origin);
	to->window = clock_between(&p->clock, h->load, h->window_start);
	if (h->first_work > h->window_start)
		to->first_work = clock_between(&p->clock, h->load, h->first_work);
	add_host(p, to, s);
	add_cpu(p, to, s);
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++) {
		const struct tf_device_time *d = model_device_time(p, i);
		if (d)
			add_device(p, to, i, d);
	}
}

void overview_free(struct overview *p)
{
	for (size_t i = 0; i < p->device_count; i++) {
		free(p->devices[i].busy);
		free(p->devices[i].covered);
		free(p->devices[i].idle);
	}
	free(p->devices);
	free(p->host);
	free(p->cpu_wait);
	free(p->cpu_known);
	*p = (struct overview){0};
}
