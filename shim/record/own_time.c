/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record/own_time.h"

#include "shim/record/span.h"

/* Ticks, of a clock of some GHz or of nanoseconds; aarch64's counter may be far slower. */
#if defined(__aarch64__)
#define LEAST        16u
#define LEAST_BEHIND 64u
#else
#define LEAST        768u
#define LEAST_BEHIND 3072u
#endif

/* The last piece that was too short for a record. */
static __thread struct {
	uint64_t start, end;
} left_out __attribute__((tls_model("initial-exec")));

void own_time(uint64_t ticks)
{
	const struct tf_record *outer = spy_outer()->rec;
	struct tf_record r = {.start = left_out.end == outer->start ? left_out.start : outer->start,
	                      .end = outer->start + ticks,
	                      .call = TF_CALL_OWN,
	                      .thread = outer->thread};

	if (r.end - r.start >= LEAST) {
		span_push_aside(&r);
	} else {
		left_out.start = r.start;
		left_out.end = r.end;
	}
}

void own_time_behind(uint64_t end, uint64_t ticks)
{
	struct spy_tls *t = &spy_tls;

	if (ticks < LEAST_BEHIND || !ring_has_room(t))
		return;
	struct tf_record *slot = ring_next(t);
	*slot = (struct tf_record){
	        .start = end, .end = end + ticks, .call = TF_CALL_OWN, .thread = t->index};
	ring_publish(t, slot);
}
