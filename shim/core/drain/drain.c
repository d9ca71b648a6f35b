/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain.h"

#include <sys/mman.h>
#include "shim/core/drain/drain_feed.h"

/* Records taken between two looks of the producer at the tail. */
#define GIVE_BACK DRAIN_TWICE_MOST

/* One thread's records in this round. */
struct drain_source {
	uint64_t end; /* of the next record; of what is no call 0: it goes with what is before it */
	uint64_t tail, head;
	struct tf_ring *ring;
	struct tf_thread *thread;
	uint32_t index;
	uint32_t rings; /* seen in this round */
	uint64_t mask;  /* of the ring's slots */
};

/* Whose turn it is: a heap by `end`, which is the source's. */
struct drain_turn {
	uint64_t end;
	struct drain_source *source;
};

/* ---- rings ---- */

/* `*slots`: how many it has, a power of two. Read once, here: a recording that is cut while it is
 * written becomes zeros. */
static struct tf_ring *ring_at(const struct drain *d, uint64_t offset, uint64_t *slots)
{
	struct tf_ring *ring = tf_at(d->map, offset, sizeof(*ring));
	uint64_t capacity = ring ? __atomic_load_n(&ring->capacity, __ATOMIC_RELAXED) : 0;

	if (!capacity || capacity & (capacity - 1) || capacity > (1u << 26) ||
	    !tf_at(d->map, offset, sizeof(*ring) + capacity * sizeof(struct tf_record)))
		return NULL;
	*slots = capacity;
	return ring;
}

/*
 * What is to be taken from the chain of rings whose present one is at `*at`: its first ring that
 * holds records, or NULL. Moves `*at` on past rings that are done.
 */
static struct tf_ring *next_ring(const struct drain *d, uint64_t *at, uint32_t *rings,
                                 uint64_t *tail, uint64_t *head, uint64_t *slots)
{
	while ((*rings)++ < TF_RINGS_MOST) {
		struct tf_ring *ring = ring_at(d, *at, slots);
		if (!ring)
			return NULL;
		/* Acquire: first the successor, then the head, so that a head seen with a successor
		 * is final. */
		uint64_t next = __atomic_load_n(&ring->next, __ATOMIC_ACQUIRE);
		/* Acquire: records below the head are complete. Pairs with the release in
		 * ring_publish(). */
		*head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		*tail = ring->tail;
		if (*head - *tail > *slots)
			return NULL;
		if (*head != *tail)
			return ring;
		if (!next || next == *at)
			return NULL;
		*at = next;
	}
	return NULL;
}

/* Release: the records were read before their slots are given back. Pairs with ring_room(). */
static void give_back(struct tf_ring *ring, uint64_t tail)
{
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

/* The same while there are more. */
static void give_some_back(const struct drain *d, struct tf_ring *ring, uint64_t tail)
{
	give_back(ring, tail);
	if (d->taken)
		d->taken(d->watcher, GIVE_BACK);
}

/* ---- sources ---- */

static inline uint64_t end_at(const struct tf_record *r)
{
	return drain_is_call(r) ? r->end : 0;
}

static void look(struct drain_source *s)
{
	s->end = end_at(&s->ring->slots[s->tail & s->mask]);
}

/* False when the thread has no record for this round. */
static bool open_ring(const struct drain *d, struct drain_source *s, uint64_t until)
{
	uint64_t slots;

	s->ring = next_ring(d, &s->thread->ring_drain, &s->rings, &s->tail, &s->head, &slots);
	if (!s->ring)
		return false;
	s->mask = slots - 1;
	look(s);
	return s->end <= until;
}

/*
 * Takes the source's records as long as it is its turn: while they end by `limit`. Afterwards
 * `*more` says whether it has more in this round, which ends with `until`.
 */
static uint64_t take(struct drain *d, struct drain_source *s, uint64_t limit, uint64_t until,
                     bool *more)
{
	const struct tf_record *slots = s->ring->slots;
	const uint64_t from = s->tail, head = s->head, mask = s->mask;
	uint64_t tail = from;

	for (bool turn = true; turn && tail != head;) {
		const uint64_t due = GIVE_BACK - tail % GIVE_BACK;
		const struct drain_run run = {.slots = slots,
		                              .first = tail,
		                              .count = head - tail < due ? head - tail : due,
		                              .ready = head - tail,
		                              .mask = mask};
		unsigned n = drain_feed_launches(d, s->thread, s->index, &run, limit);
		if (!n) {
			const struct tf_record r = slots[tail & mask];
			drain_feed(d, s->thread, s->index, &r);
			n = 1;
		}
		tail += n;
		if (tail % GIVE_BACK == 0)
			give_some_back(d, s->ring, tail);
		if (tail != head)
			turn = end_at(&slots[tail & mask]) <= limit;
	}
	s->tail = tail;
	if (tail != head)
		look(s);
	uint64_t taken = s->tail - from;
	if (s->tail != s->head && s->end <= until) {
		*more = true;
		return taken;
	}
	give_back(s->ring, s->tail);
	*more = s->tail == s->head && open_ring(d, s, until);
	return taken;
}

static void sift_down(struct drain_turn *turns, uint32_t n, uint32_t at)
{
	const struct drain_turn turn = turns[at];

	for (uint32_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
		if (child + 1 < n && turns[child + 1].end < turns[child].end)
			child++;
		if (turns[child].end >= turn.end)
			break;
		turns[at] = turns[child];
	}
	turns[at] = turn;
}

/* Memory of so many sources, and as many turns behind them. */
static uint64_t sources_bytes(uint32_t room)
{
	return room * (sizeof(struct drain_source) + sizeof(struct drain_turn));
}

/* Room for that many sources; what there is room for. */
static uint32_t make_room(struct drain *d, uint32_t threads)
{
	uint32_t room = d->room ? d->room : 1024;

	if (threads <= d->room)
		return threads;
	while (room < threads)
		room *= 2;
	void *sources = mmap(NULL, sources_bytes(room), PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sources == MAP_FAILED)
		return d->room;
	if (d->sources)
		munmap(d->sources, sources_bytes(d->room));
	d->sources = sources;
	d->turns = (struct drain_turn *)(d->sources + room);
	d->room = room;
	return threads;
}

static uint32_t open_sources(struct drain *d, uint64_t until)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t threads = tf_count(&h->threads), n = 0;

	threads = make_room(d, threads < UINT16_MAX ? threads : UINT16_MAX);
	d->fullest = 0;
	for (uint32_t i = 0; i < threads; i++) {
		const uint64_t *offset = tf_entry(d->map, &h->threads, i, sizeof(*offset));
		struct tf_thread *thread = offset ? tf_at(d->map, *offset, sizeof(*thread)) : NULL;
		if (!thread)
			continue;
		if (!thread->ring_drain)
			thread->ring_drain = thread->ring_first;
		struct drain_source *s = &d->sources[n];
		*s = (struct drain_source){.thread = thread, .index = i};
		if (open_ring(d, s, until)) {
			d->turns[n] = (struct drain_turn){s->end, s};
			n++;
		}
		uint64_t filled = s->ring ? (s->head - s->tail) * 64 / (s->mask + 1) : 0;
		if (filled > d->fullest)
			d->fullest = (uint32_t)filled;
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(d->turns, n, i);
	return n;
}

/* CUPTI's records, as they come. */
static uint64_t drain_activities(struct drain *d)
{
	struct tf_header *h = tf_header(d->map);
	uint64_t tail, head, slots, taken = 0;
	uint32_t rings = 0;
	struct tf_ring *ring;

	if (!h->activity_drain)
		h->activity_drain = h->activity_ring;
	while ((ring = next_ring(d, &h->activity_drain, &rings, &tail, &head, &slots))) {
		for (; tail != head; taken++) {
			struct tf_record r = ring->slots[tail & (slots - 1)];
			drain_feed_activity(d, &r);
			if (++tail % GIVE_BACK == 0)
				give_some_back(d, ring, tail);
		}
		give_back(ring, tail);
	}
	return taken;
}

uint64_t drain_all(struct drain *d, uint64_t until)
{
	uint64_t taken = 0;

	if (!drain_feed_begin(d))
		return 0;
	for (uint32_t n = open_sources(d, until); n; sift_down(d->turns, n, 0)) {
		struct drain_source *s = d->turns[0].source;
		uint64_t limit = until;
		bool more;
		for (uint32_t next = 1; next < n && next <= 2; next++)
			if (d->turns[next].end < limit)
				limit = d->turns[next].end;
		taken += take(d, s, limit, until, &more);
		if (more)
			d->turns[0].end = s->end;
		else
			d->turns[0] = d->turns[--n];
	}
	if (tf_header(d->map)->activity_ring)
		taken += drain_activities(d);
	return taken;
}

void drain_end(struct drain *d)
{
	if (d->sources)
		munmap(d->sources, sources_bytes(d->room));
	d->sources = NULL;
	d->turns = NULL;
	d->room = 0;
	drain_feed_end(d);
}
