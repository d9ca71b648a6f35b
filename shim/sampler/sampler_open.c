/* SPDX-License-Identifier: Apache-2.0 */
/* How a sample begins: what goes ahead of the first event, and that. */
#include "shim/sampler/sampler_open.h"

#include "shim/record/span.h"
#include "shim/sampler/sampler_ahead.h"
#include "shim/sampler/sampler_beside.h"
#include "shim/sampler/sampler_section.h"

#define CALIBRATE_ONE 3 /* one sample in so many is a calibration: of the events' own cost */
/* A kernel of ours that took so many times what an event did waited for a place in a full queue. */
#define FULL_TIMES     16
#define KERNELS_LATELY (1u << 28) /* ticks: some 0.1 to 0.3 s */

/* Whether what is ahead on the stream is a kernel or a graph: the thread gave no copy and no set
 * since its last sample, and no other thread anything to the stream. */
static bool kernel_ahead(struct sampler *m, const struct sampler_spot *spot, uint64_t now)
{
	const struct tf_thread *th = spy_tls.thread;
	uint64_t copies = th->items[SPY_CLASS_COPY] + th->items[SPY_CLASS_SET], before = m->copies,
	         since = m->opened;

	m->copies = copies;
	m->opened = now;
	return m->full && copies == before &&
	       !beside_works(&spy_map, th, m->context->number, spot->stream, spot->ptds, since);
}

/*
 * What goes ahead of the first event, then that event. In a full queue a kernel waits for a place,
 * as long as the program's kernels last, and an event does not: a kernel of ours that waited is
 * left out of the next samples, whose pairs stand behind a kernel of the program.
 */
static bool begin_pair(struct sampler *m, const struct sampler_spot *spot)
{
	uint64_t before = spy_clock();
	bool behind = kernel_ahead(m, spot, before);

	if (!behind && !sampler_make_ahead(m->context, m->pair, spot, m->stall_us))
		return false;
	uint64_t start = spy_clock();
	m->making = start - before;

	m->full -= m->full > 0;
	if (!behind) {
		if (!sampler_put_ahead(m->context, m->pair, spot, m->stall_us))
			return false;
		m->opened = spy_clock();
	}
	if (!sampler_put_event(m->context, m->pair->a, spot->stream, spot->ptds))
		return false;
	if (!m->stall_us && m->opened - start > FULL_TIMES * (spy_clock() - m->opened))
		m->full = SAMPLER_FULL;
	return true;
}

/* What a pair costs is told by kernels where they are sampled, and else by graphs of ours: the two
 * differ by 0.06 to 0.25 us (H200). */
static bool graphs_calibrate(const struct sampler_context *c)
{
	return spy_clock() - __atomic_load_n(&c->kernels, __ATOMIC_RELAXED) > KERNELS_LATELY;
}

bool sampler_open(struct sampler *m, const struct spy_span *s, CUstream stream, bool may_stall)
{
	struct sampler_context *c = m->context;
	const struct sampler_spot spot =
	        sampler_spot_of(s, stream, __atomic_load_n(&c->graphs, __ATOMIC_RELAXED));

	if (!section_clear())
		return false;
	CUresult idle = sampler_cu.stream_query[spot.ptds](stream);
	if (idle != CUDA_ERROR_NOT_READY && !sampler_accepted(c, idle))
		return false;
	bool stall = idle == CUDA_SUCCESS || (may_stall && m->cls->drained);
	if (stall && !may_stall)
		return false;
	/* A calibration stalls for as long too: else it would succeed only when the host is quick.
	 */
	m->stall_us = stall ? class_stall_us(m->cls) : 0;
	if (stall)
		m->full = 0;
	if (s->cls == SPY_CLASS_LAUNCH)
		__atomic_store_n(&c->kernels, spy_clock(), __ATOMIC_RELAXED);
	if ((!spot.graphs || graphs_calibrate(c)) && !m->full &&
	    !random_below(&m->random, CALIBRATE_ONE)) {
		enum tf_work_kind kind = random_below(&m->random, 8) ? TF_WORK_NULL : TF_WORK_EMPTY;
		sampler_calibrate(c, &spot, kind, m->stall_us);
		return false;
	}
	m->pair = sampler_pair_take(c);
	if (!m->pair) {
		if (!m->full) /* else the GPU is behind by as many samples: that is no loss */
			spy_count_anomaly(SPY_ANOMALY_SAMPLES_DROPPED);
		return false;
	}
	if (begin_pair(m, &spot))
		return true;
	sampler_pair_give_up(c, m->pair, false);
	return false;
}
