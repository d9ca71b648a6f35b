/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_sites.h"

#define PROBES 64u

/* How often work of this class was sampled at this site. */
static void add_sample(struct tf_map *map, struct tf_sites *area, uint32_t site,
                       const struct tf_work *work)
{
	const uint64_t bytes = TF_SITE_PAIRS * sizeof(struct tf_site_pair);
	const struct tf_work *works =
	        tf_at(map, tf_header(map)->works, TF_WORKS * sizeof(struct tf_work));

	if (!area->pairs && !area->pairs_lost) /* asked for once */
		area->pairs = map->alloc(map, bytes);
	struct tf_site_pair *pairs = tf_at(map, area->pairs, bytes);
	if (!pairs || !works) {
		area->pairs_lost++;
		return;
	}
	uint32_t index = (uint32_t)(work - works);
	uint32_t at = (site * 2654435761u ^ index * 2246822519u) % TF_SITE_PAIRS;
	for (uint32_t n = 0; n < PROBES; n++, at = (at + 1) % TF_SITE_PAIRS) {
		struct tf_site_pair *p = &pairs[at];
		if (!p->site) {
			p->work = index;
			p->site = site;
		}
		if (p->site == site && p->work == index) {
			p->samples++;
			return;
		}
	}
	area->pairs_lost++;
}

/* A piece of work that stands for others: one that was timed, or where CUPTI times all of them a
 * launch, of which some are chosen at random. */
static bool is_sample(const struct tf_map *map, const struct tf_record *r, unsigned cls)
{
	if (cls == SPY_CLASS_LAUNCH || cls == SPY_CLASS_GRAPH_LAUNCH)
		return r->flags & TF_SAMPLED || tf_header(map)->gpu_mode == TF_GPU_CUPTI;
	return r->flags & TF_SAMPLED;
}

void drain_site(struct tf_map *map, const struct tf_record *r, unsigned cls,
                const struct tf_work *work)
{
	struct tf_sites *area = tf_at(map, tf_header(map)->sites, sizeof(*area));
	uint32_t number = tf_site_of(r);
	struct tf_site *site =
	        area && number ? tf_entry(map, &area->sites, number - 1, sizeof(*site)) : NULL;

	if (!site)
		return;
	site->calls++;
	site->failed += r->result != 0;
	site->ticks += r->end - r->start;
	if (r->result || r->flags & TF_NO_ARGS)
		return;
	if (cls == SPY_CLASS_COPY) {
		site->bytes += r->copy.bytes;
		if (r->copy.memory == SPY_MEM_PAGEABLE)
			site->pageable_bytes += r->copy.bytes;
	} else if (cls == SPY_CLASS_ALLOC) {
		site->bytes += r->alloc.bytes;
	}
	if (!is_sample(map, r, cls))
		return;
	site->samples++;
	if (work)
		add_sample(map, area, number, work);
}
