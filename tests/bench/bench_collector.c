/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/format/trace_format.h"

#define BURST 800ul
#define PAUSE_US                                                                                   \
	2000u /* after each burst: the 400,000 launches a second of a program bound by them */
#define ROUNDS  5
#define TOUCHED 700u /* bursts, after which all memory that it goes round over was touched */

/* The least of some runs on a virtual machine with two processors of an EPYC that others used as
 * well: as it is, and as it was before sampled launches were placed several at a time. */
static const struct mode {
	const char *name;
	double there_ns, before_ns, bar_ns;
} modes[] = {{"off", 39, 40, 40}, {"sample", 68, 99, 80}};

/* How often thread `tid` of the process went to sleep; -1: it is not the collector. */
static long sleeps_of(int pid, const char *tid)
{
	FILE *f = fopen(bench_text("/proc/%d/task/%s/status", pid, tid), "re");
	char line[200];
	bool collector = false;
	long sleeps = -1;

	while (f && fgets(line, sizeof(line), f)) {
		collector |= !strcmp(line, "Name:\tcudaspy\n");
		sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
	}
	if (f)
		fclose(f);
	return collector ? sleeps : -1;
}

static long collector_sleeps(int pid)
{
	DIR *tasks = opendir(bench_text("/proc/%d/task", pid));
	struct dirent *e;
	long found = -1, n;

	while (tasks && (e = readdir(tasks)))
		if ((n = sleeps_of(pid, e->d_name)) >= 0)
			found = n;
	if (tasks)
		closedir(tasks);
	return found;
}

static bool start(struct bench *b, struct child *c, const char *mode, const char *recording)
{
	const char *const argv[] = {b->self, "--work", NULL};
	const char *const extra[] = {bench_text("LD_LIBRARY_PATH=%s/sim", b->build),
	                             bench_text("LD_PRELOAD=%s/libcudaspy.so", b->build),
	                             bench_text("CUDASPY_OUT=%s", recording),
	                             bench_text("CUDASPY_GPU=%s", mode),
	                             "SIM_COST=0",
	                             NULL};

	return child_start(c, argv, extra, bench_text("%s/collector.messages", b->folder));
}

/* How often it wakes up in so many seconds in which the program does nothing, from 3 s after its
 * last call on. */
static bool wakes_idle(struct bench *b, const char *mode, unsigned seconds, long *wakes)
{
	const char *recording = bench_text("%s/idle-%s.cudaspy", b->folder, mode);
	struct child c;
	bool ok = start(b, &c, mode, recording) && child_ask(&c, "launch", BURST, 10, PAUSE_US) > 0;

	if (ok) {
		sleep(3);
		long before = collector_sleeps(c.pid);
		sleep(seconds);
		*wakes = collector_sleeps(c.pid) - before;
		ok = before >= 0;
	}
	ok = child_end(&c) == 0 && ok;
	remove(recording);
	return ok;
}

/* CPU time of the collector's in a run of so many bursts on the simulated CUDA, and the records it
 * had; < 0: no run. */
static double collector_cpu(struct bench *b, const char *mode, unsigned bursts, double *records)
{
	const char *recording = bench_text("%s/collector-%s-%u.cudaspy", b->folder, mode, bursts);
	struct tf_header h;
	struct child c;

	bool ok = start(b, &c, mode, recording) &&
	          child_ask(&c, "launch", BURST, bursts, PAUSE_US) > 0;
	ok = child_end(&c) == 0 && ok;
	FILE *f = ok ? fopen(recording, "re") : NULL;
	ok = f && fread(&h, sizeof(h), 1, f) == 1 && h.collector_cpu_ns;
	if (f)
		fclose(f);
	remove(recording);
	*records = (double)(bursts * BURST);
	return ok ? (double)h.collector_cpu_ns : -1;
}

/* By the difference of a long and a short run, which does not hold what a run costs once: memory
 * that is touched for the first time. */
static bool ns_per_record(struct bench *b, const char *mode, unsigned bursts, double *ns)
{
	double short_run = -1, long_run = -1, few, many;

	/* A collector that got no CPU at all in a short run says nothing of what it takes. */
	for (unsigned tries = 0; tries < 3 && short_run < 0; tries++)
		short_run = collector_cpu(b, mode, bursts, &few);
	for (unsigned tries = 0; tries < 3 && long_run < 0; tries++)
		long_run = collector_cpu(b, mode, 3 * bursts, &many);
	*ns = (long_run - short_run) / (many - few);
	return short_run >= 0 && long_run >= 0;
}

bool bench_collector(struct bench *b)
{
	unsigned rounds = b->quick ? 1 : ROUNDS, bursts = b->quick ? 50 : TOUCHED;

	printf("What a launch costs the collector, the shim's own thread, at 400,000 a second, "
	       "once "
	       "its memory is touched: CPU time, median of %u runs.\n\n",
	       rounds);
	for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		double ns[ROUNDS];
		for (unsigned i = 0; i < rounds; i++)
			if (!ns_per_record(b, modes[m].name, bursts, &ns[i]))
				return false;
		double median = bench_median(ns, rounds);
		printf("%-46s %8.1f ns a record  (%.1f .. %.1f; bar %.0f; on an EPYC: %.0f, before "
		       "that %.0f)\n",
		       bench_text("collector, CUDASPY_GPU=%s", modes[m].name), median, ns[0],
		       ns[rounds - 1], modes[m].bar_ns, modes[m].there_ns, modes[m].before_ns);
	}
	for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		unsigned seconds = b->quick ? 1 : 6;
		long wakes;
		if (!wakes_idle(b, modes[m].name, seconds, &wakes))
			return false;
		printf("%-46s %8ld times in %u s  (bar: once a second)\n",
		       bench_text("collector, idle, CUDASPY_GPU=%s, wakes up", modes[m].name),
		       wakes, seconds);
	}
	printf("\n");
	return true;
}
