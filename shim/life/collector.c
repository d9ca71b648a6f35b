/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include "shim/cpu/cpu.h"
#include "shim/cupti/cupti.h"
#include "shim/hook/uncovered.h"
#include "shim/base/collector_wait.h"
#include "shim/core/drain/drain.h"
#include "shim/base/lock.h"
#include "shim/core/options/options.h"
#include "shim/base/quiet.h"
#include "shim/real/real_dlsym.h"
#include "shim/life/recording.h"
#include "shim/record/span.h"
#include "shim/core/steps/steps.h"
#include "shim/sites/sites.h"
#include "shim/life/storage.h"
#include "shim/base/sys.h"
#include "shim/record/thread.h"
#include "shim/core/timeline/timeline.h"

#define EACH_NS 1000000000ull
/* While CUPTI may still have records of what was called before: it hands them over late. */
#define CUPTI_LONG_NS  50000000ull
#define CUPTI_QUIET_NS 1000000000ull
#define EXIT_WAIT_NS   1000000000ull
#define PRECISE_NS     1000000ull /* while a range is to begin or end at a time */

static struct lock draining; /* one drain at a time: the collector's, or the one at exit */
static struct drain drain;   /* under `draining` */
static bool over; /* the recording is closed: nothing is written any more; under `draining` */
static bool running;

/* Between two waits the collector may write to the recording. Once it is to end it does not begin
 * again; so a recording is closed when nobody writes to it, or is known to be written to. */
static uint32_t working, ended;

static void work_ends(void)
{
	/* What was written is there: pairs with collector_is_still(). Sequentially consistent:
	 * either the exit finds it still, or it is waited for here. */
	__atomic_store_n(&working, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
		sys_futex_wake(&working, 1);
}

static bool work_begins(void)
{
	/* Sequentially consistent: one of the two sees what the other stored first. */
	__atomic_store_n(&working, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
		return true;
	work_ends(); /* the exit may have seen us begin, and waits */
	return false;
}

bool collector_is_still(void)
{
	return !__atomic_load_n(&working, __ATOMIC_ACQUIRE);
}

/* What one recorded call costs, measured on a thread slot of its own; ahead of a range what one
 * costs that is not recorded, a little less. Whether it was measured. */
static bool measure_span(void)
{
	const uint64_t slot = tf_header(&spy_map)->thread_bytes;
	const uint64_t ring = sizeof(struct tf_ring) + 256 * sizeof(struct tf_record);
	uint8_t *scratch = mmap(NULL, slot + ring + 64, PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (scratch == MAP_FAILED)
		return false;
	struct tf_ring *r = (struct tf_ring *)(scratch + (slot + 63) / 64 * 64);
	r->capacity = 256;
	tf_header(&spy_map)->span_ticks_x1024 = span_cost_x1024((struct tf_thread *)scratch, r);
	munmap(scratch, slot + ring + 64);
	return true;
}

static void beat(void)
{
	struct tf_header *h = tf_header(&spy_map);
	struct timespec cpu;

	__atomic_store_n(&h->last_seen, spy_clock(), __ATOMIC_RELAXED);
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu))
		h->collector_cpu_ns = (uint64_t)cpu.tv_sec * EACH_NS + (uint64_t)cpu.tv_nsec;
}

/* One round; returns how many records it took. `last`: at exit, when all that there is is taken. */
static uint64_t drain_round(bool last)
{
	/* The exit waits for a round of the collector's that is under way, but not for a disk. */
	if (!lock_take_within(&draining, last ? EXIT_WAIT_NS : UINT64_MAX))
		return 0;
	if (over) {
		lock_give(&draining);
		return 0;
	}
	uint64_t now = spy_clock(); /* what returned before is in the rings, or late */
	drain.map = &spy_map;
	if (!drain.timeline) {
		drain.timeline = timeline_new(&spy_map);
		if (drain.timeline)
			timeline_is_first(drain.timeline);
	}
	if (!drain.steps)
		drain.steps = steps_new();
	uint64_t taken = 0;
	do /* what CUPTI had at exit may need more than one ring's room */
		taken += drain_all(&drain, last ? UINT64_MAX : now);
	while (last && cupti_finish_more());
	if (drain.timeline && last)
		timeline_finish(drain.timeline);
	else if (drain.timeline)
		timeline_advance(drain.timeline, now);
	if (last) {
		steps_finish(drain.steps, &spy_map);
		cpu_beat();
	} else {
		beat();
	}
	over = last;
	lock_give(&draining);
	return taken;
}

/* The clocks and the CPUs, as long as the recording is open; false: it is not. */
static bool read_machine(void)
{
	lock_take(&draining);
	bool open = !over;
	if (open) {
		recording_clock(20);
		cpu_beat();
	}
	lock_give(&draining);
	return open;
}

/* CUDASPY_RANGE=DELAY:DURATION, counted from the start of the recording; true once the range is
 * over. */
static bool range_by_time(uint64_t start_ns, uint64_t now_ns)
{
	static uint32_t step;
	double seconds = (double)(now_ns - start_ns) / 1e9;

	if (spy_options.range != TF_RANGE_TIME)
		return true;
	if (now_ns == start_ns)
		step = 0;
	if (step == 0 && seconds >= spy_options.range_delay_s) {
		spy_range_open(true);
		step = 1;
	}
	if (step == 1 && seconds >= spy_options.range_delay_s + spy_options.range_duration_s) {
		spy_range_open(false);
		step = 2;
	}
	return step == 2;
}

/* The threads that the C library counts, of which the last one ends the process; of glibc for
 * itself, as libthread_db reads it. NULL: it does not say. */
static const uint32_t *counted_threads;

static void find_counted_threads(void)
{
	if (spy_real_dlsym)
		counted_threads = spy_real_dlsym(RTLD_DEFAULT, "__nptl_nthreads");
}

/*
 * Whether the program ended by pthread_exit() in every thread: the process would be gone but for
 * us. The C library has counted all the others off; or /proc says so, whose state of a process is
 * that of its first thread (ended, that thread still counts): a thread that left by the system
 * call, or a fork by it, is in the count for ever.
 */
static bool left_alone(void)
{
	char text[1024];
	unsigned field = 3;

	if (counted_threads && __atomic_load_n(counted_threads, __ATOMIC_RELAXED) == 1)
		return true;
	sys_read_file("/proc/self/stat", text, sizeof(text));
	const char *p = strrchr(text, ')'); /* the command's name may hold anything */
	if (!p || strncmp(p, ") Z ", 4))
		return false;
	for (p += 2; *p && field < 20; field += *p++ == ' ') /* the 20th is the number of threads */
		;
	return !strncmp(p, "2 ", 2);
}

/* What the collector keeps from one round to the next. */
struct rounds {
	uint64_t start, last; /* of the collector; when it last read the machine */
	uint64_t took;        /* when it last took a record */
	uint64_t each;        /* from one such reading to the next */
	uint64_t scans, pause;
	bool measured; /* what a call costs, while calls are recorded */
};

/* The sleep after a round at `now` that took `taken` records, with what the options ask for beside
 * what the rings do. */
static uint64_t next_pause(struct rounds *c, uint64_t now, uint64_t taken, bool called)
{
	uint64_t ns = collector_wait_next(c->pause, taken, drain.fullest, called);

	if (taken)
		c->took = now;
	if (spy_options.gpu == TF_GPU_CUPTI) { /* its buffers are few */
		if (taken)
			ns = COLLECTOR_WAIT_SHORT_NS;
		else if (ns > CUPTI_LONG_NS && now - c->took < CUPTI_QUIET_NS)
			ns = CUPTI_LONG_NS;
	}
	return !range_by_time(c->start, now) && ns > PRECISE_NS ? PRECISE_NS : ns;
}

/* One round; false: it was the last. `called`: somebody asked for it. */
static bool look(struct rounds *c, bool called)
{
	if (!c->measured && spy_in_range())
		c->measured = measure_span();
	cupti_beat();
	sites_beat(false);
	uint64_t taken = drain_round(false);
	uint64_t now = clock_monotonic_ns();
	c->pause = next_pause(c, now, taken, called);
	if (now - c->last < c->each)
		return true;
	c->last = now;
	if (!read_machine())
		return true;
	if (left_alone())
		return false; /* as the last thread: the C library ends the process, as it would
		                 have without us */
	if (c->each < EACH_NS) {
		c->each *=
		        2; /* a short run has but its first moments to tell the clock's rate by */
		return true;
	}
	if (c->scans++ % 16 == 0) { /* some seconds after the start, then now and then */
		uncovered_scan_libraries();
		sites_beat(true);
	}
	return true;
}

static void *collect(void *unused)
{
	const uint64_t start = clock_monotonic_ns();
	struct rounds rounds = {.start = start,
	                        .last = start,
	                        .took = start,
	                        .each = EACH_NS / 64,
	                        .pause = COLLECTOR_WAIT_SHORT_NS};
	uint32_t generation = spy_generation;
	bool goes_on = true;

	quiet_thread();
	prctl(PR_SET_NAME, "cudaspy");
	find_counted_threads();
	if (work_begins()) {
		range_by_time(start, start);
		rounds.measured = measure_span() && spy_in_range();
		sites_beat(true);
		read_machine();
		work_ends();
	}
	while (goes_on && __atomic_load_n(&spy_generation, __ATOMIC_RELAXED) == generation) {
		bool called = collector_wait(rounds.pause);
		if (spy_was_cut() && storage_was_cut())
			break;
		if (work_begins()) {
			goes_on = look(&rounds, called);
			work_ends();
		} else {
			rounds.pause = EACH_NS; /* the program is at its end */
		}
	}
	quiet_thread_ends(!goes_on);
	return unused;
}

bool collector_start(void)
{
	pthread_t thread;

	quiet_remember();
	running = quiet_make_thread(&thread, collect, true) == 0;
	return running;
}

/* Waits until the collector is between two rounds, or for EXIT_WAIT_NS. */
static void end_rounds(void)
{
	uint64_t now = clock_monotonic_ns(), until = now + EXIT_WAIT_NS;

	__atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
	for (; !collector_is_still() && now < until; now = clock_monotonic_ns())
		sys_futex_wait(&working, 1, until - now);
}

void collector_finish(void)
{
	cupti_finish();
	end_rounds();
	uncovered_scan_libraries();
	sites_beat(true);
	drain_round(true);
	recording_clock(50);
}

void collector_after_fork(void)
{
	draining = (struct lock){0};
	collector_wait_after_fork();
	/* The parent's, of its own recording. */
	timeline_free(drain.timeline);
	steps_free(drain.steps);
	drain_end(&drain);
	drain = (struct drain){0};
	cpu_after_fork();
	running = over = false;
	working = ended = 0;
}
