/* SPDX-License-Identifier: Apache-2.0 */
/* Waits outside CUDA: who makes the reads, the program or a thread for that alone, and which waits
 * may be none. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"

#define WAKES_KNOWN 8u    /* reads: with fewer nothing is known */
#define WAKES_LEAST 10e3  /* ns; in less no thread wakes up: it was awake */
#define WAKES_MOST  400e3 /* more was another wait */

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

/* What the thread that makes a read took to wake up and to come to it, ns; NaN: it was not woken.
 */
static double took_to_wake(const struct replay *r, const uint32_t *last, uint32_t read)
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

struct whatif_waking whatif_find_waking(const struct replay *r, const uint32_t *last)
{
	struct whatif_waking w = {
	        {[HOPE_MIDDLE] = 250e3, [HOPE_MOST] = 400e3, [HOPE_LEAST] = 50e3}};
	double *took = alloc_zeroed(r->count + 1, sizeof(*took));
	size_t count = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (!(r->call_events[i].flags & REPLAY_READ) || !whatif_has_reader(r, last, i))
			continue;
		double ns = took_to_wake(r, last, i);
		if (ns >= WAKES_LEAST)
			took[count++] = ns;
	}
	if (count >= WAKES_KNOWN) {
		double one = fmin(stats_select(took, count, 0.5), WAKES_MOST);
		w = (struct whatif_waking){
		        {[HOPE_MIDDLE] = 2 * one, [HOPE_MOST] = 4 * one, [HOPE_LEAST] = one}};
	}
	free(took);
	return w;
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
