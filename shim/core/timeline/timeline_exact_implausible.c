/* SPDX-License-Identifier: Apache-2.0 */
/* Which of CUPTI's times of copies cannot be true: other work of the same stream ran in that time,
 * or nothing copies that slowly. */
#include "shim/core/timeline/timeline_internal.h"

#include "shim/core/gpu_time/implausible.h"

bool tl_exact_is_several(const struct tl_delayed *d)
{
	return d->cls == SPY_CLASS_GRAPH_LAUNCH ||
	       (d->cls == SPY_CLASS_LAUNCH && d->r.launch.items > 1) ||
	       ((d->cls == SPY_CLASS_COPY || d->cls == SPY_CLASS_SET) && d->r.copy.items > 1);
}

static bool is_copy(const struct tl_delayed *d)
{
	return d->cls == SPY_CLASS_COPY || d->cls == SPY_CLASS_SET;
}

bool tl_exact_is_long_copy(const struct timeline *t, const struct tl_delayed *d)
{
	return is_copy(d) && !tl_exact_is_several(d) &&
	       d->gpu_end - d->gpu_start >= tl_ticks(t, IMPLAUSIBLE_LEAST_NS);
}

/* Counted from tick `zero`. */
static struct implausible_span span_of(const struct timeline *t, const struct tl_delayed *d,
                                       uint64_t zero)
{
	return (struct implausible_span){
	        .start = (double)(int64_t)(d->gpu_start - zero) / t->ticks_per_ns,
	        .end = (double)(int64_t)(d->gpu_end - zero) / t->ticks_per_ns,
	        .bytes = is_copy(d) ? (double)d->r.copy.bytes : 0,
	        .is_copy = is_copy(d),
	        .is_staged = d->cls == SPY_CLASS_COPY && d->r.copy.memory == SPY_MEM_PAGEABLE,
	};
}

static bool speaks_against(const struct timeline *t, const struct tl_delayed *d,
                           const struct tl_delayed *other)
{
	if (!other->gpu_end || other->thread != d->thread || other->r.stream != d->r.stream ||
	    other->device != d->device)
		return false;
	struct implausible_span a = span_of(t, d, d->gpu_start),
	                        b = span_of(t, other, d->gpu_start);
	return implausible_beside(&a, &b);
}

bool tl_exact_is_implausible(const struct timeline *t, const struct tl_delayed *d)
{
	const struct tl_exact *x = &t->exact;

	if (!tl_exact_is_long_copy(t, d))
		return false;
	struct implausible_span span = span_of(t, d, d->gpu_start);
	if (implausible_slow(&span))
		return true;
	for (uint64_t i = x->tail + 1; i < x->head && i <= x->tail + IMPLAUSIBLE_NEIGHBOURS; i++)
		if (speaks_against(t, d, &x->delayed[i % TL_DELAYED]))
			return true;
	for (uint64_t i = 1;
	     i <= IMPLAUSIBLE_NEIGHBOURS && i <= x->tail && x->head - (x->tail - i) <= TL_DELAYED;
	     i++)
		if (speaks_against(t, d, &x->delayed[(x->tail - i) % TL_DELAYED]))
			return true;
	return false;
}
