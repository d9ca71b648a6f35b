/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host time in which a library copies to pinned memory of its own what it then sends to the device,
 * as CuPy's asarray() does with an array of NumPy.
 *
 * Such a copy is asynchronous and large, and an event is recorded right behind it, which tells when
 * the pinned memory may be used again. Before it the host copies: time after time about as long for
 * as many bytes, and as fast as one thread copies from memory to memory. CuPy on hosts of H100s and
 * H200s: 5.2 bytes a ns of 64 MB, 6.2 to 6.8 of 8 and 32 MB; nine of ten within 1.3 times.
 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"

#define LEAST_BYTES   (1u << 20)
#define LEAST_COPIES  8u   /* of a size: with fewer nothing is decided */
#define SLOWEST       3.0  /* bytes a ns */
#define FASTEST       12.0 /* bytes a ns */
#define SPREAD        1.5  /* the 9th tenth of the times over the first, at most */
#define RECORD_WITHIN 3u   /* calls behind the copy: the event is made before it is recorded */

struct staged {
	uint64_t bytes;
	uint32_t copy;
};

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
	       given->memory == SPY_MEM_PINNED && given->bytes >= LEAST_BYTES && !given->result &&
	       r->call_events[i].before == CALL_LOG_NONE && is_recorded(r, i);
}

static int by_bytes(const void *a, const void *b)
{
	const struct staged *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The time that copying takes before each of these copies of one size, ns; 0: it cannot be told. */
static double usual_copying(const struct replay *r, const struct staged *all, size_t count)
{
	double *gaps, bytes = (double)all->bytes, first, middle, last;

	if (count < LEAST_COPIES)
		return 0;
	gaps = alloc_zeroed(count, sizeof(*gaps));
	for (size_t i = 0; i < count; i++)
		gaps[i] = r->call_events[all[i].copy].gap;
	first = stats_select(gaps, count, 0.1);
	middle = stats_select(gaps, count, 0.5);
	last = stats_select(gaps, count, 0.9);
	free(gaps);
	return middle >= bytes / FASTEST && middle <= bytes / SLOWEST && last <= SPREAD * first
	               ? middle
	               : 0;
}

double *whatif_staging(const struct replay *r)
{
	double *part = alloc_zeroed(r->count + 1, sizeof(*part));
	struct staged *all = alloc_zeroed(r->count + 1, sizeof(*all));
	size_t count = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (may_be_staged(r, i))
			all[count++] = (struct staged){r->given[i].bytes, i};
	qsort(all, count, sizeof(*all), by_bytes);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && all[to].bytes == all[from].bytes;)
			to++;
		double takes = usual_copying(r, all + from, to - from);
		for (size_t i = from; i < to; i++) {
			double gap = r->call_events[all[i].copy].gap;
			part[all[i].copy] = gap < takes ? gap : takes;
		}
	}
	free(all);
	return part;
}
