/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that asks the system is included, with two calls of the system replaced: which file
 * system a file is on, and whether space can be reserved.
 */
#include <fcntl.h>
#include <sys/vfs.h>

static int say_file_system(int fd, struct statfs *fs);
static int reserve_space(int fd, int mode, off_t from, off_t bytes);
#include "shim/base/sys.h"
#define fstatfs(fd, fs)              say_file_system(fd, fs)
#define fallocate(fd, mode, from, n) reserve_space(fd, mode, from, n)
#include "shim/life/storage_space.c"
#undef fstatfs
#undef fallocate

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/core/options/options.h"
#include "shim/life/storage_internal.h"
#include "tests/unit/shim_stubs.h"

static char folder[64];
static bool network;        /* the user's folder is on a file system that promises nothing */
static uint64_t disk_bytes; /* a file may reach this size */
static uint64_t memory_bytes, memory_free; /* of the file system; 0 bytes = no limit */
static uint64_t cgroup_free;
static unsigned refused;
static const char *tidies; /* who reserves is overtaken by a thread that closes and opens files */
static int tidied[4];

static int say_file_system(int fd, struct statfs *fs)
{
	char link[64], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	fs->f_type =
	        network && strncmp(path, "/dev/shm/cudaspy-", 17) ? NFS_SUPER_MAGIC : TMPFS_MAGIC;
	fs->f_blocks = memory_bytes;
	fs->f_bavail = memory_free;
	fs->f_bsize = 1;
	return 0;
}

/* Closes what it did not open, and opens its own file in its place. */
static void tidy(void)
{
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	for (unsigned i = 0; i < 4; i++)
		assert_true((tidied[i] = open(tidies, O_RDWR)) >= 0);
}

static int reserve_space(int fd, int mode, off_t from, off_t bytes)
{
	if (tidies)
		tidy();
	if ((uint64_t)(from + bytes) > disk_bytes) {
		refused++;
		errno = ENOSPC;
		return -1;
	}
	return ftruncate(fd, from + bytes); /* a file in memory: room enough */
}

uint64_t storage_cgroup_free(void)
{
	return cgroup_free;
}

void spy_cut_short(void)
{
}

bool spy_was_cut(void)
{
	return false;
}

static const char *in_folder(const char *name)
{
	static char path[4][128];
	static unsigned n;

	snprintf(path[++n % 4], sizeof(path[0]), "%s/%s", folder, name);
	return path[n % 4];
}

static int start(void **state)
{
	strcpy(folder, "/dev/shm/unit-test-XXXXXX");
	if (!mkdtemp(folder)) {
		strcpy(folder, "/tmp/unit-test-XXXXXX");
		assert_non_null(mkdtemp(folder));
	}
	network = false;
	disk_bytes = UINT64_MAX;
	memory_bytes = memory_free = 0;
	cgroup_free = UINT64_MAX;
	refused = 0;
	memset(stub_anomalies, 0, sizeof(stub_anomalies));
	stub_lines = 0;
	unsetenv("XDG_RUNTIME_DIR");
	return 0;
}

static void unmap(void)
{
	if (spy_map.base)
		munmap(spy_map.base, storage_file.reserved);
	spy_map = (struct tf_map){0};
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static int end(void **state)
{
	unmap();
	if (storage_file.in_memory)
		unlink(storage_file.live);
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void create(const char *out)
{
	unmap();
	spy_options.out = out;
	if (!storage_create())
		fail_msg("%s: %s", out, stub_said);
	memcpy(tf_header(&spy_map)->magic, TF_MAGIC, 8); /* as recording_fill() does in the end */
}

/* A refusal is believed for a while. */
static void time_passes(void)
{
	storage_file.full_until_ns = 0;
}

static off_t bytes_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? -1 : st.st_size;
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void assert_holds(const char *path, const char *text)
{
	char got[4096] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, text);
}

/* ---- names
 * ------------------------------------------------------------------------------------------------------------
 */

static void test_taken_names(void **state)
{
	static const char *const wanted[] = {"a.cudaspy", "a-2.cudaspy", "a-3.cudaspy",
	                                     "a-5.cudaspy"};

	put_file(in_folder("a-4.cudaspy"), "mine");
	for (unsigned i = 0; i < 4; i++) {
		create(in_folder("a.cudaspy"));
		assert_string_equal(storage_path(), in_folder(wanted[i]));
		assert_int_equal(bytes_of(in_folder(wanted[i])), FIRST_BYTES);
	}
	assert_holds(in_folder("a-4.cudaspy"), "mine");
	create(in_folder("plain")); /* no suffix that is known */
	create(in_folder("plain"));
	assert_string_equal(storage_path(), in_folder("plain-2"));
}

static void test_a_folder(void **state)
{
	char host[256], wanted[600];

	gethostname(host, sizeof(host));
	create(folder);
	snprintf(wanted, sizeof(wanted), "%s/cudaspy-%s-%d.cudaspy", folder, host, (int)getpid());
	assert_string_equal(storage_path(), wanted);
	create(in_folder("")); /* with a slash at its end */
	snprintf(wanted, sizeof(wanted), "%s/cudaspy-%s-%d-2.cudaspy", folder, host, (int)getpid());
	assert_string_equal(storage_path(), wanted);
}

static void test_mode_and_links(void **state)
{
	struct stat st;

	assert_int_equal(symlink(in_folder("victim"), in_folder("a.cudaspy")), 0);
	mode_t before = umask(0);
	create(in_folder("a.cudaspy"));
	umask(before);
	assert_string_equal(storage_path(), in_folder("a-2.cudaspy"));
	assert_int_equal(lstat(in_folder("victim"), &st), -1);
	assert_int_equal(stat(storage_path(), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
}

static void test_a_relative_name_stays_where_it_was(void **state)
{
	char before[PATH_MAX];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(folder), 0);
	create("r.cudaspy");
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(storage_path(), in_folder("r.cudaspy"));
	assert_int_not_equal(spy_map.alloc(&spy_map, 2 * MIB), 0);
	assert_int_equal(chdir(before), 0);
}

static void assert_refused(const char *out)
{
	unmap();
	stub_lines = 0;
	spy_options.out = out;
	assert_false(storage_create());
	assert_int_equal(stub_lines, 1);
	assert_null(spy_map.base);
}

static void test_no_such_folder(void **state)
{
	static char longest[2 * PATH_MAX];

	assert_refused(in_folder("no/such/a.cudaspy"));
	memset(longest, 'x', sizeof(longest) - 1);
	assert_refused(longest);
	put_file(in_folder("file"), "");
	assert_refused(in_folder("file/a.cudaspy"));
}

static void test_no_room_at_all(void **state)
{
	disk_bytes = 4096;
	assert_refused(in_folder("a.cudaspy"));
	assert_int_equal(bytes_of(in_folder("a.cudaspy")), -1); /* nothing is left lying about */
}

/* ---- growth
 * ------------------------------------------------------------------------------------------------------------
 */

static void test_growth(void **state)
{
	uint64_t last = 0, count = 0;

	create(in_folder("a.cudaspy"));
	while (spy_map.size < 40 * MIB) {
		uint64_t at = spy_map.alloc(&spy_map, 100001);
		assert_true(at > last && at % 64 == 0);
		uint8_t *p = tf_at(&spy_map, at, 100001);
		assert_non_null(p);
		assert_int_equal(p[0] | p[100000], 0);
		p[0] = p[100000] = 1; /* a page without storage would be SIGBUS here */
		last = at;
		count++;
	}
	assert_true(count >= 350);
	assert_int_equal(bytes_of(storage_path()), spy_map.size);
	assert_int_equal(tf_header(&spy_map)->file_end, spy_map.size);
	assert_int_equal(stub_lines, 0);
}

/* Another thread gets the numbers that are free: its file does not grow in the place of ours, and
 * its descriptors stay open. */
static void test_growth_while_descriptors_are_taken(void **state)
{
	put_file(in_folder("mine"), "mine");
	tidies = in_folder("mine");
	create(in_folder("a.cudaspy"));
	while (spy_map.size < 20 * MIB) {
		uint64_t at = spy_map.alloc(&spy_map, MIB);
		assert_int_not_equal(at, 0);
		spy_map.base[at + MIB - 1] = 1;
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(lseek(tidied[i], 0, SEEK_END), 4);
	}
	tidies = NULL;
	assert_int_equal(bytes_of(storage_path()), spy_map.size);
	assert_holds(in_folder("mine"), "mine");
	assert_int_equal(stub_lines, 0);
	for (unsigned i = 0; i < 4; i++)
		close(tidied[i]);
}

/* What is behind the name is another file now: it is left alone. */
static void test_growth_after_the_file_was_replaced(void **state)
{
	create(in_folder("a.cudaspy"));
	assert_int_equal(rename(storage_path(), in_folder("moved")), 0);
	put_file(in_folder("a.cudaspy"), "a stranger's");
	assert_int_equal(spy_map.alloc(&spy_map, 2 * MIB), 0);
	time_passes();
	assert_int_equal(spy_map.alloc(&spy_map, 2 * MIB), 0);
	assert_int_equal(stub_anomalies[SPY_ANOMALY_FILE_FULL], 2);
	assert_int_equal(stub_lines, 1); /* said once */
	assert_holds(in_folder("a.cudaspy"), "a stranger's");
	assert_int_equal(bytes_of(in_folder("moved")), FIRST_BYTES);
	assert_int_not_equal(spy_map.alloc(&spy_map, 4096),
	                     0); /* what there is can still be used */
}

static void test_growth_after_the_file_was_deleted(void **state)
{
	create(in_folder("a.cudaspy"));
	unlink(storage_path());
	assert_int_equal(spy_map.alloc(&spy_map, 2 * MIB), 0);
	assert_int_equal(bytes_of(in_folder("a.cudaspy")), -1);
	/* neither through a link that was put there */
	put_file(in_folder("victim"), "v");
	assert_int_equal(symlink("victim", in_folder("a.cudaspy")), 0);
	time_passes();
	assert_int_equal(spy_map.alloc(&spy_map, 2 * MIB), 0);
	assert_holds(in_folder("victim"), "v");
}

static void test_a_full_disk(void **state)
{
	disk_bytes = 3 * MIB + 12288; /* between two of the usual steps */
	create(in_folder("a.cudaspy"));
	assert_int_not_equal(spy_map.alloc(&spy_map, MIB), 0);
	uint64_t size = spy_map.size;
	while (spy_map.alloc(&spy_map, 4096))
		;
	/* the last step was no larger than what was asked for, so that the disk is used to its end
	 */
	assert_int_equal(spy_map.size, disk_bytes);
	assert_true(spy_map.size > size && refused >= 2);
	assert_int_equal(stub_lines, 1);
	unsigned asked = refused;
	assert_int_equal(spy_map.alloc(&spy_map, 4096), 0);
	assert_int_equal(refused, asked); /* not at every turn: each is a system call or more */
	disk_bytes = UINT64_MAX;          /* somebody made room */
	time_passes();
	assert_int_not_equal(spy_map.alloc(&spy_map, MIB), 0);
	assert_int_equal(spy_map.alloc(&spy_map, UINT64_MAX / 2), 0);
}

/* ---- in memory
 * ---------------------------------------------------------------------------------------------------------
 */

static void need_shm(void)
{
	if (access("/dev/shm", W_OK))
		skip();
	network = true;
}

static void test_in_memory(void **state)
{
	need_shm();
	create(in_folder("a.cudaspy"));
	char stub[PATH_MAX + 16], live[PATH_MAX];
	strcpy(live, storage_file.live);
	assert_int_equal(strncmp(live, "/dev/shm/cudaspy-", 17), 0);
	snprintf(stub, sizeof(stub), "%s%s\n", TF_STUB, live);
	assert_holds(storage_path(), stub);
	assert_int_equal(bytes_of(live), FIRST_BYTES);

	uint64_t at = spy_map.alloc(&spy_map, 3 * MIB);
	assert_int_not_equal(at, 0);
	strcpy((char *)spy_map.base + at, "the last words");
	storage_publish(true);
	assert_int_equal(bytes_of(in_folder("a.cudaspy")), tf_header(&spy_map)->alloc_end);
	assert_int_equal(bytes_of(live), -1);
	assert_int_equal(bytes_of(in_folder("a.cudaspy.part")), -1);
	char got[16] = "";
	int fd = open(in_folder("a.cudaspy"), O_RDONLY);
	assert_int_equal(pread(fd, got, 15, (off_t)at), 15);
	close(fd);
	assert_string_equal(got, "the last words");

	strcpy((char *)spy_map.base + at, "still later words"); /* by a static destructor */
	storage_publish(true);
	fd = open(in_folder("a.cudaspy"), O_RDONLY);
	assert_int_equal(pread(fd, got, 15, (off_t)at), 15);
	close(fd);
	assert_string_equal(got, "still later wor");
}

static uint64_t seal_in(const char *path)
{
	struct tf_header h;
	int fd = open(path, O_RDONLY);

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	close(fd);
	return h.seal.state;
}

/* Calls have broken the seal in memory: the copy has its own, but not where its collector may still
 * be at work. */
static void test_in_memory_and_calls_go_on(void **state)
{
	need_shm();
	create(in_folder("a.cudaspy"));
	struct tf_header *h = tf_header(&spy_map);
	h->thread_bytes = sizeof(struct tf_thread);
	h->seal.state = TF_SEAL_BROKEN;
	storage_publish(true);
	assert_int_equal(seal_in(in_folder("a.cudaspy")), TF_SEAL_WHOLE);
	assert_int_equal(h->seal.state, TF_SEAL_BROKEN);
	storage_publish(false);
	assert_int_equal(seal_in(in_folder("a.cudaspy")), TF_SEAL_BROKEN);
	h->thread_bytes = 0; /* its tables lead nowhere: no copy of it holds together */
	storage_publish(true);
	assert_int_equal(seal_in(in_folder("a.cudaspy")), TF_SEAL_BROKEN);
	assert_int_equal(stub_lines, 0);
	assert_false(storage_replaces_copy(spy_map.base)); /* nothing is mapped any more */
}

/* A quarter of what a cgroup leaves less what the collector takes, 4 MiB at least: then it does not
 * grow. */
static void test_in_memory_of_a_cgroup(void **state)
{
	need_shm();
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t most = (i ? 8 : 4) * MIB;
		cgroup_free = i ? 4 * (24 + 8) * MIB : MIB;
		create(in_folder("a.cudaspy"));
		assert_int_equal(storage_file.space_most, most);
		assert_int_not_equal(spy_map.alloc(&spy_map, most / 2), 0);
		assert_int_equal(spy_map.alloc(&spy_map, most / 2), 0);
		assert_true(bytes_of(storage_file.live) <= (long long)most);
		unlink(storage_file.live);
		unmap();
	}
}

/* Whoever put a file of his own in place of the stub keeps it. */
static void test_in_memory_and_the_stub_replaced(void **state)
{
	need_shm();
	create(in_folder("a.cudaspy"));
	assert_int_equal(rename(in_folder("a.cudaspy"), in_folder("stub")), 0);
	put_file(in_folder("a.cudaspy"), "a stranger's");
	storage_publish(true);
	assert_holds(in_folder("a.cudaspy"), "a stranger's");
	assert_int_equal(bytes_of(storage_file.live), FIRST_BYTES);
}

/* A file system mounted over the folder meanwhile has another file there, perhaps with the stub's
 * number. */
static void test_in_memory_and_the_stub_of_another_device(void **state)
{
	need_shm();
	create(in_folder("a.cudaspy"));
	put_file(in_folder("a.cudaspy"), "a stranger's");
	storage_file.published_id.device++;
	storage_publish(true);
	assert_holds(in_folder("a.cudaspy"), "a stranger's");
	assert_int_equal(bytes_of(storage_file.live), FIRST_BYTES);
}

/* A stranger's is left alone, which is said; an earlier copy's, whose maker was killed at it, is in
 * nobody's way. */
static void test_in_memory_and_a_part_is_there(void **state)
{
	need_shm();
	create(in_folder("a.cudaspy"));
	put_file(in_folder("a.cudaspy.part"), "a stranger's");
	storage_publish(true);
	assert_holds(in_folder("a.cudaspy.part"), "a stranger's");
	assert_int_equal(bytes_of(storage_file.live), FIRST_BYTES);
	assert_int_equal(stub_lines, 1);
	assert_non_null(strstr(stub_said, storage_file.live));
	put_file(in_folder("a.cudaspy.part"), "CUDASPY\n");
	storage_publish(true);
	assert_int_equal(bytes_of(in_folder("a.cudaspy.part")), -1);
	assert_int_equal(bytes_of(in_folder("a.cudaspy")), tf_header(&spy_map)->alloc_end);
	assert_int_equal(bytes_of(storage_file.live), -1);
}

static void test_publish_without_need(void **state)
{
	create(in_folder("a.cudaspy"));
	storage_publish(true);
	assert_int_equal(bytes_of(in_folder("a.cudaspy")), FIRST_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_taken_names, start, end),
	        cmocka_unit_test_setup_teardown(test_a_folder, start, end),
	        cmocka_unit_test_setup_teardown(test_mode_and_links, start, end),
	        cmocka_unit_test_setup_teardown(test_a_relative_name_stays_where_it_was, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_no_such_folder, start, end),
	        cmocka_unit_test_setup_teardown(test_no_room_at_all, start, end),
	        cmocka_unit_test_setup_teardown(test_growth, start, end),
	        cmocka_unit_test_setup_teardown(test_growth_while_descriptors_are_taken, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_growth_after_the_file_was_replaced, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_growth_after_the_file_was_deleted, start, end),
	        cmocka_unit_test_setup_teardown(test_a_full_disk, start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory, start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory_and_calls_go_on, start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory_of_a_cgroup, start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory_and_the_stub_replaced, start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory_and_the_stub_of_another_device,
	                                        start, end),
	        cmocka_unit_test_setup_teardown(test_in_memory_and_a_part_is_there, start, end),
	        cmocka_unit_test_setup_teardown(test_publish_without_need, start, end),
	};

	return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
