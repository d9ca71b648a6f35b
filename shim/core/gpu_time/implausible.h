/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of CUPTI's that cannot be true. It gives a copy a start or an end that is milliseconds
 * off now and then (H200, driver 580: of 521 copies of 64 KiB within the device, beside graphs, the
 * first one, 15 or 30 ms instead of 0.9 us): then the copy lasts while other work of its stream
 * runs. Work of one stream runs one after the other, but for kernels launched to overlap. Where the
 * stream has no other work, how slow the copy would be tells (H100: 12 bytes in 1.8 s).
 *
 * For the timeline, and the reporter where it replays the calls.
 */
#ifndef SPY_IMPLAUSIBLE_H
#define SPY_IMPLAUSIBLE_H

#include <stdbool.h>

#define IMPLAUSIBLE_LEAST_NS 1e6 /* a copy that lasts as long is looked at */
#define IMPLAUSIBLE_NEIGHBOURS                                                                     \
	64u /* calls before and behind it among which its stream's are sought */
/* Two pieces that share less are as the GPU's timer and CUPTI's clocks have them. */
#define IMPLAUSIBLE_GRAIN_NS 2e3
#define IMPLAUSIBLE_SHARE    0.2 /* of the shorter one */
/* ns a byte; the slowest copies have rows of one byte, each of which is a transfer of its own. */
#define IMPLAUSIBLE_SLOWEST 200

struct implausible_span {
	double start, end; /* ns, of any clock */
	double bytes;      /* of a copy or set */
	bool is_copy;      /* a copy or set: its times may be wrong too */
	bool is_staged;    /* the host has a part in it, and may be kept from that for long */
};

static inline double implausible_ns(const struct implausible_span *a)
{
	return a->end - a->start;
}

/* Whether a copy would have taken longer than any way to the memory explains. */
static inline bool implausible_slow(const struct implausible_span *a)
{
	return a->is_copy && !a->is_staged && implausible_ns(a) >= IMPLAUSIBLE_LEAST_NS &&
	       implausible_ns(a) >= IMPLAUSIBLE_SLOWEST * a->bytes;
}

/* Whether `b`, of the same stream, speaks against the times of copy `a`. Of two copies that cannot
 * both be true, the one that takes longer for a byte is not believed. */
static inline bool implausible_beside(const struct implausible_span *a,
                                      const struct implausible_span *b)
{
	double from = a->start > b->start ? a->start : b->start,
	       to = a->end < b->end ? a->end : b->end,
	       shorter = implausible_ns(a) < implausible_ns(b) ? implausible_ns(a)
	                                                       : implausible_ns(b);

	if (!(to > from) || !(to - from > IMPLAUSIBLE_SHARE * shorter))
		return false;
	if (b->end - a->start <= IMPLAUSIBLE_GRAIN_NS || a->end - b->start <= IMPLAUSIBLE_GRAIN_NS)
		return false;
	return !b->is_copy ||
	       implausible_ns(b) * (a->bytes + 1) <= implausible_ns(a) * (b->bytes + 1);
}

#endif
