/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that one side of a comparison has and the other has not: less of a program was recorded. */
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"

static bool has_rank(const struct figures_ranks *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->names[i], name))
			return true;
	return false;
}

const char *ranks_missing(const struct figures_ranks *of, const struct figures_ranks *in)
{
	/* One process is the same with a launcher and without. */
	if (!of->known || !in->known || (of->count == 1 && !in->count))
		return NULL;
	for (size_t i = 0; i < of->count; i++)
		if (!has_rank(in, of->names[i]))
			return of->names[i];
	return NULL;
}

char *judge_ranks_unsure(const struct judge_trial *c, const struct figures *f)
{
	const struct run_set *before = c->judge->before, *after = c->judge->after;
	bool newer = f >= after->runs && f < after->runs + after->count;
	const struct run_set *others = newer ? before : after;

	for (size_t i = 0; i < others->count; i++) {
		const char *rank = ranks_missing(&others->runs[i].ranks, &f->ranks);
		if (rank)
			return alloc_format("%s: no recording of rank %s, which %s has", f->name,
			                    rank, others->runs[i].name);
	}
	return NULL;
}
