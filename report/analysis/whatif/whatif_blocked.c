/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/whatif/whatif_steps.h"
#include "shim/core/cuda/streams.h"

const char *const whatif_blocks[] = {
        [BLOCK_READ] = "host_read",         [BLOCK_WAIT] = "wait",
        [BLOCK_PAGEABLE] = "pageable_copy", [BLOCK_ALLOC] = "allocation",
        [BLOCK_MODULE] = "module_load",     [BLOCK_SHAPES] = "shapes",
        [BLOCK_LEGACY] = "legacy_stream",   [BLOCK_THREADS] = "other_thread",
};
_Static_assert(sizeof(whatif_blocks) / sizeof(whatif_blocks[0]) == BLOCK_KINDS, "whatif_blocks");

/* What is there in fewer steps than this share is no habit: a step that stands out. */
#define LEAST_OFTEN 0.01

struct tally {
	const struct whatif_steps *s;
	double *counts; /* of each kind and call */
};

static void note(struct tally *t, enum whatif_block_kind kind, uint32_t call)
{
	t->counts[(size_t)kind * t->s->replay->call_log->call_count + call]++;
}

/* Fetches a result, which is waited for by the copy itself or right behind it. */
static bool is_read(const struct call_event *a)
{
	return a->kind == TF_WORK_COPY && a->direction == SPY_DIR_DTOH &&
	       a->bytes <= WHATIF_SMALL_COPY;
}

/* A wait with work of its step behind it that another wait follows: one, the last, may stay.
 * `last`: the piece of work before it, NULL where there is none or that waited itself. */
static void note_wait(struct tally *t, const struct call_event *a, const struct call_event *last)
{
	if (a->cls == SPY_CLASS_ALLOC || a->cls == SPY_CLASS_MODULE)
		return;
	if (a->kind == TF_WORK_COPY)
		note(t, BLOCK_READ, a->call);
	else if (last && is_read(last))
		note(t, BLOCK_READ, last->call);
	else
		note(t, BLOCK_WAIT, a->call);
}

/* What the program would know the wait by: where a host function woke the thread, that one. */
static const struct call_event *waited_by(const struct replay *r, size_t i)
{
	const struct replay_act *a = &r->call_events[i];

	return &r->given[a->flags & REPLAY_TOLD ? a->event : i];
}

static void note_call(struct tally *t, const struct call_event *a, bool piece)
{
	const struct call_log *h = t->s->replay->call_log;

	if (a->result || a->flags & CALL_EVENT_CAPTURED)
		return;
	if (a->cls == SPY_CLASS_ALLOC && !cuda_role_is_ordered(a->role))
		note(t, BLOCK_ALLOC, a->call);
	else if (cuda_role_is_loading(a->role) || a->role == CUDA_ROLE_CODE_UNLOADED)
		note(t, BLOCK_MODULE, a->call);
	else if (a->kind == TF_WORK_COPY && a->memory == SPY_MEM_PAGEABLE &&
	         a->direction == SPY_DIR_HTOD)
		note(t, BLOCK_PAGEABLE, a->call);
	if (piece && a->stream != CALL_LOG_NONE &&
	    cuda_stream_is_legacy(h->streams[a->stream].flags))
		note(t, BLOCK_LEGACY, a->call);
}

/* The calls of the steps. */
static void look_inside(struct tally *t)
{
	const struct whatif_steps *s = t->s;
	const struct replay *r = s->replay;
	struct point {
		uint32_t waits; /* so far, * 2 + 1 in one */
		const struct call_event *last;
		bool waited; /* the last piece itself */
	} *points = alloc_zeroed(s->count + 1, sizeof(*points));

	for (size_t i = 0; i < r->count; i++) {
		if (s->of[i] == CALL_LOG_NONE)
			continue;
		const struct call_event *a = &r->given[i];
		struct point *at = &points[s->of[i]];
		bool piece = whatif_step_piece(a, &r->call_events[i]),
		     wait = whatif_step_wait(a, &r->call_events[i]);
		/* What waits right behind a read that waited waits for nothing more. */
		bool again = wait && !piece && at->waited && at->last && is_read(at->last);
		if (wait) {
			at->waits += !(at->waits & 1);
			if (at->waits / 2 + 1 < s->steps[s->of[i]].waits && !again)
				note_wait(t, waited_by(r, i), at->last);
		} else if (piece) {
			at->waits += at->waits & 1;
		}
		if (piece || a->kind == TF_WORK_COPY) {
			at->last = a;
			at->waited = wait;
		}
		note_call(t, a, piece);
	}
	free(points);
}

/* Work that threads without a part in the steps give meanwhile. */
static void look_beside(struct tally *t)
{
	const struct whatif_steps *s = t->s;
	const struct replay *r = s->replay;
	size_t at = 0;

	for (size_t i = 0; i < r->count && at < s->count; i++) {
		const struct call_event *a = &r->given[i];
		while (at < s->count && s->steps[at].end <= a->start)
			at++;
		if (at < s->count && s->steps[at].start <= a->start && a->kind != TF_WORK_NONE &&
		    !a->result && s->leader[a->thread] == STEP_NO_THREAD)
			note(t, BLOCK_THREADS, a->call);
	}
}

/* Steps of the usual kernels in another shape, as their first call. */
static void look_at_shapes(struct tally *t, uint64_t sequence, uint64_t names)
{
	const struct whatif_steps *s = t->s;
	const struct replay *r = s->replay;
	bool *seen = alloc_zeroed(s->count + 1, sizeof(*seen));

	for (size_t i = 0; i < r->count; i++) {
		const struct whatif_step *step =
		        s->of[i] == CALL_LOG_NONE ? NULL : &s->steps[s->of[i]];
		if (!step || seen[s->of[i]] || step->names != names || step->sequence == sequence ||
		    r->given[i].kind != TF_WORK_KERNEL)
			continue;
		seen[s->of[i]] = true;
		note(t, BLOCK_SHAPES, r->given[i].call);
	}
	free(seen);
}

/* Of the steps with the most common names, one whose sequence is the most common of all. */
static const struct whatif_step *typical(const struct whatif_steps *s)
{
	const struct whatif_step *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < s->count; i += 1 + s->count / 256) {
		size_t same = 0;
		for (size_t k = 0; k < s->count; k++)
			same += s->steps[k].sequence == s->steps[i].sequence;
		if (same > most) {
			best = &s->steps[i];
			most = same;
		}
	}
	return best;
}

static int by_count(const void *a, const void *b)
{
	const struct whatif_block *x = a, *y = b;

	/* Where it works is nothing that it does: a capture is made on another stream. */
	if ((x->kind == BLOCK_LEGACY) != (y->kind == BLOCK_LEGACY))
		return x->kind == BLOCK_LEGACY ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->kind != y->kind ? x->kind < y->kind ? -1 : 1 : strcmp(x->call, y->call);
}

static void list(const struct tally *t, struct whatif_result *to)
{
	const struct call_log *h = t->s->replay->call_log;
	struct whatif_block *all = alloc_zeroed(BLOCK_KINDS * h->call_count, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < BLOCK_KINDS * h->call_count; i++) {
		if (!(t->counts[i] > LEAST_OFTEN * (double)t->s->count))
			continue;
		struct whatif_block *b = &all[count++];
		b->kind = (enum whatif_block_kind)(i / h->call_count);
		b->count = t->counts[i];
		b->per_step = t->counts[i] / (double)t->s->count;
		memcpy(b->call, h->calls[i % h->call_count].name, sizeof(b->call));
	}
	if (count)
		qsort(all, count, sizeof(*all), by_count);
	to->blocked_count = count < WHATIF_BLOCKS ? count : WHATIF_BLOCKS;
	memcpy(to->blocked, all, to->blocked_count * sizeof(*all));
	free(all);
}

void whatif_steps_blocked(const struct whatif_steps *s, struct whatif_result *to)
{
	struct tally t = {.s = s};
	const struct whatif_step *usual = typical(s);

	/* Of several processes the one with most steps speaks. */
	if (!usual || (double)s->count <= to->blocked_steps)
		return;
	to->blocked_steps = (double)s->count;
	t.counts = alloc_zeroed(BLOCK_KINDS * s->replay->call_log->call_count, sizeof(*t.counts));
	look_inside(&t);
	look_beside(&t);
	look_at_shapes(&t, usual->sequence, usual->names);
	list(&t, to);
	free(t.counts);
}
