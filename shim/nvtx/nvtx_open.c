/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvtx/nvtx.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/record/span.h"
#include "shim/record/thread.h"

#define DEPTH       64u   /* of a thread's open ranges; deeper ones have levels, and no record */
#define STARTED     1024u /* ranges open by start, in the whole process */
#define STARTED_TRY 8u
#define ID_BUSY     1u /* a place of `started` that is being filled or emptied */
#define ID_FIRST    16u

struct open_range {
	uint64_t start;
	struct tf_thread *thread; /* its slot in the recording; NULL = not recorded */
	uint32_t generation;      /* of the process in which it was opened */
	uint16_t node;            /* in table `ranges` */
	uint16_t domain;
	struct nvtx_counts counts; /* when it was opened */
};

struct ranges_of_thread {
	struct ranges_of_thread *next; /* while no thread has it */
	uint32_t depth;
	uint32_t levels[NVTX_DOMAINS]; /* open ranges of each domain */
	uint8_t stored[NVTX_DOMAINS];  /* of these: in `open` */
	struct open_range open[DEPTH];
};

static __thread struct ranges_of_thread *mine __attribute__((tls_model("initial-exec")));

/* ---- begin and end of one range ---- */

static bool __attribute__((cold, noinline)) recorded_slow(void)
{
	int saved = errno;
	/* A range is no call of CUDA: it does not start a forked child's recording. */
	bool on = spy_gate_page.gate.mine == spy_generation && spy_started() &&
	          spy_ask(false) == SPY_ON && thread_attach();

	errno = saved;
	return on;
}

/* Whether what this thread does now is recorded; then it has a slot. */
static inline bool recorded(void)
{
	/* Acquire: an open gate means a recording. Pairs with open_gate(). */
	if (likely(__atomic_load_n(&spy_gate_page.gate.open, __ATOMIC_ACQUIRE) ==
	           spy_tls.generation))
		return true;
	return recorded_slow();
}

static inline void begin(struct open_range *o, uint32_t parent, uint32_t domain,
                         const struct nvtx_text *text)
{
	o->domain = (uint16_t)domain;
	o->generation = spy_generation;
	o->thread = NULL;
	if (!recorded())
		return;
	o->node = (uint16_t)nvtx_node(parent, domain, text);
	o->thread = spy_tls.thread;
	nvtx_counts(o->thread, &o->counts);
	o->start = spy_clock();
}

static inline void finish(const struct open_range *o, unsigned flags)
{
	uint64_t end = spy_clock();

	if (unlikely(!o->thread || o->generation != spy_generation || !recorded()))
		return;
	struct tf_thread *th = spy_tls.thread;
	struct tf_record r = {.start = o->start,
	                      .end = end,
	                      .call = TF_CALL_RANGE,
	                      .thread = o->node,
	                      .flags = (uint16_t)flags};
	if (th == o->thread)
		nvtx_fill_counts(&r, th, &o->counts);
	else
		r.flags |= TF_RANGE_NO_COUNTS;
	uint64_t lost = th->lost;
	int saved = errno;
	span_push_aside(&r);
	errno = saved;
	if (unlikely(th->lost != lost))
		__atomic_fetch_add(&tf_header(&spy_map)->ranges_lost, 1, __ATOMIC_RELAXED);
}

/* ---- push and pop ---- */

static pthread_key_t key;
static bool key_made;
static struct ranges_of_thread *spare; /* of threads that ended; under the shim's lock */

static void thread_ended(void *p)
{
	struct ranges_of_thread *r = p;

	mine = NULL;
	spy_lock();
	r->next = spare;
	spare = r;
	spy_unlock();
}

/* A thread's first push. What it gets is mapped, or was another thread's: no malloc of ours. */
static struct ranges_of_thread *__attribute__((cold, noinline)) make_mine(void)
{
	int saved = errno;

	spy_lock();
	if (!key_made)
		key_made = pthread_key_create(&key, thread_ended) == 0;
	struct ranges_of_thread *r = key_made ? spare : NULL;
	if (r)
		spare = r->next;
	spy_unlock();
	if (r) {
		memset(r, 0, sizeof(*r));
	} else {
		void *p = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		r = p == MAP_FAILED ? NULL : p;
	}
	if (r && key_made)
		pthread_setspecific(key, r);
	mine = r;
	errno = saved;
	return r;
}

/* The innermost open range that is in the present recording, as index + 1. */
static inline uint32_t innermost(const struct ranges_of_thread *t)
{
	for (uint32_t i = t->depth; i-- > 0;)
		if (likely(t->open[i].thread && t->open[i].generation == spy_generation))
			return t->open[i].node + 1u;
	return 0;
}

/* For call sites: what a thread works on that has no other name. */
static inline void tell_innermost(const struct ranges_of_thread *t)
{
	if (likely(recorded()))
		__atomic_store_n(&spy_tls.thread->range_now, innermost(t), __ATOMIC_RELAXED);
}

int nvtx_push(uint32_t domain, const struct nvtx_text *text)
{
	struct ranges_of_thread *t = mine;

	if (unlikely(!t) && !(t = make_mine()))
		return NVTX_NOT_TRACKED;
	/* While one of its ranges is open unstored, so are those inside it. */
	if (likely(t->depth < DEPTH && t->stored[domain] == t->levels[domain])) {
		begin(&t->open[t->depth], innermost(t), domain, text);
		t->depth++;
		t->stored[domain]++;
		tell_innermost(t);
	}
	return (int)t->levels[domain]++;
}

int nvtx_pop(uint32_t domain)
{
	struct ranges_of_thread *t = mine;
	struct open_range o;

	if (unlikely(!t || !t->levels[domain]))
		return NVTX_ERROR;
	int level = (int)--t->levels[domain];
	if (unlikely(t->stored[domain] <= (uint32_t)level))
		return level;
	uint32_t i = t->depth - 1;
	while (unlikely(t->open[i].domain != domain))
		i--;
	if (likely(i == t->depth - 1)) {
		finish(&t->open[i], 0);
	} else {
		o = t->open[i];
		memmove(&t->open[i], &t->open[i + 1], (t->depth - 1 - i) * sizeof(t->open[0]));
		finish(&o, 0);
	}
	t->depth--;
	t->stored[domain]--;
	tell_innermost(t);
	return level;
}

/* ---- start and end ---- */

static struct started {
	uint64_t id; /* 0 = free, ID_BUSY */
	struct open_range range;
} started[STARTED];

uint64_t nvtx_start(uint32_t domain, const struct nvtx_text *text)
{
	static uint64_t next = ID_FIRST;
	uint64_t id = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	for (uint64_t i = id; i < id + STARTED_TRY; i++) {
		struct started *s = &started[i % STARTED];
		uint64_t none = 0;
		/* Acquire: the place's last owner is done with it. Pairs with nvtx_end(). */
		if (!__atomic_compare_exchange_n(&s->id, &none, ID_BUSY, false, __ATOMIC_ACQUIRE,
		                                 __ATOMIC_RELAXED))
			continue;
		begin(&s->range, 0, domain, text);
		/* Release: whoever ends it finds it whole. */
		__atomic_store_n(&s->id, id, __ATOMIC_RELEASE);
		return id;
	}
	if (recorded())
		__atomic_fetch_add(&tf_header(&spy_map)->ranges_lost, 1, __ATOMIC_RELAXED);
	return id;
}

void nvtx_end(uint64_t id)
{
	if (id < ID_FIRST)
		return;
	for (uint64_t i = id; i < id + STARTED_TRY; i++) {
		struct started *s = &started[i % STARTED];
		uint64_t expected = id;
		/* Acquire: pairs with nvtx_start(). One of two that end the same range wins. */
		if (!__atomic_compare_exchange_n(&s->id, &expected, ID_BUSY, false,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		struct open_range o = s->range;
		__atomic_store_n(&s->id, 0, __ATOMIC_RELEASE);
		finish(&o, TF_RANGE_STARTED);
		return;
	}
}
