/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/events/events_internal.h"

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

static void forget(struct givens *g, struct given *old)
{
	uint32_t *at = &g->heads[hash(old->cause)];
	const uint32_t place = (uint32_t)(old - g->all) + 1;

	while (*at && *at != place)
		at = &g->all[*at - 1].next;
	if (*at)
		*at = old->next;
	g->unplaced += !old->placed;
}

struct given *given_add(struct givens *g, uint64_t cause)
{
	struct given *new = &g->all[g->at];
	uint32_t *head = &g->heads[hash(cause)];

	if (new->cause)
		forget(g, new);
	*new = (struct given){.cause = cause, .next = *head};
	*head = g->at + 1;
	g->at = (g->at + 1) % GIVEN_MOST;
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

	for (uint32_t i = 0; i < GIVEN_MOST; i++)
		count += g->all[i].cause && !g->all[i].placed;
	return count;
}
