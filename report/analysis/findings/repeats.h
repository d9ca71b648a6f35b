/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sequence of launches that the thread with most of them repeats, found in the recent calls by
 * comparing what it launched with what it launched before. For the findings, which propose graphs.
 */
#ifndef REPORT_REPEATS_H
#define REPORT_REPEATS_H

#include <stdint.h>

struct finding_context;

struct repeats {
	uint32_t launches; /* in the sequence */
	uint32_t others;   /* copies, sets, graphs in it */
	uint32_t waits;    /* in it: a graph ends at each */
	uint64_t count;    /* how often it came right after itself, the first time counted */
	double covered;    /* ns from the start of each to the start of what follows */
	double looked;     /* ns in which it was looked for: the latest part of the time held */
};

/* count 0: there is none. */
struct repeats repeats_find(const struct finding_context *s);

#endif
