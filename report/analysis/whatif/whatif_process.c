/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/progress.h"
#include "report/base/stats.h"
#include "report/model/framework.h"
#include "report/model/model.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/whatif/whatif_steps.h"

/* Fewer calls than this tell nothing. */
#define LEAST_CALLS 50u
/* What is left of the time where a change gains nothing worth telling. */
#define NO_GAIN 0.995
/* The same where it is so little that the host's speed makes no difference to it. */
#define LITTLE_GAIN 0.95
/* Pinned copies that tell a bandwidth: of smaller ones, most is the start. */
#define BANDWIDTH_BYTES (1u << 20)

/* ---- what is known of a process ---- */

static void find_bandwidth(struct whatif_change *c, const struct call_log *h)
{
	c->bandwidth[0] = c->bandwidth[1] = NAN;
	for (size_t i = 0; i < h->work_count; i++) {
		const struct call_log_work *w = &h->works[i];
		if (w->kind != TF_WORK_COPY || w->memory != SPY_MEM_PINNED ||
		    w->direction > SPY_DIR_DTOH || w->bytes < BANDWIDTH_BYTES || !(w->mean > 0))
			continue;
		bool to_host = w->direction == SPY_DIR_DTOH;
		double *best = &c->bandwidth[to_host],
		       rate = (double)w->bytes / (w->mean - estimate_start_ns(to_host));
		if (rate > 0 && !(rate <= *best))
			*best = fmin(rate, ESTIMATE_BUS_MOST);
	}
}

/*
 * A GPU at its power limit does no more work in a time when it is idle less: its clocks go down. So
 * as much as it was busy while it was held down, a change that leaves its work as it is gains
 * nothing; at best it was held down in another part of the run.
 */
static double held_down(const struct whatif_change *c, double ratio, double busy)
{
	return c->hope == HOPE_MOST || !(ratio < 1) ? ratio
	                                            : 1 - (1 - ratio) * (1 - c->capped * busy);
}

/* The median of what launching a graph took itself. */
static double graph_launch(const struct replay *r)
{
	double *own = alloc_zeroed(r->count, sizeof(*own)), median;
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->given[i].kind == TF_WORK_GRAPH)
			own[count++] = r->call_events[i].own;
	median = stats_select(own, count, 0.5);
	free(own);
	return median;
}

/* The share of the steady state in which a device is busy, the busiest of them; 0 = not known. */
static double busy_share(const struct model_process *p)
{
	const struct overview *overview = &p->overview;
	double most = p->call_log.busy;

	for (size_t d = 0; d < overview->device_count && !(p->call_log.busy > 0); d++) {
		double busy = 0, covered = 0;
		for (size_t i = 0; i < overview->count; i++) {
			double start = overview->origin + (double)i * overview->width;
			bool torn_down =
			        p->call_log.window < p->window &&
			        start + overview->width > overview->window + p->call_log.window;
			if (start < overview->window + p->call_log.steady || torn_down)
				continue;
			busy += overview->devices[d].busy[i];
			covered += overview->devices[d].covered[i];
		}
		if (covered > 0)
			most = fmax(most, fmin(1, busy / covered));
	}
	return most;
}

/*
 * The same as far as the replay bears it out: no longer than all pieces of work one after the
 * other. The timeline's share may rest on guesses, where work of unknown length seemed to hold a
 * call up.
 */
static double busy_replayed(const struct model_process *p, const struct replay *r)
{
	double sum = r->gpu;

	for (size_t i = 0; i < r->count; i++)
		sum += fmax(0, r->call_events[i].shift);
	return r->base > 0 ? fmin(busy_share(p), sum / r->base) : busy_share(p);
}

/* Of all that the GPU did, the low end of its interval: classes of work are hardly all at their low
 * ends at once. */
static double least_work(const struct model *m)
{
	double part = m->gpu.all.low / m->gpu.all.total;

	return part >= 0 && part <= 1 ? part : 1;
}

/* The least that the GPU could take, as a share of what it took: the longest of kernels and copies
 * each way, which may run beside one another. What keeps them apart, the replay knows. */
static double work_left(const struct replay *r, const struct replay_act *call_events)
{
	double part[3] = {0};

	for (size_t i = 0; i < r->count; i++) {
		const struct call_event *a = &r->given[i];
		size_t engine = a->kind == TF_WORK_COPY && a->direction <= SPY_DIR_DTOH
		                        ? 1u + (a->direction == SPY_DIR_DTOH)
		                        : 0;
		part[engine] += call_events[i].gpu;
	}
	return r->gpu > 0 ? fmin(1, fmax(part[0], fmax(part[1], part[2])) / r->gpu) : 0;
}

static struct whatif_change change_of(enum whatif what, enum replay_level level,
                                      const struct whatif_asked *a)
{
	static const enum whatif_hope hopes[REPLAY_LEVELS] = {
	        [REPLAY_MEAN] = HOPE_MIDDLE, [REPLAY_LOW] = HOPE_MOST, [REPLAY_HIGH] = HOPE_LEAST};

	return (struct whatif_change){
	        .what = what, .hope = hopes[level], .kernel = a->kernel, .factor = a->factor};
}

/* ---- whether it can be told ---- */

bool whatif_fails(struct whatif_result *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(to->why, sizeof(to->why), format, args);
	va_end(args);
	return true;
}

/* Of a process: nothing can be told, and why. */
static bool cannot_tell(const struct model *m, const struct model_process *p,
                        struct whatif_result *to)
{
	const struct call_log *h = &p->call_log;
	size_t calls = h->count - call_log_steady(h);

	if (p->gpu_mode == TF_GPU_OFF)
		return whatif_fails(to, "GPU times are not known (CUDASPY_GPU=off)");
	if (!h->count)
		return whatif_fails(to, "no calls were kept to replay (CUDASPY_KEEP)");
	if (m->lost_share > WHATIF_MOST_LOST)
		return whatif_fails(to, "%.0f %% of the records are lost", 100 * m->lost_share);
	if (calls < LEAST_CALLS || !(h->coverage > 0))
		return whatif_fails(to, "too few calls after start-up: %zu", calls);
	return false;
}

/* The same, by what the replay found. */
static bool lacks_times(const struct replay *r, struct whatif_result *to)
{
	if (!(r->pieces > 0))
		return whatif_fails(to, "no work for the GPU after start-up");
	if (r->unknown > WHATIF_MOST_UNKNOWN * r->pieces)
		return whatif_fails(to, "the time of %.0f %% of the work on the GPU is not known",
		                    100 * r->unknown / r->pieces);
	return false;
}

/* ---- one process ---- */

/* What the launches alone would gain at best. */
static double strictly(const struct replay *r, struct whatif_change *c, double base,
                       struct replay_act *call_events)
{
	struct whatif_change strict = *c;

	strict.strict = true;
	strict.changed = 0;
	memcpy(call_events, r->call_events, r->count * sizeof(*call_events));
	change_acts(&strict, r, call_events);
	return base > 0 && strict.changed > 0 ? replay_run(r, call_events) / base : 1;
}

/* Were the host so many times slower: the time of these calls. `room`: for a copy of them. */
static double at_speed(const struct replay *r, const struct replay_act *acts, double slower,
                       struct replay_act *room)
{
	memcpy(room, acts, r->count * sizeof(*room));
	whatif_slow_host(r, room, slower);
	return replay_run(r, room);
}

/* The change's gain on a host that is faster, or slower, than it was in this run. */
static void try_speeds(const struct replay *r, const struct replay_act *call_events, double base[2],
                       struct whatif_outcome *to)
{
	struct replay_act *room = alloc_zeroed(r->count, sizeof(*room));

	for (int i = 0; i < 2; i++) {
		double slower = i ? WHATIF_HOST_SLOWER : 1 / WHATIF_HOST_SLOWER;
		if (!(base[i] > 0))
			base[i] = at_speed(r, r->call_events, slower, room);
		to->at_speed[i] =
		        base[i] > 0 ? at_speed(r, call_events, slower, room) / base[i] : NAN;
		to->bound_at_speed[i] = to->bound[REPLAY_MEAN] * r->base / base[i];
	}
	free(room);
}

/* All work takes so many times as long. */
static void share_gpu(const struct replay *r, struct replay_act *call_events, double times)
{
	for (size_t i = 0; i < r->count; i++) {
		call_events[i].gpu *= times;
		call_events[i].space *= times;
	}
}

/* One change at one level: its outcome. `acts`: room for a copy of the replay's. */
static void try_change(const struct model *m, const struct model_process *p, const struct replay *r,
                       struct whatif_change *c, enum replay_level level, double base,
                       double speeds[2], struct replay_act *call_events, struct whatif_outcome *to)
{
	double outside = 0, before = 0;

	memcpy(call_events, r->call_events, r->count * sizeof(*call_events));
	change_acts(c, r, call_events);
	for (size_t i = 0; i < r->count; i++) {
		before += r->call_events[i].gap;
		outside += call_events[i].gap;
	}
	/* They may have the GPU as long as this process has, each: at least what the change frees
	 * is theirs. */
	if (c->hope == HOPE_LEAST && c->others > 0)
		share_gpu(r, call_events, 1 + c->others);
	double busy = busy_replayed(p, r),
	       time = c->changed > 0 ? replay_run(r, call_events) : base;
	to->time[level] = base > 0 ? held_down(c, time / base, busy) : NAN;
	to->error = fmax(to->error, r->base > 0 ? fabs(base / r->base - 1) : 0);
	to->assumed_bandwidth |= c->assumed_bandwidth;
	to->managed |= c->managed;
	to->staged |= c->staged;
	to->selected |= c->selected;
	to->pageable |= c->pageable;
	to->busy = level == REPLAY_MEAN ? busy : to->busy;
	to->removed = fmax(to->removed, base > 0 ? c->removed / base : 0);
	busy = level == REPLAY_LOW ? fmax(busy, to->busy * least_work(m)) : to->busy;
	to->bound[level] = fmin(busy, to->busy) * work_left(r, call_events);
	if (c->what == WHATIF_STEP && level == REPLAY_LOW)
		to->strict = strictly(r, c, base, call_events);
	if (level != REPLAY_MEAN)
		return;
	to->at_speed[0] = to->at_speed[1] = to->time[level];
	if (c->changed > 0 && to->time[level] < LITTLE_GAIN)
		try_speeds(r, call_events, speeds, to);
	to->host[0] = whatif_host_share(r, r->call_events, base);
	to->host[1] = whatif_host_share(r, call_events, time);
	to->stays = base > 0 ? c->stays / base : 0;
	to->outside = base > 0 ? outside / base : 0;
	to->between = base > 0 ? fmax(0, before - outside) / base : 0;
	to->steps = c->steps ? (double)c->steps->count : 0;
	to->repeated = c->steps ? (double)c->steps->repeated : 0;
	to->changed = c->changed;
	to->stalls = (double)r->stalls;
	to->stalled = r->stalled;
	to->graph_launch = c->graph_launch;
	to->fuses = framework_of(m) == FRAMEWORK_JAX;
	to->hands = c->hands;
	to->others = c->others;
	to->capped = c->capped;
	to->link = c->link;
	memcpy(to->bandwidth, c->bandwidth, sizeof(to->bandwidth));
}

/* A change without a gain needs no range; but all of the host's own time may be taken for waiting
 * in the middle, and none of it at best. */
static bool is_worth(struct whatif_outcome *o, enum whatif what, enum replay_level level)
{
	if (level == REPLAY_MEAN || o->time[REPLAY_MEAN] < NO_GAIN ||
	    (what == WHATIF_HOST && o->changed > 0))
		return true;
	o->time[level] = o->time[REPLAY_MEAN];
	o->bound[level] = o->bound[REPLAY_MEAN];
	o->strict = o->time[REPLAY_MEAN];
	return false;
}

static bool any_worth(struct whatif_outcome *out, const struct whatif_asked *a,
                      enum replay_level level)
{
	bool any = false;

	for (enum whatif what = a->from; what < a->to; what++)
		any |= is_worth(&out[what - a->from], what, level);
	return any;
}

/* All changes asked for, at one level; false where `to->why` says that it cannot be told. */
static bool try_level(const struct model *m, const struct model_process *p,
                      const struct whatif_asked *a, enum replay_level level,
                      struct whatif_outcome *out, struct whatif_result *to)
{
	struct replay r;

	replay_make(&r, &p->call_log, level);
	bool lacks = lacks_times(&r, to);
	struct replay_act *call_events = alloc_zeroed(r.count, sizeof(*call_events));
	double base = lacks ? 0 : replay_run(&r, r.call_events), launch = graph_launch(&r);
	double speeds[2] = {0};
	struct whatif_steps steps;

	whatif_steps_make(&steps, m, (size_t)(p - m->processes), &r);
	if (level == REPLAY_MEAN && a->from <= WHATIF_STEP && WHATIF_STEP < a->to)
		whatif_steps_blocked(&steps, &to[WHATIF_STEP - a->from]);
	for (enum whatif what = a->from; what < a->to && !lacks; what++) {
		progress_share((uint64_t)(what - a->from) + 1, (uint64_t)(a->to - a->from) + 1);
		if (!is_worth(&out[what - a->from], what, level))
			continue;
		struct whatif_change c = change_of(what, level, a);
		find_bandwidth(&c, &p->call_log);
		c.graph_launch = launch;
		c.steps = what == WHATIF_STEP ? &steps : NULL;
		c.cpu_wait = p->call_log.cpu_wait;
		whatif_machine(&c, m, (size_t)(p - m->processes));
		int32_t *per_tensor = what == WHATIF_FUSED ? whatif_find_per_tensor(m, p) : NULL;
		c.per_tensor = per_tensor;
		if (what == WHATIF_KERNEL || what == WHATIF_FUSED) /* less work for the GPU */
			c.capped = 0;
		try_change(m, p, &r, &c, level, base, speeds, call_events, &out[what - a->from]);
		free(per_tensor);
	}
	free(call_events);
	whatif_steps_free(&steps);
	replay_free(&r);
	return !lacks;
}

bool whatif_try(const struct model *m, const struct model_process *p, const struct whatif_asked *a,
                struct whatif_outcome *out, struct whatif_result *to)
{
	if (cannot_tell(m, p, to))
		return false;
	bool can = true;
	for (int level = 0; level < REPLAY_LEVELS && can; level++) {
		progress_part_begin((uint64_t)level, (uint64_t)level + 1, REPLAY_LEVELS);
		can = !any_worth(out, a, (enum replay_level)level) ||
		      try_level(m, p, a, (enum replay_level)level, out, to);
		progress_part_end();
	}
	return can;
}
