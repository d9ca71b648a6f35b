/* SPDX-License-Identifier: Apache-2.0 */
/* A file of ours is none of the standard streams; what that takes of the kernel where they are
 * open. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static unsigned opens, closes, others;

static void count(long number);
#define syscall(number, ...) (count(number), syscall(number, __VA_ARGS__))
#include "shim/core/sys/open_above.h"

static void count(long number)
{
	unsigned *of = number == SYS_openat ? &opens : number == SYS_close ? &closes : &others;

	(*of)++;
}

/* Opens a file with the streams of this mask closed; they are back when it returns. */
static int opened_without(unsigned closed, const char *path, int *error)
{
	int kept[STREAMS], free_then, fd;

	for (int i = 0; i < STREAMS; i++) {
		kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		if (closed & 1u << i)
			close(i);
	}
	opens = closes = others = 0;
	errno = 0;
	fd = open_above(path, O_RDONLY, 0);
	*error = errno;
	free_then = 0;
	for (int i = 0; i < STREAMS; i++) {
		free_then |= (fcntl(i, F_GETFD) < 0) << i;
		if (kept[i] >= 0) {
			dup2(kept[i], i);
			close(kept[i]);
		}
	}
	assert_int_equal(free_then, closed); /* nothing of ours is left there */
	return fd;
}

static void with_all_streams_nothing_else_is_opened(void **state)
{
	int error, fd = opened_without(0, "/dev/null", &error);

	assert_true(fd >= STREAMS);
	assert_int_equal(opens, 1);
	assert_int_equal(closes, 0);
	assert_int_equal(others, STREAMS); /* a look at each stream */
	close(fd);
}

static void a_stream_that_is_closed_is_never_ours(void **state)
{
	for (unsigned closed = 1; closed < 1u << STREAMS; closed++) {
		int error, fd = opened_without(closed, "/dev/null", &error);
		unsigned streams = (unsigned)__builtin_popcount(closed);

		assert_true(fd >= STREAMS);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(error, 0);
		assert_int_equal(opens, 1 + streams);
		assert_int_equal(closes, streams);
		close(fd);
	}
}

static void why_a_file_was_not_opened_stays_known(void **state)
{
	for (unsigned closed = 0; closed < 1u << STREAMS; closed++) {
		int error;

		assert_int_equal(opened_without(closed, "/dev/null/nothing", &error), -1);
		assert_int_equal(error, ENOTDIR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(with_all_streams_nothing_else_is_opened),
	        cmocka_unit_test(a_stream_that_is_closed_is_never_ours),
	        cmocka_unit_test(why_a_file_was_not_opened_stays_known),
	};

	return cmocka_run_group_tests_name("open_above", tests, NULL, NULL);
}
