/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_beside.h"

#include "shim/core/cuda/streams.h"

#define THREADS_MOST 256u
#define RECORDS_MOST 64u

/* By index in table `threads`; 0 = not known. */
static uint64_t first_streams[THREADS_MOST]; /* of its first work, as cuda_stream() has it */
static uint32_t contexts[THREADS_MOST];      /* that it launched in last */

void beside_begins(uint32_t thread, CUstream stream, int ptds)
{
	if (thread < THREADS_MOST)
		__atomic_store_n(&first_streams[thread],
		                 cuda_stream((uintptr_t)stream, ptds ? TF_PTDS : 0),
		                 __ATOMIC_RELAXED);
}

void beside_entered(uint32_t thread, uint32_t context)
{
	if (thread < THREADS_MOST)
		__atomic_store_n(&contexts[thread], context, __ATOMIC_RELAXED);
}

static bool gives_work(const struct tf_map *map, uint32_t call)
{
	const struct tf_call *c = tf_entry(map, &tf_header(map)->calls, call, sizeof(*c));

	return c && (c->cls == SPY_CLASS_LAUNCH || c->cls == SPY_CLASS_GRAPH_LAUNCH ||
	             c->cls == SPY_CLASS_COPY || c->cls == SPY_CLASS_SET);
}

static const struct tf_ring *last_ring(const struct tf_map *map, const struct tf_thread *th)
{
	uint64_t at = th->ring_first;
	const struct tf_ring *ring = NULL;

	for (unsigned i = 0; at && i < TF_RINGS_MOST; i++) {
		const struct tf_ring *next = tf_at(map, at, sizeof(*next));
		if (!next)
			break;
		ring = next;
		/* Acquire: the ring is made before it is linked. */
		at = __atomic_load_n(&ring->next, __ATOMIC_ACQUIRE);
	}
	return ring;
}

/*
 * By the thread's last records, backwards. Of a call under way the stream is not known: it is taken
 * to be that of the thread's last work, or of its first. Where records are missing (in a ring that
 * a larger one just took the place of, lost ones, more than are looked at) it may have worked.
 */
static bool worked(const struct tf_map *map, uint32_t thread, const struct tf_thread *th,
                   uint64_t stream, uint64_t since)
{
	/* Acquire: where no call is in flight, the last one's record is in the ring. */
	uint32_t in_call = __atomic_load_n(&th->in_call, __ATOMIC_ACQUIRE);
	bool working = in_call && gives_work(map, in_call - 1);
	uint64_t until = __atomic_load_n(&th->last_return, __ATOMIC_RELAXED);

	if (!working && until < since)
		return false;
	const struct tf_ring *ring = last_ring(map, th);
	if (!ring)
		return true;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	/* The record of a call that is about to end comes after its `last_return`. */
	bool whole = until < since || (in_call && !__atomic_load_n(&th->lost, __ATOMIC_RELAXED));
	for (uint64_t i = 1; i <= RECORDS_MOST && i <= ring->capacity; i++) {
		if (i > head) { /* first work: what has no stream yet was not given yet */
			if (ring != tf_at(map, th->ring_first, sizeof(*ring)))
				return true;
			return working &&
			       stream == __atomic_load_n(&first_streams[thread], __ATOMIC_RELAXED);
		}
		const struct tf_record *r = &ring->slots[(head - i) & (ring->capacity - 1)];
		if (r->call >= TF_CALL_LEAST)
			continue;
		if (!whole && r->end < until)
			return true; /* the last call's is lost */
		whole = true;
		if (!working && r->end < since)
			return false;
		if (!gives_work(map, r->call) || r->flags & TF_CAPTURED)
			continue;
		if (cuda_stream(r->stream, r->flags) == stream)
			return true;
		if (r->end < since)
			return false;
	}
	return true;
}

bool beside_works(const struct tf_map *map, const struct tf_thread *mine, uint32_t context,
                  CUstream stream, int ptds, uint64_t since)
{
	uint64_t on = cuda_stream((uintptr_t)stream, ptds ? TF_PTDS : 0);
	const struct tf_header *h = tf_header(map);
	uint32_t threads = tf_count(&h->threads);

	if (on == CUDA_STREAM_PER_THREAD)
		return false;
	for (uint32_t i = 0; i < threads && i < THREADS_MOST; i++) {
		const uint64_t *offset = tf_entry(map, &h->threads, i, sizeof(*offset));
		uint64_t at = offset ? __atomic_load_n(offset, __ATOMIC_RELAXED) : 0;
		const struct tf_thread *th = at ? tf_at(map, at, sizeof(*th)) : NULL;
		uint32_t its = __atomic_load_n(&contexts[i], __ATOMIC_RELAXED);
		if (!th || th == mine || (!cuda_stream_is_made(on) && its && its != context))
			continue;
		if (worked(map, i, th, on, since))
			return true;
	}
	return false;
}
