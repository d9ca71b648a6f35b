/* SPDX-License-Identifier: Apache-2.0 */
/* What an export of a long trace takes: by event, and in memory, which must not grow with it. */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define RUNS        3
#define LEAST_RATE  1e6 /* events a second */
#define MEMORY_MOST 400 /* MiB */

/* The simulated GPU runs what it is given: the driver that does nothing gives none. */
static bool record_calls(struct bench *b, const char *recording, unsigned long calls)
{
	const char *const argv[] = {bench_text("%s/samples/sim/many_tiny_launches", b->build),
	                            bench_text("%lu", calls), NULL};
	const char *const extra[] = {bench_text("LD_LIBRARY_PATH=%s/sim", b->build),
	                             bench_text("LD_PRELOAD=%s/libcudaspy.so", b->build),
	                             bench_text("CUDASPY_OUT=%s", recording),
	                             "CUDASPY_TRACE=1",
	                             "CUDASPY_GPU=sample",
	                             "CUDASPY_QUIET=1",
	                             NULL};
	struct spent spent;

	return !child_run(argv, extra, &spent, false);
}

/* Of a trace, by what stands at its end; 0 = it does not say. */
static unsigned long events_of(const char *trace)
{
	char text[4097];
	FILE *f = fopen(trace, "re");
	size_t n = 0;

	if (f && !fseek(f, -(long)sizeof(text) + 1, SEEK_END))
		n = fread(text, 1, sizeof(text) - 1, f);
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *drawn = strstr(text, "\"cudaspyDrawn\"");
	const char *events = drawn ? strstr(drawn, "\"events\": ") : NULL;
	return events ? strtoul(events + strlen("\"events\": "), NULL, 10) : 0;
}

/* Its median time. */
static bool export_to(struct bench *b, const char *recording, const char *format,
                      const char *output, struct spent *spent)
{
	const char *const argv[] = {bench_text("%s/cudaspy", b->build),
	                            "export",
	                            "--format",
	                            format,
	                            "-o",
	                            output,
	                            recording,
	                            NULL};
	struct spent one;
	double wall[RUNS];

	for (int i = -1; i < RUNS; i++) {
		if (child_run(argv, NULL, &one, i < 0))
			return false;
		if (i < 0)
			spent->anonymous_kib = one.anonymous_kib;
		else
			wall[i] = one.wall_s;
	}
	spent->wall_s = bench_median(wall, RUNS);
	return true;
}

static void say(const char *format, const struct spent *spent, unsigned long events)
{
	double rate = spent->wall_s > 0 ? (double)events / spent->wall_s : 0;

	printf("%-46s %8.3f s  %7.1f MiB  %10lu events\n", bench_text("cudaspy export, %s", format),
	       spent->wall_s, (double)spent->anonymous_kib / 1024, events);
	printf("%-46s %8.2f million a second of at least %.0f  %s\n", "  events", rate / 1e6,
	       LEAST_RATE / 1e6, rate >= LEAST_RATE ? "PASS" : "FAIL");
	printf("%-46s %7.1f MiB of at most %d MiB  %s\n", "  own memory",
	       (double)spent->anonymous_kib / 1024, MEMORY_MOST,
	       spent->anonymous_kib <= MEMORY_MOST * 1024ul ? "PASS" : "FAIL");
}

bool bench_export(struct bench *b)
{
	const unsigned long calls = b->quick ? 10000 : 1000000;
	const char *recording = bench_text("%s/export.cudaspy", b->folder),
	           *trace = bench_text("%s/export.json", b->folder);
	struct spent spent;

	printf("\nA trace and a database of %lu calls with their work on the GPU (export): wall "
	       "time, median of %d\nruns, reading and analysis of the recording included; the most "
	       "anonymous memory that was seen.\n\n",
	       calls, RUNS);
	if (!record_calls(b, recording, calls) ||
	    !export_to(b, recording, "chrome", trace, &spent)) {
		printf("cudaspy export: the trace could not be made\n");
		return true;
	}
	const unsigned long events = events_of(trace);
	say("chrome", &spent, events);
	if (export_to(b, recording, "chrome", bench_text("%s.gz", trace), &spent))
		printf("%-46s %8.3f s  %7.2f million events a second\n",
		       "cudaspy export, chrome, compressed", spent.wall_s,
		       spent.wall_s > 0 ? (double)events / spent.wall_s / 1e6 : 0);
	/* A row for each call, and one for its work. */
	if (export_to(b, recording, "sqlite", bench_text("%s/export.sqlite", b->folder), &spent))
		say("sqlite", &spent, 2 * calls);
	return true;
}
