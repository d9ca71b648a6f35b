/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that go the short way together leave what they would one by one. */
#include "shim/core/drain/drain.h"
#include "shim/core/format/histogram.h"
#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define ROOM    (48ull << 20)
#define KERNELS 5u
#define CALLS   6000u
#define THREADS 3u
#define RING    8192u

struct side {
	struct made made;
	struct drain drain;
	struct tf_thread *threads[THREADS];
	uint16_t launch, copy, sync;
};

/* The same numbers on each side. */
static uint32_t next(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static void start(struct side *s, enum tf_gpu_mode mode)
{
	made_start(&s->made, ROOM, 8, MADE_AREAS);
	made_header(&s->made)->gpu_mode = mode;
	made_clock(&s->made, 0, 1000000000, 1755767727123000000);
	made_clock(&s->made, 400000000, 1200000000, 1755767727323000000);
	s->launch = made_call(&s->made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	s->copy = made_call(&s->made, "cuMemcpyHtoDAsync_v2", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	s->sync = made_call(&s->made, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	for (unsigned i = 0; i <= KERNELS; i++)
		made_kernel(&s->made, "kernel");
	for (unsigned i = 0; i < THREADS; i++)
		s->threads[i] = made_thread(&s->made, 100 + i, "worker", RING);
	s->drain = (struct drain){
	        .map = &s->made.map, .timeline = timeline_new(&s->made.map), .steps = steps_new()};
}

static void end(struct side *s)
{
	timeline_free(s->drain.timeline);
	steps_free(s->drain.steps);
	drain_end(&s->drain);
	made_free(&s->made);
}

/* A loop of launches, a copy and a wait, with odd ones, pauses, failures and nested calls among
 * them; of `threads` threads in turns of some calls. `together`: drained at the end alone. */
static void work(struct side *s, unsigned threads, bool together)
{
	uint64_t state = 4711 + threads, tick = made_header(&s->made)->window_start;
	unsigned thread = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		struct tf_record r = {.start = tick + 50 + next(&state, 80), .stream = 0x5000};
		if (next(&state, 400) == 0)
			r.start += 50000 + next(&state, 2000000);
		if (next(&state, 9) == 0)
			thread = next(&state, threads);
		r.end = r.start + 200 + next(&state, next(&state, 90) ? 60 : 30000);
		r.call = i % 20 == 18 ? s->copy : i % 20 == 19 ? s->sync : s->launch;
		if (r.call == s->launch) {
			r.launch.kernel = 1 + i % 20 % KERNELS;
			r.launch.grid_x = 1 + next(&state, 20) / 19;
			r.launch.items = next(&state, 100) ? 1 : next(&state, 5);
		} else if (r.call == s->copy) {
			r.copy.bytes = 4096;
			r.copy.direction = SPY_DIR_HTOD;
			r.copy.memory = SPY_MEM_PINNED;
			r.copy.async = r.copy.items = 1;
		}
		switch (next(&state, 300)) {
		case 0:
			r.result = 700;
			break;
		case 1:
			r.flags = TF_CAPTURED;
			break;
		case 2:
			r.flags = TF_FIRST;
			break;
		case 3:
			r.flags = TF_PTDS;
			break;
		}
		if (next(&state, 80) == 0) {
			struct tf_record nested = r;
			nested.flags |= TF_NESTED;
			nested.start += 50;
			made_record(&s->made, s->threads[thread], nested);
			if (!together)
				drain_all(&s->drain, UINT64_MAX);
		}
		made_record(&s->made, s->threads[thread], r);
		if (!together)
			drain_all(&s->drain, UINT64_MAX);
		tick = r.end;
	}
	drain_all(&s->drain, UINT64_MAX);
	timeline_finish(s->drain.timeline);
	steps_finish(s->drain.steps, &s->made.map);
}

/* ---- what they leave ---- */

static void check_bytes(const struct side *a, const struct side *b, uint64_t at, uint64_t bytes)
{
	assert_memory_equal(tf_at(&a->made.map, at, bytes), tf_at(&b->made.map, at, bytes), bytes);
}

/* Areas that were made ahead of all records stand at the same place. */
static void check_areas(struct side *a, struct side *b)
{
	const struct tf_header *x = made_header(&a->made), *y = made_header(&b->made);

	check_bytes(a, b, x->slices, sizeof(struct tf_slices));
	check_bytes(a, b, x->works, TF_WORKS * sizeof(struct tf_work));
	assert_memory_equal(x->host_ticks, y->host_ticks, sizeof(x->host_ticks));
	assert_int_equal(x->first_work, y->first_work);
	assert_int_equal(x->timeline_upto, y->timeline_upto);
	for (unsigned i = 0; i < THREADS; i++)
		assert_memory_equal(a->threads[i]->split_ticks, b->threads[i]->split_ticks,
		                    sizeof(a->threads[i]->split_ticks));
	struct tf_device_time *times[2] = {
	        tf_at(&a->made.map, x->devices_time[0], sizeof(*times[0])),
	        tf_at(&b->made.map, y->devices_time[0], sizeof(*times[1]))};
	assert_int_equal(times[0] != NULL, times[1] != NULL);
	if (times[0])
		assert_memory_equal(times[0], times[1], sizeof(*times[0]));
}

static void check_hist(struct side *a, struct side *b, uint64_t x, uint64_t y)
{
	struct tf_hist *of_a = tf_at(&a->made.map, x, sizeof(*of_a)),
	               *of_b = tf_at(&b->made.map, y, sizeof(*of_b));

	assert_int_equal(of_a != NULL, of_b != NULL);
	if (of_a)
		assert_memory_equal(of_a, of_b, sizeof(*of_a));
}

static void check_hists(struct side *a, struct side *b)
{
	for (unsigned i = 0; i <= KERNELS; i++) {
		const struct tf_kernel *x = tf_entry(&a->made.map, &made_header(&a->made)->kernels,
		                                     i, sizeof(*x)),
		                       *y = tf_entry(&b->made.map, &made_header(&b->made)->kernels,
		                                     i, sizeof(*y));
		check_hist(a, b, x->hist, y->hist);
		check_hist(a, b, x->queue_hist, y->queue_hist);
		assert_int_equal(x->queue_ticks, y->queue_ticks);
	}
	for (uint32_t i = 0; i < tf_count(&made_header(&a->made)->calls); i++) {
		const struct tf_call *x = tf_entry(&a->made.map, &made_header(&a->made)->calls, i,
		                                   sizeof(*x)),
		                     *y = tf_entry(&b->made.map, &made_header(&b->made)->calls, i,
		                                   sizeof(*y));
		check_hist(a, b, x->hist, y->hist);
	}
}

static void check_kept(struct side *a, struct side *b)
{
	struct tf_store *x = tf_at(&a->made.map, made_header(&a->made)->keep, sizeof(*x)),
	                *y = tf_at(&b->made.map, made_header(&b->made)->keep, sizeof(*y));

	assert_int_equal(x->written, y->written);
	assert_memory_equal(x->digests, y->digests, sizeof(x->digests));
	for (unsigned i = 0; i < x->pages_max; i++) {
		const uint64_t bytes = x->page_records * sizeof(struct tf_record);
		assert_memory_equal(tf_at(&a->made.map, x->pages[i], bytes),
		                    tf_at(&b->made.map, y->pages[i], bytes), bytes);
	}
}

/* Rows and all; how many loops there are. */
static uint32_t check_loops(struct side *a, struct side *b)
{
	const struct tf_table *x = &made_header(&a->made)->loops,
	                      *y = &made_header(&b->made)->loops,
	                      *steps[2] = {&made_header(&a->made)->steps,
	                                   &made_header(&b->made)->steps};

	assert_int_equal(tf_count(x), tf_count(y));
	for (uint32_t i = 0; i < tf_count(x); i++) {
		struct tf_loop *of_a = tf_entry(&a->made.map, x, i, sizeof(*of_a)),
		               *of_b = tf_entry(&b->made.map, y, i, sizeof(*of_b));
		check_hist(a, b, of_a->hist, of_b->hist);
		of_a->hist = of_b->hist = 0;
		assert_memory_equal(of_a, of_b, sizeof(*of_a));
	}
	assert_int_equal(tf_count(steps[0]), tf_count(steps[1]));
	for (uint32_t i = 0; i < tf_count(steps[0]); i++)
		assert_memory_equal(tf_entry(&a->made.map, steps[0], i, sizeof(struct tf_step)),
		                    tf_entry(&b->made.map, steps[1], i, sizeof(struct tf_step)),
		                    sizeof(struct tf_step));
	return tf_count(x);
}

static void check(enum tf_gpu_mode mode, unsigned threads)
{
	static struct side a, b;

	start(&a, mode);
	start(&b, mode);
	work(&a, threads, true);
	work(&b, threads, false);
	check_areas(&a, &b);
	check_hists(&a, &b);
	check_kept(&a, &b);
	assert_in_range(check_loops(&a, &b), 1, TF_LOOPS_MAX);
	end(&a);
	end(&b);
}

static void test_of_one_thread(void **state)
{
	check(TF_GPU_OFF, 1);
	check(TF_GPU_SAMPLE, 1);
}

static void test_of_several_threads(void **state)
{
	check(TF_GPU_OFF, THREADS);
	check(TF_GPU_SAMPLE, THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_of_one_thread),
	        cmocka_unit_test(test_of_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
