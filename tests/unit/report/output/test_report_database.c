/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define ROWS 5000 /* several times what is gathered, and some more */

static int64_t no_gaps(int64_t row)
{
	return row + 1;
}

static int64_t a_gap(int64_t row)
{
	return row + 1 + (row > 2000) * 100;
}

/* In the second thousand two change places: the highest is not the last. */
static int64_t not_in_order(int64_t row)
{
	return row == 2046 ? 2048 : row == 2047 ? 2047 : row + 1;
}

static int64_t backwards(int64_t row)
{
	return ROWS - row;
}

static int64_t a_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	const int64_t number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

/* Rows in its order, in none, and in its order at first: it is there, once, and holds them all. */
static void test_index(void **state)
{
	char path[] = "/tmp/database-XXXXXX";
	struct database d;
	struct database_table t;

	(void)state;
	close(mkstemp(path));
	for (int64_t in_order = 0; in_order <= ROWS; in_order += ROWS / 2) {
		unlink(path);
		database_open(&d, path, "test");
		database_create_long(&d, &t, "t", "a INTEGER, b INTEGER");
		database_index(&t, "t_b", "b");
		for (int64_t row = 0; row < ROWS; row++) {
			row_int(&t, 0);
			row_int(&t, row < in_order ? row : ROWS - row);
			row_end(&t);
		}
		database_end(&t);
		assert_int_equal(database_close(&d), 0);

		assert_int_equal(sqlite3_open(path, &d.db), SQLITE_OK);
		assert_int_equal(a_number(d.db, "SELECT count(*) FROM t INDEXED BY t_b "
		                                "WHERE b >= 0"),
		                 ROWS);
		assert_int_equal(a_number(d.db, "SELECT count(*) FROM pragma_integrity_check "
		                                "WHERE integrity_check = 'ok'"),
		                 1);
		sqlite3_close(d.db);
	}
	unlink(path);
}

static void test_long_tables(void **state)
{
	int64_t (*const keys[])(int64_t) = {no_gaps, a_gap, not_in_order, backwards};
	char path[] = "/tmp/database-XXXXXX";
	struct database d;
	struct database_table t;
	sqlite3_stmt *s;

	(void)state;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		const int file = mkstemp(path);
		assert_true(file >= 0);
		close(file);
		database_open(&d, path, "test");
		database_create_long(&d, &t, "t",
		                     "same INTEGER, id INTEGER PRIMARY KEY, none INTEGER, "
		                     "some INTEGER, far INTEGER, rest INTEGER");
		for (int64_t row = 0; row < ROWS; row++) {
			row_int(&t, INT64_MIN);
			row_int(&t, keys[k](row));
			row_null(&t);
			row_known(&t, row % 3, (uint64_t)row);
			row_count(&t, row < 3000 ? 7 : UINT64_MAX);
			row_end(&t);
		}
		database_end(&t);
		assert_int_equal(database_close(&d), 0);

		assert_int_equal(sqlite3_open(path, &d.db), SQLITE_OK);
		assert_int_equal(a_number(d.db, "SELECT count(*) FROM t"), ROWS);
		sqlite3_prepare_v2(d.db, "SELECT * FROM t WHERE id = ?", -1, &s, NULL);
		for (int64_t row = 0; row < ROWS; row++) {
			sqlite3_bind_int64(s, 1, keys[k](row));
			assert_int_equal(sqlite3_step(s), SQLITE_ROW);
			assert_true(sqlite3_column_int64(s, 0) == INT64_MIN);
			assert_int_equal(sqlite3_column_type(s, 2), SQLITE_NULL);
			assert_int_equal(sqlite3_column_type(s, 3),
			                 row % 3 ? SQLITE_INTEGER : SQLITE_NULL);
			assert_int_equal(sqlite3_column_int64(s, 3), row % 3 ? row : 0);
			assert_true(sqlite3_column_int64(s, 4) == (row < 3000 ? 7 : INT64_MAX));
			assert_int_equal(sqlite3_column_type(s, 5), SQLITE_NULL);
			sqlite3_reset(s);
		}
		sqlite3_finalize(s);
		sqlite3_close(d.db);
		unlink(path);
		strcpy(path, "/tmp/database-XXXXXX");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_long_tables),
	        cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
