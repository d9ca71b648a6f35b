/* SPDX-License-Identifier: Apache-2.0 */
/* A libcupti for the simulated GPU: records of what the simulated driver really did, in NVIDIA's
 * own layouts, under CUPTI's rules; whoever breaks one of them is aborted.
 *
 *   FAKE_CUPTI_VERSION          what cuptiGetVersion() says; goes with the length of the records
 *   FAKE_CUPTI_REFUSE 0         what cuptiSubscribe() answers
 *   FAKE_CUPTI_INVALID 0        every so many records have no times, or times in the wrong order
 *   FAKE_CUPTI_DROP 0           every so many are dropped and counted
 *   FAKE_CUPTI_HOLD=1           gives no buffer back before the forced flush, and takes a new one
 *                               every 2 records
 *   FAKE_CUPTI_NO_CALLS=1       calls are never told
 *   FAKE_CUPTI_REFUSE_CALLS 0   what cuptiEnableCallback() answers
 *   FAKE_CUPTI_LOG=path         what was called, a line each
 *
 * As with the real one, a buffer is asked for in the thread that gives the work; one subscriber;
 * the last callbacks registered get the records; and the subscriber is told of the calls that it
 * asked for, in the thread that makes them. (Of calls that give no work it is not told here.) A
 * thread of its own gives back full buffers alone, every cuptiActivityFlushPeriod(); a request
 * those with room too. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cupti.h>
#include <cupti_activity_deprecated.h>
#include "tests/sim/observe.h"

#define EXPORT       __attribute__((visibility("default")))
#define FULL         4096
#define MS_NS        1000000
#define GRAPHS_SINCE 17 /* CUDA 11.7 */

/* Callback ids. */
enum { CALL_INVALID, CALL_INIT, CALL_LAUNCH, CALL_GRAPH, CALL_COPY, CALL_SET, CALL_WAIT, CALLS };

struct buffer {
	uint8_t *data;
	size_t size, used;
	uint64_t done_ns; /* when all of it has happened, CLOCK_REALTIME */
	unsigned records;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer open_buffer, full[FULL];
static unsigned full_count;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static bool on[CUPTI_ACTIVITY_KIND_COUNT];
static size_t dropped;
static uint64_t seen, to_realtime, correlations;
static CUpti_CallbackFunc subscriber; /* NULL: none */
static void *subscriber_data;
static bool calls_on[CALLS];
static int log_fd = -1;
static pid_t owner;
static uint32_t version, invalid_each, drop_each, refuse, refuse_calls;
static bool hold, no_calls;

static _Thread_local struct {
	uint64_t call;        /* 1 + struct sim_piece.call of the last one that gave work */
	uint32_t correlation; /* its number */
	bool in_callback;
} self;

/* ---- the rules ---- */

static void broken(const char *rule)
{
	fprintf(stderr, "fake CUPTI: %s\n", rule);
	abort();
}

static void enter(const char *name, long argument)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%s %ld\n", name, argument);

	if (owner && owner != getpid())
		broken("called in a forked child");
	owner = getpid();
	if (self.in_callback)
		broken("called from a callback");
	if (log_fd >= 0 && write(log_fd, line, (size_t)n) != n)
		broken("no room for the log");
}

static uint32_t number(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static __attribute__((constructor)) void start(void)
{
	const char *path = getenv("FAKE_CUPTI_LOG");
	struct timespec r, m;

	clock_gettime(CLOCK_MONOTONIC, &m);
	clock_gettime(CLOCK_REALTIME, &r);
	to_realtime = (uint64_t)((r.tv_sec - m.tv_sec) * 1000000000l + r.tv_nsec - m.tv_nsec);
	version = number("FAKE_CUPTI_VERSION", FAKE_CUPTI_DEFAULT);
	refuse = number("FAKE_CUPTI_REFUSE", 0);
	refuse_calls = number("FAKE_CUPTI_REFUSE_CALLS", 0);
	invalid_each = number("FAKE_CUPTI_INVALID", 0);
	drop_each = number("FAKE_CUPTI_DROP", 0);
	hold = number("FAKE_CUPTI_HOLD", 0);
	no_calls = number("FAKE_CUPTI_NO_CALLS", 0);
	if (path)
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* ---- records ---- */

/* The record that CUPTI of this version writes. */
static size_t record_bytes(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return version < 15   ? sizeof(CUpti_ActivityKernel5)
		       : version < 17 ? sizeof(CUpti_ActivityKernel6)
		       : version < 18 ? sizeof(CUpti_ActivityKernel7)
		       : version < 19 ? sizeof(CUpti_ActivityKernel8)
		       : version < 26 ? sizeof(CUpti_ActivityKernel9)
		                      : sizeof(CUpti_ActivityKernel10);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return version < 14   ? sizeof(CUpti_ActivityMemcpy3)
		       : version < 17 ? sizeof(CUpti_ActivityMemcpy4)
		       : version < 26 ? sizeof(CUpti_ActivityMemcpy5)
		                      : sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return version < 14   ? sizeof(CUpti_ActivityMemset2)
		       : version < 17 ? sizeof(CUpti_ActivityMemset3)
		                      : sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return version < 27 ? sizeof(CUpti_ActivityGraphTrace)
		                    : sizeof(CUpti_ActivityGraphTrace2);
	default:
		return 0;
	}
}

static uint64_t now_realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool ask_for_buffer(struct buffer *b)
{
	size_t most = 0;

	*b = (struct buffer){0};
	self.in_callback = true;
	request(&b->data, &b->size, &most);
	self.in_callback = false;
	if (!b->data && version < 27)
		broken("a buffer was refused");
	if (b->data && (uintptr_t)b->data % 8)
		broken("a buffer is not aligned");
	return b->data != NULL;
}

/* Room for a record that is complete at `done_ns`, zeroed; NULL: dropped. */
static void *append(CUpti_ActivityKind kind, uint64_t done_ns)
{
	struct buffer *b = &open_buffer;
	size_t bytes = record_bytes(kind);

	if (b->data && (b->used + bytes > b->size || (hold && b->records == 2))) {
		if (full_count == FULL)
			broken("too many buffers for the test");
		full[full_count++] = *b;
		b->data = NULL;
	}
	if (!b->data && (!request || !ask_for_buffer(b))) {
		dropped++;
		return NULL;
	}
	CUpti_Activity *a = (CUpti_Activity *)(b->data + b->used);
	for (size_t i = 0; i < bytes; i++)
		if (b->data[b->used + i])
			broken("a buffer is not zeroed");
	a->kind = kind;
	b->used += bytes;
	b->records++;
	b->done_ns = done_ns > b->done_ns ? done_ns : b->done_ns;
	return a;
}

/* The first piece of work of a call: it gets its number, and the subscriber hears of it. All calls
 * of a kind go by one name here, whatever their form. */
static void tell_call(const struct sim_piece *p)
{
	static const unsigned names[] = {
	        [TL_KERNEL] = CALL_LAUNCH, [TL_COPY] = CALL_COPY, [TL_SET] = CALL_SET};
	unsigned id = p->graph_node || p->kind == TL_NONE ? CALL_GRAPH : names[p->kind];
	CUpti_CallbackFunc fn = subscriber;
	CUpti_CallbackData call = {.callbackSite = CUPTI_API_ENTER};

	if (self.call == p->call + 1)
		return;
	self.call = p->call + 1;
	self.correlation = (uint32_t)__atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
	if (no_calls || !fn || !calls_on[id])
		return;
	call.correlationId = self.correlation;
	self.in_callback = true;
	fn(subscriber_data, CUPTI_CB_DOMAIN_DRIVER_API, id, &call);
	call.callbackSite = CUPTI_API_EXIT;
	fn(subscriber_data, CUPTI_CB_DOMAIN_DRIVER_API, id, &call);
	self.in_callback = false;
}

/* A copy that stays: the kernel's own name goes with its module. */
static const char *name_of(const char *kernel)
{
	static char *names[256];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!names[i])
			names[i] = strdup(kernel);
		if (!strcmp(names[i], kernel))
			return names[i];
	}
	return NULL;
}

/* Every so many records the times are none: both, one, or in the wrong order. */
static void spoil(uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t turn = invalid_each ? seen / invalid_each % 3 : 0;

	if (!invalid_each || seen % invalid_each)
		return;
	if (turn == 0)
		*start_ns = *end_ns = 0;
	else if (turn == 1)
		*end_ns = 0;
	else
		*end_ns = *start_ns - 1;
}

static void write_piece(const struct sim_piece *p, uint64_t start_ns, uint64_t end_ns,
                        uint64_t done_ns)
{
	uint32_t n = self.correlation;

	if (p->kind == TL_KERNEL) {
		CUpti_ActivityKernel5 *k = append(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, done_ns);
		if (!k)
			return;
		k->start = start_ns;
		k->end = end_ns;
		k->deviceId = (uint32_t)p->device;
		k->streamId = (uint32_t)p->stream;
		k->correlationId = n;
		k->name = name_of(p->kernel);
		k->graphNodeId = (uint64_t)p->graph_node << (p->graph_node % 2 ? 32 : 0);
	} else if (p->kind == TL_NONE) {
		CUpti_ActivityGraphTrace *g = append(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, done_ns);
		if (!g)
			return;
		g->start = start_ns;
		g->end = end_ns;
		g->deviceId = (uint32_t)p->device;
		g->streamId = (uint32_t)p->stream;
		g->correlationId = n;
	} else if (p->kind == TL_COPY) {
		CUpti_ActivityMemcpy3 *c = append(CUPTI_ACTIVITY_KIND_MEMCPY, done_ns);
		if (!c)
			return;
		c->start = start_ns;
		c->end = end_ns;
		c->bytes = p->bytes;
		c->deviceId = (uint32_t)p->device;
		c->streamId = (uint32_t)p->stream;
		c->correlationId = n;
		c->graphNodeId = p->graph_node;
	} else {
		CUpti_ActivityMemset2 *s = append(CUPTI_ACTIVITY_KIND_MEMSET, done_ns);
		if (!s)
			return;
		s->start = start_ns;
		s->end = end_ns;
		s->bytes = p->bytes;
		s->deviceId = (uint32_t)p->device;
		s->streamId = (uint32_t)p->stream;
		s->correlationId = n;
		s->graphNodeId = p->graph_node;
	}
}

static void see(const struct sim_piece *p)
{
	static const CUpti_ActivityKind kinds[] = {
	        [TL_NONE] = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
	        [TL_KERNEL] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	        [TL_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
	        [TL_SET] = CUPTI_ACTIVITY_KIND_MEMSET,
	};
	uint64_t start_ns = p->start_ns + to_realtime, end_ns = p->end_ns + to_realtime;
	uint64_t done_ns = end_ns;

	if (getpid() != owner || !on[kinds[p->kind]])
		return;
	tell_call(p);
	if (p->graph_node && on[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
		return;
	pthread_mutex_lock(&lock);
	seen++;
	spoil(&start_ns, &end_ns);
	if (drop_each && seen % drop_each == 0)
		dropped++;
	else
		write_piece(p, start_ns, end_ns, done_ns);
	pthread_mutex_unlock(&lock);
}

/* ---- what the shim calls ---- */

EXPORT CUptiResult cuptiGetVersion(uint32_t *to)
{
	*to = version;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *to, CUpti_CallbackFunc fn, void *data)
{
	enter("subscribe", (long)version);
	if (refuse)
		return (CUptiResult)refuse;
	if (subscriber)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber = fn;
	subscriber_data = data;
	*to = (CUpti_SubscriberHandle)&subscriber;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	enter("unsubscribe", 0);
	subscriber = NULL;
	memset(calls_on, 0, sizeof(calls_on));
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle s,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	enter("callback", (long)id);
	if (s != (CUpti_SubscriberHandle)&subscriber || !subscriber)
		broken("callbacks for nobody");
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	calls_on[id] = enable && !refuse_calls;
	return (CUptiResult)refuse_calls;
}

EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute a, size_t *bytes, void *value)
{
	enter("attribute", (long)a);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                  CUpti_BuffersCallbackCompleteFunc completed)
{
	sim_observe_t *observe;
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	enter("register", 0);
	pthread_mutex_lock(&lock);
	request = requested;
	complete = completed;
	pthread_mutex_unlock(&lock);
	observe = driver ? (sim_observe_t *)dlsym(driver, "sim_observe") : NULL;
	if (!observe)
		return CUPTI_ERROR_NOT_INITIALIZED;
	observe(see);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	enter("enable", (long)kind);
	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		broken("this kind makes kernels run one after the other");
	if (!request)
		broken("a kind is enabled ahead of the callbacks");
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && version < GRAPHS_SINCE)
		return CUPTI_ERROR_INVALID_KIND;
	on[kind] = true;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	enter("disable", (long)kind);
	on[kind] = false;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **to)
{
	static const char *const names[CALLS] = {
	        [CALL_INVALID] = "INVALID",       [CALL_INIT] = "cuInit",
	        [CALL_LAUNCH] = "cuLaunchKernel", [CALL_GRAPH] = "cuGraphLaunch",
	        [CALL_COPY] = "cuMemcpyHtoD_v2",  [CALL_SET] = "cuMemsetD8_v2",
	        [CALL_WAIT] = "cuCtxSynchronize"};

	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*to = names[id];
	return CUPTI_SUCCESS;
}

static void give_back(struct buffer *b)
{
	self.in_callback = true;
	complete(NULL, 0, b->data, b->size, b->used);
	self.in_callback = false;
	b->data = NULL;
}

/* Work that has not happened yet has no times. */
static void cut_off(struct buffer *b, uint64_t now)
{
	CUpti_Activity *a = NULL;

	while (cuptiActivityGetNextRecord(b->data, b->used, &a) == CUPTI_SUCCESS) {
		CUpti_ActivityKernel5 *k = (CUpti_ActivityKernel5 *)a;
		CUpti_ActivityMemcpy3 *m = (CUpti_ActivityMemcpy3 *)a; /* and sets */
		CUpti_ActivityGraphTrace *g = (CUpti_ActivityGraphTrace *)a;

		if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && k->end > now)
			k->start = k->end = 0;
		else if ((a->kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
		          a->kind == CUPTI_ACTIVITY_KIND_MEMSET) &&
		         m->end > now)
			m->start = m->end = 0;
		else if (a->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && g->end > now)
			g->start = g->end = 0;
	}
}

/* Under the lock. */
static void give_back_full(uint64_t now, bool forced)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < full_count; i++) {
		if (forced)
			cut_off(&full[i], now);
		if (forced || (!hold && full[i].done_ns <= now))
			give_back(&full[i]);
		else
			full[kept++] = full[i];
	}
	full_count = kept;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
	uint64_t now = now_realtime();

	enter("flush", (long)flag);
	pthread_mutex_lock(&lock);
	give_back_full(now, forced);
	if (open_buffer.data && forced)
		cut_off(&open_buffer, now);
	if (open_buffer.data && (forced || (!hold && open_buffer.done_ns <= now)))
		give_back(&open_buffer);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

#ifndef FAKE_CUPTI_NO_PERIOD
static uint32_t period_ms; /* 0: full buffers wait for a request */

static void *work(void *unused)
{
	uint32_t ms;

	while ((ms = __atomic_load_n(&period_ms, __ATOMIC_RELAXED)) != 0) {
		nanosleep(&(struct timespec){.tv_nsec = (long)ms * MS_NS}, NULL);
		pthread_mutex_lock(&lock);
		give_back_full(now_realtime(), false);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	pthread_t worker;
	sigset_t all, before;

	enter("period", (long)ms);
	if (!request)
		broken("a period ahead of the callbacks");
	if (__atomic_exchange_n(&period_ms, ms, __ATOMIC_RELAXED) || !ms)
		return CUPTI_SUCCESS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&worker, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		pthread_detach(worker);
	return rc ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}
#endif

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                              CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + record_bytes((*record)->kind) : buffer;

	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *to)
{
	if (self.in_callback)
		broken("called from a callback");
	pthread_mutex_lock(&lock);
	*to = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}
