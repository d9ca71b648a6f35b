/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *lttng_home;
static struct child sessiond;

const char *bench_library_path(struct bench *b)
{
	return bench_text("LD_LIBRARY_PATH=%s/bench", b->build);
}

/* Runs one command of LTTng's in our own daemon's world. */
static bool lttng(const char *const *argv)
{
	const char *const extra[] = {lttng_home, NULL};
	struct spent spent;

	return child_run(argv, extra, &spent, false) == 0;
}

#define LTTNG(...) lttng((const char *const[]){"lttng", "--no-sessiond", __VA_ARGS__, NULL})

static bool wait_for_daemon(void)
{
	for (int tries = 0; tries < 100; tries++) {
		if (LTTNG("list"))
			return true;
		usleep(100000);
	}
	return false;
}

/*
 * A daemon of our own: for an ordinary user a folder of ours holds its sockets. Root's are where
 * every root's are, so one that runs already is somebody else's, and we keep out.
 */
static const char *start_daemon(struct bench *b)
{
	const char *const argv[] = {"lttng-sessiond", "--no-kernel", NULL};

	lttng_home = bench_text("LTTNG_HOME=%s/lttng-home", b->folder);
	mkdir(strchr(lttng_home, '=') + 1, 0700);
	if (LTTNG("list"))
		return "another session daemon of this user is running";
	const char *const extra[] = {lttng_home, NULL};
	if (!child_start(&sessiond, argv, extra, bench_text("%s/sessiond", b->folder)) ||
	    !wait_for_daemon())
		return "its session daemon does not start here";
	return NULL;
}

bool lttng_begin(struct bench *b, const char *output)
{
	if (b->no_lttng)
		return false;
	if (!sessiond.pid)
		b->no_lttng = start_daemon(b);
	if (!b->no_lttng &&
	    !(LTTNG("create", "bench", bench_text("--output=%s", output)) &&
	      LTTNG("enable-channel", "--userspace", "--discard", "--subbuf-size=4M",
	            "--num-subbuf=8", "bench") &&
	      LTTNG("enable-event", "--userspace", "--channel=bench", "cudaspy_bench:*") &&
	      LTTNG("start")))
		b->no_lttng = "its session cannot be set up here";
	return !b->no_lttng;
}

/* "lttng list" tells the discarded events of each channel. */
static long discarded_events(void)
{
	long events = -1, n;
	char line[512];
	FILE *f =
	        popen(bench_text("%s lttng --no-sessiond list bench 2>/dev/null", lttng_home), "r");

	while (f && fgets(line, sizeof(line), f)) {
		const char *p = strstr(line, "iscarded events:");
		if (p && sscanf(p, "iscarded events: %ld", &n) == 1)
			events = events < 0 ? n : events + n;
	}
	if (f)
		pclose(f);
	return events;
}

long lttng_end(struct bench *b)
{
	long lost = -1;

	if (!b->no_lttng) {
		LTTNG("stop");
		lost = discarded_events();
		LTTNG("destroy", "bench");
	}
	if (sessiond.pid) {
		kill(sessiond.pid, SIGTERM);
		child_end(&sessiond);
	}
	return lost;
}

bool lttng_start_work(struct bench *b, struct child *c)
{
	const char *const argv[] = {bench_text("%s/bench/work_lttng", b->build), NULL};
	const char *const extra[] = {bench_library_path(b), lttng_home,
	                             "LTTNG_UST_REGISTER_TIMEOUT=-1", NULL};

	return child_start(c, argv, extra, bench_text("%s/lttng.messages", b->folder));
}

bool uftrace_start_work(struct bench *b, struct child *c, const char *data)
{
	const char *const argv[] = {
	        "uftrace", "record", "-d", data, bench_text("%s/bench/work_uftrace", b->build),
	        NULL};
	const char *const extra[] = {bench_library_path(b), NULL};

	return child_start(c, argv, extra, bench_text("%s/uftrace.messages", b->folder));
}
