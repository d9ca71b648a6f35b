/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain: takes records out of the threads' rings, in the order in which the calls returned, and
 * feeds what only rings feed: histograms, time slices, classes of work, graphs, the kept records,
 * the timeline. The shim's collector runs it on the live file; the reporter runs the same code on
 * its private copy to take what a killed process left in its rings.
 */
#ifndef SPY_DRAIN_H
#define SPY_DRAIN_H

#include "shim/core/format/trace_map.h"

/* Records of a thread that may be counted, and not yet given back, when the process is killed: they
 * are counted once more by whoever drains it then. */
#define DRAIN_TWICE_MOST 64

struct drain_source;
struct drain_turn;
struct feed;
struct steps;
struct timeline;

/* Zeroed but for `map`, and `timeline` and `steps` where there are such. */
struct drain {
	struct tf_map *map;
	struct timeline *timeline;
	struct steps *steps; /* finds steps */
	uint32_t fullest;    /* 64ths that the fullest ring was filled to before the last round */
	/* Called with `watcher` each time some more records were taken; NULL = nobody waits. */
	void (*taken)(void *watcher, uint64_t records);
	void *watcher;
	/* the drain's own */
	struct feed *feed; /* what records were fed to last: drain_inside.h */
	struct drain_source *sources;
	struct drain_turn *turns;
	uint32_t room; /* sources that there is memory for */
};

/*
 * Takes what the rings hold of calls that ended by tick `until`; returns how many records it took.
 * Calls come in the order of their end, nested ones before their caller, whatever their thread; of
 * a thread that was held up between the end of a call and the publication of its record, the record
 * comes in a later round, as it comes. What ended after `until` stays for the next round: with the
 * clock as it stood before the round began, nothing overtakes. UINT64_MAX takes all there is.
 *
 * One drain at a time per recording. Trusts nothing it reads: a damaged ring yields no records,
 * never an access outside the map, and never more records than the map can hold.
 */
uint64_t drain_all(struct drain *drain, uint64_t until);

/* Gives the drain's own memory back; the timeline stays. */
void drain_end(struct drain *drain);

#endif
