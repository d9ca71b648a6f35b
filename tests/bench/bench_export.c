/* SPDX-License-Identifier: Apache-2.0 */
/* What an export of a long trace takes: by event, and in memory, which must not grow with it. */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RUNS          3
#define LEAST_RATE    1e6 /* events a second */
#define MEMORY_MOST   400 /* MiB */
#define MEMORY_GROWTH 32  /* MiB */
#define ROOM_BYTES    (3.0 * 1024 * 1024 * 1024)
#define EVENTS_A_CALL 4 /* of a trace: call, work and the arrow's two ends */

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

static bool export_once(struct bench *b, const char *recording, const char *format,
                        const char *output, struct spent *spent, bool watch)
{
	const char *const argv[] = {bench_text("%s/cudaspy", b->build),
	                            "export",
	                            "--format",
	                            format,
	                            "-o",
	                            output,
	                            recording,
	                            NULL};

	return !child_run(argv, NULL, spent, watch);
}

/* Its median time. */
static bool export_to(struct bench *b, const char *recording, const char *format,
                      const char *output, struct spent *spent)
{
	struct spent one;
	double wall[RUNS], cpu[RUNS];

	for (int i = -1; i < RUNS; i++) {
		if (!export_once(b, recording, format, output, &one, i < 0))
			return false;
		if (i < 0) {
			spent->anonymous_kib = one.anonymous_kib;
			continue;
		}
		wall[i] = one.wall_s;
		cpu[i] = one.cpu_s;
	}
	spent->wall_s = bench_median(wall, RUNS);
	spent->cpu_s = bench_median(cpu, RUNS);
	return true;
}

static double mib(double bytes)
{
	return bytes / 1048576;
}

static void say_rate(const char *what, const struct spent *spent, unsigned long events)
{
	double rate = spent->cpu_s > 0 ? (double)events / spent->cpu_s : 0;

	printf("%-46s %8.2f million a second of CPU time, at least %.0f  %s\n", what, rate / 1e6,
	       LEAST_RATE / 1e6, rate >= LEAST_RATE ? "PASS" : "FAIL");
}

static void say(const char *format, const struct spent *spent, unsigned long events)
{
	printf("%-46s %8.3f s  %7.1f MiB  %10lu events  %8.3f s of CPU time\n",
	       bench_text("cudaspy export, %s", format), spent->wall_s,
	       mib((double)spent->anonymous_kib * 1024), events, spent->cpu_s);
	printf("%-46s %7.1f MiB of at most %d MiB  %s\n", "  own memory",
	       mib((double)spent->anonymous_kib * 1024), MEMORY_MOST,
	       spent->anonymous_kib <= MEMORY_MOST * 1024ul ? "PASS" : "FAIL");
}

/* ---- ten times as long ---- */

static const struct {
	const char *format;
	unsigned events; /* of a call; 0 = it has sums alone */
	bool streams;    /* it is thrown away: it may be larger than the disk */
} formats[] = {{"chrome", EVENTS_A_CALL, true},
               {"sqlite", 2, false},
               {"pprof", 0, false},
               {"folded", 0, false},
               {"openmetrics", 0, false},
               {"bmf", 0, false},
               {"gha-benchmark", 0, false},
               {"csv", 0, false},
               {"md", 0, false}};

static bool has_room(const struct bench *b)
{
	struct statvfs fs;

	return !statvfs(b->folder, &fs) && (double)fs.f_bavail * (double)fs.f_frsize >= ROOM_BYTES;
}

static void one_format(struct bench *b, size_t i, const char *const recordings[2],
                       unsigned long calls)
{
	const char *name = bench_text("cudaspy export, %s, %lu calls", formats[i].format, calls),
	           *output =
	                   formats[i].streams ? "/dev/null" : bench_text("%s/long.out", b->folder);
	struct spent spent[2];
	struct stat st = {0};

	for (int k = 0; k < 2; k++)
		if (!export_once(b, recordings[k], formats[i].format, output, &spent[k], true)) {
			printf("%s: it failed\n", name);
			return;
		}
	if (!formats[i].streams && !stat(output, &st))
		unlink(output);
	const double kib[2] = {(double)spent[0].anonymous_kib, (double)spent[1].anonymous_kib};
	printf("%-46s %8.3f s of CPU time  %7.1f MiB  %s\n", name, spent[1].cpu_s,
	       mib(kib[1] * 1024),
	       formats[i].streams ? "thrown away"
	                          : bench_text("%.3f MiB of file", mib((double)st.st_size)));
	if (formats[i].events)
		say_rate("  events", &spent[1], calls * formats[i].events);
	printf("%-46s %7.1f -> %.1f MiB, at most %d MiB more  %s\n", "  own memory, a tenth -> all",
	       mib(kib[0] * 1024), mib(kib[1] * 1024), MEMORY_GROWTH,
	       kib[1] - kib[0] <= MEMORY_GROWTH * 1024.0 ? "PASS" : "FAIL");
}

/* Every format: what it takes does not grow with the recording but for what stands in it. */
static void all_formats(struct bench *b, const char *tenth, unsigned long calls)
{
	const char *recording = bench_text("%s/long.cudaspy", b->folder);

	printf("\nEvery format of %lu calls, once; own memory beside what a tenth of them takes. "
	       "Mapped "
	       "pages of the\nrecording are not counted: they are the page cache's.\n\n",
	       calls);
	if (!has_room(b)) {
		printf("cudaspy export, %lu calls: skipped: less than %.0f GiB are free in %s\n",
		       calls, ROOM_BYTES / 1073741824, b->folder);
		return;
	}
	if (!record_calls(b, recording, calls)) {
		printf("cudaspy export, %lu calls: the recording could not be made\n", calls);
		return;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		one_format(b, i, (const char *const[2]){tenth, recording}, calls);
	unlink(recording);
}

bool bench_export(struct bench *b)
{
	const unsigned long calls = b->quick ? 10000 : 1000000;
	const char *recording = bench_text("%s/export.cudaspy", b->folder),
	           *trace = bench_text("%s/export.json", b->folder),
	           *database = bench_text("%s/export.sqlite", b->folder);
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
	unlink(trace);
	/* A row for each call, and one for its work. */
	if (export_to(b, recording, "sqlite", database, &spent))
		say("sqlite", &spent, 2 * calls);
	unlink(database);
	all_formats(b, recording, 10 * calls);
	return true;
}
