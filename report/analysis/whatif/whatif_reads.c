/* SPDX-License-Identifier: Apache-2.0 */
/* Waits outside CUDA: who makes the reads, the program or a thread for that alone, and which waits
 * may be none. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"

#define WAKES_KNOWN   8u    /* reads, and half of all: with fewer nothing is known */
#define WAKES_LEAST   10e3  /* ns; in less no thread wakes up: it was awake */
#define WAKES_MOST    400e3 /* in more the program did other work before it asked for the result */
#define WAKES_SCATTER 6.0   /* times the median may one read take: 4 did 5 % in a program of JAX */
#define WAKES_ALIKE   2.0   /* times as long on one side of the read: work of the program's own */

uint32_t *whatif_find_last(const struct replay *r)
{
	uint32_t *last = alloc_zeroed(r->count, sizeof(*last));

	for (size_t i = 0; i < r->count; i++)
		last[i] = CALL_LOG_NONE;
	for (uint32_t i = 0; i < r->count; i++)
		if (r->next[i] != CALL_LOG_NONE)
			last[r->next[i]] = i;
	return last;
}

/* Whether its thread gave other work than copies since its read before. */
static bool gives_itself(const struct replay *r, const uint32_t *last, uint32_t read)
{
	uint32_t i = last[read];

	for (uint32_t n = 0; i != CALL_LOG_NONE && n < REPLAY_LOOK_AHEAD; n++, i = last[i]) {
		const struct call_event *given = &r->given[i];
		if (r->call_events[i].flags & REPLAY_READ)
			return false;
		if (given->kind != TF_WORK_NONE && given->kind != TF_WORK_COPY)
			return true;
	}
	return false;
}

bool whatif_has_reader(const struct replay *r, const uint32_t *last, uint32_t read)
{
	const uint32_t end = read + 1 + REPLAY_LOOK_AHEAD;

	if (gives_itself(r, last, read))
		return false;
	for (uint32_t k = read + 1; k < end && k < r->count; k++) {
		if (r->given[k].thread != r->given[read].thread) {
			if (r->given[k].kind != TF_WORK_NONE)
				return true;
		} else if (r->given[k].kind != TF_WORK_NONE && r->given[k].kind != TF_WORK_COPY) {
			return false;
		}
	}
	return false;
}

/* From the last call of another thread until the thread that it woke up copies the result, ns: NaN
 * where none woke it up. */
static double ahead_of(const struct replay *r, const uint32_t *last, uint32_t read)
{
	double took = 0;

	for (uint32_t i = read; i != CALL_LOG_NONE; i = last[i]) {
		if (i != read && r->given[i].kind != TF_WORK_NONE)
			break;
		took += r->call_events[i].gap;
		if (r->call_events[i].before != CALL_LOG_NONE)
			return took;
	}
	return NAN;
}

/* From that thread's last call behind the copy until the program's thread goes on, ns; NaN: another
 * one did before, or it did not. */
static double behind(const struct replay *r, uint32_t read)
{
	uint16_t reader = r->given[read].thread;

	for (uint32_t i = read + 1; i < r->count && i - read <= REPLAY_LOOK_AHEAD; i++) {
		uint32_t before = r->call_events[i].before;
		if (r->given[i].thread != reader && before != CALL_LOG_NONE &&
		    r->given[before].thread == reader)
			return r->call_events[i].gap;
		if (r->given[i].kind != TF_WORK_NONE)
			break;
	}
	return NAN;
}

struct whatif_waking whatif_find_waking(const struct replay *r, const uint32_t *last)
{
	struct whatif_waking w = {
	        .ns = {[HOPE_MIDDLE] = 250e3, [HOPE_MOST] = 400e3, [HOPE_LEAST] = 50e3}};
	double *woken = alloc_zeroed(r->count + 1, sizeof(*woken)),
	       *back = alloc_zeroed(r->count + 1, sizeof(*back));
	size_t reads = 0, count = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (!(r->call_events[i].flags & REPLAY_READ) || !whatif_has_reader(r, last, i) ||
		    r->given[i].bytes > WHATIF_SMALL_COPY)
			continue;
		double one = ahead_of(r, last, i), other = behind(r, i);
		reads++;
		if (!(one >= WAKES_LEAST && one <= WAKES_MOST) || isnan(other))
			continue;
		woken[count] = one;
		back[count++] = other;
	}
	if (count >= WAKES_KNOWN && 2 * count >= reads) {
		double one = stats_select(woken, count, 0.5),
		       other = stats_select(back, count, 0.5), least = fmin(one, other);
		w.alike = fmax(one, other) <= WAKES_ALIKE * least;
		w.own = fmax(0, other - one) / 2;
		w.each = WAKES_SCATTER * least;
		w.ns[HOPE_MIDDLE] = fmin(2 * least, w.ns[HOPE_MIDDLE]);
		w.ns[HOPE_MOST] = fmin(4 * least, w.ns[HOPE_MOST]);
		w.ns[HOPE_LEAST] = fmin(least, w.ns[HOPE_LEAST]);
	}
	free(woken);
	free(back);
	return w;
}

struct whatif_woken whatif_woken(const struct replay *r, const struct whatif_waking *waking,
                                 uint32_t read, bool most)
{
	return (struct whatif_woken){.replay = r,
	                             .waking = waking,
	                             .most = most,
	                             .read = read,
	                             .at = read,
	                             .left = waking->each};
}

bool whatif_woken_next(struct whatif_woken *w)
{
	const struct replay *r = w->replay;

	while (!w->work && ++w->at < r->count) {
		w->work = r->given[w->at].kind != TF_WORK_NONE;
		if (w->work || r->given[w->at].thread != r->given[w->read].thread)
			return true;
	}
	return false;
}

double whatif_woken_goes(struct whatif_woken *w, double gap)
{
	double goes = w->most ? fmin(gap, w->left) : 0;

	if (!w->begun && !w->most)
		goes = fmax(0, fmin(gap, w->left) - w->waking->own);
	else if (w->work && w->replay->call_events[w->at].before != CALL_LOG_NONE)
		goes = fmax(goes, fmin(gap, w->gone)); /* the same time twice */
	w->begun = true;
	w->left -= fmin(goes, w->left);
	w->gone += goes;
	return goes;
}

/* Of each call whether its thread's next work, or itself, is the copy of a result that is waited
 * for in turn. (Free it.) */
static bool *find_leads(const struct replay *r)
{
	bool *leads = alloc_zeroed(r->count + 1, sizeof(*leads));

	for (size_t i = r->count; i-- > 0;)
		leads[i] = r->given[i].kind != TF_WORK_NONE
		                   ? r->call_events[i].flags & REPLAY_READ
		                   : r->next[i] != CALL_LOG_NONE && leads[r->next[i]];
	return leads;
}

bool *whatif_unsure_waits(const struct replay *r)
{
	bool *unsure = find_leads(r);

	for (size_t i = 0; i < r->count; i++)
		unsure[i] = !unsure[i] && r->call_events[i].flags & REPLAY_UNSURE;
	return unsure;
}
