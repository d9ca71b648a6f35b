/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define REPETITIONS_MOST 63

enum worker { BARE, SHIM, LTTNG, UFTRACE, WORKERS };

/* What is measured. `bare`: the row whose median is taken off; -1 = none. `shim`: the bars hold for
 * this row. */
enum row {
	FLOOR,
	LAUNCH,
	LAUNCH_PASSED_ON,
	LAUNCH_SHIM,
	LAUNCH_LTTNG,
	LAUNCH_UFTRACE,
	COPY,
	COPY_SHIM,
	SYNC,
	SYNC_SHIM,
	ALLOC,
	ALLOC_SHIM,
	RUNTIME,
	RUNTIME_SHIM,
	ROWS
};
static const struct {
	const char *title;
	enum worker worker;
	const char *burst;
	int bare;
} rows[ROWS] = {
        [FLOOR] = {"floor: two clock reads, one 64-byte store", BARE, "floor", -1},
        [LAUNCH] = {"cuLaunchKernel, bare", BARE, "launch", -1},
        [LAUNCH_PASSED_ON] = {"cuLaunchKernel, passed on and nothing else", BARE,
                              "passed_on_launch", LAUNCH},
        [LAUNCH_SHIM] = {"cuLaunchKernel, cudaspy", SHIM, "launch", LAUNCH},
        [LAUNCH_LTTNG] = {"cuLaunchKernel, pair of LTTng-UST tracepoints", LTTNG, "peer_launch",
                          LAUNCH},
        [LAUNCH_UFTRACE] = {"cuLaunchKernel, uftrace", UFTRACE, "peer_launch", LAUNCH},
        [COPY] = {"cuMemcpyHtoDAsync pinned, bare", BARE, "copy", -1},
        [COPY_SHIM] = {"cuMemcpyHtoDAsync pinned, cudaspy", SHIM, "copy", COPY},
        [SYNC] = {"cuStreamSynchronize, bare", BARE, "synchronize", -1},
        [SYNC_SHIM] = {"cuStreamSynchronize, cudaspy", SHIM, "synchronize", SYNC},
        [ALLOC] = {"cuMemAllocAsync or cuMemFreeAsync, bare", BARE, "allocate", -1},
        [ALLOC_SHIM] = {"cuMemAllocAsync or cuMemFreeAsync, cudaspy", SHIM, "allocate", ALLOC},
        [RUNTIME] = {"cudaLaunchKernel, static runtime, bare", BARE, "runtime_launch", -1},
        [RUNTIME_SHIM] = {"cudaLaunchKernel, static runtime, cudaspy", SHIM, "runtime_launch",
                          RUNTIME},
};

static double ns[ROWS][REPETITIONS_MOST], added[ROWS];
static struct child workers[WORKERS];

static bool start_workers(struct bench *b)
{
	const char *const argv[] = {b->self, "--work", NULL};
	const char *const bare[] = {bench_library_path(b), NULL};
	const char *const shim[] = {
	        bench_library_path(b), bench_text("LD_PRELOAD=%s/libcudaspy.so", b->build),
	        bench_text("CUDASPY_OUT=%s/calls.cudaspy", b->folder), "CUDASPY_GPU=off", NULL};

	bool ok =
	        child_start(&workers[BARE], argv, bare,
	                    bench_text("%s/bare.messages", b->folder)) &&
	        child_start(&workers[SHIM], argv, shim, bench_text("%s/shim.messages", b->folder));
	if (ok && lttng_begin(b, bench_text("%s/lttng-calls", b->folder)))
		ok = lttng_start_work(b, &workers[LTTNG]);
	if (ok && !b->no_uftrace)
		ok = uftrace_start_work(b, &workers[UFTRACE],
		                        bench_text("%s/uftrace-calls", b->folder));
	return ok;
}

static const char *why_not(const struct bench *b, enum worker w)
{
	return w == LTTNG ? b->no_lttng : w == UFTRACE ? b->no_uftrace : NULL;
}

/* All rows in turn, then all again: a machine that slows down slows all of them down. */
static bool measure(struct bench *b, unsigned repetitions, unsigned long calls, unsigned bursts)
{
	for (unsigned i = 0; i <= repetitions; i++)
		for (unsigned r = 0; r < ROWS; r++) {
			if (why_not(b, rows[r].worker))
				continue;
			double t = child_ask(&workers[rows[r].worker], rows[r].burst, calls, bursts,
			                     2000);
			if (t < 0) {
				fprintf(stderr, "bench: no answer for \"%s\"\n", rows[r].title);
				return false;
			}
			if (i) /* the first round only warms up */
				ns[r][i - 1] = t;
		}
	return true;
}

static void print_row(const struct bench *b, unsigned r, unsigned n)
{
	double difference[REPETITIONS_MOST];
	int bare = rows[r].bare;

	if (why_not(b, rows[r].worker)) {
		printf("%-46s skipped: %s\n", rows[r].title, why_not(b, rows[r].worker));
		return;
	}
	for (unsigned i = 0; bare >= 0 && i < n; i++)
		difference[i] = ns[r][i] - ns[bare][i];
	double sorted[REPETITIONS_MOST];
	memcpy(sorted, ns[r], sizeof(sorted));
	double median = bench_median(sorted, n);
	printf("%-46s %8.1f  %6.1f ..%6.1f", rows[r].title, median, sorted[n / 4],
	       sorted[n * 3 / 4]);
	if (bare >= 0) {
		memcpy(sorted, ns[FLOOR], sizeof(sorted));
		added[r] = bench_median(difference, n);
		printf("  %8.1f  floor %+.1f", added[r], added[r] - bench_median(sorted, n));
	}
	printf("\n");
}

static void print_bar(const char *what, double value, double most)
{
	printf("%-62s %7.1f of at most %6.1f ns  %s\n", what, value, most,
	       value <= most ? "PASS" : "FAIL");
}

static void print_bars(const struct bench *b, unsigned n)
{
	double floor_ns = bench_median(ns[FLOOR], n);
	static const enum row shim[] = {LAUNCH_SHIM, COPY_SHIM, SYNC_SHIM, ALLOC_SHIM,
	                                RUNTIME_SHIM};

	printf("\n");
	for (unsigned i = 0; i < sizeof(shim) / sizeof(shim[0]); i++)
		print_bar(bench_text("%s adds at most floor + 25 ns", rows[shim[i]].title),
		          added[shim[i]], floor_ns + 25);
	if (b->no_lttng)
		printf("%-62s skipped: %s\n", "a quarter of what LTTng-UST adds", b->no_lttng);
	else
		print_bar(bench_text("%s adds at most a quarter of LTTng-UST",
		                     rows[LAUNCH_SHIM].title),
		          added[LAUNCH_SHIM], added[LAUNCH_LTTNG] / 4);
}

/* The shim's closing line: "...: N calls, M records lost; ..." */
static void print_lost(const struct bench *b)
{
	unsigned long long calls, lost;
	char line[2048];
	FILE *f = fopen(bench_text("%s/shim.messages", b->folder), "re");

	while (f && fgets(line, sizeof(line), f)) {
		const char *p = strstr(line, ".cudaspy: ");
		if (p && sscanf(p, ".cudaspy: %llu calls, %llu records lost", &calls, &lost) == 2)
			printf("cudaspy recorded %llu calls, %llu records lost\n", calls, lost);
	}
	if (f)
		fclose(f);
}

bool bench_calls(struct bench *b)
{
	unsigned repetitions = b->quick ? 3 : 21, bursts = b->quick ? 2 : 16;
	unsigned long calls = b->quick ? 500 : 4096;

	printf("What one call costs, on a driver that does nothing: %u interleaved repetitions, "
	       "each the median of\n"
	       "%u bursts of %lu calls; ns a call. \"adds\": median over the repetitions of the "
	       "difference to bare.\n\n"
	       "%-46s %8s  %16s  %8s\n",
	       repetitions, bursts, calls, "", "median", "middle half", "adds");
	bool ok = start_workers(b) && measure(b, repetitions, calls, bursts);
	for (unsigned w = 0; w < WORKERS; w++)
		ok = (!workers[w].pid || child_end(&workers[w]) == 0) && ok;
	long lost = lttng_end(b);
	if (!ok)
		return false;
	for (unsigned r = 0; r < ROWS; r++)
		print_row(b, r, repetitions);
	print_bars(b, repetitions);
	print_lost(b);
	if (!b->no_lttng)
		printf("LTTng-UST discarded %ld events\n", lost);
	printf("\n");
	return true;
}
