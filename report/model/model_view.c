/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/model_view_calls.h"
#include "report/model/model_view_warm.h"
#include "report/model/phases.h"
#include "shim/core/cuda/communication.h"

struct view {
	struct model m; /* first */
	bool *owned;    /* by process: its call events are a copy */
	bool own_steps, own_tables;
};

struct sums { /* over time slices: of all of them, and in the phase */
	double host[2][TF_HOSTS], busy[2], idle[2][TF_IDLES];
	double below, above; /* of busy[1]: in slices that the phase shares with others */
	double time;         /* of the phase */
	double devices;      /* the same, of each device */
	double before;
};

/* ---- which time is in the phase ---- */

struct slice_part {
	double all;    /* of the slice, in the window */
	double before; /* ahead of the window's begin */
	double behind; /* ... and behind its end */
	double ends;   /* before the phase's start or behind its end */
	double in;
	double of_rest; /* in, as a share of what is not `ends` */
};

static struct slice_part part_of_slice(const struct overview *o, size_t slice, double window,
                                       const struct model_stretch *s, size_t count)
{
	struct slice_part p = {.all = phases_part(o, slice, o->window, INFINITY),
	                       .before = phases_part(o, slice, -INFINITY, o->window),
	                       .behind = phases_part(o, slice, o->window + window, INFINITY)};

	if (!count)
		return p;
	p.ends = phases_part(o, slice, o->window, o->window + s[0].start) +
	         phases_part(o, slice, o->window + s[count - 1].end, INFINITY);
	for (size_t i = 0; i < count && p.ends < p.all; i++)
		p.in += phases_part(o, slice, o->window + s[i].start, o->window + s[i].end);
	double rest = p.all - p.ends;
	p.of_rest = rest > 0.001 * p.all ? fmin(1, p.in / rest) : 0;
	return p;
}

/*
 * At a phase's ends, what of a slice lies outside took of the host what is no steady work first.
 * Where the phase alternates with others, a slice is divided by time. The slices reach beyond the
 * window, of which the shares are.
 */
static void add_slice(struct sums *to, const struct overview *o, size_t i,
                      const struct slice_part *p)
{
	double gone[TF_HOSTS] = {0}, out[TF_HOSTS] = {0};

	if (o->host) {
		phases_take(o->host[i], p->before + p->ends, gone);
		phases_take(o->host[i], p->before + p->behind, out);
		for (int k = 0; k < TF_HOSTS; k++) {
			to->host[0][k] += o->host[i][k] - out[k];
			to->host[1][k] += (o->host[i][k] - gone[k]) * p->of_rest;
		}
	}
	for (size_t d = 0; d < o->device_count; d++) {
		const struct overview_device *v = &o->devices[d];
		double busy = fmin(v->busy[i], p->all - p->ends) * p->of_rest;
		double idle = v->covered[i] - v->busy[i];
		double part = idle > 0 ? fmax(0, fmin(1, (p->in - busy) / idle)) : 0;
		to->busy[0] += v->busy[i];
		to->busy[1] += busy;
		/* Its share of a slice's busy time may be all that it has room for, or what the
		 * others have none for. */
		to->below += busy - fmax(0, v->busy[i] - (p->all - p->in));
		to->above += fmin(fmin(v->busy[i], p->all - p->ends), p->in) - busy;
		for (int k = 0; v->idle && k < TF_IDLES; k++) {
			to->idle[0][k] += v->idle[i][k];
			to->idle[1][k] += v->idle[i][k] * part;
		}
	}
}

static void add_slice_of_calls(struct view_slices *to, const struct overview *o, size_t i,
                               const struct slice_part *p)
{
	double share = p->all > 0 ? p->in / p->all : 0;

	if (o->cpu_known) {
		to->wait += o->cpu_wait[i] * share;
		to->known += o->cpu_known[i] * share;
	}
	for (size_t d = 0; d < o->device_count && d < TF_DEVICES_TIMED; d++)
		to->busy[d] += fmin(o->devices[d].busy[i], p->all - p->ends) * p->of_rest;
	to->in += p->in;
}

/* ---- the view ---- */

static void add_part(struct view *v, struct sums *to, const struct model_stretch *s, size_t count,
                     uint32_t process)
{
	struct model_process *p = &v->m.processes[process];
	struct view_slices cpu = {0};

	for (size_t i = 0; i < p->overview.count; i++) {
		struct slice_part part = part_of_slice(&p->overview, i, p->window, s, count);
		add_slice(to, &p->overview, i, &part);
		add_slice_of_calls(&cpu, &p->overview, i, &part);
	}
	double time = view_length(s, count);
	to->time += time;
	to->before += count ? s[0].start : 0;
	if (!count) {
		p->call_log.left_out = true;
		p->call_log.judged = 0;
		p->call_log.count = 0;
		return;
	}
	v->owned[process] = view_cut_calls(&p->call_log, s, count, &cpu);
}

static double share_of(double in, double all, double other)
{
	return all > 0 ? fmin(1, in / all) : other;
}

/* The parts of the host's time sum to the phase's. */
static void scale_host(struct model *m, const struct sums *s)
{
	struct model_split *h = &m->host;
	double other = m->host_window > 0 ? fmin(1, s->time / m->host_window) : 0, of[TF_HOSTS];
	double launch[2] = {0}, sync[2] = {0};

	for (int k = 0; k < TF_HOSTS; k++)
		of[k] = share_of(s->host[1][k], s->host[0][k], other);
	for (int i = 0; i < 2; i++) {
		launch[i] = s->host[i][TF_HOST_LAUNCH] + s->host[i][TF_HOST_BACK_PRESSURE] +
		            s->host[i][TF_HOST_CONTENTION];
		sync[i] = s->host[i][TF_HOST_SYNC_USEFUL] + s->host[i][TF_HOST_SYNC_WASTED];
	}
	h->launch_api *= share_of(launch[1], launch[0], other);
	h->sync *= share_of(sync[1], sync[0], other);
	h->launch *= of[TF_HOST_LAUNCH];
	h->back_pressure *= of[TF_HOST_BACK_PRESSURE];
	h->contention *= of[TF_HOST_CONTENTION];
	h->sync_useful *= of[TF_HOST_SYNC_USEFUL];
	h->sync_wasted *= of[TF_HOST_SYNC_WASTED];
	h->copy *= of[TF_HOST_COPY];
	h->alloc *= of[TF_HOST_ALLOC];
	h->module *= of[TF_HOST_MODULE];
	h->other *= of[TF_HOST_OTHER];
	h->outside *= of[TF_HOST_OUTSIDE];
	h->sampling *= of[TF_HOST_OWN];
	double *parts[] = {&h->launch_api, &h->sync,          &h->copy,       &h->alloc,
	                   &h->module,     &h->other,         &h->outside,    &h->sampling,
	                   &h->launch,     &h->back_pressure, &h->contention, &h->sync_useful,
	                   &h->sync_wasted};
	double sum = 0;
	for (size_t i = 0; i < 8; i++)
		sum += isfinite(*parts[i]) ? *parts[i] : 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && sum > 0; i++)
		*parts[i] *= s->time / sum;
	h->alive = s->time;
	h->absent = 0;
}

/*
 * What of the GPU's communication is in the phase, as a share: by how often its kernels come there
 * and elsewhere, as far as the recent calls tell.
 */
static double communication(const struct model *m, const struct model_phase *p, double other)
{
	double in = 0, in_time = 0, out = 0, out_time = 0, time = 0, all = 0;

	for (size_t i = 0; i < p->part_count; i++) {
		const struct model_phase_part *part = &p->parts[i];
		const struct call_log *h = &m->processes[part->process].call_log;
		double held = 0;
		size_t stretch = 0;
		for (size_t k = 0; k < part->stretch_count; k++)
			held += view_held(h, &part->stretches[k]);
		in_time += held;
		out_time += fmax(0, h->until - h->from - held);
		time += part->time;
		all += m->processes[part->process].window;
		for (size_t k = 0; k < h->count; k++) {
			const struct call_event *e = &h->call_events[k];
			const char *name =
			        e->work < h->work_count ? h->works[e->work].kernel : NULL;
			if (!name || !cuda_communicates(name))
				continue;
			while (stretch < part->stretch_count &&
			       part->stretches[stretch].end <= e->start)
				stretch++;
			bool inside = stretch < part->stretch_count &&
			              part->stretches[stretch].start <= e->start;
			in += inside;
			out += !inside;
		}
	}
	if (!(in_time > 0))
		return other;
	in = in / in_time * time;
	out = out_time > 0 ? out / out_time * fmax(0, all - time) : 0;
	return in + out > 0 ? in / (in + out) : other;
}

static void scale_time(struct model_gpu_time *t, double by)
{
	t->total *= by;
	t->low *= by;
	t->high *= by;
}

/*
 * What the timeline had to guess when it ran is known by now, where the phase's calls are. Of what
 * it knew, waits told it how long that really took: the rest may be more by what was not known. No
 * more than there was time for: else the pieces took less than those that were timed.
 */
static void work_at_least(struct model *m)
{
	struct model_gpu_busy *b = &m->gpu.busy;
	struct model_gpu_time least = model_busy_least(m);
	double guessed = b->work > 0 ? least.total * b->unknown / b->work : 0;

	if (!(least.total > 0) || least.total > b->window)
		return;
	b->busy = fmax(b->busy, fmin(least.total, b->busy + guessed));
	b->low = fmax(b->low, fmin(least.low, b->busy * least.low / least.total));
	b->high = fmax(b->high, b->busy);
}

static void scale_busy(struct model *m, const struct model *whole, const struct model_phase *p,
                       const struct sums *s, double copies, double sets, bool calls_known)
{
	struct model_gpu_busy *b = &m->gpu.busy;
	double window =
	        whole->host_window > 0 ? b->window * s->time / whole->host_window : b->window;
	double by = share_of(s->busy[1], s->busy[0], window / b->window);
	double alone = fmax(0, b->busy - b->kernels) * copies, sum = 0;

	b->window = window;
	b->comm *= communication(whole, p, by);
	b->busy = fmin(b->busy * by, window);
	double scale = s->busy[1] > 0 ? b->busy / s->busy[1] : 0;
	b->low = fmax(0, fmin(b->low * by, b->busy) - fmax(0, s->below) * scale);
	b->high = fmax(b->busy, fmin(b->high * by + fmax(0, s->above) * scale, window));
	if (calls_known)
		work_at_least(m);
	b->kernels = fmax(0, b->busy - alone);
	b->comm = fmin(b->comm, b->busy);
	b->copies = fmin(b->copies * copies, b->busy);
	b->overlap *= copies;
	b->possible *= copies;
	b->idle = window - b->busy;
	for (int k = 0; k < TF_IDLES; k++) {
		b->by[k] *= share_of(s->idle[1][k], s->idle[0][k], 0);
		sum += b->by[k];
	}
	for (int k = 0; k < TF_IDLES && sum > 0; k++)
		b->by[k] *= b->idle / sum;
	if (!(sum > 0))
		b->by[TF_IDLE_UNKNOWN] = b->idle;
	scale_time(&m->gpu.copies, copies);
	scale_time(&m->gpu.sets, sets);
}

static uint64_t count_of(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)(v + 0.5) : 0;
}

/* Copies and sets in it, as shares of all. */
static void scale_work(struct model *m, const struct model_work_done *w, double *copies,
                       double *sets)
{
	struct model_totals *t = &m->totals;

	if (isnan(w->launches))
		return;
	*copies = share_of(w->copy_bytes, (double)t->copy_bytes, *copies);
	*sets = share_of(w->sets, (double)t->sets, *sets);
	t->launches = count_of(w->launches);
	t->graph_launches = count_of(w->graph_launches);
	t->syncs = count_of(w->syncs);
	t->copies = count_of(w->copies);
	t->pageable_copies = count_of(w->pageable_copies);
	t->copy_bytes = count_of(w->copy_bytes);
	t->sets = count_of(w->sets);
	t->allocs = count_of(w->alloc_calls);
}

static double time_of_copies(const struct model *m)
{
	double sum = 0;

	for (size_t i = 0; i < m->copy_count; i++)
		if (m->copies[i].gpu.total > 0)
			sum += m->copies[i].gpu.total;
	return sum;
}

/* Steps that warm up are in the table of steps, but not in their rate. */
static void settle_rate(struct model *m)
{
	double warm = (double)m->phase->steps - m->phase_steps;

	if (m->process_count != 1 || m->phase->kind != PHASE_LOOP || !(warm >= 1) ||
	    !(m->phase_steps >= 1) || !(m->host_window > 0))
		return;
	m->steps.warm = warm;
	m->steps.judged_per_s = m->phase_steps / m->host_window * 1e9;
}

/* ---- made and freed ---- */

struct model *model_view(const struct model *m, size_t phase)
{
	const struct model_phase *p = &m->phases.rows[phase];
	struct view *v = alloc_zeroed(1, sizeof(*v));
	struct sums sums = {0};

	v->m = *m;
	v->m.phase = p;
	v->m.phase_steps = (double)p->steps;
	v->owned = alloc_zeroed(m->process_count, sizeof(*v->owned));
	v->m.processes = alloc_zeroed(m->process_count, sizeof(*v->m.processes));
	memcpy(v->m.processes, m->processes, m->process_count * sizeof(*m->processes));
	for (size_t i = 0, k = 0; i < m->process_count; i++) {
		struct model_stretch *s = NULL;
		size_t count = 0;
		double warm = 0;
		if (k < p->part_count && p->parts[k].process == i)
			s = view_settled(m, p, &p->parts[k++], &count, &warm);
		v->m.phase_steps -= warm;
		add_part(v, &sums, s, count, (uint32_t)i);
		free(s);
	}
	v->m.phase_before = sums.before;
	double other = m->host_window > 0 ? fmin(1, sums.time / m->host_window) : 0, copies = other,
	       sets = other;
	if (p->kind == PHASE_LOOP)
		scale_work(&v->m, &p->work, &copies, &sets);
	double graphs = share_of((double)v->m.totals.graph_launches,
	                         (double)m->totals.graph_launches, other);
	v->own_tables = view_cut_tables(&v->m, graphs);
	/* Of all bytes together nobody knows how fast those of the phase went. */
	if (v->own_tables)
		copies = share_of(time_of_copies(&v->m), time_of_copies(m), copies);
	if (m->has_host)
		scale_host(&v->m, &sums);
	if (m->gpu.has_busy)
		scale_busy(&v->m, m, p, &sums, copies, sets, v->own_tables);
	v->m.host_window = sums.time;
	if (phase != m->steps.phase) {
		model_steps_of(&v->m, phase);
		v->own_steps = true;
	}
	settle_rate(&v->m);
	return &v->m;
}

void model_view_free(struct model *view)
{
	struct view *v = (struct view *)view;

	if (!v)
		return;
	for (size_t i = 0; i < v->m.process_count; i++)
		if (v->owned[i]) {
			free(v->m.processes[i].call_log.call_events);
			free(v->m.processes[i].call_log.joined);
		}
	if (v->own_steps)
		model_free_steps_figures(&v->m.steps);
	if (v->own_tables) {
		free(v->m.kernels);
		free(v->m.copies);
		free(v->m.apis);
	}
	free(v->m.processes);
	free(v->owned);
	free(v);
}
