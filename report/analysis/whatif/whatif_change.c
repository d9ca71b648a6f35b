/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/call_log_compiling.h"
#include "report/analysis/whatif/whatif_change.h"

/*
 * The host time before a call, in the middle: what issuing one costs the program or its framework.
 * 0 where it is longer than that ever is: then it is the program's own work.
 */
double whatif_usual_gap(const struct replay *r)
{
	double *gaps = alloc_zeroed(r->count + 1, sizeof(*gaps)), median;

	for (size_t i = 0; i < r->count; i++)
		gaps[i] = r->call_events[i].gap;
	median = r->count ? stats_select(gaps, r->count, 0.5) : 0;
	free(gaps);
	return median <= REPLAY_LONGEST_GAP ? median : 0;
}

/* ---- kernels ---- */

static bool matches(const struct whatif_change *c, const struct call_log_work *w)
{
	return w->kernel && pattern_finds(c->kernel, w->kernel);
}

/* Only the classes' names are looked at, of which there are few. */
static void faster(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	const struct call_log *h = r->call_log;

	bool *meant = alloc_zeroed(h->work_count, sizeof(*meant));

	for (size_t k = 0; k < h->work_count; k++)
		meant[k] = matches(c, &h->works[k]);
	for (size_t i = 0; i < r->count; i++) {
		uint32_t work = r->given[i].work;
		if (work == CALL_LOG_NONE || !meant[work])
			continue;
		c->removed += call_events[i].gpu * (1 - 1 / c->factor);
		call_events[i].gpu /= c->factor;
		c->changed++;
	}
	free(meant);
}

/* ---- waiting for a CPU ---- */

/*
 * It is known how long threads waited for one, not when. A thread that waits for the GPU mostly
 * sleeps, or loses nothing by it: the wait lies in the rest of its time, or evenly in all of it.
 */
static double cpu_share(const struct whatif_change *c, const struct replay *r,
                        const struct replay_act *call_events)
{
	double whole = 0, active = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct replay_act *a = &call_events[i];
		whole += a->gap + a->ours + r->given[i].end - r->given[i].start;
		active += a->gap + a->own + fmax(0, a->late);
	}
	double least = fmin(1, fmax(0, c->cpu_wait)),
	       most = active > 0 ? fmax(least, fmin(1, c->cpu_wait * whole / active)) : least;
	return c->hope == HOPE_MOST ? most : c->hope == HOPE_LEAST ? least : (least + most) / 2;
}

static void no_cpu_wait(struct whatif_change *c, const struct replay *r,
                        struct replay_act *call_events)
{
	if (!(c->cpu_wait > 0))
		return;
	double left = 1 - cpu_share(c, r, call_events);
	for (size_t i = 0; i < r->count; i++) {
		call_events[i].gap *= left;
		call_events[i].own *= left;
		if (call_events[i].late > 0)
			call_events[i].late *= left;
		c->changed++;
	}
}

/* ---- the host's own work ---- */

/* The same ahead of a read: its thread is woken up for it. What is left for behind it. */
static double reader_waits(const struct replay *r, double *part, const uint32_t *last,
                           uint32_t read, double left)
{
	if (!whatif_has_reader(r, last, read))
		return left;
	for (uint32_t i = read; i != CALL_LOG_NONE && left > 0; i = last[i]) {
		double waits = fmin(r->call_events[i].gap, left);
		if (i != read && r->given[i].kind != TF_WORK_NONE)
			break;
		part[i] = fmax(part[i], waits);
		left -= waits;
		if (i != read && r->call_events[i].before != CALL_LOG_NONE)
			break;
	}
	return left;
}

/* The same behind it, where both sides are alike, and no less than a share. */
static void waits_behind(const struct replay *r, double *part, struct whatif_woken w, double share)
{
	while (whatif_woken_next(&w)) {
		double gap = r->call_events[w.at].gap, waits = whatif_woken_goes(&w, gap);
		part[w.at] = fmax(part[w.at], fmax(waits, share * gap));
	}
}

/*
 * Of the time before each call, what may be a wait outside CUDA still, ns (free it): what `no-sync`
 * takes away around such a wait until the next work, and no less than a share of what comes behind
 * it. The more of it is a wait, the less is the host's work.
 */
static double *still_waiting(const struct whatif_change *c, const struct replay *r,
                             const uint32_t *last, const struct whatif_waking *waking)
{
	const bool alike = waking->alike && c->hope != HOPE_MOST;
	const double ns[] = {[HOPE_MIDDLE] = waking->ns[HOPE_MIDDLE],
	                     [HOPE_LEAST] = waking->ns[HOPE_MOST],
	                     [HOPE_MOST] = waking->ns[HOPE_LEAST]};
	static const double share[] = {
	        [HOPE_MIDDLE] = READ_STAYS / 2, [HOPE_LEAST] = READ_STAYS, [HOPE_MOST] = 0};
	double *part = alloc_zeroed(r->count + 1, sizeof(*part)), left = 0;
	bool behind = false;

	for (uint32_t i = 0; i < r->count; i++) {
		double gap = r->call_events[i].gap;
		bool work = r->given[i].kind != TF_WORK_NONE,
		     follows = work && behind && r->call_events[i].before != CALL_LOG_NONE;
		double woken = fmin(follows ? ns[c->hope] : left, gap);
		if (behind)
			part[i] = fmax(part[i], fmax(woken, share[c->hope] * gap));
		left -= fmin(woken, left);
		behind &= !work;
		if (!(r->call_events[i].flags & REPLAY_READ))
			continue;
		bool all = alike && whatif_has_reader(r, last, i);
		left = reader_waits(r, part, last, i, all ? waking->each : ns[c->hope]);
		behind = !all;
		if (all)
			waits_behind(r, part, whatif_woken(r, waking, i, c->hope == HOPE_LEAST),
			             share[c->hope]);
	}
	return part;
}

/* Where the thread may have been busy with work of its own instead of waiting, that goes too: all
 * at most, and every second in the middle; `no-sync` takes the others away. */
static void drop_unsure_waits(struct whatif_change *c, const struct replay *r,
                              struct replay_act *call_events)
{
	bool *unsure = whatif_unsure_waits(r);
	size_t count = 0;

	for (uint32_t i = 0; i < r->count && c->hope != HOPE_LEAST; i++)
		if (unsure[i] && (c->hope == HOPE_MOST || ++count & 1)) {
			call_events[i].wait = REPLAY_NO_WAIT;
			call_events[i].late = 0;
			c->changed++;
		}
	free(unsure);
}

/*
 * What the host does outside CUDA is partly the cost of issuing calls, as a framework has it: where
 * these could be a graph's, in runs without longer times in between, and of any other call as much
 * as it usually is. Doing less of the program's own work does not take that away, nor what a
 * library copies before it sends it. At best it was work that made the code which is loaded behind
 * it.
 */
static void no_host_work(struct whatif_change *c, const struct replay *r,
                         struct replay_act *call_events)
{
	struct whatif_change graphs = {.what = WHATIF_GRAPHS, .graph_launch = NAN};
	struct replay_act *issued = alloc_zeroed(r->count, sizeof(*issued));

	bool *compiling = call_log_compiling(r->given, r->count, r->call_log->thread_count);
	uint32_t *last = whatif_find_last(r);
	const struct whatif_waking waking = whatif_find_waking(r, last);
	double usual = whatif_usual_gap(r), *waits = still_waiting(c, r, last, &waking),
	       *staging = whatif_staging(r, WHATIF_SENT | WHATIF_MADE | WHATIF_READ, NULL),
	       left[] = {[HOPE_MIDDLE] = WHATIF_HOST_LEFT,
	                 [HOPE_MOST] = 0,
	                 [HOPE_LEAST] = 1 / c->hands};

	memcpy(issued, r->call_events, r->count * sizeof(*issued));
	change_graphs(&graphs, r, issued);
	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		if (issued[i].gap > usual) {
			double of = left[c->hope], wait = waits[i];
			if (compiling[i] && c->hope != HOPE_LEAST) {
				of = 0;
				wait = fmin(wait, waking.ns[c->hope]);
			}
			a->gap = fmax(usual + of * (a->gap - usual),
			              fmax(wait, c->hope == HOPE_MOST ? 0 : staging[i]));
			c->changed++;
		}
		if (c->hope == HOPE_MOST && r->given[i].cls == SPY_CLASS_MODULE)
			a->own = 0;
	}
	drop_unsure_waits(c, r, call_events);
	free(issued);
	free(compiling);
	free(last);
	free(waits);
	free(staging);
}

/* ---- the whole ---- */

/* What the queue was later than estimated is GPU time: it changes with the rest of it. */
static void scale_shifts(const struct replay *r, struct replay_act *call_events)
{
	double sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += call_events[i].gpu;
	if (!(r->gpu > 0) || sum >= r->gpu)
		return;
	for (size_t i = 0; i < r->count; i++)
		call_events[i].shift *= sum / r->gpu;
}

void change_acts(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	if (c->what == WHATIF_GRAPHS)
		change_graphs(c, r, call_events);
	else if (c->what == WHATIF_FUSED)
		change_fused(c, r, call_events);
	else if (c->what == WHATIF_KEPT)
		change_kept(c, r, call_events);
	else if (c->what == WHATIF_STEP)
		change_steps(c, r, call_events);
	else if (c->what == WHATIF_NO_SYNC)
		change_no_sync(c, r, call_events);
	else if (c->what == WHATIF_KERNEL)
		faster(c, r, call_events);
	else if (c->what == WHATIF_CPU)
		no_cpu_wait(c, r, call_events);
	else if (c->what == WHATIF_HOST)
		no_host_work(c, r, call_events);
	else if (c->what == WHATIF_PINNED)
		change_pinned(c, r, call_events);
	else if (c->what == WHATIF_NO_ALLOC)
		change_no_alloc(c, r, call_events);
	else if (c->what == WHATIF_OVERLAP)
		change_overlap(c, r, call_events);
	scale_shifts(r, call_events);
}
