/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"

#define NEAR_BITS 8 /* calls that begin so near, in ticks, share a place */

/* By the call's start: what is given one after the other is found beside one another, in caches.
 * The thread, above it, sets apart what several give at once. */
static uint32_t hash(uint64_t cause)
{
	return (uint32_t)((cause >> NEAR_BITS) + (cause >> 48) * 0x9e37u) % GIVEN_MOST;
}

void givens_start(struct events_givens *g)
{
	*g = (struct events_givens){.all = alloc_zeroed(GIVEN_MOST, sizeof(*g->all)),
	                            .heads = alloc_zeroed(GIVEN_MOST, sizeof(*g->heads))};
}

void givens_end(struct events_givens *g)
{
	free(g->all);
	free(g->heads);
}

static uint32_t place_of(const struct events_givens *g, const struct events_given *one)
{
	return (uint32_t)(one - g->all) + 1;
}

static struct events_given *at_place(struct events_givens *g, uint32_t place)
{
	return place ? &g->all[place - 1] : NULL;
}

/* Out of what is found by its hash, and out of the order of age. */
static void unlink_given(struct events_givens *g, struct events_given *old)
{
	uint32_t *at = &g->heads[hash(old->cause)];
	const uint32_t place = place_of(g, old);
	struct events_given *older = at_place(g, old->older), *newer = at_place(g, old->newer);

	while (*at && *at != place)
		at = &g->all[*at - 1].next;
	if (*at)
		*at = old->next;
	*(older ? &older->newer : &g->oldest) = old->newer;
	*(newer ? &newer->older : &g->newest) = old->older;
	g->unplaced += !old->placed;
}

void given_end(struct events_givens *g, struct events_given *old)
{
	unlink_given(g, old);
	old->cause = 0;
	old->next = g->free;
	g->free = place_of(g, old);
}

struct events_given *given_add(struct events_givens *g, uint64_t cause)
{
	uint32_t *head = &g->heads[hash(cause)], place = g->free;
	struct events_given *new;

	if (place) {
		g->free = g->all[place - 1].next;
	} else if (g->used < GIVEN_MOST) {
		place = ++g->used;
	} else {
		place = g->oldest;
		unlink_given(g, &g->all[place - 1]);
	}
	new = &g->all[place - 1];
	*new = (struct events_given){.cause = cause, .next = *head, .older = g->newest};
	*(g->newest ? &g->all[g->newest - 1].newer : &g->oldest) = place;
	g->newest = *head = place;
	return new;
}

struct events_given *given_find(struct events_givens *g, uint64_t cause)
{
	for (uint32_t at = g->heads[hash(cause)]; at; at = g->all[at - 1].next)
		if (g->all[at - 1].cause == cause)
			return &g->all[at - 1];
	return NULL;
}

uint64_t givens_unplaced(const struct events_givens *g)
{
	uint64_t count = g->unplaced;

	for (uint32_t i = 0; i < g->used; i++)
		count += g->all[i].cause && !g->all[i].placed;
	return count;
}
