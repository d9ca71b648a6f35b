/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make calls as fast as they can, through the spans the wrappers use; a collector that
 *empties their rings; one who looks at their counters all the while, as a reporter does. Rings
 *start just below the wrap of their counters, grow, and overflow. Nothing may be lost that is not
 *counted as lost, and no record may come through torn.
 *
 *	ring_stress THREADS CALLS RING PAUSE_US [GENERATIONS]
 *
 * RING: records of a ring at most. PAUSE_US: the collector's, between two rounds. GENERATIONS of
 *threads follow each other. Prints one line of totals; exit 0: all is right.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/drain/drain.h"
#include "shim/args/args.h"
#include "shim/core/options/options.h"
#include "shim/base/recording_tables.h"
#include "shim/record/thread.h"
#include "tests/unit/shim_stubs.h"

#define BELOW_WRAP  200u
#define NESTED_EACH 16u /* every so many calls there is a timed one inside */
#define FAILS_EACH  50u

static unsigned threads, generations;
static uint64_t calls, made_calls, made_nested, drained;
static uint64_t (*plain_alloc)(struct tf_map *map, uint64_t bytes);
static uint32_t stop;
static unsigned pause_us, complaints;

static void complain(const char *what, uint64_t a, uint64_t b)
{
	if (__atomic_fetch_add(&complaints, 1, __ATOMIC_RELAXED) < 20)
		printf("%s: %llu, %llu\n", what, (unsigned long long)a, (unsigned long long)b);
}

/* Every ring's counters start just below 2^64. */
static uint64_t alloc(struct tf_map *map, uint64_t bytes)
{
	uint64_t offset = plain_alloc(map, bytes),
	         records = (bytes - sizeof(struct tf_ring)) / sizeof(struct tf_record);

	if (offset && bytes >= sizeof(struct tf_ring) + 64 * sizeof(struct tf_record) &&
	    !(records & (records - 1)) &&
	    bytes == sizeof(struct tf_ring) + records * sizeof(struct tf_record)) {
		struct tf_ring *ring = tf_at(map, offset, bytes);
		ring->head = ring->tail = 0 - (uint64_t)BELOW_WRAP;
	}
	return offset;
}

static void prepare(void)
{
	struct tf_header *h = tf_header(&spy_map);

	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + SPY_CALLS * sizeof(struct tf_call_stat));
	h->threads = (struct tf_table){.entry_bytes = 8, .page_entries = 512, .max = 65535};
	h->calls = (struct tf_table){
	        .entry_bytes = sizeof(struct tf_call), .page_entries = SPY_CALLS, .max = SPY_CALLS};
	for (unsigned i = 0; i < SPY_CALLS; i++) {
		struct tf_call *c = tf_append(&spy_map, &h->calls);
		c->cls = i == CALL_cuMemAlloc_v2 ? SPY_CLASS_ALLOC : SPY_CLASS_EVENT;
		tf_publish(&h->calls);
	}
	h->slices = plain_alloc(&spy_map, sizeof(struct tf_slices));
	struct tf_slices *slices = tf_at(&spy_map, h->slices, sizeof(*slices));
	slices->origin = h->load = h->window_start = spy_clock();
	slices->width = 1 << 16;
	h->store = plain_alloc(
	        &spy_map,
	        sizeof(struct tf_store)); /* where every drained record can be looked at */
	struct tf_store *all = tf_at(&spy_map, h->store, sizeof(*all));
	all->page_records = 16384;
	all->pages_max = TF_STORE_PAGES;
	plain_alloc = spy_map.alloc;
	spy_map.alloc = alloc;
}

/* ---- the records
 * ------------------------------------------------------------------------------------------------------
 */

static uint64_t check_sum(const struct tf_record *r)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (int i = 0; i < 3; i++)
		h = (h ^ r->arg[i]) * 0xff51afd7ed558ccdu + r->stream;
	return h ^ h >> 29;
}

/* `number` of the call among this thread's, and which thread it is, spread over the arguments. */
static void fill(struct tf_record *r, uint64_t who, uint64_t number)
{
	if (!r) {
		complain("no record to fill", who, number);
		return;
	}
	r->arg[0] = number;
	r->arg[1] = who;
	r->arg[2] = number * who;
	r->stream = ~number;
	r->arg[3] = check_sum(r);
}

/* Deeper on the stack than its caller's span, as a call inside a call is: that is how the two are
 * told apart. */
static void __attribute__((noinline)) call_inside(uint64_t who, uint64_t number)
{
	struct spy_span inner;

	spy_real_begins(); /* of the runtime's call that this one is part of */
	spy_enter(&inner, CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
	spy_real_begins();
	spy_real_ended(&inner);
	fill(spy_args_target(&inner), who, number);
	spy_leave(&inner, CALL_cuMemAlloc_v2, SPY_CLASS_ALLOC, 0);
	spy_real_ended(&spy_nobody);
}

static void *produce(void *arg)
{
	uint64_t who = (uint64_t)(uintptr_t)arg, nested = 0;

	for (uint64_t i = 0; i < calls; i++) {
		struct spy_span outer;
		int result = i % FAILS_EACH == FAILS_EACH - 1 ? 700 : 0;
		spy_enter(&outer, CALL_cudaEventRecord, SPY_CLASS_EVENT, 0);
		if (i % NESTED_EACH == 0) {
			call_inside(who, i);
			nested++;
		}
		fill(spy_args_target(&outer), who, i);
		spy_leave(&outer, CALL_cudaEventRecord, SPY_CLASS_EVENT, result);
	}
	__atomic_fetch_add(&made_calls, calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&made_nested, nested, __ATOMIC_RELAXED);
	return NULL;
}

static void *collect(void *arg)
{
	struct drain drain = {.map = &spy_map};

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		drained += drain_all(&drain, UINT64_MAX);
		if (pause_us)
			usleep(pause_us);
	}
	return arg;
}

/* ---- who looks on
 * ------------------------------------------------------------------------------------------------------
 */

static uint64_t look(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static const struct tf_thread *thread_at(uint32_t i)
{
	const struct tf_header *h = tf_header(&spy_map);
	const uint64_t *at = tf_entry(&spy_map, &h->threads, i, sizeof(*at));

	return at ? tf_at(&spy_map, *at, h->thread_bytes) : NULL;
}

/* Counters only rise, and the call in flight is one of those that are made. */
static void *look_on(void *arg)
{
	static uint64_t last[65536];

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < tf_count(&tf_header(&spy_map)->threads); i++) {
			const struct tf_thread *th = thread_at(i);
			uint64_t n = look(&th->calls[CALL_cudaEventRecord].calls);
			uint32_t in_call = __atomic_load_n(&th->in_call, __ATOMIC_ACQUIRE);
			if (n < last[i])
				complain("a counter fell", last[i], n);
			last[i] = n;
			if (in_call && in_call != CALL_cudaEventRecord + 1)
				complain("a call in flight that nobody makes", in_call, i);
			look(&th->lost);
			look(&th->last_return);
			look(&th->in_start);
			look(&th->calls[CALL_cudaEventRecord].sum_ticks);
			look(&th->calls[CALL_cudaEventRecord].max_ticks);
			look(&th->calls[CALL_cudaEventRecord].failed);
		}
		usleep(200);
	}
	return arg;
}

/* ---- the sums
 * ----------------------------------------------------------------------------------------------------------
 */

struct sums {
	uint64_t calls, failed, lost, left;
};

static struct sums sum_up(void)
{
	struct sums s = {0};

	for (uint32_t i = 0; i < tf_count(&tf_header(&spy_map)->threads); i++) {
		const struct tf_thread *th = thread_at(i);
		s.calls += th->calls[CALL_cudaEventRecord].calls;
		s.failed += th->calls[CALL_cudaEventRecord].failed;
		s.lost += th->lost;
		if (th->in_call)
			complain("a call is still in flight", th->in_call, i);
		for (uint64_t at = th->ring_first; at;) {
			const struct tf_ring *ring = tf_at(&spy_map, at, sizeof(*ring));
			s.left += ring->head - ring->tail;
			at = ring->next;
		}
	}
	return s;
}

/* Every record that came through is whole, and those of a thread are in their order; nested ones
 * before their caller. */
static void check_records(void)
{
	const struct tf_store *all = tf_at(&spy_map, tf_header(&spy_map)->store, sizeof(*all));
	uint64_t *next = calloc(threads * generations, sizeof(*next));

	if (all->written != drained)
		complain("records kept and drained", all->written, drained);
	for (uint64_t n = 0; n < all->written; n++) {
		uint64_t page = all->pages[n / all->page_records];
		const struct tf_record *r =
		        tf_at(&spy_map, page + n % all->page_records * sizeof(*r), sizeof(*r));
		bool nested = r->flags & TF_NESTED;
		uint64_t number = r->arg[0], who = r->arg[1];
		int wanted = !nested && number % FAILS_EACH == FAILS_EACH - 1 ? 700 : 0;
		if (r->arg[3] != check_sum(r) || who >= threads * generations ||
		    r->arg[2] != number * who || r->stream != ~number || r->end < r->start ||
		    r->result != wanted || (r->flags & TF_NO_ARGS) ||
		    r->call != (nested ? CALL_cuMemAlloc_v2 : CALL_cudaEventRecord)) {
			complain("a torn record", n, number);
			continue;
		}
		/* A nested record goes before the call that it is part of, so it may not come after
		 * that. */
		if (number < next[who])
			complain("out of order", number, next[who]);
		next[who] = nested ? number : number + 1;
	}
	free(next);
}

static void check(const struct sums *s, const char *when)
{
	if (s->calls != made_calls || s->failed != made_calls / calls * (calls / FAILS_EACH))
		complain(when, s->calls, s->failed);
	if (made_calls + made_nested != drained + s->lost + s->left)
		complain("records and what became of them", made_calls + made_nested,
		         drained + s->lost + s->left);
}

int main(int argc, char **argv)
{
	pthread_t producers[256], collector, onlooker;
	struct drain drain = {.map = &spy_map};

	if (argc < 5 || (threads = (unsigned)atoi(argv[1])) > 256 || threads < 1) {
		fprintf(stderr, "usage: ring_stress THREADS CALLS RING PAUSE_US [GENERATIONS]\n");
		return 2;
	}
	calls = (uint64_t)atoll(argv[2]);
	spy_options.ring_records = (uint64_t)atoll(argv[3]);
	pause_us = (unsigned)atoi(argv[4]);
	generations = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
	clock_choose(true);
	stub_start(1ull << 30);
	plain_alloc = spy_map.alloc;
	prepare();
	thread_init();
	stub_gate(true);
	pthread_create(&collector, NULL, collect, NULL);
	pthread_create(&onlooker, NULL, look_on, NULL);
	for (unsigned g = 0; g < generations; g++) {
		for (unsigned i = 0; i < threads; i++)
			pthread_create(&producers[i], NULL, produce,
			               (void *)(uintptr_t)(g * threads + i));
		for (unsigned i = 0; i < threads; i++)
			pthread_join(producers[i], NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(collector, NULL);
	pthread_join(onlooker, NULL);

	struct sums before = sum_up();
	check(&before, "calls and failures, with records left");
	drained += drain_all(&drain, UINT64_MAX);
	struct sums s = sum_up();
	check(&s, "calls and failures");
	if (s.left)
		complain("records left after the last drain", s.left, 0);
	check_records();
	printf("calls=%llu nested=%llu drained=%llu lost=%llu left=%llu slots=%u complaints=%u\n",
	       (unsigned long long)s.calls, (unsigned long long)made_nested,
	       (unsigned long long)drained, (unsigned long long)s.lost,
	       (unsigned long long)before.left, tf_count(&tf_header(&spy_map)->threads),
	       complaints);
	return complaints != 0;
}
