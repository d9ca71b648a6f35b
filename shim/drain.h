/*
 * The drain: takes records out of the threads' rings and feeds what only rings feed (histograms,
 * time slices, launch shapes, graphs, the kept records). The shim's collector runs it on the live
 * file; the reporter runs the same code on its private copy to take what a killed process left in
 * its rings.
 */
#ifndef SPY_DRAIN_H
#define SPY_DRAIN_H

#include "shim/trace_map.h"

struct drain {
	struct tf_map *map;
};

/*
 * Takes up to `most` records of thread `index`; returns how many it took. One drain at a time per
 * recording. Trusts nothing it reads: a damaged ring yields no records, never an access outside the
 * map.
 */
uint64_t drain_thread(struct drain *drain, uint32_t index, uint64_t most);

/* Takes what all threads' rings hold now; returns how many records it took. */
uint64_t drain_all(struct drain *drain);

#endif
