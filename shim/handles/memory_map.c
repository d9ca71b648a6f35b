/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/memory_map.h"

#include <stddef.h>
#include <sys/mman.h>
#include "shim/base/gate.h"

/*
 * A skip list under a sequence lock. Nodes are never given back to the system, so a reader that
 * walks while a writer works may read nonsense but never outside; the sequence number tells it to
 * look again.
 */
#define LEVELS     16
#define ARENA      (256u << 10)
#define STEPS_MOST 100000u /* of a reader that lost its way: then it looks again */

struct node {
	struct memory_range range;
	uint32_t levels;
	struct node *next[];
};

static struct {
	struct memory_range range;
	uint32_t levels;
	struct node *next[LEVELS];
} head = {.levels = LEVELS};

static struct node *spare[LEVELS + 1]; /* by number of levels */
static uint8_t *arena;
static size_t arena_left;
static uint64_t sequence;   /* odd: a writer is busy */
static int levels_used = 1; /* highest of any node so far: where a search starts */
static uint64_t seed = 0x2545f4914f6cdd1du;

static struct node *first(void)
{
	return (struct node *)(void *)&head;
}

static uint32_t random_levels(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	uint32_t levels = 1 + (uint32_t)__builtin_ctzll(seed | 1ull << 45) / 2;
	return levels < LEVELS ? levels : LEVELS;
}

static struct node *make_node(void)
{
	uint32_t levels = random_levels();
	size_t bytes = sizeof(struct node) + levels * sizeof(struct node *);
	struct node *n = spare[levels];

	if (n) {
		spare[levels] = n->next[0];
		return n;
	}
	if (arena_left < bytes) {
		void *p = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		               0);
		if (p == MAP_FAILED)
			return NULL;
		arena = p;
		arena_left = ARENA;
	}
	n = (struct node *)arena;
	arena += bytes;
	arena_left -= bytes;
	n->levels = levels;
	return n;
}

static void write_begin(void)
{
	spy_lock();
	__atomic_store_n(&sequence, sequence + 1, __ATOMIC_RELAXED);
	/* Release: nobody sees a change before the odd number. Pairs with the reader's second look.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(void)
{
	/* Release: the changes come before the even number. */
	__atomic_store_n(&sequence, sequence + 1, __ATOMIC_RELEASE);
	spy_unlock();
}

static struct node *load_next(struct node *n, int level)
{
	return __atomic_load_n(&n->next[level], __ATOMIC_ACQUIRE);
}

/* The last node that starts at or before `address`; `before[level]`: the last one that starts
 * before it. */
static inline __attribute__((always_inline)) struct node *seek(uint64_t address,
                                                               struct node **before)
{
	struct node *at = first();
	uint32_t steps = 0;

	for (int level = __atomic_load_n(&levels_used, __ATOMIC_RELAXED) - 1; level >= 0; level--) {
		for (struct node *n; (n = load_next(at, level)) && n->range.start < address; at = n)
			if (++steps > STEPS_MOST)
				return first();
		if (before)
			before[level] = at;
	}
	struct node *exact = load_next(at, 0);
	return exact && exact->range.start == address ? exact : at;
}

static bool holds(const struct node *n, uint64_t address)
{
	return n != first() && address >= n->range.start && address < n->range.end;
}

static void unlink_node(struct node *n)
{
	struct node *before[LEVELS];

	seek(n->range.start, before);
	for (uint32_t level = 0; level < n->levels; level++)
		if (before[level]->next[level] == n)
			__atomic_store_n(&before[level]->next[level], n->next[level],
			                 __ATOMIC_RELEASE);
	n->next[0] = spare[n->levels];
	spare[n->levels] = n;
}

/* Where writers leave no time to look: under their lock. */
static enum spy_memory __attribute__((noinline, cold)) find_locked(uint64_t address)
{
	spy_lock();
	struct node *n = seek(address, NULL);
	enum spy_memory memory = holds(n, address) ? n->range.memory : SPY_MEM_PAGEABLE;
	spy_unlock();
	return memory;
}

enum spy_memory memory_map_find(uint64_t address)
{
	for (int tries = 0; tries < 64; tries++) {
		uint64_t before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
		if (before & 1)
			continue;
		struct node *n = seek(address, NULL);
		bool found = holds(n, address);
		uint32_t memory = n->range.memory;
		/* Acquire: what was read above is read before the number is read again. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&sequence, __ATOMIC_RELAXED) == before)
			return found ? memory : SPY_MEM_PAGEABLE;
	}
	return find_locked(address);
}

void memory_map_add(const struct memory_range *range)
{
	struct node *before[LEVELS], *n;

	if (!range->start || range->end <= range->start)
		return;
	write_begin();
	n = seek(range->start, NULL);
	if (holds(n, range->start))
		unlink_node(n);
	seek(range->start, before);
	while ((n = before[0]->next[0]) && n->range.start < range->end)
		unlink_node(n);
	n = make_node();
	if (n && (int)n->levels > levels_used)
		__atomic_store_n(&levels_used, (int)n->levels, __ATOMIC_RELAXED);
	seek(range->start, before);
	if (n) {
		n->range = *range;
		for (uint32_t level = 0; level < n->levels; level++) {
			n->next[level] = before[level]->next[level];
			__atomic_store_n(&before[level]->next[level], n, __ATOMIC_RELEASE);
		}
	}
	write_end();
	if (!n)
		spy_count_anomaly(SPY_ANOMALY_MEMORY_FULL);
}

bool memory_map_remove(uint64_t address, struct memory_range *removed)
{
	bool found;

	if (!address)
		return false;
	write_begin();
	struct node *n = seek(address, NULL);
	found = holds(n, address);
	if (found) {
		*removed = n->range;
		unlink_node(n);
	}
	write_end();
	return found;
}

void memory_map_drop_context(uint64_t context)
{
	if (!context)
		return;
	write_begin();
	for (struct node *n = head.next[0], *next; n; n = next) {
		next = n->next[0];
		if (n->range.context == context)
			unlink_node(n);
	}
	write_end();
}
