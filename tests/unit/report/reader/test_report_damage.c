/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/reader/reader.h"
#include "shim/core/drain/drain.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

static struct made sample;

static int start(void **state)
{
	made_sample(&sample, MADE_AREAS);
	return 0;
}

static int stop(void **state)
{
	made_free(&sample);
	return 0;
}

/* Either a report or one line that says why there is none. */
static bool survives(const void *data, size_t bytes)
{
	struct rendered r;
	bool good = render(&r, data, bytes);

	if (good)
		assert_true(strlen(r.text) > 200 && r.json[0] == '{' && strlen(r.csv) > 50 &&
		            strlen(r.markdown) > 200);
	else
		assert_true(*r.error && !strchr(r.error, '\n'));
	rendered_free(&r);
	return good;
}

static void test_truncated(void **state)
{
	size_t all = made_bytes(&sample), reports = 0;

	for (size_t bytes = 0; bytes < all; bytes += 997) {
		bool good = survives(sample.map.base, bytes);
		assert_int_equal(good, bytes >= sizeof(struct tf_header));
		reports += good;
	}
	assert_true(reports > 600);
}

/* What is cut off is told. */
static void test_truncated_warns(void **state)
{
	struct model m;

	assert_true(render_model(&m, sample.map.base, made_bytes(&sample) - 4096));
	assert_non_null(strstr(m.processes[0].damage, "cut short"));
	model_free(&m);
}

/* One byte after the other of the header, then bytes here and there, turned over. */
static void test_flipped(void **state)
{
	struct made small;
	unsigned random = 1;

	made_sample(&small, 0);
	size_t bytes = made_bytes(&small);
	for (size_t i = 0; i < sizeof(struct tf_header); i += 5) {
		small.map.base[i] ^= 0xff;
		survives(small.map.base, bytes);
		small.map.base[i] ^= 0xff;
	}
	made_free(&small);
	size_t all = made_bytes(&sample);
	uint8_t *copy = malloc(all);
	for (int round = 0; round < 200; round++) {
		memcpy(copy, sample.map.base, all);
		for (int i = 0; i < 50; i++) {
			random = random * 1103515245 + 12345;
			copy[sizeof(struct tf_header) +
			     (random >> 4) % (all - sizeof(struct tf_header))] ^=
			        (uint8_t)(1u << (random & 7));
		}
		survives(copy, all);
	}
	free(copy);
}

/* Tables whose entries have another size than theirs, none at all say, or whose pages have another
 * number of them, among them pages that nothing stands in, as far as the file goes. */
static void test_sizes_of_tables(void **state)
{
	const size_t first = offsetof(struct tf_header, calls),
	             last = offsetof(struct tf_header, steps);
	const uint32_t sizes[] = {0, 7, UINT32_MAX / TF_TABLE_PAGES};
	struct made small;

	made_sample(&small, 0);
	const size_t bytes = made_bytes(&small), all = bytes + 65536;
	uint8_t *copy = calloc(1, all);
	memcpy(copy, small.map.base, bytes);
	for (size_t at = first; at <= last; at += sizeof(struct tf_table)) {
		struct tf_table *t = (struct tf_table *)(copy + at);
		const struct tf_table whole = *t;
		for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (size_t p = 0; i % 2 && p < TF_TABLE_PAGES; p++)
				t->pages[p] = bytes;
			t->entry_bytes = sizes[i / 2];
			survives(copy, all);
			t->entry_bytes = whole.entry_bytes;
			t->page_entries = sizes[i / 2];
			survives(copy, all);
			t->entry_bytes = sizes[i / 2];
			survives(copy, all);
			*t = whole;
		}
	}
	free(copy);
	made_free(&small);
}

static void refuses(size_t at, const void *bytes, size_t count, const char *why)
{
	size_t all = made_bytes(&sample);
	uint8_t *copy = malloc(all);
	struct rendered r;

	memcpy(copy, sample.map.base, all);
	memcpy(copy + at, bytes, count);
	assert_false(render(&r, copy, all));
	if (!strstr(r.error, why))
		fail_msg("%s, not %s", r.error, why);
	rendered_free(&r);
	free(copy);
}

static void test_foreign(void **state)
{
	uint32_t value = 99;

	refuses(0, "CUDASPX\n", 8, "not a cudaspy recording");
	refuses(0, "\177ELF\2\1\1", 8, "not a cudaspy recording");
	refuses(offsetof(struct tf_header, version), &value, 4, "format version 99");
	value = __builtin_bswap32(TF_ENDIAN);
	refuses(offsetof(struct tf_header, endian), &value, 4, "byte order");
	value = 48;
	refuses(offsetof(struct tf_header, record_bytes), &value, 4, "sizes");
	value = SPY_CLASS_COUNT + 1;
	refuses(offsetof(struct tf_header, classes), &value, 4, "sizes");
	value = 16;
	refuses(offsetof(struct tf_header, thread_bytes), &value, 4, "sizes");
}

/* A table that claims four thousand million threads, all of them one: counted once. */
static void test_hostile_threads(void **state)
{
	size_t all = made_bytes(&sample);
	uint8_t *copy = malloc(all);
	struct model m;

	memcpy(copy, sample.map.base, all);
	struct tf_header *h = (struct tf_header *)copy;
	uint64_t *threads = (uint64_t *)(copy + h->threads.pages[0]);
	for (uint32_t i = 1; i < h->threads.page_entries; i++)
		threads[i] = threads[0];
	for (uint32_t i = 1; i < TF_TABLE_PAGES; i++)
		h->threads.pages[i] = h->threads.pages[0];
	h->threads.count = UINT32_MAX;
	h->threads.max = UINT32_MAX;
	assert_true(render_model(&m, copy, all));
	assert_int_equal(m.thread_count, 1);
	assert_int_equal(m.totals.launches, 20);
	assert_non_null(strstr(m.processes[0].damage, "more than there can be"));
	model_free(&m);
	free(copy);
}

/* Sums that cannot be true overflow nothing. */
static void test_huge_figures(void **state)
{
	size_t all = made_bytes(&sample);
	uint8_t *copy = malloc(all);

	memcpy(copy, sample.map.base, all);
	struct tf_header *h = (struct tf_header *)copy;
	uint64_t *threads = (uint64_t *)(copy + h->threads.pages[0]);
	for (int i = 0; i < 2; i++) {
		struct tf_thread *t = (struct tf_thread *)(copy + threads[i]);
		memset(t->items, 0xff, sizeof(t->items));
		memset(t->calls, 0xff, sizeof(t->calls[0]) * 4);
		memset(t->copies, 0xff, sizeof(t->copies));
		t->in_call = 3;
		t->in_start = UINT64_MAX;
		t->last_return = UINT64_MAX;
	}
	h->state = TF_STATE_OPEN;
	h->collector_cpu_ns = h->span_ticks_x1024 = UINT64_MAX;
	assert_true(survives(copy, all));
	free(copy);
}

static void in_folder(char *path, size_t bytes, const char *name)
{
	snprintf(path, bytes, BUILD_FOLDER "/tests/unit/%s", name);
}

/* A stub leads to the live recording; one that leads nowhere, or to another stub, is an error of
 * one line. */
static void test_stub(void **state)
{
	char live[512], stub[512], error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;

	in_folder(live, sizeof(live), "damage-live.cudaspy");
	in_folder(stub, sizeof(stub), "damage-stub.cudaspy");
	made_write(&sample, live);
	FILE *f = fopen(stub, "w");
	assert_non_null(f);
	fprintf(f, TF_STUB "%s\n", live);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(recording_open(&r, stub, &warnings, error), 0);
	assert_string_equal(r.path, live);
	recording_close(&r);
	unlink(live);
	assert_int_equal(recording_open(&r, stub, &warnings, error), -1);
	assert_non_null(strstr(error, live));
	f = fopen(live, "w");
	fprintf(f, TF_STUB "%s\n", stub);
	fclose(f);
	assert_int_equal(recording_open(&r, stub, &warnings, error), -1);
	assert_non_null(strstr(error, "not a cudaspy recording"));
	unlink(live);
	unlink(stub);
	warnings_free(&warnings);
}

static void test_no_file(void **state)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;

	assert_int_equal(recording_open(&r, "/nonexistent/x", &warnings, error), -1);
	assert_string_equal(error, strerror(ENOENT));
	assert_int_equal(recording_open(&r, "/tmp", &warnings, error), -1);
	assert_int_equal(recording_open(&r, "/dev/null", &warnings, error), -1);
	assert_string_equal(error, "not a regular file");
}

/* The file becomes shorter after it was opened: the reader is told, and does not die of SIGBUS. */
static void test_shrinks(void **state)
{
	char path[512], error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;
	struct model m = {0};

	in_folder(path, sizeof(path), "damage-shrinks.cudaspy");
	made_write(&sample, path);
	assert_int_equal(recording_open(&r, path, &warnings, error), 0);
	assert_false(recording_shrank(&r));
	assert_int_equal(truncate(path, 16384), 0);
	model_add(&m, &r);
	assert_true(recording_shrank(&r));
	recording_close(&r);
	model_finish(&m);
	model_free(&m);
	warnings_free(&warnings);
	unlink(path);
}

/* Killed when its collector had counted records of many threads, and given none of them back. */
static void test_counted_and_not_given_back(void **state)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct tf_thread *threads[8];
	struct recording r;
	struct made made;

	made_start(&made, 4u << 20, 8, MADE_AREAS);
	uint16_t sync = made_call(&made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	made_clock(&made, 1000, 1000000, 2000000);
	for (unsigned i = 0; i < 8; i++) {
		threads[i] = made_thread(&made, 100 + i, "one of many", 64);
		for (uint64_t at = 3000000; at < 3000000 + 60 * 100; at += 100)
			made_return(&made, threads[i],
			            (struct tf_record){.start = at, .end = at + 50, .call = sync});
	}
	struct drain drain = {.map = &made.map};
	assert_int_equal(drain_all(&drain, UINT64_MAX), 8 * 60);
	drain_end(&drain);
	for (unsigned i = 0; i < 8; i++)
		((struct tf_ring *)tf_at(&made.map, threads[i]->ring_first, sizeof(struct tf_ring)))
		        ->tail = 0;
	made_header(&made)->file_end = made_bytes(&made);
	assert_int_equal(
	        recording_from_memory(&r, made.map.base, made_bytes(&made), &warnings, error), 0);
	assert_int_equal(r.drained, 8 * 60);
	for (size_t i = 0; i < r.damage.count; i++)
		print_error("%s\n", r.damage.text[i]);
	assert_int_equal(r.damage.count, 0);
	recording_close(&r);
	made_free(&made);
	warnings_free(&warnings);
}

/*
 * A recording that grew while it was read leads to what is behind its end as it was mapped. The
 * reader's own tables lie behind it too, and what is in the rings is added to distributions.
 */
static void test_leads_behind_the_end(void **state)
{
	struct model m;
	struct made made;

	made_start(&made, 4u << 20, 8, MADE_AREAS);
	uint16_t launch = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "work");
	made_clock(&made, 1000, 1000000, 2000000);
	struct tf_thread *t = made_thread(&made, 100, "one", 64);
	for (uint64_t at = 3000000; at < 3000000 + 40 * 100; at += 100)
		made_launch(&made, t, launch, kernel, 1, at, at + 50);
	struct tf_header *h = made_header(&made);
	struct tf_call *call = tf_entry(&made.map, &h->calls, launch, sizeof(*call));
	for (uint64_t behind = 0; behind <= 65536; behind += 64) {
		call->hist = (made_bytes(&made) + 4095) / 4096 * 4096 + behind;
		assert_true(render_model(&m, made.map.base, made_bytes(&made)));
		assert_int_equal(m.thread_count, 1);
		assert_int_equal(m.totals.calls, 40);
		assert_int_equal(m.totals.launches, 40);
		model_free(&m);
	}
	made_free(&made);
}

/* Threads that took their memory and were not entered before the process ended; `more` words of
 * the last one's ring are not 0. Whether that counts as lost. */
static bool loses(unsigned threads, unsigned more)
{
	struct made m;
	struct model model;
	uint64_t ring = 0;

	made_sample(&m, MADE_AREAS);
	made_header(&m)->ring_records = TF_RING_FIRST;
	for (unsigned i = 0; i < threads; i++) {
		const uint64_t bytes = made_header(&m)->thread_bytes;
		struct tf_thread *t = tf_at(&m.map, m.map.alloc(&m.map, bytes), bytes);
		t->ring_first = ring = made_ring(&m, TF_RING_FIRST);
		t->tid = t->birth = i + 1;
	}
	struct tf_ring *last = tf_at(&m.map, ring, sizeof(*last));
	for (unsigned i = 0; i < more; i++)
		((uint64_t *)last->slots)[i] = 1;
	assert_true(render_model(&model, m.map.base, made_bytes(&m)));
	bool lost =
	        model.processes[0].damage && strstr(model.processes[0].damage, "nothing leads to");
	model_free(&model);
	made_free(&m);
	return lost;
}

/* Two records are lost, however many threads had only begun ahead of them. */
static void test_threads_that_had_only_begun(void **state)
{
	static const unsigned threads[] = {1, 2, 6, 20};

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		assert_false(loses(threads[i], 0));
		assert_false(loses(threads[i], 12));
		assert_true(loses(threads[i], 13));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_truncated),
	        cmocka_unit_test(test_truncated_warns),
	        cmocka_unit_test(test_flipped),
	        cmocka_unit_test(test_sizes_of_tables),
	        cmocka_unit_test(test_foreign),
	        cmocka_unit_test(test_hostile_threads),
	        cmocka_unit_test(test_huge_figures),
	        cmocka_unit_test(test_stub),
	        cmocka_unit_test(test_no_file),
	        cmocka_unit_test(test_shrinks),
	        cmocka_unit_test(test_counted_and_not_given_back),
	        cmocka_unit_test(test_leads_behind_the_end),
	        cmocka_unit_test(test_threads_that_had_only_begun),
	};

	return cmocka_run_group_tests_name("damage", tests, start, stop);
}
