/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "shim/core/format/trace_format.h"

#define BURST 800ul
#define PAUSE_US                                                                                   \
	2000u /* after each burst: the 400,000 launches a second of a program bound by them */
#define ROUNDS 5

/* The least of four runs on a virtual machine with two processors of an EPYC that others used as
 * well: as it is, and as it was before launches were taken several at a time. */
static const struct mode {
	const char *name;
	double there_ns, before_ns;
} modes[] = {{"off", 41, 48}, {"sample", 105, 120}};

/* CPU time of the collector's in a run of so many bursts on the simulated CUDA, and the records it
 * had; < 0: no run. */
static double collector_cpu(struct bench *b, const char *mode, unsigned bursts, double *records)
{
	const char *const argv[] = {b->self, "--work", NULL};
	const char *recording = bench_text("%s/collector-%s-%u.cudaspy", b->folder, mode, bursts);
	const char *const extra[] = {bench_text("LD_LIBRARY_PATH=%s/sim", b->build),
	                             bench_text("LD_PRELOAD=%s/libcudaspy.so", b->build),
	                             bench_text("CUDASPY_OUT=%s", recording),
	                             bench_text("CUDASPY_GPU=%s", mode),
	                             "SIM_COST=0",
	                             NULL};
	struct tf_header h;
	struct child c;

	bool ok = child_start(&c, argv, extra, bench_text("%s/collector.messages", b->folder)) &&
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

/* By the difference of a long and a short run, which does not hold what a run costs once. */
static bool ns_per_record(struct bench *b, const char *mode, unsigned bursts, double *ns)
{
	double few, many;
	double short_run = collector_cpu(b, mode, bursts, &few),
	       long_run = collector_cpu(b, mode, 4 * bursts, &many);

	*ns = (long_run - short_run) / (many - few);
	return short_run >= 0 && long_run >= 0;
}

bool bench_collector(struct bench *b)
{
	unsigned rounds = b->quick ? 1 : ROUNDS, bursts = b->quick ? 50 : 600;

	printf("What a launch costs the collector, the shim's own thread, at 400,000 a second: CPU "
	       "time, median of %u runs.\n\n",
	       rounds);
	for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		double ns[ROUNDS];
		for (unsigned i = 0; i < rounds; i++)
			if (!ns_per_record(b, modes[m].name, bursts, &ns[i]))
				return false;
		printf("%-46s %8.1f ns a record  (on an EPYC: %.0f, before that %.0f)\n",
		       bench_text("collector, CUDASPY_GPU=%s", modes[m].name),
		       bench_median(ns, rounds), modes[m].there_ns, modes[m].before_ns);
	}
	printf("\n");
	return true;
}
