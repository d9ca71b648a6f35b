/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_found.h"

#include <sys/mman.h>
#include "shim/core/work/work_class.h"

#define DETECTORS 4u /* threads looked at: those that give most work */
#define FIRST_LOOK                                                                                 \
	64u /* events; then whenever there are twice as many, then each HISTORY, later each OFTEN  \
	       of them */
#define OFTEN 8u /* looks at each HISTORY; then every so many of them */

struct steps {
	struct steps_detector detectors[DETECTORS];
	struct steps_detector *recent; /* of the thread that called last; NULL = none */
	uint32_t seen[256];            /* events of threads, by the index's low byte */
	struct steps_look look;
};

struct steps *steps_new(void)
{
	void *p = mmap(NULL, sizeof(struct steps), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void steps_free(struct steps *s)
{
	if (s)
		munmap(s, sizeof(*s));
}

/* ---- events ---- */

static uint32_t symbol(uint64_t a, uint64_t b, uint32_t fine)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	/* The lowest bit tells the two kinds of symbols apart; none is 0. */
	return ((uint32_t)(h >> 32) & ~1u) | 2u | fine;
}

/* Whether a record tells anything of steps. */
static bool tells(const struct tf_record *r, unsigned cls)
{
	/* Allocations are counted alone: caches make them irregular. */
	const unsigned telling = 1u << SPY_CLASS_LAUNCH | 1u << SPY_CLASS_GRAPH_LAUNCH |
	                         1u << SPY_CLASS_COPY | 1u << SPY_CLASS_SET | 1u << SPY_CLASS_SYNC |
	                         1u << SPY_CLASS_ALLOC;

	return !r->result && !(r->flags & (TF_NESTED | TF_CAPTURED)) && telling >> cls & 1;
}

static void event_of(struct steps_event *e, struct steps_symbols *symbols,
                     const struct tf_record *r, unsigned cls)
{
	const bool args = !(r->flags & TF_NO_ARGS);
	uint64_t shape = 0;

	e->start = r->start;
	e->end = r->end;
	e->bytes = e->id = 0;
	e->items = 1;
	e->cls = (uint8_t)cls;
	e->pageable = false;
	switch (cls) {
	case SPY_CLASS_LAUNCH:
		e->id = args ? r->launch.kernel : TF_KERNEL_UNKNOWN;
		e->items = args && r->launch.items ? (uint16_t)r->launch.items : 1;
		if (args)
			shape = (r->launch.grid_x * 0x10001ull + r->launch.grid_y) * 0x10001u +
			        r->launch.grid_z * 77u + r->launch.block_x * 0x1000003ull +
			        r->launch.block_y * 1031u + r->launch.block_z + 1;
		break;
	case SPY_CLASS_GRAPH_LAUNCH:
		e->id = args ? work_graph(r->graph.graph, r->graph.content) : 0;
		break;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		e->items = args && r->copy.items ? r->copy.items : 1;
		e->bytes = args ? r->copy.bytes : 0;
		if (args && cls == SPY_CLASS_COPY && r->copy.direction < SPY_DIR_COUNT &&
		    r->copy.memory < SPY_MEM_COUNT) {
			e->id = TF_COPY_KIND(r->copy.direction, r->copy.memory, r->copy.async);
			e->pageable = r->copy.memory == SPY_MEM_PAGEABLE;
		}
		shape = e->bytes;
		break;
	case SPY_CLASS_SYNC:
		e->id = r->call;
		break;
	default:
		*symbols = (struct steps_symbols){0};
		return;
	}
	symbols->coarse = symbol(cls, e->id + 1ull, 0);
	symbols->fine = symbol(cls, (e->id + 1ull) * 0x100000001b3u + shape, 1);
}

/* ---- threads ---- */

static struct steps_detector *detector_of(struct steps *s, uint32_t thread)
{
	struct steps_detector *least = &s->detectors[0];
	uint32_t *seen = &s->seen[thread % 256];

	*seen += *seen < UINT32_MAX;
	if (s->recent && s->recent->thread == thread)
		return s->recent;
	for (unsigned i = 0; i < DETECTORS; i++) {
		struct steps_detector *d = &s->detectors[i];
		if (d->used && d->thread == thread)
			return s->recent = d;
		if (!d->used || (least->used && d->count < least->count))
			least = d;
	}
	if (least->used && (least->marker || *seen < 2 * least->count + FIRST_LOOK))
		return NULL;
	/* The events stay where they are: those below the count are valid. */
	memset(least, 0, offsetof(struct steps_detector, symbols));
	least->used = true;
	least->thread = thread;
	return s->recent = least;
}

static bool time_to_look(const struct steps_detector *d)
{
	if (d->count <= STEP_HISTORY)
		return d->count >= FIRST_LOOK && !(d->count & (d->count - 1));
	if (d->count <= OFTEN * STEP_HISTORY)
		return d->count % STEP_HISTORY == 0;
	return d->count % (OFTEN * STEP_HISTORY) == 0;
}

/* A launch with its arguments: most are like the one before. */
static void launch_of(struct steps_detector *d, uint64_t n, const struct tf_record *r)
{
	struct steps_event *e = &d->events[n % STEP_HISTORY];
	struct steps_symbols *symbols = &d->symbols[n % STEP_HISTORY];

	if (!d->launch_symbols.coarse || d->launch[0] != r->arg[0] || d->launch[1] != r->arg[1] ||
	    d->launch[2] != r->arg[2]) {
		event_of(e, symbols, r, SPY_CLASS_LAUNCH);
		memcpy(d->launch, r->arg, sizeof(d->launch));
		d->launch_symbols = *symbols;
		return;
	}
	*symbols = d->launch_symbols;
	e->start = r->start;
	e->end = r->end;
	e->bytes = 0;
	e->id = r->launch.kernel;
	e->items = r->launch.items ? (uint16_t)r->launch.items : 1;
	e->cls = SPY_CLASS_LAUNCH;
	e->pageable = false;
}

void steps_call(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                unsigned cls)
{
	if (!s || !tells(r, cls))
		return;
	struct steps_detector *d = detector_of(s, thread);
	if (!d)
		return;
	uint64_t n = d->count++;
	if (cls == SPY_CLASS_LAUNCH && !(r->flags & TF_NO_ARGS))
		launch_of(d, n, r);
	else
		event_of(&d->events[n % STEP_HISTORY], &d->symbols[n % STEP_HISTORY], r, cls);
	if (d->marker)
		steps_walk(d, map, n);
	if (time_to_look(d))
		steps_look(&s->look, d, map);
}

void steps_finish(struct steps *s, struct tf_map *map)
{
	for (unsigned i = 0; s && i < DETECTORS; i++) {
		struct steps_detector *d = &s->detectors[i];
		if (!d->used)
			continue;
		if (d->looked < d->count && d->count <= STEP_HISTORY)
			steps_look(&s->look, d, map);
		steps_end_last(d, map);
	}
}
