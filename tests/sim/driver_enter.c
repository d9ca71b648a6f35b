/* SPDX-License-Identifier: Apache-2.0 */
/* The slow side of entering a call: threads, readiness, fork, failures on request. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/sim/driver.h"

SIM_EXPORT extern const int cudaspy_simulated_driver;
const int cudaspy_simulated_driver = 1;

struct sim_life *sim_life;
__thread struct sim_thread *sim_self __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static _Atomic bool ever_ready; /* set after the phase, read before it */
static pid_t owner;
static unsigned generation = 1;

static void thread_end(void *arg)
{
	struct sim_thread *t = arg;

	if (t->generation == generation) {
		capture_thread_gone(t);
		thread_streams_free(t);
		truth_thread_end(t->truth);
	}
	if (sim_self == t)
		sim_self = NULL;
	free(t);
}

/* The child has the parent's mapping: it takes its own before it counts anything. */
static void in_child(void)
{
	generation++;
	owner = getpid();
	truth_open();
}

static void first_use(void)
{
	sim_life = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sim_life == MAP_FAILED)
		abort();
	madvise(sim_life, 4096, MADV_WIPEONFORK);
	owner = getpid();
	sim_config_read();
	truth_open();
	pthread_key_create(&thread_key, thread_end);
}

struct sim_thread *sim_thread_get(void)
{
	struct sim_thread *t = sim_self;

	pthread_once(&once, first_use);
	if (unlikely(owner != getpid()))
		in_child();
	if (t && t->generation == generation)
		return t;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			abort();
		pthread_setspecific(thread_key, t);
		sim_self = t;
	}
	t->generation = generation;
	t->truth = truth_thread_take();
	return t;
}

static void at_exit(void)
{
	if (owner != getpid())
		return;
	atomic_store(&sim_life->phase, SIM_ENDED);
	truth_finish();
}

void sim_set_ready(void)
{
	if (!ever_ready)
		atexit(at_exit);
	atomic_store(&sim_life->phase, SIM_READY);
	ever_ready = true;
	truth_init_done();
}

CUresult sim_enter_slow(struct sim_thread **out, unsigned api, unsigned how)
{
	struct sim_thread *t = sim_thread_get();
	bool was_ready = ever_ready;
	int phase = atomic_load(&sim_life->phase), code;

	*out = t;
	t->per_thread = how & SIM_PER_THREAD;
	atomic_store_explicit(&t->truth->in_call, api + 1, memory_order_relaxed);
	code = sim_watch[api] ? sim_config_failure(api) : 0;
	if (code)
		return (CUresult)code;
	if (api == API_cuInit && phase == SIM_NOT_READY && was_ready)
		return CUDA_ERROR_NOT_INITIALIZED; /* in a forked child */
	if (phase == SIM_READY || (how & SIM_ALWAYS))
		return CUDA_SUCCESS;
	return phase == SIM_ENDED ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

void sim_wait(uint64_t when_ns, uint64_t host_seq, bool explicit_sync)
{
	struct truth_totals *total = sim_total();
	uint64_t from = sim_tl_now(), waited;
	bool blocked = when_ns > from || !hostfn_done(host_seq);

	sim_tl_wait_until(when_ns);
	hostfn_wait(host_seq);
	data_settle();
	if (!blocked)
		return;
	waited = sim_tl_now() - from;
	if (explicit_sync) {
		total->sync_wait_ns += waited;
	} else {
		total->implicit_syncs++;
		total->implicit_wait_ns += waited;
	}
}
