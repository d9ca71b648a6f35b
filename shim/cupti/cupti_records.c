/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cupti/cupti_records.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/cupti/cupti_buffers.h"
#include "shim/base/gate.h"
#include "shim/handles/registry.h"
#include "shim/record/thread.h"

#define RING_RECORDS   32768u /* 2 MiB */
#define BYTES_LEAST    CP_RECORD_LEAST
#define BYTES_A_LAUNCH 280u       /* all that is recorded of one */
#define CAUSES         (1u << 18) /* calls whose work may still come: 4 MiB */
#define NAMES          4096u
#define SECOND         1000000000ull

/* No buffer may hold more records than the ring has room for when it is empty. */
_Static_assert(CUPTI_BUFFER_BYTES / BYTES_LEAST < RING_RECORDS, "a buffer fits the ring");

static const struct cp_functions *cupti;
static struct tf_ring *ring;
static struct cupti_buffer *first, *last; /* taken over, oldest first */

/* The calls behind CUPTI's correlation numbers, which only ever grow, from 1: direct-mapped. The
 * number is 0 while the cause changes. */
static struct cause {
	uint32_t correlation;
	uint64_t cause; /* TF_CAUSE() */
} * causes;

/* Kernels by the address of their name, which CUPTI keeps. */
static struct known_name {
	const char *name;
	uint32_t kernel;
} names[NAMES];

/* ---- the clock ---- */

/* CUPTI's times are CLOCK_REALTIME. The rate comes from the monotonic clock over the last seconds,
 * so that a step of the real one moves no more than what was under way. */
static struct tf_clock_triple base, recent, now;
static double ticks_per_ns;

static void read_clocks(void)
{
	now = clock_triple(10);
	if (!base.tick)
		base = recent = spy_load_clock;
	if (now.monotonic_ns - recent.monotonic_ns >= SECOND) {
		base = recent;
		recent = now;
	}
	if (now.monotonic_ns > base.monotonic_ns)
		ticks_per_ns = (double)(now.tick - base.tick) /
		               (double)(now.monotonic_ns - base.monotonic_ns);
}

/* 0: before the recording, or in the future. */
static uint64_t tick_of(uint64_t realtime_ns)
{
	double since = (double)(int64_t)(realtime_ns - now.realtime_ns);
	double tick = (double)(now.tick - tf_header(&spy_map)->load) + since * ticks_per_ns;

	/* CUPTI brings the GPU's clock and the host's together to a few microseconds. */
	if (tick < 0 || since > (double)SECOND / 100)
		return 0;
	return tf_header(&spy_map)->load + (uint64_t)tick;
}

/* ---- causes and names ---- */

/* A reader in between sees 0, or another number than before; two writers of one place are 262,144
 * calls apart. */
void cupti_records_cause(uint32_t correlation, uint64_t cause)
{
	struct cause *c = &causes[correlation % CAUSES];

	__atomic_store_n(&c->correlation, 0, __ATOMIC_RELAXED);
	/* Release, both: whoever sees the new cause sees the 0, whoever the number the cause. */
	__atomic_store_n(&c->cause, cause, __ATOMIC_RELEASE);
	__atomic_store_n(&c->correlation, correlation, __ATOMIC_RELEASE);
}

static uint64_t cause_of(uint32_t correlation)
{
	const struct cause *c = &causes[correlation % CAUSES];

	/* Acquire, both: pairs with the writer, see there. */
	if (__atomic_load_n(&c->correlation, __ATOMIC_ACQUIRE) != correlation)
		return 0;
	uint64_t cause = __atomic_load_n(&c->cause, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&c->correlation, __ATOMIC_RELAXED) == correlation ? cause : 0;
}

static bool is_name_of(uint32_t kernel, const char *name)
{
	const struct tf_kernel *k =
	        tf_entry(&spy_map, &tf_header(&spy_map)->kernels, kernel, sizeof(*k));
	const char *text = k ? tf_text(&spy_map, k->name, NULL) : NULL;

	return text && !strcmp(text, name);
}

static uint32_t kernel_of(const char *name)
{
	struct known_name *n = &names[((uintptr_t)name >> 4) % NAMES];

	if (!name)
		return TF_KERNEL_UNKNOWN;
	/* The text is compared: a name may have gone and another have come to its place. */
	if (n->name != name || !is_name_of(n->kernel, name)) {
		n->name = name;
		n->kernel = registry_kernel(name);
	}
	return n->kernel;
}

/* ---- the ring ---- */

bool cupti_records_start(const struct cp_functions *functions)
{
	uint64_t offset = thread_make_ring(RING_RECORDS);

	ring = tf_at(&spy_map, offset, sizeof(*ring));
	causes = mmap(NULL, CAUSES * sizeof(*causes), PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ring || causes == MAP_FAILED)
		return false;
	cupti = functions;
	/* Release: the ring is whole before the drain finds it. */
	__atomic_store_n(&tf_header(&spy_map)->activity_ring, offset, __ATOMIC_RELEASE);
	return true;
}

static uint64_t room(void)
{
	/* Acquire: the slots were read before they were given back. Pairs with the drain. */
	return ring->capacity - (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
}

static void count(enum spy_anomaly what, uint64_t by)
{
	if (by)
		__atomic_fetch_add(&tf_header(&spy_map)->anomaly[what], by, __ATOMIC_RELAXED);
}

/* CUDASPY_RANGE: work of calls in the range. What its call is not known of goes by time. */
static bool in_range(uint64_t start, uint64_t cause)
{
	const struct tf_header *h = tf_header(&spy_map);

	if (h->range_mode == TF_RANGE_ALL || cause)
		return true;
	return h->range_from && start >= h->range_from && (spy_in_range() || start <= h->range_to);
}

static void write_work(enum tf_work_kind kind, uint64_t start_ns, uint64_t end_ns,
                       uint32_t correlation, const struct tf_record *what)
{
	struct tf_record *r = &ring->slots[ring->head & (ring->capacity - 1)];
	uint64_t start = start_ns ? tick_of(start_ns) : 0, end = end_ns ? tick_of(end_ns) : 0;
	uint64_t cause = cause_of(correlation);

	if (!start || !end || end_ns < start_ns) {
		count(SPY_ANOMALY_CUPTI_INVALID, 1);
		return;
	}
	if (!in_range(start, cause))
		return;
	*r = *what;
	r->start = start;
	r->end = end;
	r->call = TF_CALL_ACTIVITY;
	r->thread = (uint16_t)kind;
	r->stream = cause;
	/* Release: the record is complete before the drain can see it. */
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
}

/* A node's number is never 0 here, whatever its low half is. */
static uint32_t node_of(uint64_t graph_node)
{
	return graph_node && !(uint32_t)graph_node ? 1 : (uint32_t)graph_node;
}

static void write_kernel(const struct cp_kernel *k)
{
	struct tf_record r = {.activity = {.device = k->device,
	                                   .stream = k->stream,
	                                   .kernel = kernel_of(k->name),
	                                   .graph_node = node_of(k->graph_node)}};

	write_work(TF_WORK_KERNEL, k->start, k->end, k->correlation, &r);
}

static void write_move(const struct cp_move *m, enum tf_work_kind kind)
{
	struct tf_record r = {.activity = {.device = m->device,
	                                   .stream = m->stream,
	                                   .bytes = m->bytes,
	                                   .graph_node = node_of(m->graph_node)}};

	write_work(kind, m->start, m->end, m->correlation, &r);
}

static void write_peer(const struct cp_peer *p)
{
	struct tf_record r = {.activity = {.device = p->device,
	                                   .stream = p->stream,
	                                   .bytes = p->bytes,
	                                   .graph_node = node_of(p->graph_node)}};

	write_work(TF_WORK_COPY, p->start, p->end, p->correlation, &r);
}

static void write_graph(const struct cp_graph *g)
{
	uint32_t device = g->device == INT32_MAX ? TF_DEVICE_OF_CALL : g->device;
	struct tf_record r = {.activity = {.device = device, .stream = g->stream}};

	write_work(TF_WORK_GRAPH, g->start, g->end, g->correlation, &r);
}

/* ---- buffers ---- */

static void write_buffer(struct cupti_buffer *b)
{
	struct cp_record *r = NULL;

	while (cupti->next_record(cupti_buffer_data(b), b->valid, &r) == CP_OK) {
		if (r->kind == CP_KIND_KERNEL)
			write_kernel((const struct cp_kernel *)r);
		else if (r->kind == CP_KIND_MEMCPY)
			write_move((const struct cp_move *)r, TF_WORK_COPY);
		else if (r->kind == CP_KIND_MEMSET)
			write_move((const struct cp_move *)r, TF_WORK_SET);
		else if (r->kind == CP_KIND_MEMCPY2)
			write_peer((const struct cp_peer *)r);
		else if (r->kind == CP_KIND_GRAPH)
			write_graph((const struct cp_graph *)r);
	}
}

static uint64_t launches_in(uint64_t bytes)
{
	return (bytes + BYTES_A_LAUNCH - 1) / BYTES_A_LAUNCH;
}

void cupti_records_collect(void)
{
	struct cupti_buffer *taken = cupti_buffers_take();

	if (taken && first)
		last->next = taken;
	else if (taken)
		first = taken;
	for (; taken; taken = taken->next)
		last = taken;
	count(SPY_ANOMALY_CUPTI_DROPPED, launches_in(cupti_buffers_lost()));
}

void cupti_records_write(void)
{
	if (first)
		read_clocks();
	while (first && room() >= first->valid / BYTES_LEAST) {
		struct cupti_buffer *b = first;
		first = b->next;
		write_buffer(b);
		cupti_buffer_recycle(b);
	}
}

uint64_t cupti_records_left(void)
{
	uint64_t bytes = 0;

	for (const struct cupti_buffer *b = first; b; b = b->next)
		bytes += b->valid;
	return bytes;
}

void cupti_records_give_up(void)
{
	for (; first; first = first->next)
		count(SPY_ANOMALY_CUPTI_DROPPED, launches_in(first->valid));
}
