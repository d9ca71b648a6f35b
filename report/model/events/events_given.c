/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"

static uint32_t hash(uint64_t cause)
{
	return (uint32_t)(cause * 0x9e3779b97f4a7c15u >> (64 - GIVEN_BITS));
}

void givens_start(struct givens *g)
{
	*g = (struct givens){.all = alloc_zeroed(GIVEN_MOST, sizeof(*g->all)),
	                     .heads = alloc_zeroed(GIVEN_MOST, sizeof(*g->heads))};
}

void givens_end(struct givens *g)
{
	free(g->all);
	free(g->heads);
}

static uint32_t place_of(const struct givens *g, const struct given *one)
{
	return (uint32_t)(one - g->all) + 1;
}

static struct given *at_place(struct givens *g, uint32_t place)
{
	return place ? &g->all[place - 1] : NULL;
}

/* Out of what is found by its hash, and out of the order of age. */
static void unlink_given(struct givens *g, struct given *old)
{
	uint32_t *at = &g->heads[hash(old->cause)];
	const uint32_t place = place_of(g, old);
	struct given *older = at_place(g, old->older), *newer = at_place(g, old->newer);

	while (*at && *at != place)
		at = &g->all[*at - 1].next;
	if (*at)
		*at = old->next;
	*(older ? &older->newer : &g->oldest) = old->newer;
	*(newer ? &newer->older : &g->newest) = old->older;
	g->unplaced += !old->placed;
}

void given_end(struct givens *g, struct given *old)
{
	unlink_given(g, old);
	old->cause = 0;
	old->next = g->free;
	g->free = place_of(g, old);
}

struct given *given_add(struct givens *g, uint64_t cause)
{
	uint32_t *head = &g->heads[hash(cause)], place = g->free;
	struct given *new;

	if (place) {
		g->free = g->all[place - 1].next;
	} else if (g->used < GIVEN_MOST) {
		place = ++g->used;
	} else {
		place = g->oldest;
		unlink_given(g, &g->all[place - 1]);
	}
	new = &g->all[place - 1];
	*new = (struct given){.cause = cause, .next = *head, .older = g->newest};
	*(g->newest ? &g->all[g->newest - 1].newer : &g->oldest) = place;
	g->newest = *head = place;
	return new;
}

struct given *given_find(struct givens *g, uint64_t cause)
{
	for (uint32_t at = g->heads[hash(cause)]; at; at = g->all[at - 1].next)
		if (g->all[at - 1].cause == cause)
			return &g->all[at - 1];
	return NULL;
}

uint64_t givens_unplaced(const struct givens *g)
{
	uint64_t count = g->unplaced;

	for (uint32_t i = 0; i < g->used; i++)
		count += g->all[i].cause && !g->all[i].placed;
	return count;
}
