/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvml/nvml_environment.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include "shim/base/fork_apart.h"
#include "shim/base/clock.h"
#include "shim/base/gate.h"
#include "shim/base/lock.h"
#include "shim/handles/contexts.h"
#include "shim/real/real.h"
#include "shim/base/quiet.h"
#include "shim/real/real.h"
#include "shim/base/sys.h"
#include "shim/real/real_dlsym.h"

#define PATIENCE_NS 100000000ull /* how long an exit waits for NVML */
#define LOOK_NS     200000

static struct tf_environment *area; /* of this process; NULL = there is none */
static struct nv_functions nvml;
static bool initialised; /* by the thread of the first reading */
static bool busy;        /* one of our threads lives */
static struct lock writing;
static bool over; /* the exit waits no longer: nothing is written any more; under `writing` */
static uint64_t patience_ends; /* of the exit; 0 = it does not wait */
static bool asked_last;

static void nap(void)
{
	sys_sleep(LOOK_NS);
}

void environment_after_fork_in_child(void)
{
	area = NULL;
	initialised = busy = over = asked_last = false;
	writing = (struct lock){0};
	patience_ends = 0;
}

/* ---- reading ---- */

/* Begins to write into the recording; false: it is closed, perhaps while NVML kept us waiting. */
static bool write_begins(void)
{
	lock_take(&writing);
	bool open = !over;
	if (!open)
		lock_give(&writing);
	return open;
}

static void write_ends(void)
{
	lock_give(&writing);
}

static bool given_up(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void count_anomaly(void)
{
	if (write_begins()) {
		spy_count_anomaly(SPY_ANOMALY_ENVIRONMENT);
		write_ends();
	}
}

/* NVML's entry points; false: it lacks one that must be there. */
static bool look_up(void *library)
{
#define XX(member, symbol, parameters)                                                             \
	nvml.member = (int(*) parameters)spy_real_dlsym(library, #symbol);
	NV_FUNCTION_MAP(XX)
#undef XX
	return nvml.init && nvml.by_bus_id;
}

/* Loads and initialises NVML; how that went. It stays loaded, and initialised: the program may use
 * it too, and NVML counts. */
static enum tf_environment_state load(uint32_t *result)
{
	fork_apart_enter();
	void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
	bool usable = library && look_up(library);
	int rc = usable ? nvml.init() : 0;
	fork_apart_leave();
	*result = (uint32_t)rc;
	return !library                 ? TF_ENVIRONMENT_NO_LIBRARY
	       : !usable || rc != NV_OK ? TF_ENVIRONMENT_FAILED
	                                : TF_ENVIRONMENT_READ;
}

static void describe(struct tf_environment_device *d, void *handle)
{
	char uuid[NV_UUID_BYTES] = "";

	fork_apart_enter();
	bool known = nvml.uuid && nvml.uuid(handle, uuid, sizeof(uuid)) == NV_OK;
	fork_apart_leave();
	if (known && write_begins()) {
		snprintf(d->uuid, sizeof(d->uuid), "%.*s", (int)sizeof(d->uuid) - 1, uuid);
		write_ends();
	}
}

static void read_device(struct tf_environment_device *d, bool last)
{
	struct tf_reading made = {.tick = 0}, *to = last ? &d->last : &d->first;
	uint64_t start = clock_monotonic_ns();
	void *handle = NULL;

	fork_apart_enter();
	int rc = d->bus_id[0] ? nvml.by_bus_id(d->bus_id, &handle) : -1;
	fork_apart_leave();
	if (rc != NV_OK) {
		count_anomaly();
		return;
	}
	if (!last)
		describe(d, handle);
	environment_read(&nvml, handle, &made);
	made.cost_ns = clock_monotonic_ns() - start;
	if (!write_begins())
		return;
	*to = made;
	/* Release: the reading is complete before it counts as made. */
	__atomic_store_n(&to->tick, spy_clock(), __ATOMIC_RELEASE);
	write_ends();
}

static void done(void)
{
	struct timespec cpu;

	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) && write_begins()) {
		area->cpu_ns += (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
		write_ends();
	}
	/* Release: what was read is there for who sees that we are not busy. */
	__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

static void *first_reading(void *unused)
{
	uint64_t start = clock_monotonic_ns();
	char version[NV_VERSION_BYTES] = "";
	uint32_t result;

	quiet_thread();
	prctl(PR_SET_NAME, "cudaspy-nvml");
	enum tf_environment_state state = load(&result);
	uint64_t init_ns = clock_monotonic_ns() - start;
	if (state == TF_ENVIRONMENT_FAILED)
		count_anomaly();
	if (state == TF_ENVIRONMENT_READ) {
		initialised = true;
		fork_apart_enter();
		if (nvml.driver_version && nvml.driver_version(version, sizeof(version)) != NV_OK)
			version[0] = 0;
		fork_apart_leave();
	}
	if (write_begins()) {
		area->result = result;
		area->init_ns = init_ns;
		snprintf(area->driver_version, sizeof(area->driver_version), "%.*s",
		         (int)sizeof(area->driver_version) - 1, version);
		__atomic_store_n(&area->state, (uint32_t)state, __ATOMIC_RELEASE);
		write_ends();
	}
	for (uint32_t i = 0; initialised && i < area->count && !given_up(); i++)
		read_device(&area->devices[i], false);
	done();
	quiet_thread_ends(false);
	return unused;
}

static void *last_reading(void *unused)
{
	bool any = false;

	quiet_thread();
	prctl(PR_SET_NAME, "cudaspy-nvml");
	if (write_begins()) {
		for (uint32_t i = 0; i < area->count; i++)
			any |= area->devices[i].used =
			        contexts_use_device((int)area->devices[i].index);
		write_ends();
	}
	for (uint32_t i = 0; i < area->count && !given_up(); i++)
		if (area->devices[i].used || !any)
			read_device(&area->devices[i], true);
	done();
	/* The process ends. Where its last thread did and so began that, the C library has counted
	 * to none already, and would begin it again for ours. */
	for (;;)
		sys_sleep(UINT32_MAX * 1000000000ull);
	return unused;
}

/* A thread with signals blocked; false: there is none. */
static bool begin(void *(*f)(void *), pthread_t *thread)
{
	busy = true;
	bool made = !quiet_make_thread(thread, f, false);
	if (!made) {
		busy = false;
		spy_count_anomaly(SPY_ANOMALY_ENVIRONMENT);
	}
	return made;
}

static bool wait_until(uint64_t end_ns)
{
	/* Acquire: pairs with done(). */
	while (__atomic_load_n(&busy, __ATOMIC_ACQUIRE)) {
		if (clock_monotonic_ns() >= end_ns)
			return false;
		nap();
	}
	return true;
}

/* ---- the life cycle ---- */

void environment_start(void)
{
	struct tf_header *h = tf_header(&spy_map);
	CUresult (*get_bus_id)(char *, int, CUdevice) =
	        (CUresult(*)(char *, int, CUdevice))spy_driver_symbol("cuDeviceGetPCIBusId");

	h->environment = spy_map.alloc(&spy_map, sizeof(*area));
	area = tf_at(&spy_map, h->environment, sizeof(*area));
	if (!area)
		return;
	if (h->forked_from) {
		area->state = TF_ENVIRONMENT_FORKED;
		return;
	}
	for (uint32_t i = 0; i < tf_count(&h->devices) && i < TF_ENVIRONMENT_DEVICES; i++) {
		struct tf_environment_device *d = &area->devices[area->count++];
		d->index = i;
		if (!get_bus_id || get_bus_id(d->bus_id, sizeof(d->bus_id), (CUdevice)i))
			d->bus_id[0] = 0;
	}
	pthread_t thread;
	if (!begin(first_reading, &thread))
		return;
	/*
	 * The loader's, the allocator's and NVML's locks must be free when the program goes on: it
	 * may make a child by a bare clone(), which no handler of ours sees.
	 */
	if (wait_until(clock_monotonic_ns() + PATIENCE_NS))
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
}

/* Unless a thread of ours is at work still, or NVML is not to be had. */
static void begin_last(void)
{
	if (!asked_last && !__atomic_load_n(&busy, __ATOMIC_ACQUIRE) && initialised) {
		pthread_t thread;
		asked_last = true;
		if (begin(last_reading, &thread))
			pthread_detach(thread);
	}
}

void environment_last_begins(void)
{
	if (!area || area->state == TF_ENVIRONMENT_FORKED)
		return;
	patience_ends = clock_monotonic_ns() + PATIENCE_NS;
	begin_last();
}

void environment_last_ends(void)
{
	if (!patience_ends)
		return;
	/* In a short run the first reading may not have been done when the end came. */
	bool in_time = wait_until(patience_ends);
	begin_last();
	if (!in_time || !wait_until(patience_ends))
		spy_count_anomaly(SPY_ANOMALY_ENVIRONMENT);
	lock_take(&writing);
	over = true;
	lock_give(&writing);
	patience_ends = 0;
}
