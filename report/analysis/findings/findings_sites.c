/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of the program a finding is about. */
#include <math.h>
#include <string.h>

#include "report/analysis/findings/findings_internal.h"

/* A line that has less of the time is not the one to look at. */
#define SITE_LEAST 0.1

enum measure { BY_API, BY_PAGEABLE, BY_COUNT };
static const char *const measures[] = {"API time", "pageable bytes", "count"};

static const struct about {
	const char *id;
	enum model_site_kind kind;
	enum measure measure;
} about[] = {
        {"sync-every-step", SITE_WAIT, BY_API},
        {"sync-too-early", SITE_WAIT, BY_API},
        {"device-sync-for-stream", SITE_WAIT, BY_API},
        {"pageable-async-copy", SITE_COPY, BY_PAGEABLE},
        {"many-small-copies", SITE_COPY, BY_COUNT},
        {"low-bandwidth-copy", SITE_COPY, BY_API},
        {"copy-not-overlapped", SITE_COPY, BY_API},
        {"copy-back-and-forth", SITE_COPY, BY_API},
        {"implicit-sync", SITE_COPY, BY_API},
        {"alloc-churn", SITE_ALLOC, BY_API},
        {"memory-growth", SITE_ALLOC, BY_API},
        {"module-load-in-loop", SITE_MODULE, BY_API},
        {"graph-reinstantiated", SITE_GRAPH, BY_API},
        {"graph-instantiation-dominates", SITE_GRAPH, BY_API},
        {"many-short-launches", SITE_LAUNCH, BY_API},
};

static double measured(const struct model_place *p, enum measure by)
{
	switch (by) {
	case BY_PAGEABLE:
		return (double)p->pageable_bytes;
	case BY_COUNT:
		return p->calls;
	default:
		return p->api_time;
	}
}

/* A wait of the whole device, which device-sync-for-stream is about. */
static bool waits_for_device(const char *api)
{
	return strstr(api, "DeviceSynchronize") || strstr(api, "CtxSynchronize");
}

static bool is_about(const struct about *a, const struct model_site *s)
{
	if (!strcmp(a->id, "implicit-sync"))
		return s->kind == SITE_COPY || s->kind == SITE_ALLOC || s->kind == SITE_MODULE;
	if (!strcmp(a->id, "device-sync-for-stream") && !waits_for_device(s->api))
		return false;
	return s->kind == a->kind;
}

void finding_find_site(const struct finding_context *c, struct finding *f)
{
	const struct model_sites *sites = &c->m->sites;
	const struct about *a = NULL;
	double sum = 0, most = 0;

	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
		if (!strcmp(about[i].id, f->id))
			a = &about[i];
	f->place = NULL;
	f->site = NULL;
	f->place_share = NAN;
	for (size_t i = 0; a && i < sites->place_count; i++) {
		const struct model_place *p = &sites->places[i];
		double v = measured(p, a->measure);
		if (!is_about(a, &sites->items[p->site]) || !(v > 0))
			continue;
		sum += v;
		if (v > most) {
			most = v;
			f->place = p;
		}
	}
	if (most < SITE_LEAST * sum)
		f->place = NULL;
	if (!f->place)
		return;
	f->site = &sites->items[f->place->site];
	f->place_share = most / sum;
	f->place_measure = measures[a->measure];
}
