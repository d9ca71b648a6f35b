#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/replay_parts.h"
#include "shim/hist.h"

/* Calls of another thread may fill a gap in a thread's calls from here on (ns). */
#define LONG_GAP  100e3
#define LOOK_BACK 64u /* calls before it among which the other thread's is looked for */
/* What takes no longer did not wait (ns). */
#define NOISE 2000.0
/* Nothing is known of a call that always waited: what it takes itself at most (ns). */
#define SYNC_OWN   2000.0
#define LAUNCH_OWN 5000.0
/* Work of unknown duration, as shim/timeline_work.c has it: ns, bytes a ns. */
#define SHORT_WORK       5000.0
#define COPY_LEAST       1000.0
#define HOST_COPY_RATE   20.0
#define DEVICE_COPY_RATE 1000.0
#define STAGED_BYTES     65536u /* a pageable copy to the device beyond this holds its caller */
#define QUEUE_LIKELY     512u   /* entries queued where a launch that takes long waits */
#define CALLS_SEEN       4096u  /* calls with a quantile of their own */

struct thread_state {
	uint32_t last;  /* its last call, or HISTORY_NONE */
	double end;     /* return of it */
	double burst;   /* start of its calls since it took over from another thread */
	double polling; /* entry of the first of the polls under way; NaN = none */
};

struct anchor {
	struct replay *replay;
	struct replay_gpu gpu;
	enum replay_level level;
	struct thread_state *threads;
	uint32_t *event_record; /* last call that recorded an event, by its number */
	double *own;            /* of each call where it waits for nothing */
	double *since;          /* entries of each stream's queue since it was known to be empty */
	double usual;           /* what waits return later than their work ends */
	double *lates;
	size_t late_count;
};

/* ---- what a call is ---- */

/* As the timeline has it: a copy that returns only when it is done. */
static bool is_staged(const struct act *a)
{
	if (a->kind != TF_WORK_COPY || a->direction == SPY_DIR_DTOD || a->direction == SPY_DIR_PTOP)
		return false;
	if (!a->async)
		return a->memory == SPY_MEM_PAGEABLE || a->memory == SPY_MEM_PINNED;
	return a->memory == SPY_MEM_PAGEABLE &&
	       (a->direction == SPY_DIR_DTOH || a->bytes > STAGED_BYTES);
}

static enum replay_wait wait_of(const struct act *a)
{
	if (a->result || a->flags & TF_CAPTURED)
		return REPLAY_NO_WAIT;
	switch (a->role) {
	case HISTORY_ROLE_SYNC_ALL:
		return REPLAY_DEVICE;
	case HISTORY_ROLE_SYNC_STREAM:
		return a->stream != HISTORY_NONE ? REPLAY_STREAM : REPLAY_NO_WAIT;
	case HISTORY_ROLE_SYNC_EVENT:
		return a->event != HISTORY_NONE ? REPLAY_EVENT : REPLAY_NO_WAIT;
	default:
		break;
	}
	if (is_staged(a))
		return REPLAY_STAGED;
	/* It is documented that freeing waits for the device. */
	if (a->class == SPY_CLASS_ALLOC && a->is_free && a->role != HISTORY_ROLE_ALLOC_ORDERED &&
	    a->memory != SPY_MEM_UNKNOWN)
		return REPLAY_DEVICE;
	return REPLAY_NO_WAIT;
}

/* What may wait though it need not: whether it did is seen from its time. */
static enum replay_wait perhaps(const struct act *a)
{
	if (a->result || a->flags & TF_CAPTURED)
		return REPLAY_NO_WAIT;
	if (a->class == SPY_CLASS_ALLOC && a->role != HISTORY_ROLE_ALLOC_ORDERED)
		return REPLAY_DEVICE;
	if (a->class == SPY_CLASS_MODULE)
		return REPLAY_DEVICE;
	if (a->kind == TF_WORK_COPY && a->memory == SPY_MEM_PAGEABLE)
		return REPLAY_STREAM;
	return REPLAY_NO_WAIT;
}

static bool is_query(const struct act *a)
{
	return (a->role == HISTORY_ROLE_QUERY_STREAM && a->stream != HISTORY_NONE) ||
	       (a->role == HISTORY_ROLE_QUERY_EVENT && a->event != HISTORY_NONE);
}

#define NOT_READY 600 /* of both APIs */

/* Whether the thread asks the same again with its next call. */
static bool asks_again(const struct replay *r, size_t i)
{
	const struct act *a = &r->given[i],
	                 *b = r->next[i] != HISTORY_NONE ? &r->given[r->next[i]] : NULL;

	return b && is_query(a) && a->result == NOT_READY && b->role == a->role &&
	       b->stream == a->stream && b->event == a->event;
}

/* ---- how long ---- */

static double guess(const struct act *a)
{
	if (a->kind == TF_WORK_COPY && a->direction != SPY_DIR_DTOD)
		return COPY_LEAST + (double)a->bytes / HOST_COPY_RATE;
	if (a->kind == TF_WORK_COPY || a->kind == TF_WORK_SET)
		return COPY_LEAST + (double)a->bytes / DEVICE_COPY_RATE;
	return SHORT_WORK;
}

static void take_duration(struct anchor *n, size_t i)
{
	const struct act *a = &n->replay->given[i];
	struct replay_act *r = &n->replay->acts[i];
	double ns = a->gpu;

	if (a->kind == TF_WORK_NONE)
		return;
	if (isnan(a->gpu_start) && a->work != HISTORY_NONE) {
		const struct history_work *w = &n->replay->history->works[a->work];
		ns = n->level == REPLAY_LOW ? w->low : n->level == REPLAY_HIGH ? w->high : w->mean;
	}
	n->replay->pieces++;
	if (!(ns >= 0 && ns < 1e18)) {
		/* A staged copy takes as long as its call. */
		n->replay->unknown += !is_staged(a);
		r->flags |= REPLAY_GUESS;
		ns = guess(a);
	}
	/* CUPTI's is of the whole call. */
	r->gpu = isnan(a->gpu_start) ? ns * a->items : ns;
	n->replay->gpu += r->gpu;
}

/*
 * A low quantile of what each call takes; of launches, of those that came before the queue can have
 * been full. What always waits has none of its own and gets `SYNC_OWN` at most.
 */
static void learn_own(struct anchor *n)
{
	const struct replay *r = n->replay;
	const struct history *h = r->history;
	size_t calls = h->call_count < CALLS_SEEN ? h->call_count : CALLS_SEEN;
	struct tf_hist *hist = alloc_zeroed(calls, sizeof(*hist)),
	               *launches = alloc_zeroed(calls, sizeof(*launches));
	uint64_t since = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct act *a = &r->given[i];
		double ns = a->end - a->start;
		if (a->class == SPY_CLASS_SYNC)
			since = 0;
		since += a->stream != HISTORY_NONE;
		if (a->call >= calls || a->result || a->flags & TF_FIRST || !(ns >= 0 && ns < 1e18))
			continue;
		hist_add(&hist[a->call], (uint64_t)ns);
		if (a->class == SPY_CLASS_LAUNCH && since < REPLAY_QUEUE - REPLAY_QUEUE / 8)
			hist_add(&launches[a->call], (uint64_t)ns);
	}
	for (size_t i = 0; i < h->call_count; i++) {
		uint8_t class = h->calls[i].class;
		double least = i < calls ? hist_quantile(&hist[i], 0.05) : -1,
		       own = i < calls ? hist_quantile(&launches[i], 0.3) : -1;
		if (own < 0)
			own = class == SPY_CLASS_LAUNCH ? fmin(fmax(least, 0), LAUNCH_OWN)
			                                : fmax(least, 0);
		n->own[i] = class == SPY_CLASS_SYNC ? fmin(own, SYNC_OWN) : own;
	}
	free(hist);
	free(launches);
}

/* ---- where it goes on ---- */

/* The call of another thread that filled the thread's gap, when one did. */
static uint32_t taken_over(const struct anchor *n, size_t i, double start)
{
	const struct replay *r = n->replay;
	const struct thread_state *own = &n->threads[r->given[i].thread];
	double gap = start - own->end;
	uint32_t found = HISTORY_NONE;

	if (own->last != HISTORY_NONE && gap < LONG_GAP)
		return HISTORY_NONE;
	for (size_t k = i; k-- > 0 && i - k <= LOOK_BACK;) {
		const struct act *a = &r->given[k];
		if (a->thread != r->given[i].thread && a->end <= start &&
		    (found == HISTORY_NONE || a->end > r->given[found].end))
			found = (uint32_t)k;
	}
	if (found == HISTORY_NONE || own->last == HISTORY_NONE)
		return found;
	const struct act *q = &r->given[found];
	return n->threads[q->thread].burst >= own->end && start - q->end < gap / 4 ? found
	                                                                           : HISTORY_NONE;
}

static void link_up(struct anchor *n, size_t i, double start)
{
	struct replay *r = n->replay;
	struct replay_act *a = &r->acts[i];
	struct thread_state *t = &n->threads[r->given[i].thread];

	a->before = taken_over(n, i, start);
	if (a->before != HISTORY_NONE) {
		a->gap = fmax(0, start - r->given[a->before].end);
		t->burst = start;
	} else if (t->last == HISTORY_NONE) {
		a->gap = start - r->given[0].start;
		t->burst = start;
	} else {
		a->gap = fmax(0, start - t->end);
	}
}

/* ---- what it waited for ---- */

/* Follows the median of how late waits return. */
static void note_late(struct anchor *n, double late)
{
	double step = fmax(n->usual / 16, 10);

	n->lates[n->late_count++] = late;
	n->usual = late > n->usual ? n->usual + step : fmax(0, n->usual - step);
}

/* The end of the work on the stream that a wait for an event waits for. */
static double behind(const struct anchor *n, const struct replay_act *a)
{
	uint32_t stream =
	        a->wait == REPLAY_EVENT ? n->replay->given[a->event].stream : HISTORY_NONE;

	return stream != HISTORY_NONE ? n->gpu.streams[stream].tail : -INFINITY;
}

/*
 * The call returned at `end`, after what it waited for. What its return is later or earlier than
 * the estimated end of that may be the host's or the GPU's. Where the stream was empty then it is
 * the host's, as the times of work are right on average; where more work is queued behind it, the
 * stream went on meanwhile, and what they are off would add up: it is the GPU's.
 */
static void divide_wait(struct anchor *n, size_t i, double start, double end)
{
	struct replay_act *a = &n->replay->acts[i];
	double done = gpu_awaited(&n->gpu, i), own = n->own[n->replay->given[i].call];

	if (!(done > start)) { /* by estimate there was nothing left */
		a->own = end - start;
		a->late = NAN;
		return;
	}
	a->own = fmin(own, end - start);
	if (behind(n, a) > done && end - start > own + NOISE) {
		a->late = fmin(n->usual, end - start - a->own);
		a->shift = end - a->late - done;
		gpu_shift(&n->gpu, i, a->shift);
		return;
	}
	a->late = fmax(end - done, a->own + start - done);
	note_late(n, a->late);
	gpu_clip(&n->gpu, i, end);
}

static void divide_staged(struct anchor *n, size_t i, double start, double end)
{
	struct replay_act *a = &n->replay->acts[i];
	double done = gpu_awaited(&n->gpu, i), own = n->own[n->replay->given[i].call];

	a->own = end - fmax(start, fmin(done, end));
	a->own = fmax(a->own, fmin(own, end - start));
	if (done > end - a->own) { /* the work before it ended earlier than estimated */
		a->late = end - a->own - done;
		gpu_clip(&n->gpu, i, end - a->own);
	}
}

/* Whether a call that need not wait did: it took longer, and just as long as there was work. */
static void see_whether(struct anchor *n, size_t i, double start, double end)
{
	const struct act *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->acts[i];
	double own = n->own[given->call];

	a->wait = (uint8_t)perhaps(given);
	double left = gpu_awaited(&n->gpu, i) - start;
	if (a->wait != REPLAY_NO_WAIT && left > NOISE && end - start > 1.5 * own + NOISE &&
	    end - start > 0.9 * left) {
		divide_wait(n, i, start, end);
		return;
	}
	a->wait = REPLAY_NO_WAIT;
	a->own = end - start;
}

/* A launch into a queue that was full waited for a place. */
static void divide_launch(struct anchor *n, size_t i, double start, double end)
{
	const struct act *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->acts[i];
	const struct replay_stream *s =
	        given->stream != HISTORY_NONE ? &n->gpu.streams[given->stream] : NULL;
	double own = fmin(n->own[given->call], end - start),
	       place = gpu_queued(&n->gpu, i, REPLAY_QUEUE);
	bool slow = end - start > 1.5 * own + 0.5 * NOISE;

	a->own = end - start;
	if (!s)
		return;
	if (given->class == SPY_CLASS_GRAPH_LAUNCH) {
		if (slow && s->tail > end) { /* so many graphs are queued, and no more */
			a->wait = REPLAY_STREAM;
			a->own = own;
			a->late = end - s->tail;
		}
		return;
	}
	if (!isfinite(place))
		return;
	/* Its estimated end may be off: what counts is that many are queued. */
	if (slow && (place > start || (n->since[given->stream] >= REPLAY_QUEUE &&
	                               gpu_queued(&n->gpu, i, QUEUE_LIKELY) > start))) {
		a->shift = end - own - place;
		a->own = own;
	} else if (place > start) {
		a->shift = start - place;
	}
	gpu_shift(&n->gpu, i, a->shift);
}

/* ---- one call ---- */

static void set_event(struct anchor *n, size_t i)
{
	const struct act *given = &n->replay->given[i];

	if (given->event == HISTORY_NONE)
		return;
	if (given->role == HISTORY_ROLE_EVENT_RECORD) {
		if (!given->result && !(given->flags & TF_CAPTURED) &&
		    given->stream != HISTORY_NONE)
			n->event_record[given->event] = (uint32_t)i;
	} else {
		n->replay->acts[i].event = n->event_record[given->event];
	}
}

/* CUPTI says when the work started: what held it back took just as long. */
static void place_exactly(struct anchor *n, size_t i, double end)
{
	const struct act *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->acts[i];
	double before = gpu_before(&n->gpu, i);

	if (isnan(given->gpu_start))
		return;
	if (before > end)
		a->space = given->gpu_start - before;
	else
		a->lead = given->gpu_start - end;
	a->lead = fmin(a->lead, given->gpu_start - end);
	if (isfinite(before))
		a->space = fmin(a->space, given->gpu_start - before);
}

static void divide(struct anchor *n, size_t i, double start, double end)
{
	const struct act *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->acts[i];

	a->wait = (uint8_t)wait_of(given);
	if (is_query(given) && !given->result && a->flags & REPLAY_POLLS)
		a->wait = given->role == HISTORY_ROLE_QUERY_EVENT ? REPLAY_EVENT : REPLAY_STREAM;
	if (a->wait == REPLAY_STAGED)
		divide_staged(n, i, start, end);
	else if (a->wait != REPLAY_NO_WAIT)
		divide_wait(n, i, start, end);
	else if (given->kind == TF_WORK_KERNEL || given->kind == TF_WORK_GRAPH)
		divide_launch(n, i, start, end);
	else
		see_whether(n, i, start, end);
}

static void walk(struct anchor *n, size_t i)
{
	struct replay *r = n->replay;
	const struct act *given = &r->given[i];
	struct replay_act *a = &r->acts[i];
	struct thread_state *t = &n->threads[given->thread];
	double start = given->start;

	*a = (struct replay_act){
	        .lead = REPLAY_LEAD_NS,
	        .space = ESTIMATE_GAP_NS,
	        .before = HISTORY_NONE,
	        .event = HISTORY_NONE,
	};
	set_event(n, i);
	if (asks_again(r, i)) {
		a->flags = REPLAY_SKIP;
		if (isnan(t->polling))
			t->polling = start;
		return;
	}
	if (!isnan(t->polling)) {
		start = t->polling;
		a->flags = REPLAY_POLLS;
		t->polling = NAN;
	}
	link_up(n, i, start);
	take_duration(n, i);
	divide(n, i, start, given->end);
	place_exactly(n, i, given->end);
	gpu_issue(&n->gpu, i, start, given->end);
	if (given->stream != HISTORY_NONE) {
		bool proof = a->wait == REPLAY_STREAM || a->wait == REPLAY_STAGED;
		n->since[given->stream] = proof ? 0 : n->since[given->stream] + 1;
	}
	t->last = (uint32_t)i;
	t->end = given->end;
}

/* ---- the whole ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Waits that found nothing to wait for would be as late as the others are. */
static void finish_lates(struct anchor *n)
{
	struct replay *r = n->replay;

	r->late = REPLAY_LATE_NS;
	if (n->late_count) {
		qsort(n->lates, n->late_count, sizeof(*n->lates), by_value);
		r->late = n->lates[n->late_count / 2];
	}
	for (size_t i = 0; i < n->late_count; i++)
		r->waiting += fabs(n->lates[i] - r->late);
	for (size_t i = 0; i < r->count; i++)
		if (isnan(r->acts[i].late))
			r->acts[i].late = fmax(0, fmin(r->late, REPLAY_LATE_NS));
}

static void find_next(struct replay *r)
{
	uint32_t *after = alloc_zeroed(r->history->thread_count, sizeof(*after));

	for (size_t i = r->count; i-- > 0;) {
		uint32_t *at = &after[r->given[i].thread];
		r->next[i] = *at ? *at - 1 : HISTORY_NONE;
		*at = (uint32_t)i + 1;
	}
	free(after);
}

void replay_make(struct replay *r, const struct history *h, enum replay_level level)
{
	size_t first = history_steady(h);
	struct anchor n = {.replay = r, .level = level, .usual = REPLAY_LATE_NS};
	double last = -INFINITY;

	*r = (struct replay){.history = h, .given = h->acts + first, .count = h->count - first};
	if (!r->count)
		return;
	r->acts = alloc_zeroed(r->count, sizeof(*r->acts));
	r->next = alloc_zeroed(r->count, sizeof(*r->next));
	find_next(r);
	gpu_start(&n.gpu, r, r->acts);
	n.threads = alloc_zeroed(h->thread_count, sizeof(*n.threads));
	for (size_t i = 0; i < h->thread_count; i++)
		n.threads[i] = (struct thread_state){.last = HISTORY_NONE, .polling = NAN};
	n.event_record = alloc_zeroed(h->events, sizeof(*n.event_record));
	for (uint32_t i = 0; i < h->events; i++)
		n.event_record[i] = HISTORY_NONE;
	n.own = alloc_zeroed(h->call_count, sizeof(*n.own));
	n.since = alloc_zeroed(h->stream_count, sizeof(*n.since));
	n.lates = alloc_zeroed(r->count, sizeof(*n.lates));
	learn_own(&n);
	for (size_t i = 0; i < r->count; i++) {
		walk(&n, i);
		last = fmax(last, r->given[i].end);
	}
	finish_lates(&n);
	r->base = fmax(last, gpu_last(&n.gpu)) - r->given[0].start;
	gpu_end(&n.gpu);
	free(n.threads);
	free(n.event_record);
	free(n.own);
	free(n.since);
	free(n.lates);
}

void replay_free(struct replay *r)
{
	free(r->acts);
	free(r->next);
	*r = (struct replay){0};
}
