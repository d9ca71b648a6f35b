/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_found.h"

#include "shim/core/format/histogram.h"
#include "shim/core/work/slices.h"

#define EPISODE_PAUSE 4 /* steps that a loop may pause for, and its episode goes on */
/* A loop longer than so many pieces of another one with less than so many of its markers is none of
 * these: the other loop was over before, or began later. */
#define WITHIN_PIECES  4
#define WITHIN_MARKERS 2

/* ---- rows ---- */

static struct tf_loop *row_at(const struct tf_map *map, uint32_t i)
{
	return tf_entry(map, &tf_header(map)->loops, i, sizeof(struct tf_loop));
}

struct tf_loop *steps_loop_of(const struct steps_detector *d, const struct tf_map *map)
{
	return d->known < d->known_count ? row_at(map, d->knowns[d->known].loop) : NULL;
}

/* The row is free for another loop: a stride of 0 says so. */
static void free_row(struct tf_map *map, uint32_t loop)
{
	struct tf_loop *l = row_at(map, loop);
	struct tf_hist *hist = l ? tf_at(map, l->hist, sizeof(*hist)) : NULL;

	if (!l)
		return;
	steps_forget(map, loop);
	slices_rearrange(map);
	*l = (struct tf_loop){.hist = hist ? l->hist : 0};
	if (hist)
		memset(hist, 0, sizeof(*hist));
	slices_rearrange(map);
}

/* A free row, or one more; UINT32_MAX where the table is full. */
static uint32_t find_row(struct tf_map *map)
{
	struct tf_table *loops = &tf_header(map)->loops;
	uint32_t count = tf_count(loops);

	for (uint32_t i = 0; i < count; i++) {
		const struct tf_loop *l = row_at(map, i);
		if (l && !l->stride && !l->steps)
			return i;
	}
	if (count >= TF_LOOPS_MAX || !tf_append(map, loops))
		return UINT32_MAX;
	tf_publish(loops);
	return count;
}

static void forget_known(struct steps_detector *d, struct tf_map *map, uint32_t k)
{
	free_row(map, d->knowns[k].loop);
	d->knowns[k] = d->knowns[--d->known_count];
}

/* The table is full: the detector's loop that took the least time goes. */
static bool drop_least(struct steps_detector *d, struct tf_map *map)
{
	struct tf_header *h = tf_header(map);
	uint64_t least = UINT64_MAX;
	uint32_t at = UINT32_MAX;

	for (uint32_t k = 0; k < d->known_count; k++) {
		const struct tf_loop *l = row_at(map, d->knowns[k].loop);
		if (l && l->ticks < least) {
			least = l->ticks;
			at = k;
		}
	}
	if (at == UINT32_MAX)
		return false;
	h->loops_dropped++;
	h->loops_dropped_ticks += least;
	forget_known(d, map, at);
	return true;
}

uint32_t steps_new_loop(struct steps_detector *d, struct tf_map *map, const struct tf_loop *as)
{
	uint32_t row = find_row(map);

	if (d->known_count == TF_LOOPS_MAX || row == UINT32_MAX) {
		if (!drop_least(d, map))
			return UINT32_MAX;
		row = find_row(map);
	}
	struct tf_loop *l = row_at(map, row);
	if (!l)
		return UINT32_MAX;
	uint64_t hist = l->hist;
	*l = *as;
	l->hist = hist;
	l->stride = 1;
	d->knowns[d->known_count] = (struct steps_known){.loop = row, .first = UINT64_MAX};
	return d->known_count++;
}

/*
 * Whether the loop lies in the pieces of another one, of so many events each: it is no longer than
 * some of these, or they begin and end in it.
 */
static bool lies_within(const struct steps_detector *d, const struct steps_known *known,
                        uint32_t marker, uint64_t events)
{
	uint64_t n = known->first > first_kept(d) ? known->first : first_kept(d);
	unsigned seen = 0;

	if (known->told < known->first + WITHIN_PIECES * events)
		return true;
	for (; n < known->told && n < d->count && seen < WITHIN_MARKERS; n++)
		seen += is_symbol(d, marker, n);
	return seen >= WITHIN_MARKERS;
}

void steps_drop_within(struct steps_detector *d, struct tf_map *map, uint32_t marker,
                       uint64_t first, uint64_t events)
{
	d->told = 0;
	for (uint32_t k = d->known_count; k-- > 0;) {
		const struct steps_known *known = &d->knowns[k];
		if (known->first >= first && known->events < events &&
		    lies_within(d, known, marker, events))
			forget_known(d, map, k);
		else if (known->told > d->told)
			d->told = known->told;
	}
	d->marker = 0;
}

/* ---- steps ---- */

/* Two neighbours become one: those with the shortest time between them. */
static void merge_episodes(struct tf_loop *l)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i + 1 < TF_EPISODES; i++)
		if (l->episode[i + 1].start - l->episode[i].end <
		    l->episode[at + 1].start - l->episode[at].end)
			at = i;
	l->episode[at].end = l->episode[at + 1].end;
	l->episode[at].steps += l->episode[at + 1].steps;
	for (uint32_t i = at + 1; i + 1 < TF_EPISODES; i++)
		l->episode[i] = l->episode[i + 1];
	l->merged++;
}

/* A step from `start` to `end` belongs to the last episode, or begins one. */
static void add_to_episode(struct tf_loop *l, bool begins, uint64_t start, uint64_t end)
{
	/* Read once: a recording that is cut while it is written becomes zeros. The reporter drains
	 * files too, whose count may be anything. */
	uint32_t count = __atomic_load_n(&l->episodes, __ATOMIC_RELAXED);

	if (count > TF_EPISODES)
		count = TF_EPISODES;
	if (begins || !count) {
		if (count >= TF_EPISODES) {
			merge_episodes(l);
			count = TF_EPISODES - 1;
		}
		l->episode[count++] = (struct tf_episode){.start = start};
		l->episodes = count;
	}
	l->episode[count - 1].end = end;
	l->episode[count - 1].steps++;
}

void steps_put(struct steps_detector *d, struct tf_map *map, const struct steps_segment *s,
               double how, uint64_t behind)
{
	struct tf_loop *l = steps_loop_of(d, map);
	struct steps_known *known = &d->knowns[d->known];
	bool odd = how < ALIKE_ODD;

	if (!l || s->end < s->start)
		return;
	struct tf_step row = {.start = s->start,
	                      .end = s->end,
	                      .source = known->loop,
	                      .number = (uint32_t)l->steps,
	                      .thread = (uint16_t)d->thread,
	                      .flags = TF_STEP_FOUND | (odd ? TF_STEP_ODD : 0),
	                      .counts = s->counts};
	/* It goes on after a short pause in which no other loop was. */
	uint64_t mean = steps_mean(l);
	bool pending = s->start >= d->begins;
	bool begins = pending &&
	              (known->told < d->told || s->start > known->last_end + EPISODE_PAUSE * mean);

	if (known->first == UINT64_MAX)
		known->first = s->first;
	if (!odd) {
		known->events = s->events;
		memcpy(known->buckets, s->buckets, sizeof(known->buckets));
	}
	known->told = d->told = behind;
	known->last_end = s->end;
	if (pending)
		d->begins = STEP_NONE;
	l->steps++;
	l->events += s->events;
	l->alike_x1000 += (uint64_t)(how * 1000 + 0.5);
	l->odd += odd;
	l->ticks += s->end - s->start;
	steps_add_counts(&l->counts, &s->counts);
	add_to_episode(l, begins, s->start, s->end);
	if (!l->hist)
		l->hist = map->alloc(map, sizeof(struct tf_hist));
	struct tf_hist *hist = tf_at(map, l->hist, sizeof(*hist));
	if (hist)
		hist_add(hist, s->end - s->start);
	steps_row(map, &row, &l->rows, &l->stride);
}
