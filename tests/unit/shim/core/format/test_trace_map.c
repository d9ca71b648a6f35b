/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "shim/core/format/trace_map.h"
#include "tests/unit/shim_stubs.h"

static int start(void **state)
{
	stub_start(1 << 20);
	return 0;
}

static int end(void **state)
{
	stub_end();
	return 0;
}

static void test_bounds(void **state)
{
	uint64_t size = spy_map.size;

	assert_null(tf_at(&spy_map, 0, 8));  /* no offset */
	assert_null(tf_at(&spy_map, 68, 8)); /* no multiple of 8 */
	assert_null(tf_at(&spy_map, 65, 1));
	assert_ptr_equal(tf_at(&spy_map, 64, 8), spy_map.base + 64);
	assert_ptr_equal(tf_at(&spy_map, size - 8, 8), spy_map.base + size - 8);
	assert_null(tf_at(&spy_map, size - 8, 9));
	assert_ptr_equal(tf_at(&spy_map, size, 0), spy_map.base + size);
	assert_null(tf_at(&spy_map, size, 1));
	assert_null(tf_at(&spy_map, size + 8, 0));
	assert_null(tf_at(&spy_map, 64, UINT64_MAX));
	assert_null(tf_at(&spy_map, 64, UINT64_MAX - 63)); /* offset + bytes wraps to 0 */
	assert_null(tf_at(&spy_map, UINT64_MAX - 7, 8));
}

static struct tf_table *table(uint32_t entry_bytes, uint32_t page_entries, uint32_t max)
{
	struct tf_table *t = &tf_header(&spy_map)->graphs;

	*t = (struct tf_table){
	        .entry_bytes = entry_bytes, .page_entries = page_entries, .max = max};
	return t;
}

static void test_append(void **state)
{
	struct tf_table *t = table(24, 4, 10);

	for (uint64_t i = 0; i < 10; i++) {
		uint64_t *e = tf_append(&spy_map, t);
		assert_non_null(e);
		assert_int_equal(tf_count(t), i); /* not before it is published */
		assert_int_equal(e[0] | e[1] | e[2], 0);
		e[0] = e[2] = i;
		tf_publish(t);
	}
	assert_null(tf_append(&spy_map, t)); /* `max` */
	assert_int_equal(tf_count(t), 10);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t *e = tf_entry(&spy_map, t, (uint32_t)i, 24);
		assert_int_equal(e[0], i);
		assert_int_equal(e[2], i);
	}
	assert_non_null(t->pages[2]);
	assert_int_equal(t->pages[3], 0);
	assert_null(tf_entry(&spy_map, t, 12, 24)); /* a page that is not there */
}

static void test_append_without_room(void **state)
{
	struct tf_table *t = table(64, 4, 100);

	stub_room = 4 * 64;
	for (int i = 0; i < 4; i++) {
		assert_non_null(tf_append(&spy_map, t));
		tf_publish(t);
	}
	assert_null(tf_append(&spy_map, t));
	assert_int_equal(tf_count(t), 4);
	stub_room = 4 * 64; /* room again */
	assert_non_null(tf_append(&spy_map, t));
}

static void test_append_past_the_pages(void **state)
{
	struct tf_table *t = table(8, 1, UINT32_MAX);

	for (uint32_t i = 0; i < TF_TABLE_PAGES; i++) {
		assert_non_null(tf_append(&spy_map, t));
		tf_publish(t);
	}
	assert_null(tf_append(&spy_map, t));
	assert_null(tf_append(&spy_map, table(8, 0, 10)));
}

static void test_damaged_tables(void **state)
{
	struct tf_table *t = table(24, 4, 10);

	assert_non_null(tf_append(&spy_map, t));
	tf_publish(t);
	assert_null(tf_entry(&spy_map, t, 0, 32)); /* entries of another length than the reader's */
	assert_null(tf_entry(&spy_map, t, UINT32_MAX, 24));
	t->count = UINT32_MAX;
	assert_int_equal(tf_count(t), 4 * TF_TABLE_PAGES);
	t->page_entries = UINT32_MAX; /* times the pages is more than 32 bits hold */
	assert_int_equal(tf_count(t), 0);
	t->page_entries = 0;
	assert_int_equal(tf_count(t), 0);
	assert_null(tf_entry(&spy_map, t, 0, 24));
	t->page_entries = 4;
	t->pages[0] = spy_map.size - 24; /* the first entry is in, the second out */
	assert_non_null(tf_entry(&spy_map, t, 0, 24));
	assert_null(tf_entry(&spy_map, t, 1, 24));
	t->pages[0] = UINT64_MAX - 23;
	assert_null(tf_entry(&spy_map, t, 1, 24));
	t->pages[0] = 1001;
	assert_null(tf_entry(&spy_map, t, 0, 24));
}

static void test_texts(void **state)
{
	uint64_t at = spy_map.alloc(&spy_map, 64), last = spy_map.size - 8;
	struct tf_string *s = tf_at(&spy_map, at, 64);
	uint32_t bytes = 99;

	s->bytes = 5;
	memcpy(s->text, "ab\0de", 6); /* a NUL inside belongs to it */
	assert_memory_equal(tf_text(&spy_map, at, &bytes), "ab\0de", 6);
	assert_int_equal(bytes, 5);
	assert_non_null(tf_text(&spy_map, at, NULL));
	s->text[5] = 'x'; /* no NUL at its end */
	assert_null(tf_text(&spy_map, at, &bytes));
	s->bytes = TF_STRING_MAX + 1;
	assert_null(tf_text(&spy_map, at, &bytes));
	s->bytes = 0;
	s->text[0] = 0;
	assert_string_equal(tf_text(&spy_map, at, &bytes), "");
	assert_int_equal(bytes, 0);
	assert_null(tf_text(&spy_map, 0, &bytes));
	/* four bytes of text at the very end: three and the NUL fit, four do not */
	s = tf_at(&spy_map, last, 8);
	memcpy(spy_map.base + last + sizeof(*s), "abc", 4);
	s->bytes = 3;
	assert_string_equal(tf_text(&spy_map, last, &bytes), "abc");
	s->bytes = 4;
	assert_null(tf_text(&spy_map, last, &bytes));
	assert_null(tf_text(&spy_map, spy_map.size, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_bounds, start, end),
	        cmocka_unit_test_setup_teardown(test_append, start, end),
	        cmocka_unit_test_setup_teardown(test_append_without_room, start, end),
	        cmocka_unit_test_setup_teardown(test_append_past_the_pages, start, end),
	        cmocka_unit_test_setup_teardown(test_damaged_tables, start, end),
	        cmocka_unit_test_setup_teardown(test_texts, start, end),
	};

	return cmocka_run_group_tests_name("trace_map", tests, NULL, NULL);
}
