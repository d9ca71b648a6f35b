/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "shim/handles/memory_map.h"
#include "tests/unit/shim_stubs.h"

/* The same by the simplest means: a list, looked through from end to end. */
#define MODEL_MOST 4096
static struct memory_range model[MODEL_MOST];
static unsigned model_count;

static void model_forget(unsigned i)
{
	model[i] = model[--model_count];
}

static void model_add(const struct memory_range *r)
{
	for (unsigned i = 0; i < model_count;)
		if (model[i].start < r->end && r->start < model[i].end)
			model_forget(i);
		else
			i++;
	assert_true(model_count < MODEL_MOST);
	model[model_count++] = *r;
}

static const struct memory_range *model_at(uint64_t address)
{
	for (unsigned i = 0; i < model_count; i++)
		if (address >= model[i].start && address < model[i].end)
			return &model[i];
	return NULL;
}

static enum spy_memory model_find(uint64_t address)
{
	const struct memory_range *r = model_at(address);

	return r ? r->memory : SPY_MEM_PAGEABLE;
}

static void model_drop(uint64_t context)
{
	for (unsigned i = 0; i < model_count;)
		if (model[i].context == context)
			model_forget(i);
		else
			i++;
}

static int start(void **state)
{
	stub_start(1 << 16);
	return 0;
}

static int end(void **state)
{
	struct memory_range gone;

	for (unsigned i = 0; i < model_count; i++)
		assert_true(memory_map_remove(model[i].start, &gone));
	model_count = 0;
	stub_end();
	return 0;
}

static void add(uint64_t from, uint64_t to, enum spy_memory memory, uint64_t context)
{
	const struct memory_range r = {
	        .start = from, .end = to, .memory = memory, .context = context, .sized = 1};

	memory_map_add(&r);
	if (from && to > from)
		model_add(&r);
}

static void test_edges(void **state)
{
	struct memory_range gone;

	assert_int_equal(memory_map_find(100), SPY_MEM_PAGEABLE);
	add(100, 200, SPY_MEM_PINNED, 0);
	assert_int_equal(memory_map_find(99), SPY_MEM_PAGEABLE);
	assert_int_equal(memory_map_find(100), SPY_MEM_PINNED);
	assert_int_equal(memory_map_find(199), SPY_MEM_PINNED);
	assert_int_equal(memory_map_find(200), SPY_MEM_PAGEABLE);
	add(200, 201, SPY_MEM_DEVICE, 0); /* right behind: no overlap */
	assert_int_equal(memory_map_find(199), SPY_MEM_PINNED);
	assert_int_equal(memory_map_find(200), SPY_MEM_DEVICE);
	add(0, 50, SPY_MEM_MANAGED, 0);  /* nothing starts at NULL */
	add(70, 70, SPY_MEM_MANAGED, 0); /* empty */
	add(80, 70, SPY_MEM_MANAGED, 0);
	assert_int_equal(memory_map_find(10), SPY_MEM_PAGEABLE);
	assert_int_equal(memory_map_find(70), SPY_MEM_PAGEABLE);
	assert_false(memory_map_remove(0, &gone));
	assert_false(memory_map_remove(99, &gone));
	add(UINT64_MAX - 10, UINT64_MAX, SPY_MEM_DEVICE, 0);
	assert_int_equal(memory_map_find(UINT64_MAX - 1), SPY_MEM_DEVICE);
	assert_int_equal(memory_map_find(UINT64_MAX), SPY_MEM_PAGEABLE);
}

static void test_removed_is_told(void **state)
{
	struct memory_range gone;
	const struct memory_range r = {
	        .start = 1000, .end = 3000, .context = 7, .memory = SPY_MEM_DEVICE, .sized = 1};

	memory_map_add(&r);
	assert_true(memory_map_remove(2999, &gone)); /* from within, too */
	assert_int_equal(gone.start, 1000);
	assert_int_equal(gone.end, 3000);
	assert_int_equal(gone.context, 7);
	assert_int_equal(gone.memory, SPY_MEM_DEVICE);
	assert_int_equal(gone.sized, 1);
	assert_false(memory_map_remove(1000, &gone));
}

/* A new range over several old ones, over a part of one at each side, inside one, the same again.
 */
static void test_overlaps(void **state)
{
	for (uint64_t i = 1; i <= 10; i++)
		add(i * 100, i * 100 + 100, SPY_MEM_PINNED, 0);
	add(250, 550, SPY_MEM_DEVICE, 0);
	for (uint64_t a = 50; a < 1200; a += 10)
		assert_int_equal(memory_map_find(a), model_find(a));
	assert_int_equal(memory_map_find(240), SPY_MEM_PAGEABLE);
	assert_int_equal(memory_map_find(190), SPY_MEM_PINNED);
	assert_int_equal(memory_map_find(560), SPY_MEM_PAGEABLE);
	assert_int_equal(memory_map_find(600), SPY_MEM_PINNED);
	add(300, 310, SPY_MEM_MANAGED, 0);
	add(300, 310, SPY_MEM_PINNED, 0);
	for (uint64_t a = 50; a < 1200; a += 5)
		assert_int_equal(memory_map_find(a), model_find(a));
}

static void one_step(void)
{
	uint64_t from = 1 + stub_random() % 5000, what = stub_random() % 100;
	struct memory_range gone;

	if (what < 50) {
		add(from, from + stub_random() % (what < 45 ? 20 : 600), 1 + stub_random() % 4,
		    stub_random() % 5);
	} else if (what < 95) {
		const struct memory_range *known = model_at(from);
		struct memory_range wanted = known ? *known : (struct memory_range){0};
		assert_int_equal(memory_map_remove(from, &gone), known != NULL);
		if (known) {
			assert_memory_equal(&gone, &wanted, sizeof(gone));
			model_forget((unsigned)(known - model));
		}
	} else if (what == 99) {
		uint64_t context = 1 + stub_random() % 4;
		memory_map_drop_context(context);
		model_drop(context);
	}
}

static void test_against_the_model(void **state)
{
	for (int i = 0; i < 200000; i++) {
		one_step();
		for (int n = 0; n < 3; n++) {
			uint64_t a = stub_random() % 5700;
			if (memory_map_find(a) != model_find(a))
				fail_msg("step %d: %llu is %d, not %d", i, (unsigned long long)a,
				         memory_map_find(a), model_find(a));
		}
	}
	for (uint64_t a = 0; a < 5700; a++)
		assert_int_equal(memory_map_find(a), model_find(a));
	memory_map_drop_context(0); /* "with none" is no context */
	for (uint64_t a = 0; a < 5700; a++)
		assert_int_equal(memory_map_find(a), model_find(a));
}

static void test_many(void **state)
{
	enum { MANY = 50000 };
	struct memory_range gone;

	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t n = (i * 7919) % MANY; /* in no order */
		const struct memory_range r = {
		        .start = 4096 * (n + 1), .end = 4096 * (n + 1) + 64, .memory = 1 + n % 4};
		memory_map_add(&r);
	}
	for (uint64_t n = 0; n < MANY; n++) {
		assert_int_equal(memory_map_find(4096 * (n + 1) + 63), 1 + n % 4);
		assert_int_equal(memory_map_find(4096 * (n + 1) + 64), SPY_MEM_PAGEABLE);
	}
	for (uint64_t n = 0; n < MANY; n++)
		assert_true(memory_map_remove(4096 * (n + 1), &gone));
	assert_int_equal(memory_map_find(4096), SPY_MEM_PAGEABLE);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_MEMORY_FULL], 0);
}

/* ---- readers under a writer
 * -------------------------------------------------------------------------------------------- */

#define PLACES 64
static uint32_t stop;

/* Place i: an even one holds PINNED memory for good; an odd one is DEVICE memory now and then.
 * Between them: nothing. */
static uint64_t place(unsigned i)
{
	return 1000000 + 1000 * (uint64_t)i;
}

static void *read_all(void *wrong)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (unsigned i = 0; i < PLACES; i++) {
			enum spy_memory in = memory_map_find(place(i) + 99),
			                between = memory_map_find(place(i) + 500);
			bool ok = i % 2 ? in == SPY_MEM_DEVICE || in == SPY_MEM_PAGEABLE
			                : in == SPY_MEM_PINNED;
			if (!ok || between != SPY_MEM_PAGEABLE)
				__atomic_fetch_add((unsigned *)wrong, 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

static void test_readers_under_a_writer(void **state)
{
	pthread_t readers[2];
	unsigned wrong = 0;
	struct memory_range gone;

	for (unsigned i = 0; i < PLACES; i += 2)
		add(place(i), place(i) + 100, SPY_MEM_PINNED, 0);
	stop = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all, &wrong), 0);
	for (int i = 0; i < 100000; i++) {
		unsigned n = stub_random() % (PLACES / 2) * 2 + 1;
		const struct memory_range r = {
		        .start = place(n), .end = place(n) + 100, .memory = SPY_MEM_DEVICE};
		memory_map_add(&r);
		if (stub_random() % 2)
			memory_map_remove(place(n), &gone);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(wrong, 0);
	for (unsigned n = 1; n < PLACES; n += 2)
		memory_map_remove(place(n), &gone);
}

/* ---- without the lock ---- */

static struct memory_range of_kind(uint64_t start, uint64_t bytes, uint32_t memory)
{
	return (struct memory_range){
	        .start = start, .end = start + bytes, .memory = memory, .sized = 1};
}

/* Memory that comes back, as large as it was or less, takes no lock; larger, or another kind, does.
 */
static void test_memory_that_comes_back(void **state)
{
	struct memory_range r = of_kind(1 << 20, 4096, SPY_MEM_DEVICE), gone;

	memory_map_add(&r);
	uint32_t before = stub_locks;
	for (int i = 0; i < 1000; i++) {
		assert_true(memory_map_remove(r.end - 1, &gone));
		assert_memory_equal(&gone, &r, sizeof(r));
		assert_int_equal(memory_map_find(r.start), SPY_MEM_PAGEABLE);
		assert_false(memory_map_remove(r.start, &gone));
		r.end = r.start + 1 + (uint64_t)i * 4;
		memory_map_add(&r);
		assert_int_equal(memory_map_find(r.end - 1), SPY_MEM_DEVICE);
		assert_int_equal(memory_map_find(r.end), SPY_MEM_PAGEABLE);
	}
	assert_int_equal(stub_locks, before);
	memory_map_remove(r.start, &gone);
	r.end = r.start + 4097;
	memory_map_add(&r);
	assert_int_equal(stub_locks, before + 1);
	assert_int_equal(memory_map_find(r.end - 1), SPY_MEM_DEVICE);
	memory_map_remove(r.start, &gone);
	r.memory = SPY_MEM_MANAGED;
	memory_map_add(&r);
	assert_int_equal(stub_locks, before + 2);
	assert_int_equal(memory_map_find(r.start), SPY_MEM_MANAGED);
	memory_map_remove(r.start, &gone);
}

/* Another one begins where the first, which is less by now, reached before: both are there, and the
 * first never reaches over it again without the lock. */
static void test_within_what_was_there(void **state)
{
	struct memory_range large = of_kind(1 << 20, 4096, SPY_MEM_DEVICE),
	                    small = of_kind(1 << 20, 1024, SPY_MEM_DEVICE),
	                    inside = of_kind((1 << 20) + 2048, 512, SPY_MEM_MANAGED), gone;

	memory_map_add(&large);
	assert_true(memory_map_remove(large.start, &gone));
	memory_map_add(&small);
	memory_map_add(&inside);
	assert_int_equal(memory_map_find(small.end - 1), SPY_MEM_DEVICE);
	assert_int_equal(memory_map_find(inside.start), SPY_MEM_MANAGED);
	assert_true(memory_map_remove(inside.start, &gone));
	assert_true(memory_map_remove(small.start, &gone));
	memory_map_add(&large);
	for (uint64_t a = large.start; a < large.end; a += 64)
		assert_int_equal(memory_map_find(a), SPY_MEM_DEVICE);
	assert_true(memory_map_remove(large.start, &gone));
	assert_memory_equal(&gone, &large, sizeof(gone));
}

/* Addresses that never come back: what is known of them takes no more memory than what is there. */
static void test_ever_new_addresses(void **state)
{
	struct rusage before, after;
	struct memory_range gone;

	for (uint64_t i = 1; i <= 2000000; i++) {
		struct memory_range r = of_kind(i * 4096, 4096, SPY_MEM_DEVICE);
		if (i == 100000)
			getrusage(RUSAGE_SELF, &before);
		memory_map_add(&r);
		assert_true(memory_map_remove(r.start, &gone));
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB; 109,000 without the sweep */
}

/* Working sets in turn, each forgotten before the next: their nodes stay. One range over all of
 * them takes them out at once, and a context that goes leaves them to whoever comes back. */
static void test_places_in_turn(void **state)
{
	enum { SETS = 4, EACH = 1000 };
	struct memory_range gone;
	uint32_t before = 0;

	for (int round = 0; round < 3 * SETS; round++) {
		for (uint64_t i = 0; i < EACH; i++) {
			struct memory_range r =
			        of_kind((1 + (uint64_t)(round % SETS) * EACH + i) << 20, 4096,
			                SPY_MEM_DEVICE);
			r.context = 7;
			memory_map_add(&r);
		}
		if (round == SETS - 1)
			before = stub_locks;
		if (round % 2) {
			memory_map_drop_context(7);
			before += round >= SETS;
		}
		for (uint64_t i = 0; i < EACH; i++)
			assert_int_equal(
			        memory_map_remove((1 + (uint64_t)(round % SETS) * EACH + i) << 20,
			                          &gone),
			        round % 2 == 0);
	}
	assert_int_equal(stub_locks, before + 1); /* the drop right behind the mark */
	struct memory_range all = of_kind(1 << 20, (uint64_t)SETS * EACH << 20, SPY_MEM_PINNED);
	memory_map_add(&all);
	for (uint64_t a = all.start; a < all.end; a += 999999)
		assert_int_equal(memory_map_find(a), SPY_MEM_PINNED);
	assert_true(memory_map_remove(all.start, &gone));
	assert_memory_equal(&gone, &all, sizeof(gone));
}

/* ---- many threads ---- */

#define UNITS 512 /* of a heap that they share, 4 KiB each */
#define HEAP  0x700000000000u
static struct {
	pthread_mutex_t lock;
	bool taken[UNITS];
	unsigned wrong;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first place for so many units; 0: there is none. */
static uint64_t heap_take(unsigned units)
{
	uint64_t at = 0;

	pthread_mutex_lock(&heap.lock);
	for (unsigned i = 0, n = 0; i < UNITS && !at; i++) {
		n = heap.taken[i] ? 0 : n + 1;
		if (n == units) {
			at = HEAP + (i + 1 - units) * 4096;
			memset(&heap.taken[i + 1 - units], true, units);
		}
	}
	pthread_mutex_unlock(&heap.lock);
	return at;
}

static void heap_give(uint64_t at, unsigned units)
{
	pthread_mutex_lock(&heap.lock);
	memset(&heap.taken[(at - HEAP) / 4096], false, units);
	pthread_mutex_unlock(&heap.lock);
}

static void is_right(bool right)
{
	if (!right)
		__atomic_fetch_add(&heap.wrong, 1, __ATOMIC_RELAXED);
}

/* As cudaMalloc and cudaFree of a program do: an address is another one's as soon as it is free. */
static void *allocate_and_free(void *number)
{
	uint64_t random = 0x9e3779b97f4a7c15u * (uintptr_t)number;
	struct memory_range held[8] = {{0}}, gone;

	for (int i = 0; i < 60000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		struct memory_range *r = &held[random >> 60 & 7];
		unsigned units = 1 + (random >> 40 & 15),
		         had = (unsigned)((r->end - r->start) / 4096);
		if (r->start) {
			is_right(memory_map_find(r->start) == r->memory &&
			         memory_map_find(r->end - 1) == r->memory);
			is_right(memory_map_remove(r->start, &gone) &&
			         !memcmp(&gone, r, sizeof(gone)));
			heap_give(r->start, had);
			r->start = 0;
		} else if ((r->start = heap_take(units))) {
			*r = of_kind(r->start, units * 4096,
			             random >> 50 & 3 ? SPY_MEM_DEVICE : SPY_MEM_MANAGED);
			memory_map_add(r);
		}
	}
	for (int k = 0; k < 8; k++)
		if (held[k].start) {
			is_right(memory_map_remove(held[k].start, &gone));
			heap_give(held[k].start, (unsigned)((held[k].end - held[k].start) / 4096));
		}
	return NULL;
}

static void test_threads_that_allocate(void **state)
{
	pthread_t threads[4];

	heap.wrong = 0;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
		        pthread_create(&threads[i], NULL, allocate_and_free, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(heap.wrong, 0);
	for (uint64_t at = HEAP; at < HEAP + UNITS * 4096; at += 2048)
		assert_int_equal(memory_map_find(at), SPY_MEM_PAGEABLE);
}

/* ---- a handler of a signal ---- */

static struct memory_range handlers;
static uint32_t interrupts;

static void in_handler(int signal)
{
	struct memory_range gone;

	memory_map_add(&handlers);
	is_right(memory_map_find(handlers.start) == handlers.memory);
	is_right(memory_map_remove(handlers.start, &gone));
	interrupts++;
}

/* It comes in the midst of the same, of the same thread. */
static void test_in_a_handler(void **state)
{
	struct memory_range r = of_kind(1 << 20, 4096, SPY_MEM_DEVICE), gone;
	struct sigaction action = {.sa_handler = in_handler}, old;
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};

	handlers = of_kind((1 << 20) + 8192, 4096, SPY_MEM_PINNED);
	memory_map_add(&r);
	memory_map_add(&handlers);
	heap.wrong = interrupts = 0;
	uint32_t before = stub_locks;
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	while (interrupts < 300) {
		is_right(memory_map_remove(r.start, &gone) && !memcmp(&gone, &r, sizeof(r)));
		memory_map_add(&r);
		is_right(memory_map_find(r.start) == r.memory);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(heap.wrong, 0);
	assert_int_equal(stub_locks, before);
	memory_map_remove(r.start, &gone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_edges, start, end),
	        cmocka_unit_test_setup_teardown(test_removed_is_told, start, end),
	        cmocka_unit_test_setup_teardown(test_overlaps, start, end),
	        cmocka_unit_test_setup_teardown(test_against_the_model, start, end),
	        cmocka_unit_test_setup_teardown(test_many, start, end),
	        cmocka_unit_test_setup_teardown(test_readers_under_a_writer, start, end),
	        cmocka_unit_test_setup_teardown(test_memory_that_comes_back, start, end),
	        cmocka_unit_test_setup_teardown(test_within_what_was_there, start, end),
	        cmocka_unit_test_setup_teardown(test_ever_new_addresses, start, end),
	        cmocka_unit_test_setup_teardown(test_places_in_turn, start, end),
	        cmocka_unit_test_setup_teardown(test_threads_that_allocate, start, end),
	        cmocka_unit_test_setup_teardown(test_in_a_handler, start, end),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
