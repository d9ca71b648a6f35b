/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make bench: what a recorded call costs, and how long the report of a long trace takes, beside the
 *peers that are installed.
 *
 *	bench [--quick] [--calls|--collector|--export] BUILD
 *	                   measures and prints; --quick: a smoke run; --calls (with the collector),
 *	                   --collector, --export: that part alone
 *	bench --work       is the process in which calls are made
 */
#include "tests/bench/bench.h"
#include "tests/bench/work.h"

#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char *bench_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned n)
{
	qsort(values, n, sizeof(values[0]), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

/* Only what stands in the environment of every user may differ: nothing of ours or of a recorder's
 * from outside. */
static void clean_environment(void)
{
	static const char *const names[] = {"CUDASPY_KEEP",   "CUDASPY_RANGE",     "CUDASPY_RING",
	                                    "CUDASPY_TRACE",  "CUDASPY_TRACE_MAX", "CUDASPY_QUIET",
	                                    "CUDASPY_BUDGET", "CUDASPY_GPU",       "CUDASPY_OUT",
	                                    "LD_PRELOAD"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static void find_peers(struct bench *b)
{
	if (access(bench_text("%s/bench/work_lttng", b->build), X_OK))
		b->no_lttng = "liblttng-ust-dev is not installed";
	else if (!child_find("lttng") || !child_find("lttng-sessiond"))
		b->no_lttng = "lttng-tools is not installed";
	if (!child_find("uftrace"))
		b->no_uftrace = "uftrace is not installed";
	else if (access(bench_text("%s/bench/work_uftrace", b->build), X_OK))
		b->no_uftrace = "its process was not built";
}

/* Ended by hand, it still takes its files with it; the processes it started go with the one that
 * measures. */
static pid_t measuring;

static void stop(int signal)
{
	kill(measuring, signal);
}

enum parts { CALLS = 1, TRACE = 2, EXPORT = 4, COLLECTOR = 8, ALL = 15 };

static int measure(struct bench *b, unsigned parts)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	clean_environment();
	find_peers(b);
	return (!(parts & CALLS) || bench_calls(b)) &&
	                       (!(parts & COLLECTOR) || bench_collector(b)) &&
	                       (!(parts & TRACE) || bench_trace(b)) &&
	                       (!(parts & EXPORT) || bench_export(b))
	               ? 0
	               : 1;
}

static int measure_and_clean_up(struct bench *b, unsigned parts)
{
	int status = 0;

	snprintf(b->folder, sizeof(b->folder), "%s/bench/run-XXXXXX", b->build);
	if (readlink("/proc/self/exe", b->self, sizeof(b->self) - 1) <= 0 || !mkdtemp(b->folder)) {
		perror("bench: cannot make a folder");
		return 2;
	}
	measuring = fork();
	if (measuring == 0)
		exit(measure(b, parts));
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	while (measuring > 0 && waitpid(measuring, &status, 0) < 0)
		;
	nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return measuring > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	unsigned parts = ALL;
	int i = 1;

	if (argc == 2 && !strcmp(argv[1], "--work"))
		return work();
	for (; i < argc && argv[i][0] == '-'; i++)
		if (!strcmp(argv[i], "--quick"))
			b.quick = true;
		else if (!strcmp(argv[i], "--calls"))
			parts = CALLS | COLLECTOR;
		else if (!strcmp(argv[i], "--collector"))
			parts = COLLECTOR;
		else if (!strcmp(argv[i], "--export"))
			parts = EXPORT;
		else
			break;
	if (i != argc - 1) {
		fprintf(stderr, "usage: bench [--quick] [--calls|--collector|--export] BUILD\n");
		return 2;
	}
	b.build = argv[i];
	return measure_and_clean_up(&b, parts);
}
