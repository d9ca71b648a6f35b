/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line of the program a finding is about: by the recent calls of what is judged, as far as
 * their sites are known. Where these tell nothing, by what the sites have of the whole run, if most
 * of that is of what is judged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "shim/core/cuda/communication.h"

/* A line that has less of it is not the one to look at. */
#define SITE_LEAST 0.1
/* What is judged has less than this share of what the lines of the whole run have: these tell
 * nothing of it. It has nearly all: they tell of launches rather than the recent calls. */
#define JUDGED_LEAST  0.5
#define JUDGED_NEARLY 0.8
/* Fewer gaps with a known line (or less than half of the time) tell no line. */
#define FEW_LINES 10

static const char *const measures[] = {[BY_API] = "API time",
                                       [BY_PAGEABLE] = "pageable bytes",
                                       [BY_COUNT] = "count",
                                       [BY_GPU] = "GPU time",
                                       [BY_BOTH] = "API and GPU time"};

/* ---- of all calls ---- */

static double measured(const struct model_place *p, enum finding_measure by)
{
	switch (by) {
	case BY_PAGEABLE:
		return (double)p->pageable_bytes;
	case BY_COUNT:
		return p->calls;
	case BY_GPU:
		return p->gpu;
	case BY_BOTH:
		return p->api_time + finding_known(p->gpu);
	default:
		return p->api_time;
	}
}

static bool waits_for_device(const char *api)
{
	return strstr(api, "DeviceSynchronize") || strstr(api, "CtxSynchronize");
}

static bool is_about(const struct finding_calls *a, const struct model_site *s)
{
	return a->kinds & FINDING_KIND(s->kind) &&
	       (a->only != THAT_WAIT_FOR_ALL || waits_for_device(s->api));
}

static void add_all(const struct model_sites *sites, const struct finding_calls *a, double *of)
{
	for (size_t i = 0; i < sites->place_count; i++) {
		const struct model_place *p = &sites->places[i];
		if (is_about(a, &sites->items[p->site]))
			of[i] = finding_known(measured(p, a->measure));
	}
}

/* ---- of the recent calls ---- */

uint32_t finding_place_of(const struct finding_context *c, const struct call_event *e)
{
	uint32_t site = e->site && e->site <= c->process->site_count
	                        ? c->process->site_of[e->site - 1]
	                        : UINT32_MAX;

	return site != UINT32_MAX ? (uint32_t)c->m->sites.items[site].place + 1 : 0;
}

static double measured_of(const struct call_event *e, enum finding_measure by)
{
	switch (by) {
	case BY_PAGEABLE:
		return e->cls == SPY_CLASS_COPY && e->memory == SPY_MEM_PAGEABLE ? (double)e->bytes
		                                                                 : 0;
	case BY_COUNT:
		return 1;
	case BY_GPU:
		return finding_known(e->gpu);
	case BY_BOTH:
		return e->end - e->start + finding_known(e->gpu);
	default:
		return e->end - e->start;
	}
}

static bool is_meant(const struct finding_context *c, const struct finding_calls *a,
                     const struct finding *f, const struct call_event *e)
{
	const char *kernel = e->work < c->h->work_count ? c->h->works[e->work].kernel : NULL;

	if (f->direction != SPY_DIR_COUNT &&
	    (e->cls != SPY_CLASS_COPY || e->direction != f->direction))
		return false;
	if (a->only == THAT_ALLOCATE)
		return !e->is_free || c->framework == FRAMEWORK_PYTORCH ||
		       c->framework == FRAMEWORK_CUPY;
	if (a->only == THAT_READ)
		return finding_is_read(e);
	if (a->only == THAT_BRING_BACK)
		return e->cls == SPY_CLASS_COPY && e->direction == SPY_DIR_DTOH &&
		       e->memory == SPY_MEM_PINNED;
	if (a->only == OF_ITS_KERNEL)
		return kernel && f->kernel && !strcmp(kernel, f->kernel);
	return a->only != THAT_COMMUNICATES || (kernel && cuda_communicates(kernel));
}

/*
 * Of launches samples alone have a site: each stands for the calls with the same class of work.
 * `factor` (free it): by class. Others have one where they took long, and stand for themselves.
 */
static double *factors(const struct finding_context *c)
{
	size_t n = c->h->work_count;
	double *factor = alloc_zeroed(n + 1, sizeof(*factor)),
	       *known = alloc_zeroed(n + 1, sizeof(*known));

	for (size_t i = 0; i < c->count; i++) {
		const struct call_event *e = &c->call_events[i];
		if (e->work >= n)
			continue;
		factor[e->work]++;
		known[e->work] += finding_place_of(c, e) != 0;
	}
	for (size_t i = 0; i < n; i++)
		factor[i] = known[i] > 0 ? factor[i] / known[i] : 0;
	free(known);
	return factor;
}

static void add_recent(const struct finding_context *c, const struct finding_calls *a,
                       const struct finding *f, double *of)
{
	const struct model_sites *sites = &c->m->sites;
	double *factor = factors(c);

	for (size_t i = 0; i < c->count; i++) {
		const struct call_event *e = &c->call_events[i];
		uint32_t place = finding_place_of(c, e);
		if (!place || !is_about(a, &sites->items[sites->places[place - 1].site]) ||
		    !is_meant(c, a, f, e))
			continue;
		bool launch = e->cls == SPY_CLASS_LAUNCH || e->cls == SPY_CLASS_GRAPH_LAUNCH;
		of[place - 1] += measured_of(e, a->measure) *
		                 (launch && e->work < c->h->work_count ? factor[e->work] : 1);
	}
	free(factor);
}

/* ---- the line ---- */

/* The place with most; whether it is one to look at. */
static bool choose(const struct model_sites *sites, const double *of, struct finding *f)
{
	double sum = 0, most = 0;

	for (size_t i = 0; i < sites->place_count; i++) {
		sum += of[i];
		if (of[i] > most) {
			most = of[i];
			f->place = &sites->places[i];
		}
	}
	if (!(most > 0 && most >= SITE_LEAST * sum)) {
		f->place = NULL;
		return false;
	}
	f->site = &sites->items[f->place->site];
	f->place_share = most / sum;
	return true;
}

/* What part of what all lines have is of what is judged: it may be a loop behind a start-up that
 * copied far more. Without recent calls it is the whole run. */
static double judged_part(const struct finding_context *c, const struct finding_calls *a,
                          const double *of)
{
	double whole = 0, judged = 0, held = c->h->coverage > 0 ? c->h->coverage : 1;

	for (size_t i = 0; i < c->m->sites.place_count; i++)
		whole += of[i];
	for (size_t i = 0; i < c->count; i++) {
		int kind = site_kind_of(c->call_events[i].cls);
		if (kind >= 0 && a->kinds & FINDING_KIND(kind))
			judged += measured_of(&c->call_events[i], a->measure);
	}
	return !c->count ? 1 : whole > 0 ? judged / (held * whole) : 0;
}

/* The line by all lines of the run, where so much of what they have is of what is judged. */
static bool choose_of_all(const struct finding_context *c, const struct finding_calls *a,
                          double least, double *of, struct finding *f)
{
	memset(of, 0, c->m->sites.place_count * sizeof(*of));
	add_all(&c->m->sites, a, of);
	return judged_part(c, a, of) >= least && choose(&c->m->sites, of, f);
}

static void choose_line(const struct finding_context *c, const struct finding_calls *a, double *of,
                        struct finding *f)
{
	/* Of launches samples alone have a line, and the whole run has more of them than the
	 * recent calls. */
	if (a->kinds == FINDING_KIND(SITE_LAUNCH) && a->only == ALL_OF_THEM && c->count &&
	    choose_of_all(c, a, JUDGED_NEARLY, of, f))
		return;
	memset(of, 0, c->m->sites.place_count * sizeof(*of));
	add_recent(c, a, f, of);
	if (!choose(&c->m->sites, of, f) &&
	    (a->only == ALL_OF_THEM || a->only == THAT_WAIT_FOR_ALL))
		choose_of_all(c, a, JUDGED_LEAST, of, f);
}

void finding_find_site(const struct finding_context *c, const struct finding_calls *a,
                       struct finding *f)
{
	size_t count = c->m->sites.place_count;

	if (!a->kinds || !count)
		return;
	double *of = alloc_zeroed(count, sizeof(*of));
	f->place_measure = measures[a->measure];
	choose_line(c, a, of, f);
	free(of);
}

/* ---- what the GPU waited for ---- */

static size_t class_of(const struct finding_context *c, const struct finding_gap *g)
{
	return g->work < c->h->work_count ? g->work : c->h->work_count;
}

bool finding_gap_ends(const struct finding_context *c, const struct call_event *e, double idle,
                      struct finding_gap *to)
{
	*to = (struct finding_gap){.idle = idle,
	                           .place = finding_place_of(c, e),
	                           .work = e->work,
	                           .thread = e->thread};
	return e->kind != TF_WORK_NONE || (to->place && e->cls != SPY_CLASS_SYNC);
}

void finding_find_line_ahead(const struct finding_context *c, const struct finding_gap *gaps,
                             size_t count, uint16_t thread, struct finding *f)
{
	const struct model_sites *sites = &c->m->sites;
	size_t n = c->h->work_count + 1, lines = 0;
	double sum = 0, sure = 0;

	if (!sites->place_count)
		return;
	double *of = alloc_zeroed(sites->place_count, sizeof(*of)),
	       *all = alloc_zeroed(n, sizeof(*all)), *known = alloc_zeroed(n, sizeof(*known));
	for (size_t i = 0; i < count; i++) {
		if (gaps[i].thread != thread)
			continue;
		all[class_of(c, &gaps[i])] += gaps[i].idle;
		sum += gaps[i].idle;
		if (!gaps[i].place)
			continue;
		known[class_of(c, &gaps[i])] += gaps[i].idle;
		sure += gaps[i].idle;
		lines++;
	}
	for (size_t i = 0; i < count; i++) {
		size_t k = class_of(c, &gaps[i]);
		if (gaps[i].place && gaps[i].thread == thread)
			of[gaps[i].place - 1] += gaps[i].idle * all[k] / known[k];
	}
	f->place_measure = "time outside CUDA";
	f->ahead = (lines >= FEW_LINES || sure >= sum / 2) && choose(sites, of, f);
	if (!f->ahead)
		f->place = NULL;
	finding_find_between(c, gaps, count, f);
	free(of);
	free(all);
	free(known);
}
