/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/reader/reader_check.h"
#include "shim/core/drain/drain.h"

/*
 * A thread counts what it does in its own slot, exactly; the drain counts the same again from the
 * thread's records, as far as none was lost, and in other places of the file. Where the second
 * count is more than the first, or less by more than was lost, one of them is damaged. Of a
 * recording that was killed nothing else tells; the seal of a closed one leaves out the threads
 * that were in a call.
 */
struct counted {
	bool open;         /* its process was killed, or made calls after the end */
	uint64_t twice;    /* records that may have been counted twice: recording.twice */
	uint64_t lost;     /* records; and of each thread one that it was about to write */
	uint64_t *calls;   /* by call, all threads */
	uint64_t *kernels; /* launches by kernel */
	uint64_t work[TF_WORK_KINDS];
	uint64_t copies[TF_COPY_KINDS], bytes[TF_COPY_KINDS];
};

/* Of so many counts one may have been interrupted, and be gone, by a signal handler that calls
 * CUDA. Of a killed process that is allowed for. */
#define INTERRUPTED 1000

static bool is_short(const struct counted *c, uint64_t counted, uint64_t recounted)
{
	if (recounted <= counted)
		return false;
	uint64_t most = c->open ? c->twice + counted / INTERRUPTED : 0;
	return recounted - counted > most || recounted / 2 > counted;
}

static void more(uint64_t *sum, uint64_t by)
{
	if (__builtin_add_overflow(*sum, by, sum))
		*sum = UINT64_MAX;
}

static uint64_t add_kernels(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	uint64_t sum = 0;

	for (uint32_t dir = 0; dir < TF_KERNEL_DIRS; dir++) {
		uint64_t at = (uint64_t)t->kernel_pages[dir] * 64;
		const struct tf_kernel_stat *page =
		        tf_at(&r->map, at, TF_KERNEL_PAGE * sizeof(*page));
		for (uint32_t i = 0; page && i < TF_KERNEL_PAGE; i++) {
			more(&c->kernels[dir * TF_KERNEL_PAGE + i], page[i].launches);
			more(&sum, page[i].launches);
		}
	}
	return sum;
}

static uint64_t add_copies(struct counted *c, const struct tf_thread *t)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < TF_COPY_KINDS; k++) {
		more(&c->copies[k], t->copies[k].count);
		more(&c->bytes[k], t->copies[k].bytes);
		more(&sum, t->copies[k].count);
	}
	return sum;
}

static uint64_t add_calls(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	uint64_t failed = 0;

	for (uint32_t i = 0; i < r->thread_calls; i++) {
		more(&c->calls[i], t->calls[i].calls);
		more(&failed, t->calls[i].failed);
	}
	return failed;
}

static uint64_t sum_failures(const struct tf_thread *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < TF_FAILURES; i++)
		more(&sum, t->failures[i].count);
	return sum;
}

/* Two counts of one thing, one of which is one ahead at times. */
static void must_agree(struct recording *r, const struct counted *c, const struct tf_thread *t,
                       const char *what, uint64_t a, uint64_t b)
{
	uint64_t high = a > b ? a : b, apart = high - (a > b ? b : a);

	if (apart > 1 + (c->open ? high / INTERRUPTED : 0))
		warn(&r->damage, "thread %llu: its counts of %s do not agree",
		     (unsigned long long)t->tid, what);
}

static void add_thread(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	uint64_t failed = add_calls(r, c, t), kinds = sum_failures(t);

	must_agree(r, c, t, "launches", add_kernels(r, c, t), t->launches);
	must_agree(r, c, t, "copies", add_copies(c, t), t->items[SPY_CLASS_COPY]);
	if (kinds > failed || !tf_header(&r->map)->anomaly[SPY_ANOMALY_FAILURES_FULL])
		must_agree(r, c, t, "failures", failed, kinds);
	more(&c->lost, t->lost);
	more(&c->lost, 1);
	more(&c->work[TF_WORK_KERNEL], t->launches);
	more(&c->work[TF_WORK_KERNEL], t->items[SPY_CLASS_LAUNCH]);
	more(&c->work[TF_WORK_GRAPH], t->items[SPY_CLASS_GRAPH_LAUNCH]);
	more(&c->work[TF_WORK_COPY], t->items[SPY_CLASS_COPY]);
	more(&c->work[TF_WORK_SET], t->items[SPY_CLASS_SET]);
}

/* By the drain. */
struct recounted {
	uint64_t work[TF_WORK_KINDS];
	uint64_t copies[TF_COPY_KINDS], bytes[TF_COPY_KINDS];
};

static void recount_works(const struct recording *r, struct recounted *c)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_work *works = tf_at(&r->map, h->works, TF_WORKS * sizeof(*works));

	for (uint32_t i = 0; works && i < TF_WORKS; i++) {
		const struct tf_work *w = &works[i];
		if (w->kind >= TF_WORK_KINDS)
			continue;
		more(&c->work[w->kind], w->count);
		if (w->kind != TF_WORK_COPY || w->direction >= SPY_DIR_COUNT ||
		    w->memory >= SPY_MEM_COUNT)
			continue;
		more(&c->copies[TF_COPY_KIND(w->direction, w->memory, w->async)], w->count);
		more(&c->bytes[TF_COPY_KIND(w->direction, w->memory, w->async)], w->bytes);
	}
}

static uint64_t recounted_in(const struct recording *r, uint64_t hist)
{
	const struct tf_hist *h = tf_at(&r->map, hist, sizeof(*h));

	return h ? h->count : 0;
}

/* More calls than records, lost ones too: a count has grown. */
static bool is_long(const struct recording *r, const struct counted *c, uint64_t counted,
                    uint64_t recounted)
{
	if (tf_header(&r->map)->anomaly[SPY_ANOMALY_FILE_FULL] || counted <= recounted)
		return false;
	return counted - recounted > c->lost + (c->open ? counted / INTERRUPTED : 0);
}

static bool differs_from_records(const struct recording *r, const struct counted *c)
{
	const struct tf_header *h = tf_header(&r->map);
	struct recounted works;

	memset(&works, 0, sizeof(works));

	for (uint32_t i = 0; i < r->calls; i++) {
		const struct tf_call *call = tf_entry(&r->map, &h->calls, i, sizeof(*call));
		uint64_t again = call ? recounted_in(r, call->hist) : 0;
		if (is_short(c, c->calls[i], again) || is_long(r, c, c->calls[i], again))
			return true;
	}
	for (uint32_t i = 0; i < r->kernels && i < TF_KERNELS_MAX; i++) {
		const struct tf_kernel *k = tf_entry(&r->map, &h->kernels, i, sizeof(*k));
		if (k && is_short(c, c->kernels[i], recounted_in(r, k->hist)))
			return true;
	}
	recount_works(r, &works);
	for (int k = TF_WORK_KERNEL; k <= TF_WORK_SET; k++)
		if (is_short(c, c->work[k], works.work[k]))
			return true;
	for (uint32_t k = 0; k < TF_COPY_KINDS; k++)
		if (is_short(c, c->copies[k], works.copies[k]) ||
		    (!c->open && is_short(c, c->bytes[k], works.bytes[k])))
			return true;
	return false;
}

/* NVTX ranges against their rows in the table of steps and their distributions. */
static bool short_of_ranges(const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	uint64_t *rows = alloc_zeroed((size_t)r->ranges + 1, sizeof(*rows));
	bool found = false;

	for (uint32_t i = 0; i < r->steps; i++) {
		const struct tf_step *s = tf_entry(&r->map, &h->steps, i, sizeof(*s));
		if (s && !(s->flags & TF_STEP_FOUND))
			rows[s->source < r->ranges ? s->source : r->ranges]++;
	}
	found = rows[r->ranges] > 0;
	for (uint32_t i = 0; i < r->ranges; i++) {
		const struct tf_nvtx_range *n = tf_entry(&r->map, &h->ranges, i, sizeof(*n));
		found |= n && (rows[i] > n->count || recounted_in(r, n->hist) > n->count ||
		               n->counted > n->count);
	}
	free(rows);
	return found;
}

/* The seal vouches for all of it. */
static bool is_sealed(const struct recording *r)
{
	bool all = r->seal == SEAL_HOLDS;

	for (uint32_t i = 0; all && i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		all = !t || !t->unsealed;
	}
	return all;
}

uint64_t reader_counted_already(const struct recording *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		const struct tf_ring *ring =
		        t ? tf_at(&r->map, t->ring_drain ? t->ring_drain : t->ring_first,
		                  sizeof(*ring))
		          : NULL;
		uint64_t left = ring ? ring->head - ring->tail : 0;
		sum += left < DRAIN_TWICE_MOST ? left : DRAIN_TWICE_MOST;
	}
	return sum;
}

void reader_check_counts(struct recording *r)
{
	if (is_sealed(r))
		return;

	const struct tf_header *h = tf_header(&r->map);
	bool open = h->state == TF_STATE_OPEN || h->seal.state != TF_SEAL_WHOLE;
	struct counted c = {.open = open,
	                    .twice = r->twice,
	                    .calls = alloc_zeroed((size_t)r->calls + 1, sizeof(*c.calls)),
	                    .kernels = alloc_zeroed(TF_KERNELS_MAX, sizeof(*c.kernels))};

	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (t)
			add_thread(r, &c, t);
	}
	if (differs_from_records(r, &c))
		warn(&r->damage, "its threads counted other than their records say");
	if (short_of_ranges(r))
		warn(&r->damage, "NVTX ranges were counted less often than their rows say");
	free(c.calls);
	free(c.kernels);
}
