/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BURST 8192ul
#define PAUSE_US                                                                                   \
	3000u /* after each burst: some 2 million calls a second, which every collector here keeps \
	         up with */
#define RUNS   5
#define LONG_S 2.0 /* what takes longer is timed once */

static const char *recording; /* ours */

/* Times a command that reads a trace, warm: the first run fills the page cache, and its memory is
 * watched. */
static bool time_report(const char *const *argv, struct spent *spent)
{
	struct spent one;
	double wall[RUNS];
	int runs = RUNS;

	for (int i = -1; i < runs; i++) {
		/* Looking at a process's memory takes time from it on few cores: the runs that are
		 * timed are left alone. */
		if (child_run(argv, NULL, &one, i < 0))
			return false;
		if (i >= 0)
			wall[i] = one.wall_s;
		else
			spent->anonymous_kib = one.anonymous_kib;
		if (i < 0 && one.wall_s > LONG_S)
			runs = 1;
	}
	spent->wall_s = bench_median(wall, (unsigned)runs);
	return true;
}

static void print_report(const char *what, const char *const *argv, unsigned long calls,
                         const char *note)
{
	struct spent spent;

	if (!time_report(argv, &spent))
		printf("%-46s does not read its own trace here\n", what);
	else
		printf("%-46s %8.3f s  %7.1f MiB  %10lu calls%s\n", what, spent.wall_s,
		       (double)spent.anonymous_kib / 1024, calls, note);
}

/* The whole of what a process says on stderr, once it has ended. */
static const char *messages_of(const char *file)
{
	static char text[4096];
	FILE *f = fopen(file, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return text;
}

/* The calls are made for real, through the shim, as fast as they come and in bursts. */
static bool record_ours(struct bench *b, unsigned long bursts, unsigned long *calls,
                        unsigned long *lost)
{
	const char *const argv[] = {b->self, "--work", NULL};
	recording = bench_text("%s/trace.cudaspy", b->folder);
	const char *messages = bench_text("%s/trace.messages", b->folder);
	const char *const extra[] = {bench_library_path(b),
	                             bench_text("LD_PRELOAD=%s/libcudaspy.so", b->build),
	                             bench_text("CUDASPY_OUT=%s", recording),
	                             "CUDASPY_TRACE=1",
	                             "CUDASPY_GPU=off",
	                             "CUDASPY_RING=524288",
	                             NULL};
	struct child c;

	bool ok = child_start(&c, argv, extra, messages) &&
	          child_ask(&c, "launch", BURST, (unsigned)bursts, PAUSE_US) > 0;
	ok = child_end(&c) == 0 && ok;
	const char *line = strstr(messages_of(messages), ".cudaspy: ");
	return ok && line &&
	       sscanf(line, ".cudaspy: %lu calls, %lu records lost", calls, lost) == 2;
}

static void ours(struct bench *b, unsigned long bursts)
{
	unsigned long calls, lost;
	struct spent spent;

	if (!record_ours(b, bursts, &calls, &lost)) {
		printf("cudaspy report: the trace could not be made\n");
		return;
	}
	const char *const argv[] = {bench_text("%s/cudaspy", b->build), "report", recording, NULL};
	if (!time_report(argv, &spent)) {
		printf("cudaspy report: does not read its own trace\n");
		return;
	}
	printf("%-46s %8.3f s  %7.1f MiB  %10lu calls, %lu of them lost to the trace\n",
	       "cudaspy report", spent.wall_s, (double)spent.anonymous_kib / 1024, calls, lost);
	printf("%-46s %8.3f s of at most 1 s  %s\n", "  time", spent.wall_s,
	       spent.wall_s <= 1 ? "PASS" : "FAIL");
	printf("%-46s %7.1f MiB of at most 300 MiB  %s\n", "  own memory",
	       (double)spent.anonymous_kib / 1024,
	       spent.anonymous_kib <= 300 * 1024 ? "PASS" : "FAIL");
}

/* The same as a page for a browser: its size is bounded whatever was recorded. */
static void page(struct bench *b)
{
	const char *file = bench_text("%s/trace.html", b->folder);
	const char *const argv[] = {bench_text("%s/cudaspy", b->build),
	                            "report",
	                            "-f",
	                            "html",
	                            "-o",
	                            file,
	                            recording,
	                            NULL};
	struct spent spent;
	struct stat st;

	if (!recording || !time_report(argv, &spent) || stat(file, &st)) {
		printf("cudaspy report --format html: no page\n");
		return;
	}
	printf("%-46s %8.3f s  %7.1f MiB\n", "cudaspy report --format html", spent.wall_s,
	       (double)spent.anonymous_kib / 1024);
	printf("%-46s %8.0f KiB of at most 2048 KiB  %s\n", "  size of the page",
	       (double)st.st_size / 1024, st.st_size <= 2048 * 1024 ? "PASS" : "FAIL");
	fflush(stdout);
	if (system(bench_text("python3 '%s/page.py' '%s'", BENCH_SOURCES, file)))
		printf("%-46s not measured\n", "  until it can be used");
}

static void with_uftrace(struct bench *b, unsigned long bursts)
{
	const char *data = bench_text("%s/uftrace-trace", b->folder);
	const char *const argv[] = {"uftrace", "report", "--no-pager", "-d", data, NULL};
	struct child c = {0};

	if (b->no_uftrace) {
		printf("%-46s skipped: %s\n", "uftrace report", b->no_uftrace);
		return;
	}
	bool ok = uftrace_start_work(b, &c, data) &&
	          child_ask(&c, "peer_launch", BURST, (unsigned)bursts, PAUSE_US) > 0;
	if (child_end(&c) == 0 && ok)
		print_report("uftrace report", argv, bursts * BURST, "");
	else
		printf("%-46s its trace could not be made\n", "uftrace report");
}

static void with_lttng(struct bench *b, unsigned long bursts)
{
	const char *output = bench_text("%s/lttng-trace", b->folder);
	const char *const argv[] = {"babeltrace2", "--output-format=dummy", output, NULL};
	struct child c = {0};

	if (!b->no_lttng && !child_find("babeltrace2"))
		b->no_lttng = "babeltrace2 is not installed";
	if (b->no_lttng || !lttng_begin(b, output)) {
		printf("%-46s skipped: %s\n", "babeltrace2", b->no_lttng);
		return;
	}
	bool ok = lttng_start_work(b, &c) &&
	          child_ask(&c, "peer_launch", BURST, (unsigned)bursts, PAUSE_US) > 0;
	ok = child_end(&c) == 0 && ok;
	long lost = lttng_end(b);
	if (ok)
		print_report("babeltrace2, reading alone (dummy)", argv, bursts * BURST,
		             bench_text(", %ld of twice as many events lost", lost));
	else
		printf("%-46s its trace could not be made\n", "babeltrace2");
}

bool bench_trace(struct bench *b)
{
	unsigned long bursts = b->quick ? 2 : (10000000 + BURST - 1) / BURST;

	printf("The report of a trace of %lu calls, all kept (CUDASPY_TRACE=1), its file in the "
	       "page cache: wall time\n"
	       "(median of %d runs; of one, where a run takes over 2 s) and the most anonymous "
	       "memory that was seen.\n\n",
	       bursts * BURST, RUNS);
	ours(b, bursts);
	page(b);
	with_uftrace(b, bursts);
	with_lttng(b, bursts);
	return true;
}
