/* SPDX-License-Identifier: Apache-2.0 */
/* A file of ours is none of the standard streams, and far from the numbers that the program gets
 * next; what that takes of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static unsigned opens, closes, others;
static int taken = -1; /* the program closes this one and opens a file of its own */
static long taken_before;

static void count(long number);
#define syscall(number, ...) (count(number), syscall(number, __VA_ARGS__))
#include "shim/core/sys/open_above.h"

static void count(long number)
{
	unsigned *of = number == SYS_openat ? &opens : number == SYS_close ? &closes : &others;

	(*of)++;
	if (taken < 0 || number != taken_before)
		return;
	close(taken);
	assert_int_equal(open("/dev/zero", O_RDONLY | O_CLOEXEC), taken);
	taken_before = -1;
}

static bool is_device(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
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
	assert_int_equal(closes, 1);
	assert_int_equal(others, STREAMS + 3); /* a look at each stream; the move, two looks */
	close(fd);
}

static void a_file_lies_far_from_the_next_numbers(void **state)
{
	const unsigned limits[] = {1024, 512, 256, 64, 20};
	struct rlimit before;
	int next = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	close(next);
	for (unsigned i = 0; i < 5; i++) {
		struct rlimit limit = {limits[i], before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		int fd = open_above("/dev/null", O_RDONLY, 0);
		assert_in_range(fd, limits[i] * 2 / 5, limits[i] - 1);
		assert_true(is_device(fd, "/dev/null"));
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(fcntl(next, F_GETFD), -1);
		close(fd);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* With one place left it stays where it is. */
static void the_last_descriptor_is_not_moved(void **state)
{
	struct rlimit before, limit;
	int next = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	close(next);
	limit = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	int fd = open_above("/dev/null", O_RDONLY, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fd, next);
	assert_true(is_device(fd, "/dev/null"));
	close(fd);
}

/* Its near number is the program's once it is moved: the program's file stays open. */
static void what_the_program_puts_in_its_place_stays(void **state)
{
	int next = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	close(next);
	taken = next;
	taken_before = SYS_statx;
	int fd = open_above("/dev/null", O_RDONLY, 0);
	taken = -1;
	assert_int_equal(taken_before, -1);
	assert_true(is_device(fd, "/dev/null"));
	assert_true(is_device(next, "/dev/zero"));
	close(fd);
	close(next);
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
		assert_int_equal(closes, 1 + streams);
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
	        cmocka_unit_test(a_file_lies_far_from_the_next_numbers),
	        cmocka_unit_test(the_last_descriptor_is_not_moved),
	        cmocka_unit_test(what_the_program_puts_in_its_place_stays),
	        cmocka_unit_test(a_stream_that_is_closed_is_never_ours),
	        cmocka_unit_test(why_a_file_was_not_opened_stays_known),
	};

	return cmocka_run_group_tests_name("open_above", tests, NULL, NULL);
}
