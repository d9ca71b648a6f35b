/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites as one recording has them: calls and times are added up by stack. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/site_reader.h"
#include "report/model/sites_internal.h"

struct part { /* one recording's sites while they are added */
	struct model_part *p;
	const struct tf_sites *area;
	struct site_reader reader;
	double *class_samples; /* by place in the table of works */
	uint64_t *call_seen;   /* by call id: calls with a site; all, by the exact counters */
	uint64_t *call_all;
};

/* ---- texts ---- */

const char *sites_keep(struct model *m, char *text)
{
	struct site_texts *t = m->sites.texts;

	if (!text)
		return NULL;
	ALLOC_ROOM(t->items, t->count);
	t->items[t->count++] = text;
	return text;
}

/* ---- figures ---- */

int site_kind_of(unsigned cls)
{
	switch (cls) {
	case SPY_CLASS_SYNC:
		return SITE_WAIT;
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
		return SITE_LAUNCH;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		return SITE_COPY;
	case SPY_CLASS_ALLOC:
		return SITE_ALLOC;
	case SPY_CLASS_MODULE:
		return SITE_MODULE;
	case SPY_CLASS_GRAPH:
		return SITE_GRAPH;
	default:
		return -1;
	}
}

/*
 * What the samples at a site stand for: each class of work in the share of its samples that were
 * taken here, as in the estimate of the run's GPU time. Launches that were not sampled were not
 * looked at.
 */
static void add_samples(struct part *s, struct model_site **site_of)
{
	const struct recording *r = s->p->recording;
	const uint64_t bytes = TF_SITE_PAIRS * sizeof(struct tf_site_pair);
	const struct tf_site_pair *pairs =
	        s->area->pairs ? tf_at(&r->map, s->area->pairs, bytes) : NULL;
	const struct tf_work *works =
	        tf_at(&r->map, s->p->header->works, TF_WORKS * sizeof(*works));

	if (!pairs || !works || !s->p->works)
		return;
	for (uint32_t i = 0; i < TF_SITE_PAIRS; i++)
		if (pairs[i].site && pairs[i].work < TF_WORKS)
			s->class_samples[pairs[i].work] += (double)pairs[i].samples;
	for (uint32_t i = 0; i < TF_SITE_PAIRS; i++) {
		const struct tf_site_pair *pair = &pairs[i];
		struct model_site *to =
		        pair->site && pair->site <= r->sites ? site_of[pair->site - 1] : NULL;
		if (!to || pair->work >= TF_WORKS || !(s->class_samples[pair->work] > 0))
			continue;
		const struct model_part_work *w = &s->p->works[pair->work];
		double share = (double)pair->samples / s->class_samples[pair->work],
		       pieces = w->pieces * share;
		if (isfinite(pieces * w->mean) && pieces > 0)
			to->gpu = (isnan(to->gpu) ? 0 : to->gpu) + pieces * w->mean;
		if (to->kind != SITE_LAUNCH || to->whole)
			continue;
		to->estimated = true;
		to->calls += pieces;
		to->api_time += clock_ns(&s->p->clock, works[pair->work].ticks) * share;
	}
}

static bool read_site(struct part *s, uint32_t i, struct model_site *to)
{
	const struct recording *r = s->p->recording;
	const struct tf_site *t = tf_entry(&r->map, &s->area->sites, i, sizeof(*t));
	const struct tf_call *call =
	        t ? tf_entry(&r->map, &s->p->header->calls, t->call, sizeof(*call)) : NULL;
	int kind = call ? site_kind_of(call->cls) : -1;

	if (kind < 0 || !t->calls || t->call >= r->calls || s->p->api_of[t->call] == UINT32_MAX)
		return false;
	*to = (struct model_site){
	        .kind = (enum model_site_kind)kind,
	        .api = sites_keep(s->p->model, model_text(call->name, sizeof(call->name))),
	        .seen = t->calls,
	        .failed = t->failed,
	        .bytes = t->bytes,
	        .pageable_bytes = t->pageable_bytes,
	        .samples = t->samples,
	        .cut = t->cut,
	        .useful = kind == SITE_WAIT ? clock_ns(&s->p->clock, t->useful_ticks) : NAN,
	        .wasted = kind == SITE_WAIT && s->p->header->gpu_mode != TF_GPU_OFF
	                          ? clock_ns(&s->p->clock, t->wasted_ticks)
	                          : NAN,
	        .gpu = NAN,
	};
	to->whole = s->call_seen[t->call] == s->call_all[t->call];
	if (kind != SITE_LAUNCH || to->whole) {
		to->calls = (double)t->calls;
		to->api_time = clock_ns(&s->p->clock, t->ticks);
	}
	site_read_frames(&s->reader, t, to);
	site_read_thread(&s->reader, t, to);
	to->head = sites_head(to);
	return true;
}

static void count_seen(struct part *s)
{
	const struct recording *r = s->p->recording;

	for (uint32_t i = 0; i < r->sites; i++) {
		const struct tf_site *t = tf_entry(&r->map, &s->area->sites, i, sizeof(*t));
		if (t && t->call < r->calls)
			CLAMP_ADD(s->call_seen[t->call], t->calls);
	}
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		for (uint32_t call = 0; t && call < r->thread_calls; call++)
			CLAMP_ADD(s->call_all[call], t->calls[call].calls);
	}
}

static void add_all(struct part *s)
{
	const struct recording *r = s->p->recording;
	struct model_site *sites = alloc_zeroed(r->sites, sizeof(*sites));
	struct model_site **site_of = alloc_zeroed(r->sites, sizeof(*site_of));

	for (uint32_t i = 0; i < r->sites; i++)
		if (read_site(s, i, &sites[i]))
			site_of[i] = &sites[i];
	add_samples(s, site_of);
	s->p->process->site_count = r->sites;
	s->p->process->site_heads = alloc_zeroed(r->sites, sizeof(char *));
	for (uint32_t i = 0; i < r->sites; i++)
		if (site_of[i] && (site_of[i]->frame_count || site_of[i]->thread))
			s->p->process->site_heads[i] =
			        sites_keep(s->p->model, site_headline(site_of[i], false));
	s->p->process->site_of = alloc_zeroed(r->sites, sizeof(*s->p->process->site_of));
	for (uint32_t i = 0; i < r->sites; i++)
		s->p->process->site_of[i] =
		        site_of[i] ? sites_merge(s->p->model, site_of[i]) : UINT32_MAX;
	free(sites);
	free(site_of);
}

void model_add_sites(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct part s = {.p = p};
	struct model_sites *to = &p->model->sites;

	s.area = p->header->sites ? tf_at(&r->map, p->header->sites, sizeof(*s.area)) : NULL;
	if (!s.area || s.area->mode == TF_SITES_OFF)
		return;
	if (!to->texts)
		to->texts = alloc_zeroed(1, sizeof(*to->texts));
	to->recorded = true;
	to->python |= s.area->python == TF_PYTHON_READ;
	CLAMP_ADD(to->lost, s.area->lost);
	if (!to->python_trouble)
		to->python_trouble = sites_python_trouble(s.area);
	s.reader = site_reader_open(p, s.area);
	s.class_samples = alloc_zeroed(TF_WORKS, sizeof(*s.class_samples));
	s.call_seen = alloc_zeroed(r->calls, sizeof(*s.call_seen));
	s.call_all = alloc_zeroed(r->calls, sizeof(*s.call_all));
	count_seen(&s);
	add_all(&s);
	site_reader_close(&s.reader);
	free(s.class_samples);
	free(s.call_seen);
	free(s.call_all);
}
