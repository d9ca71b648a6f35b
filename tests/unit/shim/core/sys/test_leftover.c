/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed process left in memory is moved to its stub, and nothing else is ever touched. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/core/sys/leftover.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static char folder[PATH_MAX - 64], live[PATH_MAX], stub[PATH_MAX], part[PATH_MAX + 8];
static struct made made;

static void put(const char *path, const void *bytes, size_t count)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, count, f), count);
	assert_int_equal(fclose(f), 0);
}

static void put_stub(const char *names)
{
	char text[2 * PATH_MAX];

	snprintf(text, sizeof(text), TF_STUB "%s\n", names);
	put(stub, text, strlen(text));
}

/* The live data of a killed process, with more room than it used. */
static void put_live(void)
{
	put(live, made.map.base, made_bytes(&made));
	assert_int_equal(truncate(live, (off_t)made_bytes(&made) + 100000), 0);
}

static int set_up(void **state)
{
	/* Where live data is made. */
	snprintf(folder, sizeof(folder), "%s/cudaspy-leftover.XXXXXX",
	         access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(folder));
	snprintf(live, sizeof(live), "%s/x.live", folder);
	snprintf(stub, sizeof(stub), "%s/x.cudaspy", folder);
	snprintf(part, sizeof(part), "%s.part", stub);
	made_sample(&made, 0);
	made_header(&made)->state = TF_STATE_OPEN;
	made_header(&made)->out_path = made_string(&made, stub, strlen(stub));
	put_live();
	put_stub(live);
	return 0;
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	made_free(&made);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static bool lease_works(void)
{
	int fd = open(live, O_RDONLY);
	bool works = leftover_unused(fd);

	close(fd);
	return works;
}

static void need_lease(void)
{
	if (!lease_works()) {
		print_message("skip: the file system tells nothing of who uses a file\n");
		skip();
	}
}

static void stays(void)
{
	off_t before = size_of(stub);

	assert_false(leftover_move(live));
	assert_true(exists(live));
	assert_int_equal(size_of(stub), before);
	assert_false(exists(part));
}

static void test_moved(void **state)
{
	struct stat before, after;

	need_lease();
	const struct timespec times[2] = {{1000000000, 5}, {1000000000, 5}};
	assert_int_equal(utimensat(AT_FDCWD, live, times, 0), 0);
	assert_int_equal(stat(live, &before), 0);
	assert_true(leftover_move(live));
	assert_false(exists(live));
	assert_false(exists(part));
	assert_int_equal(stat(stub, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(after.st_mtime, before.st_mtime);
	assert_int_equal(after.st_mode & 07777, 0600);
	uint8_t *bytes = malloc(made_bytes(&made));
	int fd = open(stub, O_RDONLY);
	assert_int_equal(read(fd, bytes, made_bytes(&made)), made_bytes(&made));
	assert_memory_equal(bytes, made.map.base, made_bytes(&made));
	close(fd);
	free(bytes);
	assert_false(leftover_move(live)); /* there is none any more */
}

/* One that was closed, and could not be copied then: as it would have been. */
static void test_moved_closed(void **state)
{
	need_lease();
	made_header(&made)->state = TF_STATE_CLOSED;
	put_live();
	assert_true(leftover_move(live));
	assert_int_equal(size_of(stub), made_bytes(&made));
}

/* Mapped by somebody else, whose descriptor is closed. */
static void test_in_use(void **state)
{
	char c;
	int pipes[2];

	need_lease();
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (!child) {
		int fd = open(live, O_RDWR);
		void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (at != MAP_FAILED && write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_false(lease_works());
	stays();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(leftover_move(live));
	close(pipes[0]);
	close(pipes[1]);
}

static void test_a_stub_that_is_none(void **state)
{
	char other[PATH_MAX + 8];

	put(stub, "precious", 8);
	stays();
	put(stub, "", 0);
	stays();
	snprintf(other, sizeof(other), "%s2", live);
	put_stub(other);
	stays();
	put_stub("");
	stays();
	snprintf(other, sizeof(other), "%s/there", folder);
	put_stub(live);
	assert_int_equal(rename(stub, other), 0);
	assert_int_equal(symlink("there", stub), 0);
	assert_false(leftover_move(live));
	assert_true(exists(live) && exists(other));
	assert_int_equal(unlink(stub), 0);
	assert_false(leftover_move(live));
	assert_int_equal(mkdir(stub, 0700), 0);
	assert_false(leftover_move(live));
	assert_int_equal(rmdir(stub), 0);
	assert_int_equal(mkfifo(stub, 0600), 0);
	assert_false(leftover_move(live));
	assert_true(exists(live));
}

/* Not a part of a recording: it is somebody's own. */
static void test_a_part_of_a_stranger(void **state)
{
	put(part, "x", 1);
	assert_false(leftover_move(live));
	assert_true(exists(live));
	assert_int_equal(size_of(part), 1);
	assert_int_equal(unlink(part), 0);
	assert_int_equal(symlink("x.cudaspy", part), 0);
	assert_false(leftover_move(live));
	assert_int_equal(unlink(part), 0);
	assert_int_equal(mkdir(part, 0700), 0);
	assert_false(leftover_move(live));
	assert_int_equal(rmdir(part), 0);
	assert_int_equal(mkfifo(part, 0600), 0);
	assert_false(leftover_move(live));
	assert_true(exists(live));
}

/* As much as a copy came to. */
static void put_part(size_t bytes)
{
	put(part, made.map.base, bytes);
}

/* Whoever made it was killed at it: it stands in nobody's way. */
static void test_a_part_without_a_maker(void **state)
{
	const size_t sizes[] = {0, 5, sizeof(struct tf_header) + 100, made_bytes(&made)};

	need_lease();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put_live();
		assert_int_equal(!exists(stub) || !unlink(stub), 1);
		put_stub(live);
		put_part(sizes[i]);
		assert_true(leftover_move(live));
		assert_false(exists(live));
		assert_false(exists(part));
		assert_int_equal(size_of(stub), made_bytes(&made) + 100000);
	}
}

/* Whoever made it is at it still, here a process that began to copy and stops amid it. */
static void test_a_part_in_the_making(void **state)
{
	char c = 0;
	int pipes[2];

	need_lease();
	put_part(100);
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (!child) {
		int fd = leftover_open_part(part);
		if (fd >= 0 && write(fd, TF_MAGIC, 8) == 8 && write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(leftover_open_part(part), -1);
	assert_false(leftover_move(live));
	assert_true(exists(live));
	assert_int_equal(size_of(part), 8);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(leftover_move(live));
	assert_false(exists(part));
	close(pipes[0]);
}

static void test_hostile_live_data(void **state)
{
	struct tf_header *h = made_header(&made);
	const uint64_t good = h->out_path;
	const uint64_t offsets[] = {0,          made_bytes(&made) + 200000,
	                            UINT64_MAX, UINT64_MAX - 7,
	                            1ull << 62, made_bytes(&made) + 99998};
	struct tf_string *text = tf_at(&made.map, good, sizeof(*text));

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		h->out_path = offsets[i];
		put_live();
		stays();
	}
	h->out_path = good;
	const uint32_t lengths[] = {0, 1, PATH_MAX, UINT32_MAX, (uint32_t)strlen(stub) + 1};
	uint32_t length = text->bytes;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		text->bytes = lengths[i];
		put_live();
		stays();
	}
	text->bytes = length;
	text->text[0] = 'x'; /* a path of somebody's working folder */
	put_live();
	stays();
	text->text[0] = '/';
	h->version++;
	put_live();
	stays();
	h->version--;
	h->magic[0] = 'X';
	put_live();
	stays();
	put(live, "short", 5);
	stays();
}

/* More handed out than there is: what there is goes, and shows that it is cut. */
static void test_a_cut_one(void **state)
{
	need_lease();
	uint64_t bytes = made_header(&made)->out_path + 4096;
	made_header(&made)->alloc_end = UINT64_MAX - 63;
	assert_true(bytes < made.room);
	put(live, made.map.base, bytes);
	assert_true(leftover_move(live));
	assert_int_equal(size_of(stub), bytes);
}

/* What a run does before it makes live data of its own. */
static void test_a_folder(void **state)
{
	char other[PATH_MAX], long_name[2 * PATH_MAX];
	struct stat st;

	need_lease();
	snprintf(other, sizeof(other), "%s/other.live", folder);
	put(other, "not by name", 11);
	snprintf(long_name, sizeof(long_name), "%s/" LEFTOVER_BEGINS "%0230d" LEFTOVER_ENDS, folder,
	         1);
	put(long_name, "not by what is in it", 20);
	leftover_tidy(folder); /* x.live is not a name of live data */
	assert_true(exists(live));
	assert_int_equal(unlink(live), 0);
	snprintf(live, sizeof(live), "%s/" LEFTOVER_BEGINS "12-0000abcd" LEFTOVER_ENDS, folder);
	put_live();
	put_stub(live);
	leftover_tidy(folder);
	assert_false(exists(live));
	assert_int_equal(stat(stub, &st), 0);
	assert_in_range(st.st_size, made_bytes(&made), UINT32_MAX);
	assert_int_equal(size_of(other), 11);
	assert_int_equal(size_of(long_name), 20);
	leftover_tidy("/nonexistent");
	leftover_tidy("relative");
	leftover_tidy("");
}

static void test_paths_that_are_none(void **state)
{
	char longest[PATH_MAX + 2];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_false(leftover_move(longest));
	assert_false(leftover_move(""));
	assert_false(leftover_move("x.live"));
	assert_false(leftover_move("/nonexistent/x.live"));
	assert_false(leftover_move("/dev/null"));
	assert_false(leftover_move(folder));
	assert_false(leftover_unused(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_moved, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_moved_closed, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_in_use, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_stub_that_is_none, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_part_of_a_stranger, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_part_without_a_maker, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_part_in_the_making, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_hostile_live_data, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_cut_one, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_folder, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_paths_that_are_none, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("leftover", tests, NULL, NULL);
}
