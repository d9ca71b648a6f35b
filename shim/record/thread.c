/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "shim/cpu/cpu.h"
#include "shim/core/options/options.h"
#include "shim/base/quiet.h"
#include "shim/base/sys.h"

#define RING_BUDGET (96ull << 20) /* bytes of all rings together */
#define SLOTS_FRESH 256u          /* from here on a new thread takes over the slot of a dead one */
#define SLOTS_TRIED 8u            /* it looks at: with one in eight dead it finds one */

static pthread_key_t key;
static bool key_made;
static uint64_t ring_bytes; /* under the shim's lock */

/* ---- rings ---- */

/* Touches pages now, in one system call, so that no store of the hot path has to. Harmless where
 * the kernel cannot. */
static void populate(void *from, uint64_t bytes)
{
	uintptr_t start = (uintptr_t)from & ~4095ul,
	          end = ((uintptr_t)from + bytes + 4095) & ~4095ul;
	int saved = errno;

	madvise((void *)start, end - start, MADV_POPULATE_WRITE);
	errno = saved;
}

/* Of a recording that lives in memory a quarter of what it may take there. */
static uint64_t ring_budget(void)
{
	uint64_t most = tf_header(&spy_map)->space_most / 4;

	return most && most < RING_BUDGET ? most : RING_BUDGET;
}

/* A new ring, or 0. `budgeted`: only if all rings together stay under their limit. */
static uint64_t make_ring(uint64_t records, bool budgeted)
{
	uint64_t bytes = sizeof(struct tf_ring) + records * sizeof(struct tf_record), offset = 0;

	spy_lock();
	if (!budgeted || ring_bytes + bytes <= ring_budget())
		offset = spy_map.alloc(&spy_map, bytes);
	if (offset)
		ring_bytes += bytes;
	spy_unlock();
	struct tf_ring *ring = tf_at(&spy_map, offset, bytes);
	if (!ring)
		return 0;
	ring->capacity = records;
	populate(ring, bytes);
	return offset;
}

uint64_t thread_make_ring(uint64_t records)
{
	return make_ring(records, false);
}

/* False: the recording was cut, and is zeros. */
static bool use_ring(struct spy_tls *t, uint64_t offset)
{
	struct tf_ring *ring = tf_at(&spy_map, offset, sizeof(*ring));
	uint64_t capacity = ring ? __atomic_load_n(&ring->capacity, __ATOMIC_RELAXED) : 0;

	if (!capacity)
		return false;
	t->ring = ring;
	t->head = ring->head;
	t->slots = ring->slots;
	t->mask = capacity - 1;
	ring_look(t);
	return true;
}

bool thread_grow_ring(struct spy_tls *t)
{
	uint64_t records = t->ring->capacity * 4;

	if (records > spy_options.ring_records)
		records = spy_options.ring_records;
	if (records <= t->ring->capacity || t->ring_stays)
		return false;
	quiet_begin();
	uint64_t offset = make_ring(records, true);
	if (offset) {
		/* Release: the old ring's head is final before the drain can find the new one. */
		__atomic_store_n(&t->ring->next, offset, __ATOMIC_RELEASE);
		if (!use_ring(t, offset))
			offset = 0;
	} else {
		t->ring_stays = true;
		spy_count_anomaly(SPY_ANOMALY_RING_FULL);
	}
	quiet_end();
	return offset != 0;
}

/* ---- birth and death ---- */

/* Tick of the thread's birth, to the kernel's 10 ms: from field 22 of its stat file, in clock ticks
 * since boot. */
static uint64_t birth_tick(void)
{
	char text[1024], *p;
	struct timespec now;
	uint64_t started = 0, age_ns, hz = (uint64_t)sysconf(_SC_CLK_TCK);

	sys_read_file("/proc/thread-self/stat", text, sizeof(text));
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || !hz || clock_gettime(CLOCK_BOOTTIME, &now))
		return spy_clock();
	for (p++; *p >= '0' && *p <= '9'; p++)
		started = started * 10 + (uint64_t)(*p - '0');
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	uint64_t born_ns = started * (1000000000u / hz);
	age_ns = now_ns > born_ns ? now_ns - born_ns : 0;
	/* The clock's rate is not known here; over the life of a recording's start it is near
	 * enough measured. */
	struct tf_header *h = tf_header(&spy_map);
	struct tf_clock_triple *first = tf_entry(&spy_map, &h->clocks, 0, sizeof(*first));
	struct tf_clock_triple here = clock_triple(1);
	if (!first || here.monotonic_ns <= first->monotonic_ns + 1000000 ||
	    here.tick <= first->tick)
		return h->load; /* recording began a moment ago: the thread is older than the window
		                 */
	/* Nothing floats here, on a thread of the program's. */
	uint64_t age = (uint64_t)((unsigned __int128)age_ns * (here.tick - first->tick) /
	                          (here.monotonic_ns - first->monotonic_ns));
	return here.tick > age && here.tick - age > h->load ? here.tick - age : h->load;
}

static void __attribute__((cold)) thread_died(void *slot)
{
	struct tf_thread *th = slot;
	struct spy_tls *t = &spy_tls;

	if (t->generation != spy_generation || t->thread != th || !spy_still_open())
		return;
	quiet_begin();
	quiet_remember(); /* it may have been the last one */
	prctl(PR_GET_NAME, th->name);
	__atomic_store_n(&th->in_call, 0, __ATOMIC_RELAXED);
	cpu_thread_ends(th);
	/* Other destructors may still call CUDA: the next call attaches again, to the same slot. */
	t->last_thread = th;
	t->generation = SPY_NO_GENERATION;
	gate_thread_died();
	__atomic_store_n(&th->death, spy_clock(), __ATOMIC_RELEASE);
	quiet_end();
}

void thread_init(void)
{
	if (!key_made)
		key_made = pthread_key_create(&key, thread_died) == 0;
}

void thread_after_fork(void)
{
	spy_tls.generation = SPY_NO_GENERATION;
	ring_bytes = 0;
}

/*
 * When the owner of a slot died, 0 = it lives. Its destructor may not have been the last to call
 * CUDA, or the program may have left no key for it: then the kernel tells.
 */
static uint64_t death_of(const struct tf_thread *th)
{
	/* Acquire: the dead thread's last stores. Pairs with thread_died(). */
	uint64_t death = __atomic_load_n(&th->death, __ATOMIC_ACQUIRE);

	if (!death && syscall(SYS_tgkill, sys_getpid(), th->tid, 0) && errno == ESRCH)
		death = th->last_return > th->birth ? th->last_return : th->birth + 1;
	return death;
}

/* A slot whose thread died: its counts go on, under the new thread's name. Under the shim's lock.
 */
static struct tf_thread *adopt(struct tf_header *h, uint16_t *index)
{
	static uint32_t at;
	uint32_t n = tf_count(&h->threads);

	/* A recording that is cut has none. */
	for (uint32_t i = 0; n && i < SLOTS_TRIED; i++, at++) {
		uint64_t *offset = tf_entry(&spy_map, &h->threads, at % n, sizeof(*offset));
		struct tf_thread *th = offset ? tf_at(&spy_map, *offset, h->thread_bytes) : NULL;
		uint64_t death = th ? death_of(th) : 0;
		if (!death)
			continue;
		uint64_t from = th->birth > h->window_start ? th->birth : h->window_start;
		th->adopted++;
		th->range_now = 0;
		th->adopted_ticks += death > from ? death - from : 0;
		*index = (uint16_t)(at++ % n);
		return th;
	}
	return NULL;
}

static struct tf_thread *fresh(struct tf_header *h, uint16_t *index)
{
	uint64_t records =
	        spy_options.ring_records < TF_RING_FIRST ? spy_options.ring_records : TF_RING_FIRST;
	const uint64_t bytes = h->thread_bytes;
	uint64_t offset = spy_map.alloc(&spy_map, bytes);
	struct tf_thread *th = bytes >= sizeof(*th) ? tf_at(&spy_map, offset, bytes) : NULL;
	uint64_t ring = th ? make_ring(records, false) : 0;

	if (!ring)
		return NULL;
	th->ring_first = ring;
	th->tid = sys_gettid();
	th->birth = h->load;
	spy_lock();
	uint64_t *to = tf_append(&spy_map, &h->threads);
	if (to) {
		*index = (uint16_t)h->threads.count;
		*to = offset;
		tf_publish(&h->threads);
	}
	spy_unlock();
	return to ? th : NULL;
}

static bool fill_slot(struct spy_tls *t, struct tf_thread *th, uint16_t index)
{
	uint64_t last = th->ring_first;

	th->birth = birth_tick();
	cpu_thread_begins(th);
	prctl(PR_GET_NAME, th->name);
	for (struct tf_ring *r = tf_at(&spy_map, last, sizeof(*r)); r && r->next;
	     r = tf_at(&spy_map, last, sizeof(*r)))
		last = r->next;
	t->ring_stays = false; /* whatever its last owner was told */
	if (!use_ring(t, last))
		return false;
	gate_slot_taken(index);
	t->index = index;
	t->known_version = 0;
	memset(t->known, 0, sizeof(t->known));
	t->last_thread = t->thread = th;
	t->last_generation = spy_generation;
	t->generation = spy_generation;
	if (key_made)
		pthread_setspecific(key, th);
	return true;
}

static struct tf_thread *find_slot(struct spy_tls *t, uint16_t *index)
{
	struct tf_header *h = tf_header(&spy_map);
	uint64_t tid = sys_gettid();
	struct tf_thread *th = NULL;

	spy_lock();
	if (t->last_thread && t->last_generation == spy_generation && t->last_thread->tid == tid)
		th = t->last_thread; /* called again after our destructor */
	else if (tf_count(&h->threads) >= SLOTS_FRESH)
		th = adopt(h, index);
	if (th) { /* taken: under the lock, so that nobody else takes it too */
		th->tid = tid;
		th->death = 0;
	}
	spy_unlock();
	return th ? th : fresh(h, index);
}

bool thread_attach(void)
{
	struct spy_tls *t = &spy_tls;
	uint16_t index = t->index;

	if (t->generation == spy_generation)
		return true;
	quiet_begin();
	struct tf_thread *th = find_slot(t, &index);
	if (th && !fill_slot(t, th, index))
		th = NULL;
	if (!th) { /* this thread's calls are in no figure but this one */
		spy_count_anomaly(SPY_ANOMALY_THREADS_FULL);
		spy_lose_call();
	}
	quiet_end();
	return th != NULL;
}

bool spy_still_open(void)
{
	return spy_tls.generation == spy_generation && gate_is_mine() && gate_reopens();
}

void spy_window_begins(unsigned call, unsigned cls, uint64_t ticks, uint64_t now)
{
	struct tf_header *h = tf_header(&spy_map);
	struct tf_thread *th = spy_tls.thread;

	/* What this thread did so far was start-up: this one call, and what it contained. */
	memset(th->self_adjust, 0, sizeof(th->self_adjust));
	th->self_adjust[cls] = -(int64_t)ticks;
	h->first_call = call + 1;
	h->first_call_ticks = ticks;
	__atomic_store_n(&h->window_start, now, __ATOMIC_RELEASE);
}

/* ---- kernels ---- */

struct tf_kernel_stat *thread_kernel_slow(struct tf_thread *th, uint32_t kernel)
{
	const uint64_t bytes = TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat);
	uint32_t *at = &th->kernel_pages[kernel / TF_KERNEL_PAGE];

	quiet_begin();
	if (!*at) { /* else a handler of a signal was here just now */
		uint64_t offset = spy_map.alloc(&spy_map, bytes);
		uint8_t *page = tf_at(&spy_map, offset, bytes);
		if (page) {
			populate(page, bytes);
			/* Release: the page is zeroed before a reader can find it. */
			__atomic_store_n(at, (uint32_t)(offset / 64), __ATOMIC_RELEASE);
		}
	}
	quiet_end();
	return *at ? thread_kernel(th, kernel) : NULL;
}
