/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU really did, in CUPTI's words: a library that the driver loads into a program.
 *
 * With CUDA_INJECTION64_PATH naming this library, the driver calls InitializeInjection() inside
 * cuInit. From then on kernel, copy and set records are collected and added up, and written as JSON
 * when the program ends. It is the yardstick for the shim's counts, so it knows nothing of the
 * shim.
 *
 *   CUPTI_TRUTH_OUT       file; %p is the process id   default cupti-truth-%p.json
 *   CUPTI_TRUTH_RAW       file for the timeline, see cupti_raw.h; %p too   default none
 *   CUPTI_TRUTH_LIB       path of libcupti, if the program has none loaded
 *   CUPTI_TRUTH_GRAPH=1   one record per graph launch; then CUPTI gives none for the nodes
 *   CUPTI_TRUTH_API=1     also counts runtime and driver calls, and which of them caused which work
 *   CUPTI_TRUTH_KEEP      records kept for busy times and the timeline   default 4000000
 *   CUPTI_TRUTH_FLUSH_MS  how often finished buffers are fetched   default 200, 0 = only at the end
 *
 * With records of graphs' launches CUPTI hands over by itself, full buffers alone: asked while the
 * program runs it makes launches of XLA's graphs fail.
 *
 * A program that leaves by _exit or is killed runs no exit handler: what is left then is the file
 * of the last flush, marked "complete": false. A forked child makes no call of CUPTI and writes
 * nothing. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/gpu/cupti_truth.h"

#define KEEP_DEFAULT   4000000
#define FLUSH_DEFAULT  200
#define WRITE_EVERY_NS 1000000000ull
#define JOIN_SECONDS   10

struct truth truth = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_t flusher;
static bool flusher_runs;
static unsigned flush_ms;
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_signal = PTHREAD_COND_INITIALIZER;
static bool stop;

/* What the driver calls. */
__attribute__((visibility("default"))) int InitializeInjection(void);

void truth_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&truth.lock);
	if (truth.errors < TRUTH_ERRORS)
		vsnprintf(truth.error[truth.errors++], sizeof(truth.error[0]), format, args);
	pthread_mutex_unlock(&truth.lock);
	va_end(args);
}

static bool check(CUptiResult rc, const char *what)
{
	const char *text = NULL;

	if (rc == CUPTI_SUCCESS)
		return true;
	if (truth.cupti.cuptiGetResultString)
		truth.cupti.cuptiGetResultString(rc, &text);
	truth_error("%s: %s (%d)", what, text ? text : "?", rc);
	return false;
}

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || !*text)
		return otherwise;
	v = strtoul(text, &end, 10);
	return *end ? otherwise : v;
}

/* Copies a file name, with %p replaced by the process id. */
static void file_name(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from && *from && n + 1 < size; from++) {
		if (from[0] != '%' || from[1] != 'p') {
			to[n++] = *from;
			continue;
		}
		n += (size_t)snprintf(to + n, size - n, "%d", truth.pid);
		from++;
		if (n >= size)
			n = size - 1;
	}
	to[n] = 0;
}

/* Two copies of CUPTI in one process disturb each other: the one already there is used first. */
static void *open_cupti(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
	const char *home = getenv("CUDA_HOME");
	const char *given = getenv("CUPTI_TRUTH_LIB");
	char path[4096];
	void *h;

	for (unsigned i = 0; i < 3; i++) {
		if ((h = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD)))
			return h;
	}
	if (given && *given && (h = dlopen(given, RTLD_NOW)))
		return h;
	for (unsigned i = 0; i < 2; i++) {
		if ((h = dlopen(names[i], RTLD_NOW)))
			return h;
	}
	for (unsigned i = 0; i < 3; i++) {
		const char *folders[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"};

		for (unsigned j = 0; j < 2; j++) {
			const char *base = j ? "/usr/local/cuda" : home;

			if (!base || !*base)
				continue;
			snprintf(path, sizeof(path), "%s/%s/libcupti.so", base, folders[i]);
			if ((h = dlopen(path, RTLD_NOW)))
				return h;
		}
	}
	return NULL;
}

static bool load_cupti(void)
{
	void *h = open_cupti();
	Dl_info info;

	if (!h) {
		truth_error("no libcupti found: %s", dlerror());
		return false;
	}
#define XX(name)                                                                                   \
	truth.cupti.name = (__typeof__(name) *)dlsym(h, #name);                                    \
	if (!truth.cupti.name) {                                                                   \
		truth_error("libcupti has no %s", #name);                                          \
		return false;                                                                      \
	}
	CUPTI_MAP(XX)
#undef XX
	if (dladdr((void *)truth.cupti.cuptiGetVersion, &info) && info.dli_fname)
		snprintf(truth.library, sizeof(truth.library), "%s", info.dli_fname);
	check(truth.cupti.cuptiGetVersion(&truth.cupti_version), "cuptiGetVersion");
	return true;
}

static bool enable_kinds(void)
{
	static const struct {
		CUpti_ActivityKind kind;
		const char *name;
	} kinds[] = {
	        /* Not KIND_KERNEL, which makes kernels run one after the other. */
	        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "enable CONCURRENT_KERNEL"},
	        {CUPTI_ACTIVITY_KIND_MEMCPY, "enable MEMCPY"},
	        {CUPTI_ACTIVITY_KIND_MEMCPY2, "enable MEMCPY2"},
	        {CUPTI_ACTIVITY_KIND_MEMSET, "enable MEMSET"},
	};
	bool good = true;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		good &= check(truth.cupti.cuptiActivityEnable(kinds[i].kind), kinds[i].name);
	if (truth.graph_trace)
		good &= check(truth.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
		              "enable GRAPH_TRACE");
	if (truth.api_records) {
		good &= check(truth.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME),
		              "enable RUNTIME");
		good &= check(truth.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER),
		              "enable DRIVER");
	}
	return good;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Fetches finished buffers now and then, so that CUPTI's memory on the device stays small, and
 * leaves a file for the case that no exit handler will run. */
static void *flush_main(void *unused)
{
	uint64_t written = 0;
	struct timespec until;
	bool done = false;

	(void)unused;
	while (!done) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)(flush_ms % 1000) * 1000000;
		until.tv_sec += flush_ms / 1000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&stop_lock);
		if (!stop)
			pthread_cond_timedwait(&stop_signal, &stop_lock, &until);
		done = stop;
		pthread_mutex_unlock(&stop_lock);
		if (done)
			break;
		if (!truth.graph_trace)
			truth.cupti.cuptiActivityFlushAll(0);
		if (now_ns() - written >= WRITE_EVERY_NS) {
			write_truth(false);
			written = now_ns();
		}
	}
	return NULL;
}

static void start_flusher(void)
{
	sigset_t all, before;

	flush_ms = (unsigned)number("CUPTI_TRUTH_FLUSH_MS", FLUSH_DEFAULT);
	if (!flush_ms)
		return;
	if (truth.graph_trace)
		check(truth.cupti.cuptiActivityFlushPeriod(flush_ms), "cuptiActivityFlushPeriod");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	flusher_runs = !pthread_create(&flusher, NULL, flush_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void at_exit(void)
{
	struct timespec until;
	size_t dropped = 0;

	if (getpid() != truth.pid)
		return;
	if (flusher_runs) {
		pthread_mutex_lock(&stop_lock);
		stop = true;
		pthread_cond_signal(&stop_signal);
		pthread_mutex_unlock(&stop_lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += JOIN_SECONDS;
		if (pthread_timedjoin_np(flusher, NULL, &until))
			truth_error("the flushing thread did not end");
	}
	check(truth.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
	      "cuptiActivityFlushAll, forced");
	if (check(truth.cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped),
	          "cuptiActivityGetNumDroppedRecords"))
		truth.dropped += dropped;
	write_truth(true);
}

int InitializeInjection(void)
{
	const char *out = getenv("CUPTI_TRUTH_OUT");

	if (truth.pid) /* the driver calls once; a second call would count twice */
		return 1;
	truth.pid = getpid();
	file_name(truth.out, sizeof(truth.out), out && *out ? out : "cupti-truth-%p.json");
	file_name(truth.raw, sizeof(truth.raw), getenv("CUPTI_TRUTH_RAW"));
	truth.graph_trace = number("CUPTI_TRUTH_GRAPH", 0);
	truth.api_records = number("CUPTI_TRUTH_API", 0);
	truth.tally.keep_most = number("CUPTI_TRUTH_KEEP", KEEP_DEFAULT);
	if (!load_cupti() ||
	    !check(truth.cupti.cuptiActivityRegisterCallbacks(records_buffer_requested,
	                                                      records_buffer_completed),
	           "cuptiActivityRegisterCallbacks") ||
	    !enable_kinds()) {
		fprintf(stderr, "cupti truth: %s\n", truth.error[0]);
		write_truth(false);
		return 1; /* the program runs on; the file says what went wrong */
	}
	start_flusher();
	atexit(at_exit);
	return 1;
}
