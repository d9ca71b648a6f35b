/* SPDX-License-Identifier: Apache-2.0 */
/* What memory cgroups leave free: the part that asks is included, its files are those of a table.
 */
#include "shim/base/sys.h"
#include "shim/life/storage_internal.h"

static uint32_t read_there(const char *path, char *text, uint32_t bytes);
#define sys_read_file(path, text, bytes) read_there(path, text, bytes)
#include "shim/life/storage_cgroup.c"
#undef sys_read_file

#include "tests/unit/shim_stubs.h"

struct file {
	const char *path, *text;
};
static const struct file *files;

static uint32_t read_there(const char *path, char *text, uint32_t bytes)
{
	for (const struct file *f = files; f->path; f++)
		if (!strcmp(f->path, path))
			return (uint32_t)snprintf(text, bytes, "%s", f->text);
	*text = 0;
	return 0;
}

static uint64_t free_in(const struct file *table)
{
	files = table;
	return storage_cgroup_free();
}

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static void test_no_cgroup(void **state)
{
	const struct file nothing[] = {{0}};
	const struct file no_limit[] = {{"/proc/self/cgroup", "0::/a\n"},
	                                {V2 "/a/memory.max", "max\n"},
	                                {V2 "/a/memory.current", "1000\n"},
	                                {0}};
	const struct file outside[] = {{"/proc/self/cgroup", "0::/../a\n"},
	                               {V2 "/memory.max", "1\n"},
	                               {V2 "/memory.current", "0\n"},
	                               {0}};

	assert_true(free_in(nothing) == UINT64_MAX);
	assert_true(free_in(no_limit) == UINT64_MAX);
	assert_true(free_in(outside) == UINT64_MAX);
}

static void test_the_least_on_the_way_up(void **state)
{
	const struct file deep[] = {
	        {"/proc/self/cgroup", "0::/a/b\n"},
	        {V2 "/a/b/memory.max", "9000\n"},
	        {V2 "/a/b/memory.current", "1000\n"},
	        {V2 "/a/memory.max", "7000\n"},
	        {V2 "/a/memory.current", "6000\n"},
	        {V2 "/a/memory.stat", "anon 1\ninactive_file 500\nactive_file 200\nfile 99\n"},
	        {0}};
	/* A container whose files are of its own cgroup, wherever that lies. */
	const struct file container[] = {{"/proc/self/cgroup", "0::/kubepods/pod1/x\n"},
	                                 {V2 "/memory.max", "9000\n"},
	                                 {V2 "/memory.current", "8999\n"},
	                                 {0}};
	const struct file beyond[] = {{"/proc/self/cgroup", "0::/\n"},
	                              {V2 "/memory.max", "9000\n"},
	                              {V2 "/memory.current", "9001\n"},
	                              {0}};

	assert_int_equal(free_in(deep), 7000 - (6000 - 700));
	assert_int_equal(free_in(container), 1);
	assert_int_equal(free_in(beyond), 0);
}

static void test_the_first_version(void **state)
{
	const struct file both[] = {{"/proc/self/cgroup", "9:cpu,cpuacct:/z\n4:memory:/a\n0::/b\n"},
	                            {V1 "/a/memory.limit_in_bytes", "5000\n"},
	                            {V1 "/a/memory.usage_in_bytes", "3000\n"},
	                            {V1 "/a/memory.stat",
	                             "inactive_file 1\ntotal_inactive_file 300\n"
	                             "total_active_file 100\n"},
	                            {V1 "/memory.limit_in_bytes", "9223372036854771712\n"},
	                            {V1 "/memory.usage_in_bytes", "4000\n"},
	                            {V2 "/b/memory.max", "1\n"},
	                            {V2 "/b/memory.current", "1\n"},
	                            {0}};

	assert_int_equal(free_in(both), 5000 - (3000 - 400));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_no_cgroup),
	        cmocka_unit_test(test_the_least_on_the_way_up),
	        cmocka_unit_test(test_the_first_version),
	};

	return cmocka_run_group_tests_name("storage_cgroup", tests, NULL, NULL);
}
