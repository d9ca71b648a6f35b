#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/reader_check.h"

/*
 * A thread counts what it does in its own slot, exactly; the drain counts the same again from the
 * thread's records, as far as none was lost, and in other places of the file. So the second count
 * can be less than the first, never more: where it is, the first is damaged. Of a recording that
 * was killed nothing else tells; the seal of a closed one leaves out the threads that were in a
 * call.
 */
struct counted {
	uint64_t slack;    /* so many records the drain may have counted twice */
	uint64_t *calls;   /* by call, all threads */
	uint64_t *kernels; /* launches by kernel */
	uint64_t work[TF_WORK_KINDS];
	uint64_t copies[TF_COPY_KINDS], bytes[TF_COPY_KINDS];
};

/* Those that the collector had counted, and not yet given back, when it was killed: shim/drain.c.
 */
#define TWICE_MOST 64

/* A signal handler that calls CUDA may cost a count that it interrupts. */
static bool is_short(uint64_t counted, uint64_t recounted, uint64_t slack)
{
	return recounted > counted && recounted - counted > slack + counted / 1000;
}

static void more(uint64_t *sum, uint64_t by)
{
	if (__builtin_add_overflow(*sum, by, sum))
		*sum = UINT64_MAX;
}

static void add_kernels(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	for (uint32_t dir = 0; dir < TF_KERNEL_DIRS; dir++) {
		uint64_t at = (uint64_t)t->kernel_pages[dir] * 64;
		const struct tf_kernel_stat *page =
		        tf_at(&r->map, at, TF_KERNEL_PAGE * sizeof(*page));
		for (uint32_t i = 0; page && i < TF_KERNEL_PAGE; i++)
			more(&c->kernels[dir * TF_KERNEL_PAGE + i], page[i].launches);
	}
}

static void add_calls(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	uint64_t failed = 0, kinds = 0;

	for (uint32_t i = 0; i < r->thread_calls; i++) {
		more(&c->calls[i], t->calls[i].calls);
		more(&failed, t->calls[i].failed);
	}
	for (uint32_t i = 0; i < TF_FAILURES; i++)
		more(&kinds, t->failures[i].count);
	/* A kill comes between the two. */
	bool all = !tf_header(&r->map)->trouble[SPY_TROUBLE_FAILURES_FULL];
	if (is_short(failed, kinds, 0) || (all && is_short(kinds, failed, 1)))
		warn(&r->damage, "thread %llu: its counts of failures do not agree",
		     (unsigned long long)t->tid);
}

static void add_thread(struct recording *r, struct counted *c, const struct tf_thread *t)
{
	add_calls(r, c, t);
	add_kernels(r, c, t);
	more(&c->work[TF_WORK_KERNEL], t->launches);
	more(&c->work[TF_WORK_KERNEL], t->items[SPY_CLASS_LAUNCH]);
	more(&c->work[TF_WORK_GRAPH], t->items[SPY_CLASS_GRAPH_LAUNCH]);
	more(&c->work[TF_WORK_COPY], t->items[SPY_CLASS_COPY]);
	more(&c->work[TF_WORK_SET], t->items[SPY_CLASS_SET]);
	for (uint32_t k = 0; k < TF_COPY_KINDS; k++) {
		more(&c->copies[k], t->copies[k].count);
		more(&c->bytes[k], t->copies[k].bytes);
	}
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

static bool short_of_records(const struct recording *r, const struct counted *c)
{
	const struct tf_header *h = tf_header(&r->map);
	struct recounted again;

	memset(&again, 0, sizeof(again));

	for (uint32_t i = 0; i < r->calls; i++) {
		const struct tf_call *call = tf_entry(&r->map, &h->calls, i, sizeof(*call));
		if (call && is_short(c->calls[i], recounted_in(r, call->hist), c->slack))
			return true;
	}
	for (uint32_t i = 0; i < r->kernels && i < TF_KERNELS_MAX; i++) {
		const struct tf_kernel *k = tf_entry(&r->map, &h->kernels, i, sizeof(*k));
		if (k && is_short(c->kernels[i], recounted_in(r, k->hist), c->slack))
			return true;
	}
	recount_works(r, &again);
	for (int k = TF_WORK_KERNEL; k <= TF_WORK_SET; k++)
		if (is_short(c->work[k], again.work[k], c->slack))
			return true;
	for (uint32_t k = 0; k < TF_COPY_KINDS; k++)
		if (is_short(c->copies[k], again.copies[k], c->slack) ||
		    (!c->slack && is_short(c->bytes[k], again.bytes[k], 0)))
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

void reader_check_counts(struct recording *r)
{
	if (is_sealed(r))
		return;

	bool open = tf_header(&r->map)->state == TF_STATE_OPEN;
	struct counted c = {.slack = open ? TWICE_MOST : 0,
	                    .calls = alloc_zeroed((size_t)r->calls + 1, sizeof(*c.calls)),
	                    .kernels = alloc_zeroed(TF_KERNELS_MAX, sizeof(*c.kernels))};

	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (t)
			add_thread(r, &c, t);
	}
	if (short_of_records(r, &c))
		warn(&r->damage, "its threads counted less than their records say");
	if (short_of_ranges(r))
		warn(&r->damage, "NVTX ranges were counted less often than their rows say");
	free(c.calls);
	free(c.kernels);
}
