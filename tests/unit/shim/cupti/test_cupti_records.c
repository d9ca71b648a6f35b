/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's records to ours: times, causes, names, the ring that fills; records that are no good. */
#include "shim/cupti/cupti_records.h"

#include <stdlib.h>
#include <string.h>
#include "shim/base/clock.h"
#include "shim/cupti/cupti_buffers.h"
#include "shim/base/recording_tables.h"
#include "shim/handles/registry.h"
#include "shim/record/thread.h"
#include "tests/unit/shim_stubs.h"

#define RECORD_BYTES 160 /* of every record in these tests, but for those of graphs */

static size_t record_bytes = RECORD_BYTES;

/* As thread.c makes them. */
uint64_t thread_make_ring(uint64_t records)
{
	uint64_t offset = spy_map.alloc(&spy_map, sizeof(struct tf_ring) +
	                                                  records * sizeof(struct tf_record));
	struct tf_ring *ring = tf_at(&spy_map, offset, sizeof(*ring));

	if (ring)
		ring->capacity = records;
	return offset;
}

static int next_record(uint8_t *buffer, size_t valid, struct cp_record **r)
{
	uint8_t *next = *r ? (uint8_t *)*r + record_bytes : buffer;

	if (next >= buffer + valid)
		return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
	*r = (struct cp_record *)next;
	return CP_OK;
}

static const struct cp_functions functions = {.next_record = next_record};
static struct tf_ring *ring;
static uint8_t *data;
static size_t used;

static void begin(void)
{
	size_t bytes, most;

	cupti_buffer_requested(&data, &bytes, &most);
	used = 0;
}

static void *add(uint32_t kind)
{
	struct cp_record *r = (struct cp_record *)(data + used);

	r->kind = kind;
	used += record_bytes;
	return r;
}

static void add_kernel(const char *name, uint64_t start, uint64_t end, uint32_t correlation)
{
	struct cp_kernel *k = add(CP_KIND_KERNEL);

	k->name = name;
	k->start = start;
	k->end = end;
	k->device = 3;
	k->stream = 7;
	k->correlation = correlation;
}

static void end(void)
{
	cupti_buffer_completed(NULL, 0, data, CUPTI_BUFFER_BYTES, used);
}

static const struct tf_record *written(uint64_t n)
{
	assert_true(n < ring->head);
	return &ring->slots[n % ring->capacity];
}

static void start(void)
{
	stub_start(16 << 20);
	clock_choose(true);
	spy_load_clock = clock_triple(20);
	tf_header(&spy_map)->load = spy_load_clock.tick;
	struct tf_kernel *unknown = tf_append(&spy_map, &tf_header(&spy_map)->kernels);
	unknown->name = recording_text("(unknown)", 9);
	tf_publish(&tf_header(&spy_map)->kernels);
	assert_true(cupti_records_start(&functions));
	ring = tf_at(&spy_map, tf_header(&spy_map)->activity_ring, sizeof(*ring));
	spy_generation++; /* the names of the recording before are gone */
}

static uint64_t here(void)
{
	return clock_triple(20).realtime_ns;
}

static void read_all(void)
{
	cupti_records_collect();
	cupti_records_write();
}

static uint64_t trouble(enum spy_anomaly what)
{
	return tf_header(&spy_map)->anomaly[what];
}

static void test_times_are_ticks(void **state)
{
	start();
	struct timespec pause = {.tv_nsec = 20000000};
	nanosleep(&pause, NULL);
	struct tf_clock_triple then = clock_triple(50);
	nanosleep(&pause, NULL);
	begin();
	add_kernel("k", then.realtime_ns, then.realtime_ns + 1000000, 1);
	end();
	read_all();
	const struct tf_record *r = written(0);
	double rate = (double)(then.tick - spy_load_clock.tick) /
	              (double)(then.monotonic_ns - spy_load_clock.monotonic_ns);
	assert_true((double)llabs((int64_t)(r->start - then.tick)) < 20000 * rate);
	assert_true((double)llabs((int64_t)(r->end - r->start - (uint64_t)(1e6 * rate))) <
	            1000 * rate);
	assert_int_equal(r->call, TF_CALL_ACTIVITY);
	assert_int_equal(r->thread, TF_WORK_KERNEL);
	assert_int_equal(r->activity.device, 3);
	assert_int_equal(r->activity.stream, 7);
	stub_end();
}

static void test_causes(void **state)
{
	start();
	uint64_t now = here();
	cupti_records_cause(10, 1000);
	cupti_records_cause(12, 1200);
	cupti_records_cause(12 + (1u << 18), 9); /* lies in the same place */
	begin();
	add_kernel("k", now, now, 10);
	add_kernel("k", now, now, 11); /* of no call of ours */
	add_kernel("k", now, now, 12);
	end();
	read_all();
	assert_int_equal(ring->head, 3);
	assert_int_equal(written(0)->stream, 1000);
	assert_int_equal(written(1)->stream, 0);
	assert_int_equal(written(2)->stream, 0);
	stub_end();
}

static void test_invalid_ones_are_counted(void **state)
{
	start();
	uint64_t now = here();
	begin();
	add_kernel("k", 0, 0, 1);
	add_kernel("k", now, 0, 1);
	add_kernel("k", 0, now, 1);
	add_kernel("k", now, now - 1, 1);
	add_kernel("k", 5, now, 1);                    /* before the recording */
	add_kernel("k", now, now + 60000000000ull, 1); /* in the future */
	add_kernel("k", UINT64_MAX - 5, UINT64_MAX - 1, 1);
	add(99); /* a kind nobody asked for */
	add_kernel("k", now, now, 1);
	end();
	read_all();
	assert_int_equal(ring->head, 1);
	assert_int_equal(trouble(SPY_ANOMALY_CUPTI_INVALID), 7);
	stub_end();
}

static void test_names(void **state)
{
	static char place[16] = "first";

	start();
	uint64_t now = here();
	begin();
	add_kernel(place, now, now, 1);
	add_kernel("other", now, now, 1);
	add_kernel(place, now, now, 1);
	add_kernel(NULL, now, now, 1);
	end();
	read_all();
	strcpy(place, "second"); /* another kernel's name at the same address */
	begin();
	add_kernel(place, now, now, 1);
	end();
	read_all();
	assert_int_equal(written(0)->activity.kernel, registry_kernel("first"));
	assert_int_equal(written(1)->activity.kernel, registry_kernel("other"));
	assert_int_equal(written(2)->activity.kernel, written(0)->activity.kernel);
	assert_int_equal(written(3)->activity.kernel, TF_KERNEL_UNKNOWN);
	assert_int_equal(written(4)->activity.kernel, registry_kernel("second"));
	stub_end();
}

/* The shortest records: a buffer of them waits until there is room for all. */
static void test_graphs_do_not_flood_the_ring(void **state)
{
	start();
	uint64_t now = here();
	record_bytes = CP_RECORD_LEAST;
	begin();
	for (uint64_t i = 0; i < CUPTI_BUFFER_BYTES / CP_RECORD_LEAST; i++) {
		struct cp_graph *g = add(CP_KIND_GRAPH);
		g->start = g->end = now;
		g->correlation = (uint32_t)i;
		g->device = i ? 1 : INT32_MAX;
	}
	end();
	ring->head = ring->capacity - CUPTI_BUFFER_BYTES / CP_RECORD_LEAST + 1;
	cupti_records_collect();
	cupti_records_write();
	assert_true(ring->head - ring->tail <= ring->capacity);
	assert_true(cupti_records_left() > 0);
	uint64_t first = ring->tail = ring->head;
	cupti_records_write();
	assert_int_equal(cupti_records_left(), 0);
	assert_int_equal(ring->head - first, CUPTI_BUFFER_BYTES / CP_RECORD_LEAST);
	const struct tf_record *r = &ring->slots[first & (ring->capacity - 1)];
	assert_int_equal(r[0].thread, TF_WORK_GRAPH);
	assert_int_equal(r[0].activity.device, TF_DEVICE_OF_CALL);
	assert_int_equal(r[1].activity.device, 1);
	record_bytes = RECORD_BYTES;
	stub_end();
}

/* What finds no room waits for the drain; at the end it is counted. */
static void test_a_full_ring_loses_nothing(void **state)
{
	const uint64_t each = CUPTI_BUFFER_BYTES / RECORD_BYTES, buffers = 40;
	uint64_t seen = 0;

	start();
	uint64_t now = here();
	for (uint64_t b = 0; b < buffers; b++) {
		begin();
		for (uint64_t i = 0; i < each; i++)
			add_kernel("k", now, now, (uint32_t)(b * each + i));
		end();
	}
	cupti_records_collect();
	while (seen < buffers * each) {
		cupti_records_write();
		assert_true(ring->head > seen);
		assert_true(ring->head - ring->tail <= ring->capacity);
		seen = ring->tail = ring->head;
	}
	assert_int_equal(cupti_records_left(), 0);
	assert_int_equal(trouble(SPY_ANOMALY_CUPTI_DROPPED), 0);

	begin();
	for (uint64_t i = 0; i < 28; i++) /* as much as 16 launches take */
		add_kernel("k", now, now, 1);
	end();
	ring->tail = ring->head - ring->capacity;
	cupti_records_collect();
	cupti_records_write();
	assert_int_equal(cupti_records_left(), 28 * RECORD_BYTES);
	cupti_records_give_up();
	assert_int_equal(trouble(SPY_ANOMALY_CUPTI_DROPPED), 16);
	assert_int_equal(cupti_records_left(), 0);
	stub_end();
}

static void test_range(void **state)
{
	start();
	struct tf_header *h = tf_header(&spy_map);
	h->range_mode = TF_RANGE_PROFILER;
	uint64_t now = here();
	begin();
	add_kernel("k", now, now, 1); /* the range was never opened */
	end();
	read_all();
	assert_int_equal(ring->head, 0);
	h->range_from = h->load;
	begin();
	add_kernel("k", now, now, 1);
	end();
	read_all();
	assert_int_equal(ring->head, 1);
	stub_end();
}

static void test_no_room_for_the_ring(void **state)
{
	stub_start(1 << 16);
	assert_false(cupti_records_start(&functions));
	assert_int_equal(tf_header(&spy_map)->activity_ring, 0);
	stub_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_times_are_ticks),
	        cmocka_unit_test(test_causes),
	        cmocka_unit_test(test_invalid_ones_are_counted),
	        cmocka_unit_test(test_names),
	        cmocka_unit_test(test_a_full_ring_loses_nothing),
	        cmocka_unit_test(test_range),
	        cmocka_unit_test(test_no_room_for_the_ring),
	        cmocka_unit_test(test_graphs_do_not_flood_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
