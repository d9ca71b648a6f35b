/* SPDX-License-Identifier: Apache-2.0 */
/* The module itself is included: two names of one hash cannot be found, only forged in its table.
 */
#include "shim/handles/registry.c"

#include <pthread.h>
#include <stdio.h>

#include "tests/unit/shim_stubs.h"

static int start(void **state)
{
	stub_start(64 << 20);
	struct tf_kernel *unknown = tf_append(&spy_map, &tf_header(&spy_map)->kernels);
	assert_non_null(unknown);
	tf_publish(&tf_header(&spy_map)->kernels);
	registry_handles = NULL;
	spy_generation++; /* forgets the names */
	return 0;
}

static int end(void **state)
{
	stub_end();
	return 0;
}

static void assert_value(enum registry_kind kind, uint64_t handle, uint32_t wanted)
{
	uint32_t value = 0xdeadbeef;

	if (!registry_get(kind, handle, &value) || value != wanted)
		fail_msg("%d of %llx is %x, not %x", kind, (unsigned long long)handle, value,
		         wanted);
}

static void assert_unknown(enum registry_kind kind, uint64_t handle)
{
	uint32_t value = 4711;

	assert_false(registry_get(kind, handle, &value));
	assert_int_equal(value, 4711);
}

/* What is so already takes no lock; anything else of it does. */
static void test_put_again(void **state)
{
	registry_put(HANDLE_FUNCTION, 0x1000, 1, 7, 8);
	uint32_t before = stub_locks;

	for (int i = 0; i < 100; i++)
		registry_put(HANDLE_FUNCTION, 0x1000, 1, 7, 8);
	assert_int_equal(stub_locks, before);
	assert_true(registry_knows(HANDLE_FUNCTION, 0x1000, 7, 8));
	registry_put(HANDLE_FUNCTION, 0x1000, 2, 7, 8);
	assert_value(HANDLE_FUNCTION, 0x1000, 2);
	registry_put(HANDLE_FUNCTION, 0x1000, 2, 9, 8);
	registry_put(HANDLE_FUNCTION, 0x1000, 2, 9, 10);
	assert_int_equal(stub_locks, before + 3);
	assert_false(registry_knows(HANDLE_FUNCTION, 0x1000, 7, 8));
	assert_true(registry_knows(HANDLE_FUNCTION, 0x1000, 9, 10));
	registry_drop_owned(7); /* no longer its owner */
	assert_value(HANDLE_FUNCTION, 0x1000, 2);
	registry_drop(HANDLE_FUNCTION, 0x1000);
	assert_false(registry_knows(HANDLE_FUNCTION, 0x1000, 9, 10));
}

static void test_put_get_drop(void **state)
{
	assert_unknown(HANDLE_FUNCTION, 0x1000); /* before there is a table */
	registry_drop(HANDLE_FUNCTION, 0x1000);
	registry_put(HANDLE_FUNCTION, 0x1000, 1, 0, 0);
	registry_put(HANDLE_GRAPH_EXEC, 0x1000, 2, 0, 0); /* the same number, another kind */
	assert_value(HANDLE_FUNCTION, 0x1000, 1);
	assert_value(HANDLE_GRAPH_EXEC, 0x1000, 2);
	assert_unknown(HANDLE_MODULE, 0x1000);
	registry_put(HANDLE_FUNCTION, 0x1000, 3, 0, 0); /* renewed */
	assert_value(HANDLE_FUNCTION, 0x1000, 3);
	registry_drop(HANDLE_FUNCTION, 0x1000);
	assert_unknown(HANDLE_FUNCTION, 0x1000);
	assert_value(HANDLE_GRAPH_EXEC, 0x1000, 2);
	registry_put(HANDLE_FUNCTION, 0x1000, 4, 0, 0); /* the handle is reused by another object */
	assert_value(HANDLE_FUNCTION, 0x1000, 4);
	registry_put(HANDLE_FUNCTION, 0, 5, 0, 0);
	assert_value(HANDLE_FUNCTION, 0, 5);
	registry_put(HANDLE_FUNCTION, UINT64_MAX >> 3, 6, 0, 0); /* the largest that fits a key */
	assert_value(HANDLE_FUNCTION, UINT64_MAX >> 3, 6);
}

static void test_growth(void **state)
{
	enum { MANY = 100000 };

	for (uint32_t i = 0; i < MANY; i++)
		registry_put(HANDLE_FUNCTION, 0x7f0000000000 + i * 16ull, i, 0, 0);
	for (uint32_t i = 0; i < MANY; i += 3)
		registry_drop(HANDLE_FUNCTION, 0x7f0000000000 + i * 16ull);
	for (uint32_t i = MANY; i < 2 * MANY; i++)
		registry_put(HANDLE_FUNCTION, 0x7f0000000000 + i * 16ull, i, 0, 0);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		if (i < MANY && i % 3 == 0)
			assert_unknown(HANDLE_FUNCTION, 0x7f0000000000 + i * 16ull);
		else
			assert_value(HANDLE_FUNCTION, 0x7f0000000000 + i * 16ull, i);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_REGISTRY_FULL], 0);
}

/* Handles that all have one place in the table, put and dropped in all orders. */
static void test_one_place(void **state)
{
	enum { SAME = 12 };
	uint64_t handles[SAME], n = 0;
	bool there[SAME] = {false};

	for (uint64_t h = 1; n < SAME; h++)
		if ((registry_scatter(key_of(HANDLE_FUNCTION, h)) & (FIRST_SLOTS - 1)) == 77)
			handles[n++] = h;
	for (int step = 0; step < 20000; step++) {
		unsigned i = stub_random() % SAME;
		if (there[i])
			registry_drop(HANDLE_FUNCTION, handles[i]);
		else
			registry_put(HANDLE_FUNCTION, handles[i], 100 + i, 0, 0);
		there[i] = !there[i];
		for (unsigned k = 0; k < SAME; k++)
			if (there[k])
				assert_value(HANDLE_FUNCTION, handles[k], 100 + k);
			else
				assert_unknown(HANDLE_FUNCTION, handles[k]);
	}
}

/* A program that makes and destroys objects for ever does not make the table grow. */
static void test_churn(void **state)
{
	registry_put(HANDLE_FUNCTION, 1, 1, 0, 0);
	const struct registry_table *before = registry_handles;

	for (uint64_t i = 0; i < 300000; i++) {
		registry_put(HANDLE_GRAPH_EXEC, 0x500000 + i * 64, 9, 0, 0);
		registry_put(HANDLE_MODULE, 0x500000 + i * 64, 9, 0, 0);
		registry_drop(HANDLE_GRAPH_EXEC, 0x500000 + i * 64);
		registry_drop(HANDLE_MODULE, 0x500000 + i * 64);
	}
	assert_ptr_equal(registry_handles, before);
	assert_int_equal(registry_handles->used, 1);
	assert_value(HANDLE_FUNCTION, 1, 1);
}

static void test_owners(void **state)
{
	/* a library with two modules, functions of each and of its own; another library; a module
	 * loaded by itself */
	registry_put(HANDLE_MODULE, 0x200, 0, 0x100, 0);
	registry_put(HANDLE_MODULE, 0x208, 0, 0x100, 0);
	registry_put(HANDLE_FUNCTION, 0x300, 1, 0x100, 0);
	registry_put(HANDLE_FUNCTION, 0x308, 2, 0x200, 0);
	registry_put(HANDLE_FUNCTION, 0x310, 3, 0x208, 0);
	registry_put(HANDLE_FUNCTION, 0x318, 4, 0x110, 0);
	registry_put(HANDLE_FUNCTION, 0x320, 5, 0x210, 0);
	registry_put(HANDLE_FUNCTION, 0x328, 6, 0, 0);
	registry_drop_owned(0); /* nobody's */
	assert_value(HANDLE_FUNCTION, 0x328, 6);
	registry_drop_owned(0x210);
	assert_unknown(HANDLE_FUNCTION, 0x320);
	registry_drop_owned(0x100);
	assert_unknown(HANDLE_MODULE, 0x200);
	assert_unknown(HANDLE_MODULE, 0x208);
	assert_unknown(HANDLE_FUNCTION, 0x300);
	assert_unknown(HANDLE_FUNCTION, 0x308);
	assert_unknown(HANDLE_FUNCTION, 0x310);
	assert_value(HANDLE_FUNCTION, 0x318, 4);
	assert_value(HANDLE_FUNCTION, 0x328, 6);
}

/* A module that is said to own itself ends the cascade. */
static void test_an_owner_of_itself(void **state)
{
	registry_put(HANDLE_MODULE, 0x100, 0, 0x100, 0);
	registry_put(HANDLE_FUNCTION, 0x300, 1, 0x100, 0);
	registry_drop_owned(0x100);
	assert_unknown(HANDLE_MODULE, 0x100);
	assert_unknown(HANDLE_FUNCTION, 0x300);
}

static void test_contexts(void **state)
{
	for (uint64_t i = 0; i < 100; i++)
		registry_put(HANDLE_FUNCTION, 0x1000 + i * 8, (uint32_t)i, 0, i % 4);
	registry_drop_context(0); /* "with none" is no context */
	registry_drop_context(3);
	for (uint64_t i = 0; i < 100; i++)
		if (i % 4 == 3)
			assert_unknown(HANDLE_FUNCTION, 0x1000 + i * 8);
		else
			assert_value(HANDLE_FUNCTION, 0x1000 + i * 8, (uint32_t)i);
}

/* ---- names
 * -------------------------------------------------------------------------------------------------------------
 */

static const char *name_of(uint32_t kernel)
{
	struct tf_kernel *k = tf_entry(&spy_map, &tf_header(&spy_map)->kernels, kernel, sizeof(*k));

	return k ? tf_text(&spy_map, k->name, NULL) : NULL;
}

static void test_names_once(void **state)
{
	uint32_t a = registry_kernel("alpha"), b = registry_kernel("beta");

	assert_int_not_equal(a, TF_KERNEL_UNKNOWN);
	assert_int_not_equal(a, b);
	assert_int_equal(registry_kernel("alpha"), a);
	assert_int_equal(registry_kernel("beta"), b);
	assert_string_equal(name_of(a), "alpha");
	assert_string_equal(name_of(b), "beta");
	assert_int_equal(tf_header(&spy_map)->kernels.count, 3);
	assert_int_equal(registry_kernel(""), TF_KERNEL_UNKNOWN);
}

static void test_many_names(void **state)
{
	char name[32];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 20000; i++) {
			snprintf(name, sizeof(name), "kernel_%u", i);
			assert_int_equal(registry_kernel(name), i);
		}
	assert_string_equal(name_of(12345), "kernel_12345");
}

/* "beta" finds "alpha" under its own hash: it must see that, and both keep a place. */
static void test_one_hash(void **state)
{
	uint32_t a = registry_kernel("alpha");
	const struct registry_slot forged = {.key = hash_name("beta", 4) * 8 + 7, .value = a};

	place(names, &forged);
	uint32_t b = registry_kernel("beta");
	assert_int_not_equal(b, a);
	assert_string_equal(name_of(b), "beta");
	assert_int_equal(registry_kernel("beta"), b);
	assert_int_equal(registry_kernel("alpha"), a);
}

static void test_names_full(void **state)
{
	char name[32];

	tf_header(&spy_map)->kernels.max = 5;
	for (uint32_t i = 1; i < 5; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		assert_int_equal(registry_kernel(name), i);
	}
	assert_int_equal(registry_kernel("one_more"), TF_KERNEL_OTHER);
	assert_int_equal(registry_kernel("one_more"), TF_KERNEL_OTHER);
	assert_int_equal(registry_kernel("kernel_3"), 3);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_KERNELS_FULL], 2);
	assert_int_equal(tf_header(&spy_map)->kernels.count, 5);
}

static void test_no_room_for_a_name(void **state)
{
	uint32_t a = registry_kernel("alpha");

	stub_room = 0;
	assert_int_equal(registry_kernel("beta"), TF_KERNEL_OTHER);
	assert_int_equal(registry_kernel("alpha"), a);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_KERNELS_FULL], 1);
}

static void test_a_long_name(void **state)
{
	static char name[TF_STRING_MAX + 100];

	memset(name, 'k', sizeof(name) - 1);
	uint32_t a = registry_kernel(name);
	assert_int_equal(strlen(name_of(a)), TF_STRING_MAX); /* cut, and the same one again */
	assert_int_equal(registry_kernel(name), a);
}

/* A forked child's recording has none of the parent's kernels. */
static void test_names_after_fork(void **state)
{
	registry_kernel("alpha");
	registry_kernel("beta");
	stub_end();
	start(NULL);
	assert_int_equal(registry_kernel("beta"), 1);
	assert_string_equal(name_of(1), "beta");
}

/* ---- readers while the table grows and shrinks
 * ---------------------------------------------------------------------------- */

static uint32_t stop, wrong;

static void *read_all(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (uint32_t i = 0; i < 500; i++) {
			uint32_t value = 0;
			if (!registry_get(HANDLE_FUNCTION, 0x10000 + i * 8, &value) || value != i)
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		}
	return unused;
}

static void test_readers_under_a_writer(void **state)
{
	pthread_t readers[2];

	for (uint32_t i = 0; i < 500; i++)
		registry_put(HANDLE_FUNCTION, 0x10000 + i * 8, i, 0, 0);
	stop = wrong = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all, NULL), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		registry_put(HANDLE_GRAPH_EXEC, 0x900000 + i % 30000 * 8, 7, 0, 0);
		if (stub_random() % 3 == 0)
			registry_drop(HANDLE_GRAPH_EXEC, 0x900000 + stub_random() % 30000 * 8);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_put_get_drop, start, end),
	        cmocka_unit_test_setup_teardown(test_put_again, start, end),
	        cmocka_unit_test_setup_teardown(test_growth, start, end),
	        cmocka_unit_test_setup_teardown(test_one_place, start, end),
	        cmocka_unit_test_setup_teardown(test_churn, start, end),
	        cmocka_unit_test_setup_teardown(test_owners, start, end),
	        cmocka_unit_test_setup_teardown(test_an_owner_of_itself, start, end),
	        cmocka_unit_test_setup_teardown(test_contexts, start, end),
	        cmocka_unit_test_setup_teardown(test_names_once, start, end),
	        cmocka_unit_test_setup_teardown(test_many_names, start, end),
	        cmocka_unit_test_setup_teardown(test_one_hash, start, end),
	        cmocka_unit_test_setup_teardown(test_names_full, start, end),
	        cmocka_unit_test_setup_teardown(test_no_room_for_a_name, start, end),
	        cmocka_unit_test_setup_teardown(test_a_long_name, start, end),
	        cmocka_unit_test_setup_teardown(test_names_after_fork, start, end),
	        cmocka_unit_test_setup_teardown(test_readers_under_a_writer, start, end),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
