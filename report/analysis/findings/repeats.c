/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/findings/repeats.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"

/* The latest so many pieces of work and waits are looked at, for sequences of at most so many:
 * a training step has some thousands. */
#define PIECES_MOST 32768u
#define LENGTH_MOST 4096u
/* Of the pieces so many (share) must be as they were one sequence before; what comes so close to
 * the best length and is shorter is the length. */
#define ALIKE_LEAST 0.5
#define ALIKE_CLOSE 0.02
#define ALIKE_ALL   0.999

#define WAIT 0u

struct piece {
	uint32_t what; /* WAIT, or a number for the class of work and the stream */
	const struct call_event *act;
};

static uint16_t busiest_thread(const struct finding_context *s)
{
	uint64_t *launches = alloc_zeroed(s->h->thread_count + 1, sizeof(*launches));
	size_t best = 0;

	for (size_t i = 0; i < s->count; i++)
		launches[s->call_events[i].thread] += s->call_events[i].kind == TF_WORK_KERNEL;
	for (size_t i = 0; i < s->h->thread_count; i++)
		if (launches[i] > launches[best])
			best = i;
	free(launches);
	return (uint16_t)best;
}

/* The thread's latest ones, in order; how many. */
static size_t take(const struct finding_context *s, struct piece *pieces)
{
	uint16_t thread = busiest_thread(s);
	size_t from = s->count, count = 0;

	for (; from && count < PIECES_MOST; from--) {
		const struct call_event *a = &s->call_events[from - 1];
		count += a->thread == thread && (flow_is_work(a) || flow_is_wait(a));
	}
	count = 0;
	for (size_t i = from; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->thread != thread || !(flow_is_work(a) || flow_is_wait(a)))
			continue;
		uint32_t what = (a->work + 1) * 31 + a->stream + 2; /* CALL_LOG_NONE + 1 = 0 */
		pieces[count++] = (struct piece){.what = flow_is_wait(a) ? WAIT
		                                         : what          ? what
		                                                         : 1,
		                                 .act = a};
	}
	return count;
}

static double alike(const uint32_t *what, size_t count, size_t length)
{
	size_t same = 0;

	for (size_t i = length; i < count; i++)
		same += what[i] == what[i - length];
	return (double)same / (double)(count - length);
}

/* 0 = none. */
static size_t length_of(const struct piece *pieces, size_t count)
{
	size_t most = count / 3 < LENGTH_MOST ? count / 3 : LENGTH_MOST, best = 0;
	uint32_t *what = alloc_zeroed(count + 1, sizeof(*what));
	double best_alike = ALIKE_LEAST;

	for (size_t i = 0; i < count; i++)
		what[i] = pieces[i].what;
	for (size_t length = 1; length <= most && best_alike < ALIKE_ALL; length++) {
		double now = alike(what, count, length);
		if (now > best_alike + (best ? ALIKE_CLOSE : 0)) {
			best = length;
			best_alike = now;
		}
	}
	free(what);
	return best;
}

static bool repeated(const struct piece *pieces, size_t at, size_t length)
{
	for (size_t i = at; i < at + length; i++)
		if (pieces[i].what != pieces[i - length].what)
			return false;
	return true;
}

static double start_of(const struct piece *pieces, size_t count, size_t at)
{
	return at < count ? pieces[at].act->start : pieces[count - 1].act->end;
}

/* What the repeated sequence at that place is made of. */
static void describe(struct repeats *r, const struct piece *pieces, size_t at, size_t length)
{
	for (size_t i = at; i < at + length; i++) {
		bool launch = pieces[i].act->kind == TF_WORK_KERNEL, wait = pieces[i].what == WAIT;
		r->launches += launch;
		r->waits += wait;
		r->others += !launch && !wait;
	}
}

struct repeats repeats_find(const struct finding_context *s)
{
	struct piece *pieces = alloc_zeroed(PIECES_MOST + 1, sizeof(*pieces));
	struct repeats r = {0};
	size_t count = take(s, pieces), length = length_of(pieces, count), counted = 0;
	size_t run = 0, longest = 0, typical = 0; /* in a row; a place in the longest row */

	for (size_t i = length; length && i + length <= count;) {
		if (!repeated(pieces, i, length)) {
			i++;
			continue;
		}
		bool again = i == counted; /* else the one before it counts too */
		size_t from = again || i - length < counted ? i : i - length;
		r.count += from == i ? 1 : 2;
		r.covered += start_of(pieces, count, i + length) - start_of(pieces, count, from);
		run = again ? run + 1 : 1;
		if (run > longest) {
			longest = run;
			typical = i;
		}
		counted = i += length;
	}
	if (r.count) {
		describe(&r, pieces, typical, length);
		r.looked = start_of(pieces, count, count) - start_of(pieces, count, 0);
	}
	free(pieces);
	return r;
}
