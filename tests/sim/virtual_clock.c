/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that the machine's speed does not touch: preloaded, it makes a program of one thread on
 * the simulated CUDA take the same time on every machine, however busy.
 *
 * CLOCK_MONOTONIC and CLOCK_REALTIME stand still but for what the process's first thread does: each
 * reading of the clock costs it READ_NS, a sleep what it asks for. The code between them costs
 * nothing; the simulated driver's busy loops are slept through. Other threads, the shim's own, read
 * the clock and sleep in the machine's time without moving it: a second thread that waits in a busy
 * loop for a time to come waits for the first one.
 *
 * VIRTUAL_CLOCK_KILL_MS=N kills the process when so much time has passed. VIRTUAL_CLOCK_NOISE=SEED
 * makes it a machine that does other things too: the thread is away for 100 us every 3 ms, and a
 * reading takes up to twice as long; both on average, at random, the same for the same seed.
 *
 * The shim must read the clock as well: CUDASPY_CLOCK=monotonic. Its collector lags behind as the
 * program runs faster than it says; CUDASPY_RING must hold what is made meanwhile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READ_NS   20u /* of a clock_gettime() in the vDSO */
#define SECOND_NS 1000000000u
#define AWAY_NS   100000u
#define EACH_NS   3000000u
#define STEP_NS   1000000u

static atomic_uint_least64_t now_ns;  /* CLOCK_MONOTONIC */
static uint64_t to_real_ns;           /* CLOCK_REALTIME is so much later */
static uint64_t last_ns = UINT64_MAX; /* then the process is killed */

/* What the machine takes for itself; of the first thread. 0 = no noise. */
static uint64_t noise, next_away_ns;

static uint64_t random_below(uint64_t bound)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return (noise >> 11) % bound;
}

static uint64_t taken_away(uint64_t now)
{
	if (!noise)
		return 0;
	if (now < next_away_ns)
		return random_below(2 * READ_NS);
	next_away_ns = now + random_below(2 * EACH_NS);
	return random_below(2 * AWAY_NS);
}

static uint64_t machine_ns(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* From the machine's time on, so that what the kernel says of the process's start is earlier. */
static void __attribute__((constructor)) start(void)
{
	uint64_t zero = 0, now = machine_ns(CLOCK_MONOTONIC);
	const char *ms = getenv("VIRTUAL_CLOCK_KILL_MS"), *seed = getenv("VIRTUAL_CLOCK_NOISE");

	if (!atomic_compare_exchange_strong(&now_ns, &zero, now))
		return;
	to_real_ns = machine_ns(CLOCK_REALTIME) - now;
	if (seed)
		noise = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15u + 1;
	if (ms)
		last_ns = now + strtoull(ms, NULL, 10) * 1000000u;
}

static int moves_time(void)
{
	/* 1: it does, -1: it does not */
	static _Thread_local int known __attribute__((tls_model("initial-exec")));

	if (!known)
		known = syscall(SYS_gettid) == getpid() ? 1 : -1;
	return known > 0;
}

static uint64_t pass(uint64_t ns)
{
	if (!atomic_load(&now_ns))
		start();
	if (!moves_time())
		return atomic_load(&now_ns);
	/* Nobody else writes it. */
	uint64_t now = atomic_load_explicit(&now_ns, memory_order_relaxed);

	now += ns + taken_away(now);
	atomic_store_explicit(&now_ns, now, memory_order_release);
	if (now > last_ns)
		kill(getpid(), SIGKILL);
	return now;
}

/* Has this process a thread that runs, or would if it had a processor, beside its first one? */
static int others_run(void)
{
	DIR *threads = opendir("/proc/self/task");
	int found = 0;

	for (struct dirent *e; threads && !found && (e = readdir(threads)) != NULL;) {
		char path[300], text[200], *state;
		int fd;

		if (*e->d_name == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		ssize_t n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
		state = strrchr(text, ')');
		found = state && (state[2] == 'R' || state[2] == 'D');
	}
	if (threads)
		closedir(threads);
	return found;
}

static void sleep_really(uint64_t ns)
{
	syscall(SYS_nanosleep, &(struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)},
	        NULL);
}

/* The shim's threads, which live in the machine's time, are to have as much of it as the program,
 * and what they have to do done, however slow the machine. In small steps first: then they start.
 */
static void keep_step(uint64_t ns)
{
	static uint64_t owed_ns, passed_ns;
	static unsigned patience = 5000;
	int saved = errno;

	owed_ns += ns;
	passed_ns += ns;
	if (owed_ns < STEP_NS && owed_ns < passed_ns / 16)
		return;
	sleep_really(owed_ns);
	while (patience && others_run()) {
		sleep_really(100000);
		patience--;
	}
	owed_ns = 0;
	errno = saved;
}

/* For the simulated driver: the time that it would take to read the clock until it says `until_ns`;
 * with noise nearly that. */
void virtual_clock_spin(uint64_t until_ns);
void virtual_clock_spin(uint64_t until_ns)
{
	uint64_t now;

	while ((now = pass(READ_NS)) < until_ns) {
		uint64_t to = until_ns < last_ns ? until_ns : last_ns;

		if (!moves_time())
			continue;
		if (noise) /* a reading takes up to 2 * READ_NS more */
			to = (next_away_ns < to ? next_away_ns : to) - 2 * READ_NS;
		if (to > now + READ_NS) {
			pass((to - now - 1) / READ_NS * READ_NS);
			keep_step(to - now);
		}
	}
}

int clock_gettime(clockid_t clock, struct timespec *to)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, to);
	uint64_t now = pass(READ_NS) + (clock == CLOCK_REALTIME ? to_real_ns : 0);
	*to = (struct timespec){(time_t)(now / SECOND_NS), (long)(now % SECOND_NS)};
	return 0;
}

static int sleep_as_asked(const struct timespec *request, struct timespec *left)
{
	return syscall(SYS_nanosleep, request, left) ? errno : 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
                    struct timespec *left)
{
	uint64_t until = (uint64_t)request->tv_sec * SECOND_NS + (uint64_t)request->tv_nsec;
	uint64_t now = pass(0) + (clock == CLOCK_REALTIME ? to_real_ns : 0);

	if (!(flags & TIMER_ABSTIME))
		until += now;
	if (moves_time()) {
		if (until > now)
			pass(until - now);
		return 0;
	}
	uint64_t ns = until > now ? until - now : 0;
	return sleep_as_asked(&(struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)},
	                      left);
}

/* Of the first thread, too, a real sleep: who sleeps so waits for another thread's work. */
int nanosleep(const struct timespec *request, struct timespec *left)
{
	int rc = sleep_as_asked(request, left);

	if (moves_time())
		pass((uint64_t)request->tv_sec * SECOND_NS + (uint64_t)request->tv_nsec);
	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}
