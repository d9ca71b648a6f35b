/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host time in which a library copies what goes over the bus from pinned memory of its own.
 *
 * To the device, as CuPy's asarray() does with an array of NumPy: such a copy is asynchronous and
 * large, and an event is recorded right behind it, which tells when the pinned memory may be used
 * again. Before it the host copies: time after time about as long for as many bytes, and as fast as
 * one thread copies from memory to memory. CuPy on hosts of H100s and H200s: 5.2 bytes a ns of 64
 * MB, 6.2 to 6.8 of 8 and 32 MB; nine of ten within 1.3 times.
 *
 * To the host, as XLA does where numpy.asarray() asks for a result (REPLAY_READ): before such a
 * read it makes the array, whose pages are new, and behind it it copies to that. JAX on an H100's
 * host: 9 bytes a ns before 16.8 MB and 6 behind them; on a busy H200's 2.7 before 50 MB and 3.8
 * behind. What takes longer than at READ_SLOWEST may be the program's own work with the array.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"

#define LEAST_COPIES  8u   /* of a size: with fewer nothing is decided */
#define SLOWEST       3.0  /* bytes a ns */
#define FASTEST       12.0 /* bytes a ns */
#define SPREAD        1.5  /* the 9th tenth of the times over the first, at most */
#define RECORD_WITHIN 3u   /* calls behind the copy: the event is made before it is recorded */
#define READ_SLOWEST  4.0  /* bytes a ns, of a read */
#define READ_WITHIN   12u  /* calls before a read and behind it */

struct staged {
	uint64_t bytes;
	uint32_t at; /* the call before which the host copies */
};

bool whatif_is_large_read(const struct replay *r, uint32_t i)
{
	return r->call_events[i].flags & REPLAY_READ && r->given[i].bytes >= WHATIF_STAGED_BYTES;
}

static bool is_recorded(const struct replay *r, uint32_t copy)
{
	uint32_t i = r->next[copy];

	for (unsigned n = 0; i != CALL_LOG_NONE && n < RECORD_WITHIN; n++, i = r->next[i]) {
		if (r->given[i].role == CUDA_ROLE_EVENT_RECORD)
			return r->given[i].stream == r->given[copy].stream;
		if (r->given[i].kind != TF_WORK_NONE)
			return false;
	}
	return false;
}

static bool may_be_staged(const struct replay *r, uint32_t i)
{
	const struct call_event *given = &r->given[i];

	return given->kind == TF_WORK_COPY && given->direction == SPY_DIR_HTOD && given->async &&
	       given->memory == SPY_MEM_PINNED && given->bytes >= WHATIF_STAGED_BYTES &&
	       !given->result && r->call_events[i].before == CALL_LOG_NONE && is_recorded(r, i);
}

static int by_bytes(const void *a, const void *b)
{
	const struct staged *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Of the times before these calls, ns: a tenth is no longer, half, and nine tenths. */
struct usual {
	double first, middle, last;
};

static struct usual usual_time(const struct replay *r, const struct staged *all, size_t count)
{
	double *gaps = alloc_zeroed(count, sizeof(*gaps));
	struct usual u;

	for (size_t i = 0; i < count; i++)
		gaps[i] = r->call_events[all[i].at].gap;
	u.first = stats_select(gaps, count, 0.1);
	u.middle = stats_select(gaps, count, 0.5);
	u.last = stats_select(gaps, count, 0.9);
	free(gaps);
	return u;
}

/* The time that copying takes before each of these copies of one size, ns; 0: it cannot be told. */
static double usual_sending(const struct replay *r, const struct staged *all, size_t count)
{
	double bytes = (double)all->bytes;
	struct usual u = usual_time(r, all, count);

	return u.middle >= bytes / FASTEST && u.middle <= bytes / SLOWEST &&
	                       u.last <= SPREAD * u.first
	               ? u.middle
	               : 0;
}

/* The same beside reads of one size: as much of it as copying may be. */
static double usual_reading(const struct replay *r, const struct staged *all, size_t count)
{
	double bytes = (double)all->bytes;
	struct usual u = usual_time(r, all, count);

	return u.middle >= bytes / FASTEST ? bytes / READ_SLOWEST : 0;
}

struct staging {
	unsigned kind; /* WHATIF_SENT ... */
	struct staged *all;
	size_t count;
	double (*usual)(const struct replay *r, const struct staged *all, size_t count);
};

/* What of the time before each of these calls is copying, size by size; whether any is. Of a
 * call that is among those of another kind too the longer counts. */
static bool divide(struct staging *s, const struct replay *r, double *part)
{
	bool any = false;

	qsort(s->all, s->count, sizeof(*s->all), by_bytes);
	for (size_t from = 0, to; from < s->count; from = to) {
		for (to = from + 1; to < s->count && s->all[to].bytes == s->all[from].bytes;)
			to++;
		double takes = to - from < LEAST_COPIES ? 0 : s->usual(r, s->all + from, to - from);
		for (size_t i = from; i < to; i++) {
			uint32_t at = s->all[i].at;
			part[at] = fmax(part[at], fmin(r->call_events[at].gap, takes));
		}
		any |= takes > 0;
	}
	return any;
}

/* The call behind the longest time of the host's on the way to a read, of the thread that makes it.
 */
static uint32_t before_read(const struct replay *r, const uint32_t *last, uint32_t read)
{
	uint32_t longest = read, i = read;

	for (unsigned n = 0; n < READ_WITHIN; n++) {
		if (r->call_events[i].gap > r->call_events[longest].gap)
			longest = i;
		if (r->call_events[i].before != CALL_LOG_NONE || last[i] == CALL_LOG_NONE)
			break;
		i = last[i];
		if (r->given[i].kind != TF_WORK_NONE)
			break;
	}
	return longest;
}

/* The same on the way from a read to the next work, whichever thread gives it; CALL_LOG_NONE:
 * there is no call. */
static uint32_t behind_read(const struct replay *r, const uint32_t *last, uint32_t read)
{
	uint32_t longest = CALL_LOG_NONE;

	for (uint32_t i = read + 1; i < r->count && i - read <= REPLAY_LOOK_AHEAD; i++) {
		uint32_t from = r->call_events[i].before;
		if (from == CALL_LOG_NONE)
			from = last[i];
		if (from != CALL_LOG_NONE && from >= read &&
		    (longest == CALL_LOG_NONE ||
		     r->call_events[i].gap > r->call_events[longest].gap))
			longest = i;
		if (r->given[i].kind != TF_WORK_NONE && !r->given[i].result)
			break;
	}
	return longest;
}

static void add(struct staging *to, uint64_t bytes, uint32_t at)
{
	if (at != CALL_LOG_NONE)
		to->all[to->count++] = (struct staged){bytes, at};
}

double *whatif_staging(const struct replay *r, unsigned kinds, unsigned *found)
{
	enum { SENT, MADE, READ, COUNT };
	double *part = alloc_zeroed(r->count + 1, sizeof(*part));
	struct staging of[COUNT] = {[SENT] = {.kind = WHATIF_SENT, .usual = usual_sending},
	                            [MADE] = {.kind = WHATIF_MADE, .usual = usual_reading},
	                            [READ] = {.kind = WHATIF_READ, .usual = usual_reading}};
	uint32_t *last = whatif_find_last(r);

	for (size_t k = 0; k < COUNT; k++)
		of[k].all = alloc_zeroed(r->count + 1, sizeof(*of[k].all));
	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t bytes = r->given[i].bytes;
		if (may_be_staged(r, i))
			add(&of[SENT], bytes, i);
		if (whatif_is_large_read(r, i)) {
			add(&of[MADE], bytes, before_read(r, last, i));
			add(&of[READ], bytes, behind_read(r, last, i));
		}
	}
	unsigned any = 0;
	for (size_t k = 0; k < COUNT; k++) {
		if (of[k].kind & kinds && divide(&of[k], r, part))
			any |= of[k].kind;
		free(of[k].all);
	}
	if (found)
		*found = any;
	free(last);
	return part;
}
