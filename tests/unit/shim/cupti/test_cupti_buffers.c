/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that CUPTI writes into: bounded, zeroed, in order, and refused only where that may
 * be. */
#include "shim/cupti/cupti_buffers.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "shim/base/collector_wait.h"
#include "tests/unit/unit.h"

static uint8_t *ask(void)
{
	uint8_t *data;
	size_t bytes, most = 77;

	cupti_buffer_requested(&data, &bytes, &most);
	assert_int_equal(bytes, data ? CUPTI_BUFFER_BYTES : 0);
	assert_int_equal(most, 0);
	assert_int_equal((uintptr_t)data % 8, 0);
	return data;
}

static void fill(uint8_t *data, size_t valid, int mark)
{
	memset(data, mark, valid);
	cupti_buffer_completed(NULL, 0, data, CUPTI_BUFFER_BYTES, valid);
}

static unsigned recycle_all(void)
{
	struct cupti_buffer *b = cupti_buffers_take(), *next;
	unsigned n = 0;

	for (; b; b = next, n++) {
		next = b->next;
		cupti_buffer_recycle(b);
	}
	return n;
}

static void test_full_ones_come_in_order(void **state)
{
	uint8_t *data[3];

	for (int i = 0; i < 3; i++)
		data[i] = ask();
	for (int i = 0; i < 3; i++)
		fill(data[i], 100 + (size_t)i, 1 + i);
	assert_int_equal(cupti_buffers_waiting(), 3);
	struct cupti_buffer *b = cupti_buffers_take();
	assert_int_equal(cupti_buffers_waiting(), 0);
	assert_null(cupti_buffers_take());
	for (int i = 0; i < 3; i++) {
		struct cupti_buffer *next = b->next;
		assert_ptr_equal(cupti_buffer_data(b), data[i]);
		assert_int_equal(b->valid, 100 + i);
		cupti_buffer_recycle(b);
		b = next;
	}
	assert_null(b);
}

static void test_used_ones_are_zeroed(void **state)
{
	uint8_t *data = ask();

	fill(data, CUPTI_BUFFER_BYTES, 0xff);
	assert_int_equal(recycle_all(), 1);
	uint8_t *again = ask();
	assert_ptr_equal(again, data);
	for (size_t i = 0; i < CUPTI_BUFFER_BYTES; i++)
		assert_int_equal(again[i], 0);
	fill(again, 0, 0); /* empty ones are nothing to read */
	assert_null(cupti_buffers_take());
}

/* Last of all: it leaves the pool at its limit. */
static void test_the_limit(void **state)
{
	static uint8_t *data[CUPTI_BUFFERS_MOST];

	cupti_buffers_start(false);
	for (unsigned i = 0; i < CUPTI_BUFFERS_MOST; i++)
		assert_non_null(data[i] = ask());
	assert_null(ask());
	cupti_buffers_start(true);
	uint8_t *more = ask();
	assert_non_null(more);
	cupti_buffers_start(false);
	assert_int_equal(cupti_buffers_lost(), 0);

	/* Where nobody reads, the oldest records go, and are counted. */
	fill(data[0], 1000, 1);
	fill(data[1], 500, 1);
	uint8_t *oldest = ask();
	assert_ptr_equal(oldest, data[0]);
	for (size_t i = 0; i < CUPTI_BUFFER_BYTES; i++)
		assert_int_equal(oldest[i], 0);
	assert_int_equal(cupti_buffers_lost(), 1000);
	assert_int_equal(cupti_buffers_lost(), 0);
	assert_int_equal(recycle_all(), 1);
}

/* What it asks for is full soon: a collector that sleeps is woken, if it is many. */
static bool was_called;
static uint32_t awake;

static void *sleep_long(void *unused)
{
	was_called = collector_wait(COLLECTOR_WAIT_LONG_NS * 20);
	__atomic_store_n(&awake, 1, __ATOMIC_RELEASE);
	return unused;
}

static void test_many_wake_a_collector_that_sleeps(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sleep_long, NULL), 0);
	/* It may not be asleep yet. */
	while (!__atomic_load_n(&awake, __ATOMIC_ACQUIRE)) {
		for (unsigned i = 0; i < CUPTI_BUFFERS_MANY; i++)
			cupti_buffer_completed(NULL, 0, ask(), CUPTI_BUFFER_BYTES, 0);
		usleep(1000);
	}
	pthread_join(thread, NULL);
	assert_true(was_called);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_full_ones_come_in_order),
	        cmocka_unit_test(test_used_ones_are_zeroed),
	        cmocka_unit_test(test_many_wake_a_collector_that_sleeps),
	        cmocka_unit_test(test_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
