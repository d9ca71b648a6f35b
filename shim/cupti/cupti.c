/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cupti/cupti.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>
#include "shim/base/clock.h"
#include "shim/cupti/cupti_buffers.h"
#include "shim/cupti/cupti_records.h"
#include "shim/cupti/cupti_setup.h"
#include "shim/base/gate.h"
#include "shim/record/messages.h"
#include "shim/base/lock.h"
#include "shim/core/options/options.h"

#define ROUND_NS       (CUPTI_HAND_OVER_MS * 1000000ull) /* between two looks at what CUPTI has */
#define EXIT_WAIT_NS   2000000000ull /* for a round of the collector under way */
#define OTHERS_WAIT_NS 1000000000ull

#define BY_PROGRAM "the program uses CUPTI itself"

enum state {
	STATE_OFF,
	STATE_SETTING_UP,
	STATE_READY, /* records may come, there is no recording yet */
	STATE_ON,
	STATE_LEFT, /* never again: somebody else has CUPTI, it could not be had, or the end */
};

static struct cp_functions cupti;
static uint32_t state;      /* enum state */
static pthread_t setter;    /* the thread that sets up; valid while it does */
static pid_t owner;         /* the process that did */
static uint32_t others;     /* somebody else turned to CUPTI */
static const char *refusal; /* why there is none; NULL = there is */
static int refusal_code;    /* CUPTI's own answer, 0 = it was not asked */
static bool asked_early;
static struct lock reading; /* one reader of buffers at a time */
static uint64_t asked_ns;

static uint32_t state_now(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

/* Stops for good; true where this is what stopped it. */
static bool leave(uint32_t from)
{
	return __atomic_compare_exchange_n(&state, &from, STATE_LEFT, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

/* ---- around the calls ---- */

/* In the calling thread, inside the wrapper, whose span stands in a frame above this one; elsewhere
 * stands one of a call that never returned. What is not recorded has no cause. */
static void on_call(void *user, int domain, uint32_t id, const void *data)
{
	const struct cp_call *call = data;

	if (call->site == CP_SITE_ENTER && spy_gate_page.gate.gpu == SPY_GPU_CUPTI &&
	    (uintptr_t)__builtin_frame_address(0) < (uintptr_t)spy_tls.outer &&
	    spy_recording(spy_outer()))
		cupti_records_cause(call->correlation,
		                    TF_CAUSE(spy_tls.index, spy_outer()->rec->start));
}

/* ---- set-up ---- */

/* Before there is a recording: nothing of it is left. */
static void leave_ready(const char *why)
{
	if (!leave(STATE_READY))
		return;
	refusal = why;
	cupti_disable_all(&cupti);
}

void cupti_not_started(void)
{
	if (owner == getpid())
		leave_ready("there is no recording");
}

/* Not this thread, whose set-up may come to cuInit again, nor one of the process that forked us. */
static bool another_sets_up(void)
{
	return state_now() == STATE_SETTING_UP && owner == getpid() &&
	       !pthread_equal(__atomic_load_n(&setter, __ATOMIC_RELAXED), pthread_self());
}

/* Ahead of options_read(): that waits for a CUDA that works. */
static bool is_asked_for(void)
{
	const char *mode = getenv("CUDASPY_GPU");

	return mode && !strcmp(mode, "cupti");
}

void cupti_first_look(void)
{
	asked_early = is_asked_for();
}

bool cupti_wanted(void)
{
	return asked_early || state_now() != STATE_OFF;
}

static void set_up(void *unused)
{
	refusal = __atomic_load_n(&others, __ATOMIC_RELAXED)
	                  ? BY_PROGRAM
	                  : cupti_set_up(&cupti, on_call, &refusal_code);
}

void cupti_before_init(void)
{
	uint64_t until = clock_monotonic_ns() + OTHERS_WAIT_NS;
	int saved = errno;
	uint32_t expected = STATE_OFF;

	if (!is_asked_for() || getauxval(AT_SECURE))
		return;
	if (__atomic_compare_exchange_n(&state, &expected, STATE_SETTING_UP, false,
	                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&setter, pthread_self(), __ATOMIC_RELAXED);
		owner = getpid();
		spy_do_own(set_up, NULL);
		/* Sequentially consistent, with cupti_taken_by_other(): one of both sees the other.
		 */
		__atomic_store_n(&state, refusal ? STATE_LEFT : STATE_READY, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&others, __ATOMIC_SEQ_CST))
			leave_ready(BY_PROGRAM);
	}
	/* That comes before our cuInit too; but it may need the loader's lock, held here. */
	while (another_sets_up() && clock_monotonic_ns() < until)
		sched_yield();
	errno = saved;
}

uint32_t cupti_mode(uint32_t wanted)
{
	if (wanted != TF_GPU_CUPTI)
		return wanted;
	if (state_now() == STATE_READY && owner == getpid())
		return TF_GPU_CUPTI;
	if (refusal && refusal_code)
		spy_say("CUDASPY_GPU=cupti: %s (error %d); using sample", refusal, refusal_code);
	else if (refusal)
		spy_say("CUDASPY_GPU=cupti: %s; using sample", refusal);
	return TF_GPU_SAMPLE;
}

void cupti_started(void)
{
	uint32_t expected = STATE_READY;

	if (spy_options.gpu != TF_GPU_CUPTI)
		return;
	if (!cupti_records_start(&cupti)) {
		spy_options.gpu = TF_GPU_SAMPLE;
		spy_count_anomaly(SPY_ANOMALY_FILE_FULL);
		if (leave(STATE_READY))
			cupti_disable_all(&cupti);
		return;
	}
	if (__atomic_compare_exchange_n(&state, &expected, STATE_ON, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_CUPTI, __ATOMIC_RELAXED);
	else
		tf_header(&spy_map)->gpu_partial = spy_clock();
}

/* ---- the collector ---- */

/* What CUPTI handed over. */
static void take(void)
{
	size_t dropped = 0;

	if (cupti.dropped(NULL, 0, &dropped) == CP_OK && dropped)
		__atomic_fetch_add(&tf_header(&spy_map)->anomaly[SPY_ANOMALY_CUPTI_DROPPED],
		                   dropped, __ATOMIC_RELAXED);
	cupti_records_collect();
}

/* What it has, handed over or not. */
static void ask(uint32_t flags)
{
	cupti.flush_all(flags);
	take();
}

/* Whether this process's recording takes CUPTI's records. */
static bool in_use(void)
{
	return state_now() >= STATE_ON && !refusal && owner == getpid() && spy_map.base &&
	       tf_header(&spy_map)->activity_ring;
}

void cupti_beat(void)
{
	uint64_t now = clock_monotonic_ns();

	if (!in_use() || !lock_try(&reading))
		return;
	if (state_now() == STATE_LEFT) {
		cupti_records_collect(); /* what came while we let go */
	} else if (now - asked_ns >= ROUND_NS || cupti_buffers_waiting() >= CUPTI_BUFFERS_MANY) {
		asked_ns = now;
		if (cupti_may_ask())
			ask(0);
		else
			take();
	}
	cupti_records_write();
	lock_give(&reading);
}

void cupti_finish(void)
{
	if (!in_use())
		return;
	bool alone = lock_take_within(&reading, EXIT_WAIT_NS);
	bool ours = leave(STATE_ON); /* the collector calls CUPTI no more: the driver goes next */
	if (!alone) {                /* it is stuck in there: nobody knows how many records */
		__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
		spy_count_anomaly(SPY_ANOMALY_CUPTI_DROPPED);
		return;
	}
	/* Inside a call of CUDA (exit() in a handler of signals) this thread may hold its locks. */
	if (ours && !spy_own_inside_call())
		ask(CP_FLUSH_FORCED);
	else
		cupti_records_collect();
	/* Only now: of what other threads have launched meanwhile it is known by which call. */
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	cupti_records_write();
	lock_give(&reading);
}

bool cupti_finish_more(void)
{
	if (!in_use() || !lock_try(&reading))
		return false;
	uint64_t before = cupti_records_left();
	cupti_records_write();
	bool more = cupti_records_left() < before;
	if (!more)
		cupti_records_give_up();
	lock_give(&reading);
	return more;
}

/* ---- others ---- */

static void let_go(const char *name)
{
	bool alone = lock_take_within(&reading, OTHERS_WAIT_NS);

	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	tf_header(&spy_map)->gpu_partial = spy_clock();
	cupti_disable_all(&cupti);
	/* Ours must not come to the receiver that we make room for. Nothing is recorded any more,
	 * no graphs either: it may be asked. */
	cupti.flush_all(CP_FLUSH_FORCED);
	if (alone)
		lock_give(&reading);
	spy_say("the program calls %s: exact GPU times end here", name);
}

void cupti_taken_by_other(const char *name)
{
	uint64_t until = clock_monotonic_ns() + OTHERS_WAIT_NS;
	int saved = errno;

	/* Sequentially consistent: see cupti_before_init(). */
	__atomic_store_n(&others, 1, __ATOMIC_SEQ_CST);
	/* A set-up holds the subscription. It may need a lock that this thread holds: bounded. */
	while (another_sets_up() && clock_monotonic_ns() < until)
		sched_yield();
	if (__atomic_load_n(&state, __ATOMIC_SEQ_CST) >= STATE_READY && owner == getpid()) {
		if (leave(STATE_ON))
			let_go(name);
		else
			leave_ready(BY_PROGRAM); /* inside cuInit, in another thread */
	}
	errno = saved;
}
