#include "shim/cupti.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>
#include "shim/clock.h"
#include "shim/cupti_buffers.h"
#include "shim/cupti_find.h"
#include "shim/cupti_records.h"
#include "shim/lifecycle.h"
#include "shim/lock.h"
#include "shim/options.h"
#include "shim/real.h"

#define FLUSH_NS       100000000ull  /* between two requests for what CUPTI has */
#define EXIT_WAIT_NS   2000000000ull /* for a round of the collector under way */
#define OTHERS_WAIT_NS 1000000000ull

/* On the GPU, for each context: at most 64 buffers of 2 MiB, of 32 bytes a piece of work: 4 million
 * pieces may wait to be read. CUPTI's own limit is 800 MB. */
#define DEVICE_BUFFER_BYTES (2u << 20)
#define DEVICE_BUFFERS      64u

#define CALLBACK_IDS 2048u /* more than twice what 13.0 has */

enum state {
	STATE_OFF,
	STATE_SETTING_UP,
	STATE_READY, /* records may come, there is no recording yet */
	STATE_ON,
	STATE_LEFT, /* somebody else has CUPTI; or it could not be had */
};

static struct cp_functions cupti;
static uint32_t state;      /* enum state */
static pthread_t setter;    /* the thread that sets up; valid while it does */
static pid_t owner;         /* the process that did */
static uint32_t others;     /* somebody else turned to CUPTI */
static const char *refusal; /* why there is none; NULL = there is */
static int refusal_code;    /* CUPTI's own answer, 0 = it was not asked */
static bool asked_early;
static struct spy_spin reading; /* one reader of buffers at a time */
static uint64_t flushed_ns;

static const int kinds[] = {CP_KIND_KERNEL, CP_KIND_MEMCPY, CP_KIND_MEMCPY2, CP_KIND_MEMSET,
                            CP_KIND_EXTERNAL};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint32_t state_now(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

/* ---- set-up ---- */

static void no_callback(void *user, int domain, uint32_t id, const void *data)
{
}

/* Whether nobody else subscribed, nor is a tool attached. Given back at once: holding it would make
 * the program's own profiler fail for good (HOOKING 9.1). */
static int test_subscription(void)
{
	void *subscriber = NULL;
	int rc = cupti.subscribe(&subscriber, no_callback, NULL);

	if (rc == CP_OK)
		cupti.unsubscribe(subscriber);
	return rc;
}

static void set_size(int attribute, size_t value)
{
	size_t bytes = sizeof(value);

	cupti.set_attribute(attribute, &bytes, &value);
}

static void set_attributes(void)
{
	uint8_t yes = 1;
	size_t bytes = sizeof(yes);

	set_size(CP_ATTR_DEVICE_BUFFER_SIZE, DEVICE_BUFFER_BYTES);
	set_size(CP_ATTR_DEVICE_POOL_LIMIT, DEVICE_BUFFERS);
	cupti.set_attribute(CP_ATTR_ZEROED_OUT, &bytes, &yes);
}

static bool gives_work(const char *name)
{
	for (unsigned i = 0; i < SPY_DRIVER_CALLS; i++)
		if (!strcmp(spy_call_rows[i].name, name))
			return spy_call_rows[i].class == SPY_CLASS_LAUNCH ||
			       spy_call_rows[i].class == SPY_CLASS_GRAPH_LAUNCH ||
			       spy_call_rows[i].class == SPY_CLASS_COPY ||
			       spy_call_rows[i].class == SPY_CLASS_SET;
	return false;
}

/*
 * External ids are noted with the record of a driver call, so such records must be on (NVIDIA/Fuser
 * pull 1135): of the calls that give work, or before 12.5 of all calls. They are not read.
 */
static int switch_carrier(bool on)
{
	const char *name;
	unsigned switched = 0;

	for (uint32_t id = 1; cupti.enable_driver_api && id < CALLBACK_IDS; id++) {
		name = NULL;
		if (cupti.callback_name(CP_DOMAIN_DRIVER, id, &name) == CP_OK && name &&
		    gives_work(name))
			switched += cupti.enable_driver_api(id, on) == CP_OK;
	}
	if (switched)
		return CP_OK;
	return on ? cupti.enable(CP_KIND_DRIVER) : cupti.disable(CP_KIND_DRIVER);
}

static void disable_all(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		cupti.disable(kinds[i]);
	switch_carrier(false);
}

static int enable_all(void)
{
	int rc = switch_carrier(true);

	for (unsigned i = 0; i < KINDS && rc == CP_OK; i++)
		rc = cupti.enable(kinds[i]);
	if (rc != CP_OK)
		disable_all();
	return rc;
}

static int driver_version(void)
{
	int (*get)(int *) = (int (*)(int *))spy_driver_symbol("cuDriverGetVersion");
	int version = 0;

	return get && get(&version) == 0 ? version : 0;
}

/* NULL: done. Else why not. */
static const char *set_up(void)
{
	uint32_t version = 0;

	if (__atomic_load_n(&others, __ATOMIC_RELAXED))
		return "the program uses CUPTI itself";
	if (cupti_find_tools())
		return "another CUDA tool is attached";
	if (!cupti_find(&cupti, driver_version()))
		return "no libcupti was found";
	if (cupti.get_version(&version) != CP_OK || version < CP_VERSION_11_0)
		return "this libcupti is older than CUDA 11";
	refusal_code = test_subscription();
	if (refusal_code == CP_MULTIPLE_SUBSCRIBERS)
		return "another CUDA tool uses CUPTI";
	if (refusal_code != CP_OK)
		return "CUPTI does not start";
	cupti_buffers_start(version < CP_VERSION_12_9);
	set_attributes();
	refusal_code = cupti.register_callbacks(cupti_buffer_requested, cupti_buffer_completed);
	if (refusal_code == CP_OK)
		refusal_code = enable_all();
	return refusal_code == CP_OK ? NULL : "CUPTI refuses to record";
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

void cupti_before_init(void)
{
	int saved = errno;
	uint32_t expected = STATE_OFF;

	if (!is_asked_for() || getauxval(AT_SECURE))
		return;
	if (__atomic_compare_exchange_n(&state, &expected, STATE_SETTING_UP, false,
	                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&setter, pthread_self(), __ATOMIC_RELAXED);
		owner = getpid();
		refusal = set_up();
		/* The last look-up of all succeeds: none of ours is left in dlerror(). */
		spy_driver_symbol("cuInit");
		__atomic_store_n(&state, refusal ? STATE_LEFT : STATE_READY, __ATOMIC_RELEASE);
	}
	/* Another thread's set-up comes before our cuInit too; not a cuInit inside our own. */
	while (state_now() == STATE_SETTING_UP &&
	       !pthread_equal(__atomic_load_n(&setter, __ATOMIC_RELAXED), pthread_self()))
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
		spy_count_trouble(SPY_TROUBLE_FILE_FULL);
		if (__atomic_compare_exchange_n(&state, &expected, STATE_LEFT, false,
		                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			disable_all();
		return;
	}
	if (__atomic_compare_exchange_n(&state, &expected, STATE_ON, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_CUPTI, __ATOMIC_RELAXED);
	else
		tf_header(&spy_map)->gpu_partial = spy_clock();
}

/* ---- around the calls ---- */

bool cupti_push(const struct spy_span *s)
{
	const struct spy_span *outer = spy_outer();
	int saved = errno;

	if (outer->mode != SPAN_RECORDED)
		return false;
	bool pushed = cupti.push(CP_EXTERNAL_CUSTOM0, TF_CAUSE(spy_tls.index, outer->rec->start)) ==
	              CP_OK;
	errno = saved;
	return pushed;
}

void cupti_pop(void)
{
	int saved = errno;
	uint64_t id;

	cupti.pop(CP_EXTERNAL_CUSTOM0, &id);
	errno = saved;
}

/* ---- the collector ---- */

static void flush(uint32_t flags)
{
	size_t dropped = 0;

	cupti.flush_all(flags);
	if (cupti.dropped(NULL, 0, &dropped) == CP_OK && dropped)
		__atomic_fetch_add(&tf_header(&spy_map)->trouble[SPY_TROUBLE_CUPTI_DROPPED],
		                   dropped, __ATOMIC_RELAXED);
	cupti_records_collect();
}

static bool try_reading(void)
{
	return !__atomic_exchange_n(&reading.taken, 1, __ATOMIC_ACQUIRE);
}

static bool wait_for_reading(uint64_t most_ns)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until = clock_monotonic_ns() + most_ns;

	while (!try_reading()) {
		if (clock_monotonic_ns() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
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

	if (!in_use() || !try_reading())
		return;
	if (state_now() == STATE_LEFT) {
		cupti_records_collect(); /* what came while we let go */
	} else if (now - flushed_ns >= FLUSH_NS || cupti_buffers_waiting() >= CUPTI_BUFFERS_MANY) {
		flushed_ns = now;
		flush(0);
	}
	cupti_records_write();
	spin_unlock(&reading);
}

void cupti_finish(void)
{
	if (!in_use())
		return;
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	if (!wait_for_reading(EXIT_WAIT_NS))
		return; /* the collector is stuck in CUPTI */
	if (state_now() == STATE_ON)
		flush(CP_FLUSH_FORCED);
	else
		cupti_records_collect();
	cupti_records_write();
	spin_unlock(&reading);
}

bool cupti_finish_more(void)
{
	if (!in_use() || !try_reading())
		return false;
	uint64_t before = cupti_records_left();
	cupti_records_write();
	bool more = cupti_records_left() < before;
	if (!more)
		cupti_records_give_up();
	spin_unlock(&reading);
	return more;
}

/* ---- others ---- */

/* Stops for good; true where this is what stopped it. */
static bool leave(uint32_t from)
{
	return __atomic_compare_exchange_n(&state, &from, STATE_LEFT, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

static void let_go(const char *name)
{
	bool alone = wait_for_reading(OTHERS_WAIT_NS);

	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	tf_header(&spy_map)->gpu_partial = spy_clock();
	disable_all();
	/* Ours must not come to the receiver that we make room for. */
	cupti.flush_all(CP_FLUSH_FORCED);
	if (alone)
		spin_unlock(&reading);
	spy_say("the program calls %s: exact GPU times end here", name);
}

void cupti_taken_by_other(const char *name)
{
	int saved = errno;

	__atomic_store_n(&others, 1, __ATOMIC_RELAXED);
	if (state_now() < STATE_READY || owner != getpid())
		return;
	if (leave(STATE_ON)) {
		let_go(name);
	} else if (leave(STATE_READY)) { /* inside cuInit, in another thread */
		disable_all();
		refusal = "the program uses CUPTI itself";
	}
	errno = saved;
}
