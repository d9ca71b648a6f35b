/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording and what finds its loops, fed with calls one after the other, and what came out.
 * Included by the tests of loops alone.
 */
#ifndef TESTS_UNIT_LOOPS_FIXTURE_H
#define TESTS_UNIT_LOOPS_FIXTURE_H

#include "shim/core/steps/steps_found.h"
#include "tests/unit/shim/core/drain_fixture.h"

#define CALL_TICKS  100
#define BETWEEN     50 /* ticks between two calls, as a rule */
#define LONG_GAP    5000
#define KERNELS_ALL 200

static struct steps *steps;
static uint64_t now, noise;
static uint32_t by; /* which thread calls */

static inline int begin(void **state)
{
	start(state);
	for (int i = 0; i < KERNELS_ALL; i++)
		made_kernel(&made, "kernel");
	steps = steps_new();
	assert_non_null(steps);
	now = 2000;
	noise = 88172645463325252u;
	by = 0;
	return 0;
}

static inline int finish(void **state)
{
	steps_free(steps);
	return end(state);
}

static inline uint64_t any(uint64_t below)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise % below;
}

static inline void give(struct tf_record r, unsigned cls)
{
	r.start = now;
	r.end = now + CALL_TICKS;
	now += CALL_TICKS + BETWEEN + any(20);
	steps_call(steps, &made.map, by, &r, cls);
}

static inline void run_kernel(uint32_t kernel)
{
	give(a_launch(kernel, 8), SPY_CLASS_LAUNCH);
}

static inline void wait_here(void)
{
	give(a_sync(0, 0), SPY_CLASS_SYNC);
}

static inline void upload(void)
{
	struct tf_record r = {.call = 5};

	r.copy.direction = SPY_DIR_HTOD;
	r.copy.bytes = 4096;
	give(r, SPY_CLASS_COPY);
}

/* A call that allocates or frees, from `start` on, for so many ticks. */
static inline void allocate(uint64_t start, uint64_t ticks)
{
	struct tf_record r = {.call = alloc, .start = start, .end = start + ticks};

	steps_call(steps, &made.map, by, &r, SPY_CLASS_ALLOC);
}

static inline const struct tf_loop *loop(uint32_t i)
{
	return i < made_header(&made)->loops.count
	               ? tf_entry(&made.map, &made_header(&made)->loops, i, sizeof(struct tf_loop))
	               : NULL;
}

/* The loop that took most time but `but`, which may be NULL. */
static inline const struct tf_loop *longest(const struct tf_loop *but)
{
	const struct tf_loop *best = NULL;

	steps_finish(steps, &made.map);
	for (uint32_t i = 0; loop(i); i++)
		if (loop(i) != but && loop(i)->steps && (!best || loop(i)->ticks > best->ticks))
			best = loop(i);
	assert_non_null(best);
	return best;
}

/* What holds of every row, whatever was fed. */
static inline void rows_agree(void)
{
	const struct tf_header *h = made_header(&made);

	for (uint32_t i = 0; loop(i); i++) {
		const struct tf_loop *l = loop(i);
		uint64_t in_episodes = 0, rows = 0;
		for (uint32_t k = 0; k < l->episodes; k++) {
			in_episodes += l->episode[k].steps;
			assert_true(l->episode[k].start <= l->episode[k].end);
			if (k)
				assert_true(l->episode[k - 1].end <= l->episode[k].start);
		}
		for (uint32_t k = 0; k < h->steps.count; k++) {
			const struct tf_step *s = tf_entry(&made.map, &h->steps, k, sizeof(*s));
			rows += (s->flags & TF_STEP_FOUND) && s->source == i;
		}
		assert_int_equal(in_episodes, l->steps);
		assert_int_equal(rows, l->rows);
		const struct tf_hist *hist = tf_at(&made.map, l->hist, sizeof(*hist));
		assert_int_equal(hist ? hist->count : 0, l->steps);
	}
}

#endif
