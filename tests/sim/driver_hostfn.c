/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions run on one thread of the driver, made when the first is sent, in the order of
 * their times. */
#include <signal.h>
#include <stdlib.h>
#include "tests/sim/driver.h"

struct item {
	struct item *next;
	uint64_t when_ns, seq;
	uint64_t data; /* moves submitted before it */
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
	void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct item *waiting; /* by time */
static struct item *running;
static uint64_t last_seq;
static _Atomic unsigned unfinished;
static bool started;

static void *run(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct item *i = waiting;

		if (!i) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		if (i->when_ns > sim_tl_now()) {
			struct timespec until = {
			        .tv_sec = (time_t)(i->when_ns / 1000000000u),
			        .tv_nsec = (long)(i->when_ns % 1000000000u),
			};

			pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
			continue;
		}
		waiting = i->next;
		running = i;
		pthread_mutex_unlock(&lock);
		data_settle_to(i->data);
		if (i->fn)
			i->fn(i->arg);
		else
			i->callback(i->stream, CUDA_SUCCESS, i->arg);
		pthread_mutex_lock(&lock);
		running = NULL;
		free(i);
		atomic_fetch_sub(&unfinished, 1);
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

/* With the lock held.  Signals are the program's: its own threads take them. */
static void start(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, NULL) == 0) {
		pthread_detach(thread);
		started = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static uint64_t send(const struct item *what)
{
	struct item *i = malloc(sizeof(*i)), **at = &waiting;

	if (!i)
		abort();
	*i = *what;
	i->data = data_sent();
	pthread_mutex_lock(&lock);
	if (!started)
		start();
	i->seq = ++last_seq;
	while (*at && (*at)->when_ns <= i->when_ns)
		at = &(*at)->next;
	i->next = *at;
	*at = i;
	atomic_fetch_add(&unfinished, 1);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return i->seq;
}

uint64_t hostfn_send(uint64_t when_ns, CUhostFn fn, void *data)
{
	return send(&(struct item){.when_ns = when_ns, .fn = fn, .arg = data});
}

uint64_t hostfn_send_callback(uint64_t when_ns, CUstreamCallback fn, CUstream s, void *data)
{
	return send(&(struct item){.when_ns = when_ns, .callback = fn, .stream = s, .arg = data});
}

/* With the lock held: whether one up to `seq` is not done. */
static bool pending(uint64_t seq)
{
	if (running && running->seq <= seq)
		return true;
	for (struct item *i = waiting; i; i = i->next) {
		if (i->seq <= seq)
			return true;
	}
	return false;
}

bool hostfn_done(uint64_t seq)
{
	bool done;

	if (likely(!seq || !atomic_load(&unfinished)))
		return true;
	pthread_mutex_lock(&lock);
	done = !pending(seq);
	pthread_mutex_unlock(&lock);
	return done;
}

void hostfn_wait(uint64_t seq)
{
	if (hostfn_done(seq))
		return;
	pthread_mutex_lock(&lock);
	while (pending(seq))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
