/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/memory_map.h"

#include <stddef.h>
#include <sys/mman.h>
#include "shim/base/gate.h"

/*
 * A skip list of ranges. A range that is forgotten keeps its node: a program gets the addresses
 * that it gave back again, and then a word is changed, without a lock or a system call, as when
 * they are forgotten. The nodes themselves change under the shim's lock, and a sequence lock for
 * those who read.
 *
 * Nodes are never given back to the system, so a reader that walks while a writer works may read
 * nonsense but never outside; the sequence number tells it to look again. One that changes the word
 * of a node which a writer has changed meanwhile fails: the word has a version.
 */
#define LEVELS     16
#define ARENA      (256u << 10)
#define STEPS_MOST 100000u /* of a reader that lost its way: then it looks again */
#define TRIES      64      /* of a reader; then it takes the lock */
#define SWEEP      4u      /* nodes looked at for each that is added, while there are too many */
#define FEW        16384u  /* nodes that are never too many: a megabyte */

/* A node's word: how much of it is memory now (0 = none; up to 16 TiB), and how often a writer
 * changed it: who is away for a million changes of one node may take it for another. */
#define BYTES_BITS 44
#define BYTES_MOST ((1ull << BYTES_BITS) - 1)

struct node {
	uint64_t start, context, reach; /* no other node begins within its reach */
	uint32_t memory, sized;
	uint64_t word; /* anybody changes it; all else is written under the lock */
	uint32_t levels;
	struct node *next[];
};

/* Its first node, which starts at 0 and holds nothing. */
static uint64_t head[(sizeof(struct node) + LEVELS * sizeof(struct node *)) / sizeof(uint64_t)];
static struct node *spare[LEVELS + 1]; /* by number of levels */
static uint8_t *arena;
static size_t arena_left;
static uint64_t sequence;   /* odd: a writer is busy */
static int levels_used = 1; /* highest of any node so far: where a search starts */
static uint64_t seed = 0x2545f4914f6cdd1du;
static uint32_t nodes, enough = FEW; /* in the list; so many before the next sweep */
static uint64_t swept = UINT64_MAX;  /* the sweep is here; UINT64_MAX: there is none */

static struct node *first(void)
{
	return (struct node *)(void *)head;
}

/* ---- a node's word ---- */

static uint64_t bytes_of(uint64_t word)
{
	return word & BYTES_MOST;
}

static uint64_t word_with(uint64_t word, uint64_t bytes)
{
	return (word & ~BYTES_MOST) | (bytes < BYTES_MOST ? bytes : BYTES_MOST);
}

/* What a writer makes of it, so that nobody who saw it before it was changed changes it. */
static uint64_t word_changed(uint64_t word, uint64_t bytes)
{
	return word_with(word + BYTES_MOST + 1, bytes);
}

static uint64_t load_word(const struct node *n)
{
	return __atomic_load_n(&n->word, __ATOMIC_ACQUIRE);
}

static bool change_word(struct node *n, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&n->word, &from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_RELAXED);
}

/* ---- nodes: under the lock ---- */

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
	arena_left -= bytes; /* first: a forked child may be left in between */
	n = (struct node *)arena;
	arena += bytes;
	n->levels = levels;
	return n;
}

static void write_begin(void)
{
	spy_lock();
	/* It is odd already in a child of such a moment. */
	__atomic_store_n(&sequence, (sequence + 1) | 1, __ATOMIC_RELAXED);
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

static uint64_t start_of(const struct node *n)
{
	return __atomic_load_n(&n->start, __ATOMIC_RELAXED);
}

/* The last node that starts at or before `address`; `before[level]`: the last one that starts
 * before it. */
static inline __attribute__((always_inline)) struct node *seek(uint64_t address,
                                                               struct node **before)
{
	struct node *at = first();
	uint32_t steps = 0;

	for (int level = __atomic_load_n(&levels_used, __ATOMIC_RELAXED) - 1; level >= 0; level--) {
		for (struct node *n; (n = load_next(at, level)) && start_of(n) < address; at = n)
			if (++steps > STEPS_MOST)
				return first();
		if (before)
			before[level] = at;
	}
	struct node *exact = load_next(at, 0);
	return exact && start_of(exact) == address ? exact : at;
}

static void keep_spare(struct node *n)
{
	__atomic_store_n(&n->next[0], spare[n->levels], __ATOMIC_RELAXED);
	spare[n->levels] = n;
	nodes--;
}

/* From here on it is nobody's: who saw it before cannot change it. */
static void disown(struct node *n)
{
	for (uint64_t word = load_word(n); !change_word(n, word, word_changed(word, 0));)
		word = load_word(n);
}

/* Takes those out that start before `end`, from the one behind before[0] on. Level by level from
 * the top: at each moment it is a list, which a forked child may be left with. */
static void unlink_until(struct node **before, uint64_t end)
{
	struct node *n, *first_out = before[0]->next[0], *next;

	for (n = first_out; n && n->start < end; n = n->next[0])
		disown(n);
	struct node *behind = n;
	for (int level = levels_used - 1; level >= 0; level--) {
		for (n = before[level]->next[level]; n && n->start < end; n = n->next[level])
			;
		__atomic_store_n(&before[level]->next[level], n, __ATOMIC_RELEASE);
	}
	for (n = first_out; n != behind; n = next) {
		next = n->next[0];
		keep_spare(n);
	}
}

static void forget(struct node *n)
{
	struct node *before[LEVELS];

	seek(n->start, before);
	unlink_until(before, n->start + 1);
}

/* A new range begins within what n may come to hold: it holds less from now on, or is gone where it
 * holds memory there. */
static void cut(struct node *n, uint64_t at)
{
	uint64_t word = load_word(n);

	while (bytes_of(word) <= at - n->start) {
		if (change_word(n, word, word_changed(word, bytes_of(word)))) {
			__atomic_store_n(&n->reach, at, __ATOMIC_RELAXED);
			return;
		}
		word = load_word(n);
	}
	forget(n);
}

/* Nodes without memory go once there are twice as many as the last sweep left: some at a time. */
static void sweep(void)
{
	if (swept == UINT64_MAX && nodes >= enough)
		swept = 0;
	for (uint32_t i = 0; i < SWEEP && swept != UINT64_MAX; i++) {
		struct node *at = seek(swept, NULL), *n = load_next(at, 0);
		if (!n) {
			swept = UINT64_MAX;
			enough = nodes < FEW / 2 ? FEW : 2 * nodes;
			break;
		}
		swept = n->start;
		uint64_t word = load_word(n);
		if (!bytes_of(word) && change_word(n, word, word_changed(word, 0)))
			forget(n);
	}
}

static bool insert(const struct memory_range *range)
{
	struct node *before[LEVELS], *n = seek(range->start, NULL);

	if (n != first() && n->start == range->start)
		forget(n);
	else if (n != first() && n->reach > range->start)
		cut(n, range->start);
	seek(range->start, before);
	unlink_until(before, range->end);
	n = make_node();
	if (!n)
		return false;
	if ((int)n->levels > levels_used)
		__atomic_store_n(&levels_used, (int)n->levels, __ATOMIC_RELAXED);
	seek(range->start, before); /* of the new levels too */
	__atomic_store_n(&n->start, range->start, __ATOMIC_RELAXED);
	__atomic_store_n(&n->reach, range->end, __ATOMIC_RELAXED);
	__atomic_store_n(&n->context, range->context, __ATOMIC_RELAXED);
	__atomic_store_n(&n->memory, range->memory, __ATOMIC_RELAXED);
	__atomic_store_n(&n->sized, range->sized, __ATOMIC_RELAXED);
	/* Nobody else changes it: whoever saw it in the list before has an older version. */
	__atomic_store_n(&n->word, word_changed(n->word, range->end - range->start),
	                 __ATOMIC_RELAXED);
	for (uint32_t level = 0; level < n->levels; level++) {
		__atomic_store_n(&n->next[level], before[level]->next[level], __ATOMIC_RELAXED);
		__atomic_store_n(&before[level]->next[level], n, __ATOMIC_RELEASE);
	}
	nodes++;
	sweep();
	return true;
}

/* ---- without the lock ---- */

struct seen {
	struct node *node; /* the last one that starts at or before an address */
	uint64_t word, reach;
	struct memory_range range; /* as of its word: empty where it holds no memory */
};

/* All of it as it was at one moment; false: writers leave no time to look. */
static inline __attribute__((always_inline)) bool look(uint64_t address, struct seen *to)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
		if (before & 1)
			continue;
		struct node *n = to->node = seek(address, NULL);
		to->word = load_word(n);
		to->reach = __atomic_load_n(&n->reach, __ATOMIC_RELAXED);
		to->range.start = start_of(n);
		to->range.end = to->range.start + bytes_of(to->word);
		to->range.context = __atomic_load_n(&n->context, __ATOMIC_RELAXED);
		to->range.memory = __atomic_load_n(&n->memory, __ATOMIC_RELAXED);
		to->range.sized = __atomic_load_n(&n->sized, __ATOMIC_RELAXED);
		/* Acquire: what was read above is read before the number is read again. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&sequence, __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

/* The first node holds none. */
static bool holds(const struct seen *s, uint64_t address)
{
	return address - s->range.start < s->range.end - s->range.start;
}

/* Where writers leave no time to look: under their lock. */
static void __attribute__((noinline, cold)) look_locked(uint64_t address, struct seen *to)
{
	spy_lock();
	while (!look(address, to)) /* the sequence is odd for good in a child of such a moment */
		__atomic_store_n(&sequence, sequence + 1, __ATOMIC_RELAXED);
	spy_unlock();
}

enum spy_memory memory_map_find(uint64_t address)
{
	struct seen s;

	if (!look(address, &s))
		look_locked(address, &s);
	return holds(&s, address) ? s.range.memory : SPY_MEM_PAGEABLE;
}

/* Memory of the same kind was here before, and the range lies within its node. */
static bool revive(const struct memory_range *range)
{
	struct seen s;
	uint64_t bytes = range->end - range->start;

	return look(range->start, &s) && s.node != first() && s.range.start == range->start &&
	       s.range.context == range->context && s.range.memory == range->memory &&
	       s.range.sized == range->sized && bytes <= s.reach - range->start &&
	       change_word(s.node, s.word, word_with(s.word, bytes));
}

void memory_map_add(const struct memory_range *range)
{
	if (!range->start || range->end <= range->start || revive(range))
		return;
	write_begin();
	bool known = insert(range);
	write_end();
	if (!known)
		spy_count_anomaly(SPY_ANOMALY_MEMORY_FULL);
}

bool memory_map_remove(uint64_t address, struct memory_range *removed)
{
	struct seen s;

	if (!address)
		return false;
	do {
		if (!look(address, &s))
			look_locked(address, &s);
		if (!holds(&s, address))
			return false;
	} while (!change_word(s.node, s.word, word_with(s.word, 0)));
	*removed = s.range;
	return true;
}

/* Its nodes stay: whoever is given the places again finds them. */
void memory_map_drop_context(uint64_t context)
{
	if (!context)
		return;
	write_begin();
	for (struct node *n = first()->next[0]; n; n = n->next[0]) {
		uint64_t word = load_word(n);
		while (n->context == context && bytes_of(word) &&
		       !change_word(n, word, word_changed(word, 0)))
			word = load_word(n);
	}
	write_end();
}
