/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if the host did not wait? Its waits go, and small blocking copies to it, which are there for
 * their result; and with them what it does outside CUDA to make such a call. At best what is read
 * need not be computed either.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"

#define LONGEST_WAY 100e3 /* ns to a call; more is no cost of it, but work of the program's own */
#define RESULT_NS   10e3  /* of the GPU; a kernel that takes longer does more than that */
#define READ_ASLEEP 20e3  /* so long between two calls it sleeps */

static bool is_sync(const struct replay *r, uint32_t i)
{
	const struct call_event *given = &r->given[i];
	const struct replay_act *a = &r->call_events[i];

	if (given->result || a->flags & REPLAY_SKIP)
		return false;
	if (given->cls == SPY_CLASS_SYNC || a->flags & REPLAY_TOLD)
		return true;
	if (given->cls == SPY_CLASS_QUERY)
		return a->wait != REPLAY_NO_WAIT;
	return (a->wait == REPLAY_STAGED || a->flags & REPLAY_READ) &&
	       given->direction == SPY_DIR_DTOH && given->bytes <= WHATIF_SMALL_COPY;
}

/* What may be no wait at all stays at least, goes at most, and in the middle every second goes. */
static bool stays(const struct whatif_change *c, bool unsure, size_t *count)
{
	return unsure && c->hope != HOPE_MOST && (c->hope == HOPE_LEAST || ++*count & 1);
}

/* It gives no work: another call is why it is made. */
static bool is_aside_call(const struct replay *r, uint32_t i)
{
	return r->given[i].kind == TF_WORK_NONE &&
	       (r->given[i].cls == SPY_CLASS_OTHER || r->given[i].cls == SPY_CLASS_CONTEXT);
}

/* And waits for nothing. */
static bool is_aside(const struct replay *r, uint32_t i)
{
	return is_aside_call(r, i) && r->call_events[i].wait == REPLAY_NO_WAIT;
}

/*
 * What a call costs the host outside CUDA in the program's language: the median of the time before
 * a call that gives work. 0 where it is longer than that ever is: then it is the program's own
 * work.
 */
static double way_to_a_call(const struct replay *r)
{
	double *ways = alloc_zeroed(r->count, sizeof(*ways)),
	       *since = alloc_zeroed(r->call_log->thread_count, sizeof(*since));
	size_t count = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		double *way = &since[r->given[i].thread];
		*way += r->call_events[i].gap;
		if (is_aside(r, i))
			continue;
		if (r->given[i].kind != TF_WORK_NONE && r->call_events[i].before == CALL_LOG_NONE)
			ways[count++] = *way;
		*way = 0;
	}
	double median = count ? stats_select(ways, count, 0.5) : 0;
	free(ways);
	free(since);
	return median <= LONGEST_WAY ? median : 0;
}

/* The copy of a result that the next call waits for: both are one read. */
static bool is_read_by(const struct replay *r, uint32_t copy, uint32_t wait)
{
	const struct call_event *a = &r->given[copy];

	return a->kind == TF_WORK_COPY && a->direction == SPY_DIR_DTOH && !a->result &&
	       a->bytes <= WHATIF_SMALL_COPY && a->stream == r->given[wait].stream &&
	       r->call_events[copy].wait == REPLAY_NO_WAIT;
}

/*
 * What of an array is selected (nonzero(), a mask as an index, unique()) needs memory for as many
 * as there are: CUB counts them, the host reads the count, and CUB selects. Without the read there
 * is neither: the program goes through all, as with where().
 */
enum selecting { NOT_SELECTING, COUNTING, SELECTING };

struct dropping {
	const struct replay *replay;
	struct replay_act *acts;
	const uint32_t *last; /* the call before, of the same thread */
	double way;
	const uint8_t *selecting; /* of each class of work: enum selecting */
	struct whatif_waking waking;
};

/* The way to call i goes, and the calls aside of it: up to what a call's way usually takes. */
static void drop_way(const struct dropping *d, uint32_t i)
{
	double budget = d->way;

	for (; i != CALL_LOG_NONE && budget > 0; i = d->last[i]) {
		double goes = fmin(d->acts[i].gap, budget);
		if (d->replay->call_events[i].before != CALL_LOG_NONE)
			return;
		d->acts[i].gap -= goes;
		budget -= goes;
		uint32_t before = d->last[i];
		if (before == CALL_LOG_NONE || !is_aside(d->replay, before))
			return;
	}
}

/* What the host does behind a wait may be there for what it waited for: half of it, but no more
 * than a call's way. */
static void drop_behind(const struct dropping *d, uint32_t i)
{
	uint32_t next = d->replay->next[i];

	while (next != CALL_LOG_NONE && is_aside(d->replay, next) && d->acts[next].gap < d->way)
		next = d->replay->next[next];
	if (next != CALL_LOG_NONE)
		d->acts[next].gap -= fmin(d->acts[next].gap, d->way) / 2;
}

/*
 * Behind a wait outside CUDA, until the next work, whichever thread goes on: `most`. That work
 * may come behind calls of its own thread and follow the reader's as well: the same time twice.
 */
static void drop_outside(const struct dropping *d, uint32_t i, double most)
{
	const struct replay *r = d->replay;
	double left = most;
	bool work = false;

	for (uint32_t k = i + 1; k < r->count && !work; k++) {
		work = r->given[k].kind != TF_WORK_NONE;
		bool follows = work && r->call_events[k].before != CALL_LOG_NONE;
		double goes = fmin(d->acts[k].gap, follows ? most : left);
		d->acts[k].gap -= goes;
		left -= fmin(goes, left);
	}
}

/* Nothing but the reading of a result that goes: a call of its thread that gives no work. */
static double drop_call(const struct dropping *d, uint32_t i, double left)
{
	double goes = fmin(d->acts[i].gap, left);

	d->acts[i].gap -= goes;
	if (d->replay->call_events[i].wait == REPLAY_NO_WAIT)
		d->acts[i].own = 0;
	return left - goes;
}

/*
 * XLA wakes a thread of its pool up to copy a result, and that does nothing else before it sleeps
 * again: its calls go with the copy, and its time outside CUDA as that behind a wait. What is left
 * of `most` for that.
 */
static double drop_reader(const struct dropping *d, uint32_t read, double most)
{
	const struct replay *r = d->replay;
	double left = most - fmin(d->acts[read].gap, most);
	uint32_t i;

	d->acts[read].gap -= fmin(d->acts[read].gap, most);
	for (i = d->last[read]; i != CALL_LOG_NONE && r->given[i].kind == TF_WORK_NONE && left > 0;
	     i = d->last[i]) {
		left = drop_call(d, i, left);
		if (r->call_events[i].before != CALL_LOG_NONE) /* here it was woken up */
			break;
	}
	for (i = r->next[read]; i != CALL_LOG_NONE && r->given[i].kind == TF_WORK_NONE &&
	                        r->call_events[i].gap < READ_ASLEEP;
	     i = r->next[i])
		drop_call(d, i, READ_ASLEEP);
	return left;
}

/* Whether work is but the input of kernels. */
static bool is_input(const struct call_event *given)
{
	return given->kind == TF_WORK_SET ||
	       (given->kind == TF_WORK_COPY && given->direction == SPY_DIR_HTOD);
}

/* Whether kernel i is all that its thread gave since the read before, but for its input: what the
 * program is for. */
static bool is_all_work(const struct dropping *d, uint32_t i)
{
	const struct replay *r = d->replay;

	do
		i = d->last[i];
	while (i != CALL_LOG_NONE && (r->given[i].kind == TF_WORK_NONE || is_input(&r->given[i])));
	return i == CALL_LOG_NONE ||
	       (r->given[i].kind == TF_WORK_COPY && r->given[i].direction == SPY_DIR_DTOH);
}

/* Work that is not given: no call, and nothing on the GPU. */
static void leave_out(const struct dropping *d, uint32_t i)
{
	d->acts[i].flags |= REPLAY_SKIP;
	d->acts[i].own = d->acts[i].gpu = 0;
}

/* The kernel launched right before a read has made what is read, and may be there for it alone, as
 * a comparison or a sum is; not where it is the only one. */
static void drop_result(const struct dropping *d, uint32_t read)
{
	const struct replay *r = d->replay;
	uint32_t i = d->last[read];

	while (i != CALL_LOG_NONE && is_aside(r, i))
		i = d->last[i];
	if (i == CALL_LOG_NONE || r->given[i].kind != TF_WORK_KERNEL || r->given[i].result ||
	    r->given[i].stream != r->given[read].stream ||
	    r->call_events[i].wait != REPLAY_NO_WAIT || !(r->call_events[i].gpu <= RESULT_NS) ||
	    is_all_work(d, i))
		return;
	leave_out(d, i);
	drop_way(d, i);
}

/* The thread's next work behind a read may bring back to the device what the host made of it: a
 * small copy. Where nothing is read there is none. */
static void drop_answer(const struct dropping *d, uint32_t read)
{
	const struct replay *r = d->replay;
	uint32_t i = r->next[read];

	while (i != CALL_LOG_NONE && is_aside(r, i))
		i = r->next[i];
	if (i == CALL_LOG_NONE || r->given[i].kind != TF_WORK_COPY || r->given[i].result ||
	    r->given[i].direction != SPY_DIR_HTOD || r->given[i].bytes > WHATIF_SMALL_COPY)
		return;
	leave_out(d, i);
	d->acts[i].wait = REPLAY_NO_WAIT;
	drop_way(d, i);
}

static uint8_t *find_selecting(const struct call_log *h)
{
	uint8_t *of = alloc_zeroed(h->work_count + 1, sizeof(*of));

	for (size_t k = 0; k < h->work_count; k++) {
		const char *name = h->works[k].kernel;
		if (!name)
			continue;
		if (strstr(name, "DeviceReduce"))
			of[k] = COUNTING;
		else if (strstr(name, "DeviceSelect") || strstr(name, "DeviceCompactInit"))
			of[k] = SELECTING;
	}
	return of;
}

static bool is_step_of(const struct dropping *d, uint32_t i, enum selecting what)
{
	const struct call_event *given = &d->replay->given[i];

	return given->kind == TF_WORK_KERNEL && !given->result && given->work != CALL_LOG_NONE &&
	       d->selecting[given->work] == what &&
	       d->replay->call_events[i].wait == REPLAY_NO_WAIT;
}

/* The kernels of this step of a selection that the thread launched right behind call `from`, or
 * before it: `way` is the replay's `next` or d->last. How many there were. */
static unsigned drop_step(const struct dropping *d, const uint32_t *way, uint32_t from,
                          enum selecting what)
{
	unsigned count = 0;

	for (uint32_t i = way[from]; i != CALL_LOG_NONE; i = way[i]) {
		if (is_aside(d->replay, i))
			continue;
		if (!is_step_of(d, i, what))
			break;
		leave_out(d, i);
		drop_way(d, i);
		count++;
	}
	return count;
}

/* What is counted before a read and selected behind the wait for it; whether there was that. */
static bool drop_selection(const struct dropping *d, uint32_t read, uint32_t wait)
{
	if (!drop_step(d, d->replay->next, wait, SELECTING))
		return false;
	drop_step(d, d->last, read, COUNTING);
	return true;
}

/* A wait outside CUDA ends for the program when its threads are awake again. */
static void drop_waking(const struct whatif_change *c, const struct dropping *d, uint32_t read)
{
	bool reader = whatif_has_reader(d->replay, d->last, read),
	     all = reader && d->waking.alike && c->hope != HOPE_LEAST;
	double outside = all ? d->waking.each : d->waking.ns[c->hope];

	if (reader)
		outside = drop_reader(d, read, outside);
	if (!all)
		drop_outside(d, read, outside);
	struct whatif_woken w = whatif_woken(d->replay, &d->waking, read, c->hope == HOPE_MOST);
	while (all && whatif_woken_next(&w))
		d->acts[w.at].gap -= whatif_woken_goes(&w, d->acts[w.at].gap);
}

/*
 * A read or a wait that is not made saves its way too, as far as that is no longer than the ways to
 * other calls are: a program in Python takes it as often. At least only the waiting goes.
 */
static void drop(struct whatif_change *c, const struct dropping *d, uint32_t i)
{
	struct replay_act *a = &d->acts[i];
	const uint16_t flags = d->replay->call_events[i].flags;
	bool copy = d->replay->given[i].kind == TF_WORK_COPY;

	a->wait = REPLAY_NO_WAIT;
	/* It only came behind a wait: what it gives or does itself stays. */
	if (flags & REPLAY_TOLD && !(flags & REPLAY_READ) && !is_aside_call(d->replay, i))
		return;
	a->own = copy && c->hope == HOPE_LEAST ? fmin(a->own, COPY_CALL_NS) : 0;
	if (flags & REPLAY_READ)
		drop_waking(c, d, i);
	if (c->hope == HOPE_LEAST)
		return;
	drop_way(d, i);
	uint32_t before = d->last[i], read = copy ? i : CALL_LOG_NONE;
	if (!copy && before != CALL_LOG_NONE && is_read_by(d->replay, before, i)) {
		d->acts[before].own = 0;
		drop_way(d, before);
		read = before;
	}
	/* What is not read on the spot is not copied, on the GPU either; pinned memory of the
	 * program's own is there to be copied to at each step. */
	if (read != CALL_LOG_NONE && (d->replay->given[read].memory == SPY_MEM_PAGEABLE ||
	                              d->replay->call_events[read].flags & REPLAY_READ))
		leave_out(d, read);
	if (read != CALL_LOG_NONE && drop_selection(d, read, i))
		c->selected = true;
	if (c->hope == HOPE_MOST && read != CALL_LOG_NONE) {
		drop_result(d, read);
		drop_answer(d, i);
	}
	if (c->hope == HOPE_MOST && !(flags & REPLAY_READ))
		drop_behind(d, i);
}

void change_no_sync(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	uint32_t last = (uint32_t)r->count, *before = whatif_find_last(r);
	uint8_t *selecting = find_selecting(r->call_log);
	const struct dropping d = {
	        r, call_events, before, way_to_a_call(r), selecting, whatif_find_waking(r, before)};
	bool *unsure = whatif_unsure_waits(r);
	size_t count = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (is_sync(r, i))
			last = i;
	for (uint32_t i = 0; i < last; i++) {
		if (!is_sync(r, i) || stays(c, unsure[i], &count))
			continue;
		drop(c, &d, i);
		c->changed++;
	}
	free(before);
	free(selecting);
	free(unsure);
}
