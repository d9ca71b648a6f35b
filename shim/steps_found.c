#include "shim/steps_found.h"

#include <sys/mman.h>

#define DETECTORS 4u /* threads looked at: those that give most work */
#define FIRST_LOOK                                                                                 \
	64u /* events; then whenever there are twice as many, then each HISTORY, later each OFTEN  \
	       of them */
#define OFTEN        8u  /* looks at each HISTORY; then every so many of them */
#define STEP_EVENTS  1.9 /* a marker every so few events makes no steps, but for graph launches */
#define OCCUR_LEAST  4u  /* occurrences of a marker */
#define OCCUR_MANY   12u
#define OCCUR_LONG   6u /* at least, where steps are longer than LONG events */
#define LONG         2000
#define COVER_LEAST  0.5  /* of the events looked at: between its first and last occurrence */
#define ALIKE_LEAST  0.75 /* steps of a pattern, on average */
#define ALIKE_FEW    0.95 /* where the marker occurs less than OCCUR_MANY times */
#define ALIKE_EQUAL  0.02 /* markers whose steps are alike within this are equally good */
#define ALIKE_ODD    0.5
#define ALIKE_CHANGE 0.1 /* another marker must be that much better to take over later on */

struct steps {
	struct detector detectors[DETECTORS];
	struct detector *recent; /* of the thread that called last; NULL = none */
	uint32_t seen[256];      /* events of threads, by the index's low byte */
	struct look look;
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
static bool tells(const struct tf_record *r, unsigned class)
{
	/* Allocations are counted alone: caches make them irregular. */
	const unsigned telling = 1u << SPY_CLASS_LAUNCH | 1u << SPY_CLASS_GRAPH_LAUNCH |
	                         1u << SPY_CLASS_COPY | 1u << SPY_CLASS_SET | 1u << SPY_CLASS_SYNC |
	                         1u << SPY_CLASS_ALLOC;

	return !r->result && !(r->flags & (TF_NESTED | TF_CAPTURED)) && telling >> class & 1;
}

static void event_of(struct event *e, struct symbols *symbols, const struct tf_record *r,
                     unsigned class)
{
	const bool args = !(r->flags & TF_NO_ARGS);
	uint64_t shape = 0;

	e->start = r->start;
	e->end = r->end;
	e->bytes = e->id = 0;
	e->items = 1;
	e->class = (uint8_t) class;
	e->pageable = false;
	switch (class) {
	case SPY_CLASS_LAUNCH:
		e->id = args ? r->launch.kernel : TF_KERNEL_UNKNOWN;
		e->items = args && r->launch.items ? (uint16_t)r->launch.items : 1;
		if (args)
			shape = (r->launch.grid_x * 0x10001ull + r->launch.grid_y) * 0x10001u +
			        r->launch.grid_z * 77u + r->launch.block_x * 0x1000003ull +
			        r->launch.block_y * 1031u + r->launch.block_z + 1;
		break;
	case SPY_CLASS_GRAPH_LAUNCH:
		e->id = args ? r->graph.graph : 0;
		break;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		e->items = args && r->copy.items ? r->copy.items : 1;
		e->bytes = args ? r->copy.bytes : 0;
		if (args && class == SPY_CLASS_COPY && r->copy.direction < SPY_DIR_COUNT &&
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
		*symbols = (struct symbols){0};
		return;
	}
	symbols->coarse = symbol(class, e->id + 1ull, 0);
	symbols->fine = symbol(class, (e->id + 1ull) * 0x100000001b3u + shape, 1);
}

/* ---- steps of a pattern, one after the other ---- */

static double alike(const uint32_t *a, const uint32_t *b)
{
	uint64_t differ = 0, sum = 0;

	for (unsigned i = 0; i < STEP_BUCKETS; i++) {
		differ += a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
		sum += (uint64_t)a[i] + b[i];
	}
	return sum ? 1 - (double)differ / (double)sum : 0;
}

static void put_row(const struct detector *d, struct tf_map *map, struct tf_pattern *p,
                    const struct segment *s, double how)
{
	struct tf_step row = {.start = s->start,
	                      .end = s->end,
	                      .source = d->pattern,
	                      .number = (uint32_t)p->steps,
	                      .thread = (uint16_t)d->thread,
	                      .flags = TF_STEP_FOUND | (how < ALIKE_ODD ? TF_STEP_ODD : 0),
	                      .counts = s->counts};

	p->steps++;
	p->events += s->events;
	p->alike_x1000 += (uint64_t)(how * 1000 + 0.5);
	p->odd += how < ALIKE_ODD;
	if (row.end >= row.start)
		steps_row(map, &row, &p->rows, &p->stride);
}

static struct tf_pattern *pattern_at(const struct detector *d, const struct tf_map *map)
{
	return tf_entry(map, &tf_header(map)->patterns, d->pattern, sizeof(struct tf_pattern));
}

static void put_held(struct detector *d, struct tf_map *map, struct tf_pattern *p)
{
	for (uint32_t i = 0; i < d->held_count; i++)
		put_row(d, map, p, &d->held[i], alike(d->held[i].buckets, d->typical.buckets));
	d->held_count = 0;
}

/*
 * A step is over. The first one waits for the second, and an odd one for the next that is not: what
 * comes before or after a loop is no step of it.
 */
static void end_segment(struct detector *d, struct tf_map *map, struct segment *s)
{
	struct tf_pattern *p = pattern_at(d, map);

	if (!p || !s->events)
		return;
	double how = d->has_typical ? alike(s->buckets, d->typical.buckets) : 0;
	if (d->first_waits && how >= ALIKE_LEAST)
		put_row(d, map, p, &d->typical, how);
	if (!d->has_typical || d->first_waits) {
		d->first_waits = !d->has_typical || how < ALIKE_LEAST;
		d->has_typical = true;
		d->typical = *s;
		if (!d->first_waits)
			put_row(d, map, p, s, how);
		return;
	}
	if (how < ALIKE_ODD) {
		d->held[d->held_count++] = *s;
		if (d->held_count < STEP_ODD_MOST)
			return;
		put_held(d, map, p);
	} else {
		put_held(d, map, p);
		put_row(d, map, p, s, how);
	}
	d->typical = *s;
}

static void add_event(struct segment *s, const struct event *e, const struct symbols *symbols)
{
	struct tf_counts *c = &s->counts;

	switch (e->class) {
	case SPY_CLASS_LAUNCH:
		c->launches += e->items;
		c->launch_ticks += e->end - e->start;
		break;
	case SPY_CLASS_GRAPH_LAUNCH:
		c->graph_launches++;
		c->launch_ticks += e->end - e->start;
		break;
	case SPY_CLASS_COPY:
		c->copies += e->items;
		c->copy_bytes += e->bytes;
		c->pageable_copies += e->pageable ? e->items : 0;
		break;
	case SPY_CLASS_SET:
		c->sets++;
		break;
	case SPY_CLASS_SYNC:
		c->syncs++;
		break;
	default:
		c->allocs++;
	}
	if (!symbols->coarse)
		return;
	s->events++;
	s->buckets[symbols->coarse / 2 % STEP_BUCKETS]++;
}

static bool is_marker(const struct detector *d, const struct symbols *symbols)
{
	return d->marker & 1 ? symbols->fine == d->marker : symbols->coarse == d->marker;
}

/* Event `n` comes. A wait ends its step; any other marker begins one. */
static void walk(struct detector *d, struct tf_map *map, uint64_t n)
{
	const struct event *e = &d->events[n % STEP_HISTORY];
	const struct symbols *symbols = &d->symbols[n % STEP_HISTORY];
	bool marker = is_marker(d, symbols), wait = e->class == SPY_CLASS_SYNC;

	if (marker && !wait) {
		d->now.end = e->start;
		if (d->inside)
			end_segment(d, map, &d->now);
		d->now = (struct segment){.start = e->start};
		d->inside = true;
	}
	if (!d->inside) {
		d->now = (struct segment){.start = e->start};
		/* Before the first wait lies a first step, if all that was before it is known. */
		d->inside = d->marker_waits && d->whole;
	}
	add_event(&d->now, e, symbols);
	d->now.end = e->end;
	if (d->has_typical && d->now.events == d->typical.events)
		d->cut = d->now;
	if (marker && wait) {
		if (d->inside)
			end_segment(d, map, &d->now);
		d->now = (struct segment){.start = e->end};
		d->inside = true;
	}
	d->last_end = e->end;
}

/* ---- choosing a marker ---- */

/* Where the symbol's candidate stands, or would; NULL where there is no place left. */
static uint16_t *slot_of(struct look *l, uint32_t symbol)
{
	for (uint32_t i = symbol, n = 0; n < 16; i++, n++) {
		uint16_t *slot = &l->slots[i % LOOK_SLOTS];
		if (!*slot || l->candidates[*slot - 1].symbol == symbol)
			return slot;
	}
	return NULL;
}

static struct candidate *candidate_of(struct look *l, uint32_t symbol)
{
	const uint16_t *slot = slot_of(l, symbol);

	return slot && *slot ? &l->candidates[*slot - 1] : NULL;
}

static const struct event *event_at(const struct detector *d, uint64_t n)
{
	return &d->events[n % STEP_HISTORY];
}

static const struct symbols *symbols_at(const struct detector *d, uint64_t n)
{
	return &d->symbols[n % STEP_HISTORY];
}

static uint64_t first_kept(const struct detector *d)
{
	return d->count > STEP_HISTORY ? d->count - STEP_HISTORY : 0;
}

/* One more occurrence, in event `e`, before which lie `at` events. `recent`: its candidate, if it
 * was the last one of its kind. */
static struct candidate *occurs(struct look *l, struct candidate *recent, uint32_t symbol,
                                const struct event *e, uint32_t at)
{
	struct candidate *c = recent;

	if (!c || c->symbol != symbol) {
		uint16_t *slot = slot_of(l, symbol);
		if (!slot || (!*slot && l->count == LOOK_SYMBOLS))
			return NULL;
		if (!*slot) {
			*slot = (uint16_t)++l->count;
			l->candidates[l->count - 1] = (struct candidate){
			        .symbol = symbol, .class = e->class, .id = e->id, .first = at};
		}
		c = &l->candidates[*slot - 1];
	}
	c->seen++;
	c->last = at;
	return c;
}

/* Fills the look's candidates from the events kept; how many of these have symbols. */
static uint32_t look_over(const struct detector *d, struct look *l)
{
	struct candidate *coarse = NULL, *fine = NULL;
	uint32_t at = 0;

	memset(l->slots, 0, sizeof(l->slots));
	l->count = 0;
	for (uint64_t n = first_kept(d); n < d->count; n++) {
		const struct symbols *s = symbols_at(d, n);
		if (!s->coarse)
			continue;
		coarse = occurs(l, coarse, s->coarse, event_at(d, n), at);
		fine = occurs(l, fine, s->fine, event_at(d, n), at);
		at++;
	}
	return at;
}

/* What lies between the last two occurrences is compared with what lies between the two before. */
static void compare(struct candidate *c, const uint16_t *so_far, uint32_t at)
{
	uint16_t segment[STEP_BUCKETS];

	if (c->met++) {
		uint32_t length = at - c->at, differ = 0;
		for (unsigned i = 0; i < STEP_BUCKETS; i++) {
			segment[i] = (uint16_t)(so_far[i] - c->so_far[i]);
			differ += segment[i] > c->segment[i]
			                  ? (uint16_t)(segment[i] - c->segment[i])
			                  : (uint16_t)(c->segment[i] - segment[i]);
		}
		if (c->met > 2) {
			c->differ += differ;
			c->compared += length + c->last_length;
		}
		memcpy(c->segment, segment, sizeof(segment));
		c->last_length = length;
	}
	memcpy(c->so_far, so_far, sizeof(c->so_far));
	c->at = at;
}

/* The second time over the events: how much alike what lies between each candidate is. */
static void compare_all(const struct detector *d, struct look *l)
{
	uint16_t so_far[STEP_BUCKETS] = {0};
	uint32_t at = 0;

	for (uint64_t n = first_kept(d); n < d->count; n++) {
		const struct symbols *s = symbols_at(d, n);
		if (!s->coarse)
			continue;
		for (int fine = 0; fine < 2; fine++) {
			struct candidate *c = candidate_of(l, fine ? s->fine : s->coarse);
			if (c && c->compare)
				compare(c, so_far, at);
		}
		so_far[s->coarse / 2 % STEP_BUCKETS]++;
		at++;
	}
}

static double alike_of(const struct candidate *c)
{
	return c->compared ? 1 - (double)c->differ / (double)c->compared : 0;
}

static double length_of(const struct candidate *c)
{
	return (double)(c->last - c->first) / (c->seen - 1);
}

/*
 * How much alike what lies between must be. Of many symbols without any order some come at even
 * distances a few times by chance, and long stretches of the same mixture are alike: few
 * occurrences must be the more exact.
 */
static double alike_least(const struct candidate *c)
{
	return c->seen < OCCUR_MANY ? ALIKE_FEW : ALIKE_LEAST;
}

/* Whether it occurs as a marker does. What does not, need not be compared. */
static bool occurs_well(const struct candidate *c, uint32_t events)
{
	if (c->seen < OCCUR_LEAST || (c->seen < OCCUR_LONG && length_of(c) > LONG))
		return false;
	return c->last - c->first >= COVER_LEAST * events &&
	       (length_of(c) >= STEP_EVENTS || c->class == SPY_CLASS_GRAPH_LAUNCH);
}

static bool may_mark(const struct candidate *c)
{
	return c->compare && alike_of(c) >= alike_least(c);
}

/* Of two equally good ones: the shorter steps; where these are the same, a wait, then what comes
 * first. */
static bool preferred(const struct candidate *a, const struct candidate *b)
{
	double x = length_of(a), y = length_of(b);

	if (x < 0.98 * y || y < 0.98 * x)
		return x < y;
	if ((a->class == SPY_CLASS_SYNC) != (b->class == SPY_CLASS_SYNC))
		return a->class == SPY_CLASS_SYNC;
	return a->first < b->first;
}

static const struct candidate *choose(const struct look *l)
{
	const struct candidate *chosen = NULL;
	double best = 0;

	for (uint32_t i = 0; i < l->count; i++)
		if (may_mark(&l->candidates[i]) && alike_of(&l->candidates[i]) > best)
			best = alike_of(&l->candidates[i]);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct candidate *c = &l->candidates[i];
		if (may_mark(c) && alike_of(c) >= best - ALIKE_EQUAL &&
		    (!chosen || preferred(c, chosen)))
			chosen = c;
	}
	return chosen;
}

/* ---- taking a marker ---- */

/* The pattern's entry: in place of what was found before while all events are known, else a new
 * one. */
static bool new_pattern(struct detector *d, struct tf_map *map, const struct candidate *c)
{
	struct tf_header *h = tf_header(map);
	struct tf_pattern *p = d->marker ? pattern_at(d, map) : NULL;
	bool again = p && d->count <= STEP_HISTORY;

	if (again) {
		steps_forget(map, d->pattern);
	} else {
		if (p)
			p->given_up = d->last_end;
		p = tf_append(map, &h->patterns);
		if (!p)
			return false;
		d->pattern = h->patterns.count;
	}
	*p = (struct tf_pattern){.thread = d->thread, .class = c->class, .marker = c->id};
	if (!again)
		tf_publish(&h->patterns);
	return true;
}

static void take_marker(struct detector *d, struct tf_map *map, const struct candidate *c)
{
	uint64_t from = first_kept(d);
	uint64_t after = d->marker && d->count > STEP_HISTORY ? d->last_end : 0;

	if (!new_pattern(d, map, c)) {
		d->no_more = true;
		return;
	}
	d->marker = c->symbol;
	d->marker_waits = c->class == SPY_CLASS_SYNC;
	d->whole = !from;
	d->inside = d->has_typical = d->first_waits = false;
	d->held_count = 0;
	d->cut.events = 0;
	for (uint64_t n = from; n < d->count; n++)
		if (event_at(d, n)->start >= after)
			walk(d, map, n);
}

static void look_again(struct steps *s, struct detector *d, struct tf_map *map)
{
	struct look *l = &s->look;
	const struct candidate *c, *old = NULL;
	uint32_t events = look_over(d, l);
	bool any = false;

	for (uint32_t i = 0; i < l->count; i++)
		any |= l->candidates[i].compare = occurs_well(&l->candidates[i], events);
	if (any)
		compare_all(d, l);
	c = choose(l);
	d->looked = d->count;
	if (!c || c->symbol == d->marker || d->no_more)
		return;
	if (d->marker)
		old = candidate_of(l, d->marker);
	if (old && may_mark(old)) {
		/* Later on it stays, unless it is clearly worse; the same steps, another marker: it
		 * stays as well. */
		bool same = length_of(old) < 1.02 * length_of(c) &&
		            length_of(c) < 1.02 * length_of(old);
		double worse = alike_of(c) - alike_of(old);
		if (same ? worse < ALIKE_EQUAL &&
		                    (old->class == SPY_CLASS_SYNC || c->class != SPY_CLASS_SYNC)
		         : d->count > STEP_HISTORY && worse < ALIKE_CHANGE)
			return;
	}
	take_marker(d, map, c);
}

/* ---- threads ---- */

static struct detector *detector_of(struct steps *s, uint32_t thread)
{
	struct detector *least = &s->detectors[0];
	uint32_t *seen = &s->seen[thread % 256];

	*seen += *seen < UINT32_MAX;
	if (s->recent && s->recent->thread == thread)
		return s->recent;
	for (unsigned i = 0; i < DETECTORS; i++) {
		struct detector *d = &s->detectors[i];
		if (d->used && d->thread == thread)
			return s->recent = d;
		if (!d->used || (least->used && d->count < least->count))
			least = d;
	}
	if (least->used && (least->marker || *seen < 2 * least->count + FIRST_LOOK))
		return NULL;
	/* The events stay where they are: those below the count are valid. */
	memset(least, 0, offsetof(struct detector, symbols));
	least->used = true;
	least->thread = thread;
	return s->recent = least;
}

static bool time_to_look(const struct detector *d)
{
	if (d->count <= STEP_HISTORY)
		return d->count >= FIRST_LOOK && !(d->count & (d->count - 1));
	if (d->count <= OFTEN * STEP_HISTORY)
		return d->count % STEP_HISTORY == 0;
	return d->count % (OFTEN * STEP_HISTORY) == 0;
}

/* A launch with its arguments: most are like the one before. */
static void launch_of(struct detector *d, uint64_t n, const struct tf_record *r)
{
	struct event *e = &d->events[n % STEP_HISTORY];
	struct symbols *symbols = &d->symbols[n % STEP_HISTORY];

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
	e->class = SPY_CLASS_LAUNCH;
	e->pageable = false;
}

void steps_call(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                unsigned class)
{
	if (!s || !tells(r, class))
		return;
	struct detector *d = detector_of(s, thread);
	if (!d)
		return;
	uint64_t n = d->count++;
	if (class == SPY_CLASS_LAUNCH && !(r->flags & TF_NO_ARGS))
		launch_of(d, n, r);
	else
		event_of(&d->events[n % STEP_HISTORY], &d->symbols[n % STEP_HISTORY], r, class);
	if (d->marker)
		walk(d, map, n);
	if (time_to_look(d))
		look_again(s, d, map);
}

void steps_finish(struct steps *s, struct tf_map *map)
{
	for (unsigned i = 0; s && i < DETECTORS; i++) {
		struct detector *d = &s->detectors[i];
		if (!d->used)
			continue;
		if (d->looked < d->count && d->count <= STEP_HISTORY)
			look_again(s, d, map);
		/* The last step, if what came after the loop does not hide it. */
		struct segment *last = d->cut.start == d->now.start && d->cut.events < d->now.events
		                               ? &d->cut
		                               : &d->now;
		if (d->marker && d->inside && d->has_typical && last->events &&
		    alike(last->buckets, d->typical.buckets) >= ALIKE_LEAST)
			end_segment(d, map, last);
		d->inside = false;
	}
}
