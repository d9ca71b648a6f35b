/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/replay/replay_fit.h"
#include "report/base/alloc.h"

/*
 * XLA reads a result without a CUDA call that waits: it copies it to pinned memory, adds a host
 * function behind the copy, and the program sleeps outside CUDA until that has run. Such a wait
 * shows in what comes next: time after time, no work is given before the copy must have ended. Then
 * the copy is simulated as one that waits, and the rest of the time to the next work is the host's
 * own. It is decided apart for reads behind which another read comes: those may be given together
 * and waited for once.
 */

#define READS_LEAST 8u   /* reads: with fewer nothing is decided */
#define READS_WAIT  0.9  /* share of them after which the next work came late enough: they wait */
#define READS_APART 20e3 /* ns; two reads that are given closer together are one */

static bool is_read(const struct replay *r, size_t i)
{
	const struct call_event *a = &r->given[i];
	uint32_t k = r->next[i];

	if (a->kind != TF_WORK_COPY || a->direction != SPY_DIR_DTOH || !a->async ||
	    a->memory != SPY_MEM_PINNED || a->result || a->flags & CALL_EVENT_CAPTURED)
		return false;
	for (unsigned n = 0; k != CALL_LOG_NONE && n < REPLAY_TOLD_WITHIN; n++, k = r->next[k])
		if (r->given[k].role == CUDA_ROLE_HOST_FUNCTION && !r->given[k].result)
			return true;
	return false;
}

/* The next work, another read too; CALL_LOG_NONE: none comes soon. */
static uint32_t next_work(const struct replay *r, size_t i)
{
	for (size_t k = i + 1; k < r->count && k - i <= REPLAY_LOOK_AHEAD; k++) {
		if (r->given[k].kind != TF_WORK_NONE && !r->given[k].result)
			return (uint32_t)k;
	}
	return CALL_LOG_NONE;
}

void replay_fit_find_reads(struct replay_fit *n)
{
	const struct replay *r = n->replay;
	size_t found = 0;

	n->resumes = alloc_zeroed(r->count, sizeof(*n->resumes));
	for (size_t i = 0; i < r->count; i++) {
		n->resumes[i] = is_read(r, i) ? next_work(r, i) : CALL_LOG_NONE;
		found += n->resumes[i] != CALL_LOG_NONE;
	}
	if (found >= READS_LEAST)
		return;
	free(n->resumes);
	n->resumes = NULL;
}

bool replay_fit_reads_wait(struct replay_fit *n)
{
	bool any = false;

	for (unsigned k = 0; k < REPLAY_READ_KINDS; k++) {
		struct replay_read_kind *of = &n->read_kinds[k];
		of->wait = of->count >= READS_LEAST &&
		           (double)of->waited >= READS_WAIT * (double)of->count;
		any |= of->wait;
	}
	return any;
}

static struct replay_read_kind *kind_of(struct replay_fit *n, uint32_t next)
{
	return &n->read_kinds[n->resumes[next] != CALL_LOG_NONE ? REPLAY_BEFORE_READ
	                                                        : REPLAY_BEFORE_WORK];
}

void replay_fit_read(struct replay_fit *n, size_t i, double end)
{
	if (!n->resumes || n->resumes[i] == CALL_LOG_NONE)
		return;
	n->read = (uint32_t)i;
	n->read_end = end;
}

/* Call i, entered at `start`, comes after the last call of the thread that read the result. */
static void follow(struct replay_fit *n, size_t i, uint16_t reader, double start)
{
	const struct replay *r = n->replay;
	uint32_t last = n->threads[reader].last;

	if (r->given[i].thread == reader || last == CALL_LOG_NONE || r->given[last].end > start)
		return;
	r->call_events[i].before = last;
	r->call_events[i].gap = start - r->given[last].end;
}

void replay_fit_resume(struct replay_fit *n, size_t i, double start)
{
	const struct replay *r = n->replay;
	uint32_t read = n->read;

	if (read == CALL_LOG_NONE || n->resumes[read] != i)
		return;
	double returned = r->given[read].end, left = n->read_end - returned;
	struct replay_read_kind *kind = kind_of(n, (uint32_t)i);
	double apart = kind == &n->read_kinds[REPLAY_BEFORE_READ] ? READS_APART : 0;
	n->read = CALL_LOG_NONE;
	kind->count++;
	kind->waited += start - returned >= fmax((1 - REPLAY_ENDS_OFF) * left, apart);
	if (!kind->wait || !(left > 0) || !(start > returned) || start - returned < apart)
		return;
	struct replay_act *a = &r->call_events[read];
	a->wait = REPLAY_OWN;
	a->flags |= REPLAY_READ;
	a->late = fmin(0, start - n->read_end);
	follow(n, i, r->given[read].thread, start);
	r->call_events[i].gap = fmax(0, r->call_events[i].gap - fmin(left, start - returned));
}
