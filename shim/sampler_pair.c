#include "shim/lifecycle.h"
#include "shim/sampler_class.h"
#include "shim/sampler_context.h"
#include "shim/sampler_section.h"
#include "shim/span.h"

/* Milliseconds that no pair can be apart; what is above is no time. */
#define ELAPSED_MOST 1e9f

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

/* Nobody waits here: a thread that finds the pool taken goes on without. */
static bool try_lock(struct sampler_context *c)
{
	return !__atomic_exchange_n(&c->lock.taken, 1, __ATOMIC_ACQUIRE);
}

struct sampler_pair *sampler_pair_take(struct sampler_context *c)
{
	struct sampler_pair *p = NULL;

	if (!try_lock(c))
		return NULL;
	if (c->free) {
		int at = __builtin_ctzll(c->free);
		c->free &= c->free - 1;
		p = &c->pairs[at];
	}
	spin_unlock(&c->lock);
	return p;
}

void sampler_pair_return(struct sampler_context *c, struct sampler_pair *p)
{
	spin_lock(&c->lock);
	c->free |= 1ull << (p - c->pairs);
	spin_unlock(&c->lock);
}

void sampler_pair_commit(struct sampler_context *c, struct sampler_pair *p)
{
	spin_lock(&c->lock);
	c->waiting[(c->first + c->count++) % SAMPLER_PAIRS] = (uint8_t)(p - c->pairs);
	spin_unlock(&c->lock);
}

/* ---- harvest ---- */

/* The oldest pair that waits, out of the line: the driver is asked about it without the lock. */
static struct sampler_pair *oldest(struct sampler_context *c)
{
	struct sampler_pair *p = NULL;

	if (!try_lock(c))
		return NULL;
	if (c->count) {
		p = &c->pairs[c->waiting[c->first]];
		c->first = (c->first + 1) % SAMPLER_PAIRS;
		c->count--;
	}
	spin_unlock(&c->lock);
	return p;
}

/* Back to the head of the line, which has room for every pair there is. */
static void put_back(struct sampler_context *c, const struct sampler_pair *p)
{
	spin_lock(&c->lock);
	c->first = (c->first + SAMPLER_PAIRS - 1) % SAMPLER_PAIRS;
	c->waiting[c->first] = (uint8_t)(p - c->pairs);
	c->count++;
	spin_unlock(&c->lock);
}

CUresult sampler_harvest(struct sampler_context *c, unsigned most)
{
	struct sampler_pair *p;
	float ms;

	while (most-- && section_clear() && (p = oldest(c))) {
		CUresult rc = sampler_cu.event_query(p->b);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.elapsed(&ms, p->a, p->b);
		if (rc != CUDA_SUCCESS) {
			put_back(c, p);
			return rc;
		}
		/* Milliseconds, of a resolution of some 32 ns: see cuEventElapsedTime(). */
		if (ms >= 0 && ms < ELAPSED_MOST) {
			p->record.end = (uint64_t)((double)ms * 1e6 + 0.5);
			span_push_aside(&p->record);
		} else {
			spy_count_trouble(SPY_TROUBLE_SAMPLES_DROPPED);
		}
		sampler_pair_return(c, p);
	}
	return CUDA_SUCCESS;
}

/* ---- our own work ---- */

bool sampler_put_event(struct sampler_context *c, CUevent e, CUstream stream, int ptds)
{
	return section_clear() && sampler_accepted(c, sampler_cu.record[ptds](e, stream));
}

static bool put_kernel(struct sampler_context *c, CUfunction f, CUstream stream, int ptds,
                       void **arguments)
{
	return section_clear() &&
	       sampler_accepted(
	               c, sampler_cu.launch[ptds](f, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

bool sampler_put_ahead(struct sampler_context *c, CUstream stream, int ptds, unsigned us)
{
	unsigned long long nanoseconds = us * 1000ull;
	void *arguments[] = {&nanoseconds};

	return us ? put_kernel(c, c->stall, stream, ptds, arguments)
	          : put_kernel(c, c->null, stream, ptds, NULL);
}

bool sampler_pair_holds(struct sampler_context *c, const struct sampler_pair *p)
{
	CUresult rc = section_clear() ? sampler_cu.event_query(p->a) : CUDA_SUCCESS;

	if (rc == CUDA_ERROR_NOT_READY)
		return true;
	sampler_accepted(c, rc);
	return false;
}

bool sampler_calibrate(struct sampler_context *c, CUstream stream, int ptds, enum tf_work_kind kind,
                       unsigned stall_us)
{
	struct sampler_pair *p = sampler_pair_take(c);

	if (!p)
		return true;
	bool ok = sampler_put_ahead(c, stream, ptds, stall_us) &&
	          sampler_put_event(c, p->a, stream, ptds) &&
	          (kind != TF_WORK_NULL || sampler_put_ahead(c, stream, ptds, 0)) &&
	          sampler_put_event(c, p->b, stream, ptds);
	if (!ok || !sampler_pair_holds(c, p)) {
		sampler_pair_return(c, p);
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
