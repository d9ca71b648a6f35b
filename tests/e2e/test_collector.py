# SPDX-License-Identifier: Apache-2.0
"""The collector, the shim's own thread: it hardly runs while there is nothing to collect."""
import re

import pytest

from conftest import ROOT, SIM

# Once it has found that nothing comes: how often the collector's thread slept and woke in five idle seconds; then a burst
# of more calls than a ring of 64 records holds, which begins while it sleeps.
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
	sleep(3);
	long before = wake_ups();
	sleep(5);
	printf("before=%ld idle=%ld\n", before, wake_ups() - before);
	for (int i = 0; i < 20000; i++)
		CHECK(work_launch(work_short, NULL));
	return 0;
}
'''


@pytest.mark.parametrize('gpu', ['off', 'sample', 'cupti'])
def test_idle_it_wakes_once_a_second_at_most(run, compile_c, gpu):
    r = run(compile_c(IDLE, '-lcuda', '-I', str(ROOT)), CUDASPY_GPU=gpu, LD_LIBRARY_PATH=f'{SIM}:{SIM}/cupti13')
    assert r.report['gpu']['mode'] == gpu
    before, idle = map(int, re.match(r'before=(\d+) idle=(\d+)', r.out).groups())
    assert before > 0
    # Beside its rounds it looks at clocks and libraries once in a while, which may wait for a disk.
    assert idle <= 5 + 2
    assert r.report['totals']['launches'] == 21000


def test_a_burst_while_it_sleeps_loses_no_record(run, compile_c):
    """The ring that is half full wakes it, and grows until it has."""
    r = run(compile_c(IDLE, '-lcuda', '-I', str(ROOT)))
    assert r.report['totals']['launches'] == 21000 and r.report['lost']['records'] == 0
