# SPDX-License-Identifier: Apache-2.0
"""The collector, the shim's own thread: it hardly runs while there is nothing to collect."""
import re

from conftest import ROOT

# Once it has found that nothing comes: how often the collector's thread slept and woke in three idle seconds.
IDLE = r'''
#include <dirent.h>
#include <string.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

static long wake_ups_of(const char *tid)
{
	char path[300], line[200];
	long switches = -1;
	int ours = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		ours |= !strcmp(line, "Name:\tcudaspy\n");
		sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
	}
	if (f)
		fclose(f);
	return ours ? switches : -1;
}

static long wake_ups(void)
{
	DIR *d = opendir("/proc/self/task");
	long found = -1, n;

	for (struct dirent *e; (e = readdir(d)) != NULL;)
		if ((n = wake_ups_of(e->d_name)) >= 0)
			found = n;
	closedir(d);
	return found;
}

int main(void)
{
	work_start();
	for (int i = 0; i < 1000; i++)
		CHECK(work_launch(work_short, NULL));
	sleep(1);
	long before = wake_ups();
	sleep(3);
	printf("before=%ld idle=%ld\n", before, wake_ups() - before);
	return 0;
}
'''


def test_idle_it_wakes_ten_times_a_second_at_most(run, compile_c):
    r = run(compile_c(IDLE, '-lcuda', '-I', str(ROOT)))
    before, idle = map(int, re.match(r'before=(\d+) idle=(\d+)', r.out).groups())
    assert before > 0
    # Beside its rounds it looks at clocks and libraries once in a while, which may wait for a disk.
    assert idle <= 3 * 10 + 10
    assert r.report['totals']['launches'] == 1000 and r.report['lost']['records'] == 0
