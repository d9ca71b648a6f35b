/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_view_calls.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"

double view_length(const struct model_stretch *s, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += s[i].end - s[i].start;
	return sum;
}

double view_held(const struct call_log *h, const struct model_stretch *s)
{
	return fmax(0, fmin(s->end, h->until) - fmax(s->start, h->from));
}

/* The stretches of which all calls are there, one right behind the other: they begin where the
 * first of them does. */
static void join(struct call_log *h, const struct model_stretch *s, size_t count)
{
	const struct call_event *from = h->call_events;
	struct call_event *to = alloc_zeroed(h->count + 1, sizeof(*to));
	struct call_log_piece *pieces = alloc_zeroed(count, sizeof(*pieces));
	double at = NAN;
	size_t kept = 0, joined = 0;

	for (size_t i = 0; i < count; i++) {
		double start = fmax(s[i].start, h->from), end = fmin(s[i].end, h->until);
		if (!(end > start))
			continue;
		if (isnan(at))
			h->steady = at = start;
		for (size_t k = call_log_at(h, start); k < h->count && from[k].start < end; k++) {
			struct call_event e = from[k];
			e.end = fmin(e.end, end) - (start - at);
			e.start -= start - at;
			e.gpu_start -= start - at;
			to[kept++] = e;
		}
		pieces[joined++] = (struct call_log_piece){start, end, start - at};
		at += end - start;
	}
	h->joined = pieces;
	h->joined_count = joined;
	h->call_events = to;
	h->count = kept;
	h->from = h->steady;
	h->until = h->window = at;
	h->whole = false;
}

bool view_cut_calls(struct call_log *h, const struct model_stretch *s, size_t count,
                    const struct view_slices *sum)
{
	size_t held = 0, only = 0;
	double time = view_length(s, count), covered = 0;

	h->judged = time;
	h->cpu_wait = sum->known > 0 ? sum->wait / sum->known : NAN;
	for (size_t d = 0; d < TF_DEVICES_TIMED; d++)
		if (sum->in > 0)
			h->busy = fmax(h->busy, fmin(1, sum->busy[d] / sum->in));
	for (size_t i = 0; i < count; i++) {
		if (!(view_held(h, &s[i]) > 0))
			continue;
		held++;
		only = i;
		covered += view_held(h, &s[i]);
	}
	h->coverage = time > 0 ? fmin(1, covered / time) : NAN;
	if (!held) {
		h->steady = h->window;
		h->count = 0;
		return false;
	}
	if (held > 1) {
		join(h, s, count);
		return true;
	}
	h->steady = s[only].start;
	h->window = s[only].end;
	h->until = fmin(h->until, h->window);
	h->count = call_log_at(h, h->window);
	return false;
}
