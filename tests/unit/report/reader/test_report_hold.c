/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that goes on while it is read: what was held stays, and what was put elsewhere is
 * noticed. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/reader/reader_hold.h"
#include "shim/core/work/slices.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static struct {
	struct tf_map process, reader; /* the file as its process maps it, and as a reader does */
	int fd;
} file;

static int begin(void **state)
{
	char path[] = BUILD_FOLDER "/tests/unit/hold-XXXXXX";
	struct made made;

	made_sample(&made, MADE_AREAS);
	struct tf_call *call = tf_entry(&made.map, &made_header(&made)->calls, 0, sizeof(*call));
	call->hist = made_hist(&made, 100, 3);
	/* In another page than the header's last, as in a recording. */
	struct tf_header *h = made_header(&made);
	uint64_t at = made.map.alloc(&made.map, sizeof(struct tf_slices) + 4096);
	assert_int_not_equal(at, 0);
	at = (at + 4095) / 4096 * 4096;
	memcpy(made.map.base + at, made.map.base + h->slices, sizeof(struct tf_slices));
	h->slices = at;
	const size_t bytes = made_bytes(&made);
	file.fd = mkstemp(path);
	assert_true(file.fd >= 0);
	unlink(path);
	assert_int_equal(write(file.fd, made.map.base, bytes), bytes);
	made_free(&made);
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0),
	     *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
	assert_true(shared != MAP_FAILED && own != MAP_FAILED);
	file.process = (struct tf_map){.base = shared, .size = bytes};
	file.reader = (struct tf_map){.base = own, .size = bytes};
	return 0;
}

static int end(void **state)
{
	munmap(file.process.base, file.process.size);
	munmap(file.reader.base, file.reader.size);
	return close(file.fd);
}

static struct tf_thread *first_thread(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);
	const uint64_t *at = tf_entry(map, &h->threads, 0, sizeof(*at));

	return tf_at(map, *at, h->thread_bytes);
}

static void test_what_was_held_stays(void **state)
{
	struct tf_thread *now = first_thread(&file.process), *held = first_thread(&file.reader);
	const struct tf_header *h = tf_header(&file.process);
	const struct tf_call *call = tf_entry(&file.process, &h->calls, 0, sizeof(*call));
	struct tf_hist *hist = tf_at(&file.process, call->hist, sizeof(*hist)),
	               *hist_held = tf_at(&file.reader, call->hist, sizeof(*hist));
	uint64_t launches = now->launches, count = hist->count;

	now->launches++;
	assert_int_equal(held->launches, launches + 1); /* it is the same page so far */
	reader_hold_header(&file.reader);
	reader_hold(&file.reader);
	assert_memory_equal(file.reader.base, file.process.base, file.reader.size);
	now->launches++;
	hist->count++;
	assert_int_equal(held->launches, launches + 1);
	assert_int_equal(hist_held->count, count);
	assert_true(reader_is_held(&file.reader, file.fd)); /* counting puts nothing elsewhere */
}

/* Behind the header and ahead of the rest, or behind all of it, and half done. */
static void test_what_was_put_elsewhere_is_noticed(void **state)
{
	reader_hold_header(&file.reader);
	slices_rearrange(&file.process);
	slices_rearrange(&file.process);
	reader_hold(&file.reader);
	assert_false(reader_is_held(&file.reader, file.fd));
	end(state);

	begin(state);
	reader_hold_header(&file.reader);
	reader_hold(&file.reader);
	assert_true(reader_is_held(&file.reader, file.fd));
	slices_rearrange(&file.process);
	assert_false(reader_is_held(&file.reader, file.fd));
	end(state);

	begin(state);
	slices_rearrange(&file.process);
	reader_hold_header(&file.reader);
	reader_hold(&file.reader);
	assert_false(reader_is_held(&file.reader, file.fd));
}

/* Whoever merges slices says so. */
static void test_merged_slices_are_told(void **state)
{
	struct tf_slices *s = tf_at(&file.process, tf_header(&file.process)->slices, sizeof(*s));
	uint64_t before = s->rearranged, width = s->width;

	assert_non_null(slices_until(&file.process, s->origin + width * TF_SLICES));
	assert_int_equal(s->width, 2 * width);
	assert_int_equal(s->rearranged, before + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_what_was_held_stays, begin, end),
	        cmocka_unit_test_setup_teardown(test_what_was_put_elsewhere_is_noticed, begin, end),
	        cmocka_unit_test_setup_teardown(test_merged_slices_are_told, begin, end),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
