/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/gate.h"
#include "shim/sampler/sampler_ahead.h"
#include "shim/sampler/sampler_beside.h"
#include "shim/sampler/sampler_context.h"
#include "shim/sampler/sampler_section.h"
#include "shim/record/span.h"

/* Milliseconds: a larger result of cuEventElapsedTime() is no time. */
#define ELAPSED_MOST 1e9f

_Static_assert(SAMPLER_PAIRS == 64, "a bit each");

/* ---- the pool ---- */

bool sampler_pairs_make(struct sampler_context *c)
{
	for (unsigned i = 0; i < SAMPLER_PAIRS; i++) {
		struct sampler_pair *p = &c->pairs[i];
		if (sampler_cu.event_create(&p->a, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
		    sampler_cu.event_create(&p->b, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
			return false;
	}
	c->free = ~0ull;
	return true;
}

/*
 * A pair is free (a bit in `free`), waits for the GPU (a bit in `waiting`), or belongs to the
 * thread that took its bit. Bits are taken and given with one atomic operation: no thread waits for
 * another, nor a signal handler for the thread that it interrupted.
 */
static struct sampler_pair *take_bit(struct sampler_context *c, uint64_t *set, unsigned at)
{
	uint64_t bit = 1ull << at;

	/* Acquire: the pair as who gave it left it. Pairs with give_bit(). */
	return __atomic_fetch_and(set, ~bit, __ATOMIC_ACQUIRE) & bit ? &c->pairs[at] : NULL;
}

static void give_bit(struct sampler_context *c, uint64_t *set, const struct sampler_pair *p)
{
	__atomic_fetch_or(set, 1ull << (p - c->pairs), __ATOMIC_RELEASE);
}

struct sampler_pair *sampler_pair_take(struct sampler_context *c)
{
	uint64_t free;

	while ((free = __atomic_load_n(&c->free, __ATOMIC_RELAXED))) {
		struct sampler_pair *p = take_bit(c, &c->free, (unsigned)__builtin_ctzll(free));
		if (p)
			return p;
	}
	return NULL;
}

void sampler_pair_return(struct sampler_context *c, struct sampler_pair *p)
{
	give_bit(c, &c->free, p);
}

void sampler_pair_commit(struct sampler_context *c, struct sampler_pair *p)
{
	p->number = __atomic_fetch_add(&c->committed, 1, __ATOMIC_RELAXED);
	give_bit(c, &c->waiting, p);
}

void sampler_pair_give_up(struct sampler_context *c, struct sampler_pair *p, bool marked)
{
	if (p->open && marked) {
		give_bit(c, &c->given_up, p);
		return;
	}
	if (p->open)
		sampler_ahead_drop(p);
	sampler_pair_return(c, p);
}

/* ---- harvest ---- */

/* Takes the pair that waits longest; the driver is asked about it. */
static struct sampler_pair *oldest(struct sampler_context *c)
{
	for (;;) {
		uint64_t waiting = __atomic_load_n(&c->waiting, __ATOMIC_RELAXED),
		         first = UINT64_MAX;
		unsigned at = SAMPLER_PAIRS;
		for (; waiting; waiting &= waiting - 1) {
			unsigned i = (unsigned)__builtin_ctzll(waiting);
			/* One that is taken and given meanwhile may be read as either. */
			uint64_t number = __atomic_load_n(&c->pairs[i].number, __ATOMIC_RELAXED);
			if (number < first) {
				first = number;
				at = i;
			}
		}
		struct sampler_pair *p = at < SAMPLER_PAIRS ? take_bit(c, &c->waiting, at) : NULL;
		if (p || at == SAMPLER_PAIRS)
			return p;
	}
}

/* Looks whether one of the pairs that were given up is done, another one each time. They hold
 * nobody up: their stream may be far behind. */
static void take_back(struct sampler_context *c)
{
	uint64_t waiting = __atomic_load_n(&c->given_up, __ATOMIC_RELAXED);

	if (!waiting)
		return;
	unsigned turn = __atomic_fetch_add(&c->turn, 1, __ATOMIC_RELAXED) % SAMPLER_PAIRS;
	uint64_t behind = waiting & ~0ull << turn;
	struct sampler_pair *p =
	        take_bit(c, &c->given_up, (unsigned)__builtin_ctzll(behind ? behind : waiting));
	if (!p)
		return;
	CUresult rc = sampler_cu.event_query(p->b);
	if (rc == CUDA_ERROR_NOT_READY) {
		give_bit(c, &c->given_up, p);
		return;
	}
	if (sampler_accepted(c, rc))
		p->open = false;
	else
		sampler_ahead_drop(p);
	sampler_pair_return(c, p);
}

CUresult sampler_harvest(struct sampler_context *c, unsigned most)
{
	struct sampler_pair *p;
	float ms;

	if (section_clear())
		take_back(c);
	while (most-- && section_clear() && (p = oldest(c))) {
		CUresult rc = sampler_cu.event_query(p->b);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.elapsed(&ms, p->a, p->b);
		if (rc != CUDA_SUCCESS) {
			give_bit(c, &c->waiting, p); /* it stays the oldest: `number` */
			return rc;
		}
		/* Milliseconds, of a resolution of some 32 ns: see cuEventElapsedTime(). */
		if (ms >= 0 && ms < ELAPSED_MOST) {
			p->record.end = (uint64_t)((double)ms * 1e6 + 0.5);
			span_push_aside(&p->record);
		} else {
			spy_count_anomaly(SPY_ANOMALY_SAMPLES_DROPPED);
		}
		p->open = false;
		sampler_pair_return(c, p);
	}
	return CUDA_SUCCESS;
}

void sampler_pairs_drop(struct sampler_context *c)
{
	uint64_t *const sets[] = {&c->free, &c->waiting, &c->given_up};

	for (unsigned k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
		uint64_t bits = __atomic_exchange_n(sets[k], 0, __ATOMIC_ACQUIRE);
		for (; bits; bits &= bits - 1)
			sampler_ahead_drop(&c->pairs[__builtin_ctzll(bits)]);
	}
}

/* ---- our own work ---- */

bool sampler_put_event(struct sampler_context *c, CUevent e, CUstream stream, int ptds)
{
	return section_clear() && sampler_accepted(c, sampler_cu.record[ptds](e, stream));
}

bool sampler_pair_holds(struct sampler_context *c, const struct sampler_pair *p)
{
	CUresult rc = section_clear() ? sampler_cu.event_query(p->a) : CUDA_SUCCESS;

	if (rc == CUDA_ERROR_NOT_READY)
		return true;
	sampler_accepted(c, rc);
	return false;
}

bool sampler_calibrate(struct sampler_context *c, const struct sampler_spot *spot,
                       enum tf_work_kind kind, unsigned stall_us)
{
	CUstream stream = spot->stream;
	int ptds = spot->ptds;
	struct sampler_pair *p = sampler_pair_take(c);

	if (!p)
		return true;
	if (!sampler_make_ahead(c, p, spot, stall_us) ||
	    (kind == TF_WORK_NULL && !sampler_make_null(c, p, spot)) ||
	    !sampler_put_ahead(c, p, spot, stall_us)) {
		sampler_pair_return(c, p);
		return false;
	}
	uint64_t opened = spy_clock();
	bool ok = sampler_put_event(c, p->a, stream, ptds) &&
	          (kind != TF_WORK_NULL || sampler_put_null(c, p, spot)) &&
	          sampler_put_event(c, p->b, stream, ptds);
	if (!ok || beside_works(&spy_map, spy_tls.thread, c->number, stream, ptds, opened) ||
	    !sampler_pair_holds(c, p)) {
		sampler_pair_give_up(c, p, ok);
		return ok;
	}
	p->record = (struct tf_record){
	        .start = spy_clock(),
	        .call = TF_CALL_SAMPLE,
	        .thread = (uint16_t)kind,
	        .result = stall_us ? TF_PAIR_IDLE : TF_PAIR_BUSY,
	        .stream = (uintptr_t)stream,
	        .launch.kernel = c->device,
	};
	sampler_pair_commit(c, p);
	return true;
}
