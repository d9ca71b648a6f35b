/* SPDX-License-Identifier: Apache-2.0 */
/* Activities that come when their call is waited for no more. */
#include "shim/core/gpu_time/implausible.h"
#include "shim/core/timeline/timeline_ops.h"
#include "shim/core/work/work_class.h"

/* ns a byte: half of what one lane of PCIe 1 carries. Untrue times were 15 and more (implausible.h:
 * 1 ms for 64 KiB). */
#define SLOWEST_NS 8

static struct tl_given_up *given_up_beside(struct tl_exact *x, uint64_t cause)
{
	return &x->given_up[tl_cause_hash(cause) % (TL_GIVEN_UP / TL_GIVEN_UP_BESIDE) *
	                    TL_GIVEN_UP_BESIDE];
}

static struct tl_given_up *given_up(struct tl_exact *x, uint64_t cause)
{
	struct tl_given_up *beside = given_up_beside(x, cause);

	for (uint32_t i = 0; cause && i < TL_GIVEN_UP_BESIDE; i++)
		if (beside[i].cause == cause)
			return &beside[i];
	return NULL;
}

/* Where no place is free, one whose activity came goes, or any. */
static struct tl_given_up *place(struct tl_exact *x, uint64_t cause)
{
	struct tl_given_up *beside = given_up_beside(x, cause),
	                   *to = &beside[x->given_ups++ % TL_GIVEN_UP_BESIDE];

	for (uint32_t i = 0; i < TL_GIVEN_UP_BESIDE; i++)
		if (!beside[i].cause || beside[i].cause == cause)
			return &beside[i];
		else if (beside[i].told)
			to = &beside[i];
	return to;
}

void tl_exact_give_up(struct tl_exact *x, const struct tl_delayed *d)
{
	const uint64_t cause = tl_cause_of(d);
	bool whole = !tl_exact_is_several(d) || d->cls == SPY_CLASS_GRAPH_LAUNCH;

	*place(x, cause) = (struct tl_given_up){
	        .cause = cause, .work = whole ? d->work : 0, .call = d->r.call};
}

/* What speaks against the times of a copy is not at hand any more (timeline_exact_implausible.c):
 * one that takes milliseconds must at least have moved a byte in SLOWEST_NS, which is less than
 * IMPLAUSIBLE_SLOWEST, as nothing else tells. */
static bool is_believed(const struct tl_activity *a, const struct tf_work *w, double ns)
{
	return (a->kind != TF_WORK_COPY && a->kind != TF_WORK_SET) || ns < IMPLAUSIBLE_LEAST_NS ||
	       ns < SLOWEST_NS * (double)work_size_floor(w->size);
}

bool tl_exact_tell_late(struct timeline *t, const struct tl_activity *a)
{
	struct tl_given_up *g = given_up(&t->exact, a->cause);
	struct tf_work *works = tl_works(t), *work;
	double ns = (double)(a->end - a->start) / t->ticks_per_ns;

	if (!g)
		return false;
	work = works && g->work && !a->graph_node ? &works[g->work - 1] : NULL;
	if (work && is_believed(a, work, ns)) {
		work->exact_count += !g->told; /* a copy may come in pieces */
		work->exact_ns += ns;
		g->told = true;
	}
	g->told |= !g->work;
	t->exact.mute[g->call] = 0; /* they do come */
	__atomic_fetch_add(&tf_header(t->map)->anomaly[SPY_ANOMALY_CUPTI_LATE], 1,
	                   __ATOMIC_RELAXED);
	return true;
}
