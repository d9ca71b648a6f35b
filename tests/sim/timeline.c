/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>
#include "tests/sim/timeline.h"

/* A sleep is late by the timer's slack and the way back to the processor; the rest is spun. */
#define SPIN_NS 120000

uint64_t sim_tl_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void sim_tl_spin_until(uint64_t when_ns)
{
	if (virtual_clock_spin) {
		virtual_clock_spin(when_ns);
		return;
	}
	while (sim_tl_now() < when_ns)
		relax();
}

void sim_tl_wait_until(uint64_t when_ns)
{
	uint64_t now = sim_tl_now();
	int saved = errno;

	while (now + SPIN_NS < when_ns) {
		uint64_t wake = when_ns - SPIN_NS;
		struct timespec t = {
		        .tv_sec = (time_t)(wake / 1000000000u),
		        .tv_nsec = (long)(wake % 1000000000u),
		};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		now = sim_tl_now();
	}
	if (now < when_ns)
		sim_tl_spin_until(when_ns);
	errno = saved;
}

void sim_tl_device_init(struct sim_tl_device *d, struct truth_device *truth)
{
	memset(d, 0, sizeof(*d));
	pthread_mutex_init(&d->lock, NULL);
	d->truth = truth;
}

/* Forgets spans that no new work can touch: work starts now or later, and a thread that has
 * computed its start is at most this late in recording it. */
static void forget_old(struct sim_tl_device *d, uint64_t start_ns)
{
	unsigned n = 0;

	while (n < d->spans && d->span[n].end_ns + 1000000000u < start_ns)
		n++;
	if (n == 0 && d->spans == d->room) {
		unsigned room = d->room ? d->room * 2 : 256;
		struct sim_tl_span *more = realloc(d->span, room * sizeof(*more));

		if (more) {
			d->span = more;
			d->room = room;
			return;
		}
		n = d->spans / 2;
	}
	memmove(d->span, d->span + n, (d->spans - n) * sizeof(*d->span));
	d->spans -= n;
}

/* Adds [start, end) to the union; counts only what was not busy before. */
static void add_busy(struct sim_tl_device *d, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t from = start_ns, to = end_ns, covered = 0;
	unsigned last = d->spans, first;

	while (last > 0 && d->span[last - 1].start_ns > end_ns)
		last--;
	for (first = last; first > 0 && d->span[first - 1].end_ns >= start_ns; first--) {
		struct sim_tl_span *s = &d->span[first - 1];

		covered += s->end_ns - s->start_ns;
		from = s->start_ns < from ? s->start_ns : from;
		to = s->end_ns > to ? s->end_ns : to;
	}
	if (first == last) {
		if (d->spans == d->room) {
			unsigned before = d->spans;

			forget_old(d, start_ns);
			first = first > before - d->spans ? first - (before - d->spans) : 0;
			if (d->spans == d->room)
				return; /* no memory: the figure is short of this piece */
		}
		memmove(d->span + first + 1, d->span + first,
		        (d->spans - first) * sizeof(*d->span));
		d->spans++;
	} else if (last - first > 1) {
		memmove(d->span + first + 1, d->span + last, (d->spans - last) * sizeof(*d->span));
		d->spans -= last - first - 1;
	}
	d->span[first] = (struct sim_tl_span){from, to};
	d->truth->busy_ns += to - from - covered;
}

uint64_t sim_tl_place(struct sim_tl_device *d, enum sim_tl_engine engine, enum sim_tl_kind kind,
                      uint64_t earliest_ns, uint64_t gpu_ns)
{
	struct truth_device *truth = d->truth;
	uint64_t start = earliest_ns;

	pthread_mutex_lock(&d->lock);
	if (engine < TL_ENGINES) {
		if (d->engine_free_ns[engine] > start)
			start = d->engine_free_ns[engine];
		d->engine_free_ns[engine] = start + gpu_ns;
	}
	if (gpu_ns > 0)
		add_busy(d, start, start + gpu_ns);
	if (!truth->first_start_ns || start < truth->first_start_ns)
		truth->first_start_ns = start;
	if (start + gpu_ns > truth->last_end_ns)
		truth->last_end_ns = start + gpu_ns;
	truth->kernel_ns += kind == TL_KERNEL ? gpu_ns : 0;
	truth->copy_ns += kind == TL_COPY ? gpu_ns : 0;
	truth->set_ns += kind == TL_SET ? gpu_ns : 0;
	pthread_mutex_unlock(&d->lock);
	return start;
}
