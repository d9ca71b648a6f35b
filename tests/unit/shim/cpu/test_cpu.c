/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/cpu/cpu.h"
#include "shim/cpu/cpu_read.h"
#include "shim/base/gate.h"
#include "tests/unit/shim_stubs.h"
#include "tests/unit/unit.h"

/* ---- a folder with the files that the kernel would have
 * ---------------------------------------------------------------- */

/* The program's clock may be another one than the kernel's. */
static time_t ahead_s;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long rc = syscall(SYS_clock_gettime, clock, t);

	t->tv_sec += ahead_s;
	return (int)rc;
}

#define TID 999999999 /* of no thread: numbers end below */

static char root[64];

static int start(void **state)
{
	snprintf(root, sizeof(root), "/tmp/cudaspy-cpu-XXXXXX");
	assert_non_null(mkdtemp(root));
	cpu_read_root = root;
	cpu_after_fork();
	return 0;
}

static int end(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cpu_read_root = "";
	return system(command);
}

/* Under the root, with the folders above it. */
static void put(const char *path, const char *text)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *p = whole + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(whole, 0700);
		*p = '/';
	}
	FILE *f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_group(const char *folder, const char *max, const char *stat)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	put(path, "1\n");
	snprintf(path, sizeof(path), "%s/cpu.max", folder);
	if (max)
		put(path, max);
	snprintf(path, sizeof(path), "%s/cpu.stat", folder);
	if (stat)
		put(path, stat);
}

static struct cpu_level levels[CPU_LEVELS];
static unsigned count;

static bool limits(void)
{
	memset(levels, 0xff, sizeof(levels));
	return cpu_read_limits(levels, &count);
}

/* ---- threads and CPUs
 * --------------------------------------------------------------------------------------------------
 */

static void test_waiting_for_a_cpu(void **state)
{
	uint64_t ns = 7;

	assert_false(cpu_read_wait(0, &ns)); /* a kernel without such a file */
	put("/proc/thread-self/schedstat", "5000 2500 3\n");
	assert_true(cpu_read_wait(0, &ns));
	assert_int_equal(ns, 2500);
	put("/proc/self/task/999999999/schedstat", "0 18446744073709551615 1\n");
	assert_true(cpu_read_wait(TID, &ns));
	assert_true(ns == UINT64_MAX);
	assert_false(cpu_read_wait(123, &ns));
	static const char *const nothing[] = {"",      "\n",    "0 0 0\n", "5000",
	                                      "5000 ", "x 1 2", "-1 5 6"};
	for (unsigned i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		put("/proc/thread-self/schedstat", nothing[i]);
		assert_false(cpu_read_wait(0, &ns));
	}
	cpu_read_root = "/a/root/that/is/longer/than/any/path/may/be"; /* and is not there */
	assert_false(cpu_read_wait(0, &ns));
}

static void test_the_real_one(void **state)
{
	uint64_t mine, same;

	cpu_read_root = "";
	if (!cpu_read_wait(0, &mine))
		skip(); /* this kernel does not count */
	assert_true(cpu_read_wait((uint64_t)syscall(SYS_gettid), &same));
	assert_true(same >= mine);
}

static void test_cores(void **state)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(cpu_read_cores(0), CPU_COUNT(&set));
	assert_int_equal(cpu_read_cores((uint64_t)getpid()), CPU_COUNT(&set));
	assert_int_equal(cpu_read_online(), 0);
	put("/sys/devices/system/cpu/online", "0-3,8,10-11\n");
	assert_int_equal(cpu_read_online(), 7);
	put("/sys/devices/system/cpu/online", "0-\n");
	assert_int_equal(cpu_read_online(), 0);
	put("/sys/devices/system/cpu/online", "5-2\n");
	assert_int_equal(cpu_read_online(), 0);
}

/* ---- cgroups
 * -----------------------------------------------------------------------------------------------------------
 */

static void test_no_cgroups(void **state)
{
	assert_false(limits()); /* nothing is known */
	put("/proc/self/cgroup", "0::/a/b\n");
	assert_false(limits()); /* not mounted */
	put_group("/sys/fs/cgroup", NULL, NULL);
	put_group("/sys/fs/cgroup/a", NULL, NULL);
	assert_true(limits()); /* no quota anywhere */
	assert_int_equal(count, 0);
	put_group("/sys/fs/cgroup/a", "max 100000\n", "nr_periods 0\n");
	assert_true(limits());
	assert_int_equal(count, 0);
	put("/proc/self/cgroup", "0::/../a\n"); /* outside of what the namespace shows */
	assert_false(limits());
	put("/proc/self/cgroup", "\n:\n::\n5\n");
	limits();
}

static void test_second_version(void **state)
{
	put("/proc/self/cgroup", "0::/pod/container/app\n");
	put_group("/sys/fs/cgroup", NULL, NULL);
	put_group(
	        "/sys/fs/cgroup/pod", "150000 100000\n",
	        "usage_usec 5\nnr_periods 50\nnr_throttled 7\nthrottled_usec 9000\nnr_bursts 0\n");
	put_group("/sys/fs/cgroup/pod/container", "400000 200000\n", NULL);
	assert_true(limits());
	assert_int_equal(count, 2);
	assert_int_equal(levels[0].quota_us, 400000);
	assert_int_equal(levels[0].period_us, 200000);
	assert_false(levels[0].counted);
	assert_int_equal(levels[1].quota_us, 150000);
	assert_true(levels[1].counted);
	assert_int_equal(levels[1].periods, 50);
	assert_int_equal(levels[1].throttled_periods, 7);
	assert_int_equal(levels[1].throttled_ns, 9000000);
}

static void test_first_version(void **state)
{
	put("/proc/self/cgroup",
	    "12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/y\n0::/z\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "");
	/* In a container the folder that the line names is the root of what is mounted. */
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
	    "nr_periods 9\nnr_throttled 3\nthrottled_time 1234567\n");
	put_group("/sys/fs/cgroup/unified", "1000 100000\n", NULL); /* not the one that counts */
	assert_true(limits());
	assert_int_equal(count, 1);
	assert_int_equal(levels[0].quota_us, 50000);
	assert_int_equal(levels[0].period_us, 100000);
	assert_int_equal(levels[0].throttled_ns, 1234567);
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	assert_true(limits());
	assert_int_equal(count, 0);
	put("/proc/self/cgroup", "12:cpuset:/x\n4:cpuacct:/docker/abc\n");
	assert_false(limits()); /* no line has the controller */
}

static void test_deep_and_long(void **state)
{
	char path[512] = "/sys/fs/cgroup", line[4200] = "0::";

	put_group(path, NULL, NULL);
	for (int i = 0; i < 12; i++) {
		strcat(path, "/d");
		strcat(line, "/d");
		put_group(path, "10000 100000\n", NULL);
	}
	put("/proc/self/cgroup", line);
	assert_true(limits());
	assert_int_equal(count, CPU_LEVELS);
	memset(line + 3, '/', 4000);
	put("/proc/self/cgroup", line);
	assert_false(limits());
}

/* ---- in the recording
 * --------------------------------------------------------------------------------------------------
 */

static struct tf_thread *thread;

/* A recording whose one thread has just begun. */
static void begin(const char *schedstat)
{
	stub_start(4 << 20);
	clock_choose(true);
	struct tf_header *h = tf_header(&spy_map);
	h->thread_bytes = sizeof(*thread);
	h->pid = (uint64_t)getpid();
	h->threads = (struct tf_table){.entry_bytes = 8, .page_entries = 512, .max = 65535};
	h->slices = spy_map.alloc(&spy_map, sizeof(struct tf_slices));
	struct tf_slices *s = tf_at(&spy_map, h->slices, sizeof(*s));
	s->origin = spy_clock();
	s->width = 1ull << 34;
	uint64_t offset = spy_map.alloc(&spy_map, sizeof(*thread)),
	         *entry = tf_append(&spy_map, &h->threads);
	*entry = offset;
	tf_publish(&h->threads);
	thread = tf_at(&spy_map, offset, sizeof(*thread));
	thread->tid = TID;
	thread->launches = 1;
	if (schedstat)
		put("/proc/thread-self/schedstat", schedstat);
	cpu_thread_begins(thread);
}

static const struct tf_slice *slice(void)
{
	const struct tf_slices *s = tf_at(&spy_map, tf_header(&spy_map)->slices, sizeof(*s));

	return &s->slice[0];
}

static const struct tf_cpu *area(void)
{
	return tf_at(&spy_map, tf_header(&spy_map)->cpu, sizeof(struct tf_cpu));
}

static void test_a_threads_waiting(void **state)
{
	begin("9000 5000 3\n");
	uint64_t began = thread->cpu_tick;
	assert_int_equal(thread->cpu_wait_ns, 0);
	cpu_beat(); /* its file is not there */
	assert_int_equal(thread->cpu_tick, began);
	put("/proc/self/task/999999999/schedstat", "9500 5600 4\n");
	cpu_beat();
	assert_int_equal(thread->cpu_wait_ns, 600);
	assert_int_equal(thread->cpu_cores, 0); /* no such thread in truth */
	assert_int_equal(slice()->cpu_wait_ns, 600);
	assert_int_equal(slice()->cpu_known_ticks, thread->cpu_tick - began);
	put("/proc/self/task/999999999/schedstat", "9500 100 4\n"); /* another's: the count fell */
	cpu_beat();
	assert_int_equal(thread->cpu_wait_ns, 600);
	thread->launches = 0; /* one that gives the GPU nothing */
	put("/proc/self/task/999999999/schedstat", "9500 5700 4\n");
	cpu_beat();
	assert_int_equal(thread->cpu_wait_ns, 700);
	assert_int_equal(slice()->cpu_wait_ns, 600);
	put("/proc/thread-self/schedstat", "9600 5900 5\n");
	cpu_thread_ends(thread);
	assert_int_equal(thread->cpu_wait_ns, 900);
	thread->death = spy_clock();
	put("/proc/self/task/999999999/schedstat",
	    "9500 6700 4\n"); /* its number is another thread's */
	cpu_beat();
	assert_int_equal(thread->cpu_wait_ns, 900);
	thread->death = 0; /* the slot is another thread's, which goes on counting */
	put("/proc/thread-self/schedstat", "1 50 1\n");
	cpu_thread_begins(thread);
	assert_int_equal(thread->cpu_wait_ns, 900);
	put("/proc/self/task/999999999/schedstat", "1 70 4\n");
	cpu_beat();
	assert_int_equal(thread->cpu_wait_ns, 920);
	tf_header(&spy_map)->closed = spy_clock(); /* and sealed */
	put("/proc/thread-self/schedstat", "1 5000 1\n");
	cpu_thread_ends(thread);
	assert_int_equal(thread->cpu_wait_ns, 920);
	stub_end();
}

/* Time by one clock is no part of time by another. */
static void test_a_clock_of_its_own(void **state)
{
	if (!spy_clock_is_counter()) /* then ticks are of the clock that is moved, too */
		skip();
	begin("9000 5000 3\n");
	put("/proc/self/task/999999999/schedstat", "9500 5600 4\n");
	ahead_s = 1;
	cpu_beat();
	ahead_s = 0;
	assert_int_equal(thread->cpu_wait_ns, 600);
	assert_int_equal(slice()->cpu_wait_ns, 0);
	assert_int_equal(slice()->cpu_known_ticks, 0);
	put("/proc/self/task/999999999/schedstat", "9500 5700 4\n");
	cpu_beat();
	assert_int_equal(slice()->cpu_wait_ns, 100);
	stub_end();
}

static void test_waiting_is_not_known(void **state)
{
	begin(NULL);
	assert_int_equal(thread->cpu_tick, 0);
	put("/proc/self/task/999999999/schedstat", "9500 5600 4\n");
	cpu_beat();
	assert_int_equal(thread->cpu_tick, 0);
	assert_int_equal(slice()->cpu_known_ticks, 0);
	assert_int_equal(area()->known, 1 << TF_CPU_CORES); /* of the real process */
	stub_end();
}

static void test_throttling_since_the_start(void **state)
{
	put("/proc/self/cgroup", "0::/pod/app\n");
	put("/sys/devices/system/cpu/online", "0-63\n");
	put_group("/sys/fs/cgroup", NULL, NULL);
	put_group("/sys/fs/cgroup/pod", "150000 100000\n",
	          "nr_periods 50\nnr_throttled 7\nthrottled_usec 9000\n");
	put_group("/sys/fs/cgroup/pod/app", "400000 100000\n",
	          "nr_periods 5\nnr_throttled 5\nthrottled_usec 400\n");
	begin(NULL);
	cpu_beat();
	assert_int_equal(area()->known, 1 << TF_CPU_CORES | 1 << TF_CPU_ONLINE | 1 << TF_CPU_LIMIT |
	                                        1 << TF_CPU_QUOTA | 1 << TF_CPU_THROTTLED);
	assert_int_equal(area()->online, 64);
	assert_int_equal(area()->quota_us, 150000);
	assert_int_equal(area()->throttled_ns, 0);
	put_group("/sys/fs/cgroup/pod", "150000 100000\n",
	          "nr_periods 150\nnr_throttled 57\nthrottled_usec 29000\n");
	put_group("/sys/fs/cgroup/pod/app", "400000 100000\n",
	          "nr_periods 105\nnr_throttled 6\nthrottled_usec 500\n");
	cpu_beat();
	assert_int_equal(area()->periods, 100);
	assert_int_equal(area()->throttled_periods, 50);
	assert_int_equal(area()->throttled_ns, 20000000);
	put_group("/sys/fs/cgroup/pod", "max 100000\n",
	          NULL); /* lifted: what is left is another cgroup's */
	cpu_beat();
	assert_int_equal(area()->quota_us, 400000);
	assert_int_equal(area()->known >> TF_CPU_THROTTLED & 1, 0);
	stub_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_waiting_for_a_cpu, start, end),
	        cmocka_unit_test_setup_teardown(test_the_real_one, start, end),
	        cmocka_unit_test_setup_teardown(test_cores, start, end),
	        cmocka_unit_test_setup_teardown(test_no_cgroups, start, end),
	        cmocka_unit_test_setup_teardown(test_second_version, start, end),
	        cmocka_unit_test_setup_teardown(test_first_version, start, end),
	        cmocka_unit_test_setup_teardown(test_deep_and_long, start, end),
	        cmocka_unit_test_setup_teardown(test_a_threads_waiting, start, end),
	        cmocka_unit_test_setup_teardown(test_a_clock_of_its_own, start, end),
	        cmocka_unit_test_setup_teardown(test_waiting_is_not_known, start, end),
	        cmocka_unit_test_setup_teardown(test_throttling_since_the_start, start, end),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
