/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of the program's threads that was ours, on the timeline: where it is no part of the call
 * that it was taken out of, it would seem to be work of the program's outside CUDA. For the
 * sampler.
 */
#ifndef SPY_OWN_TIME_H
#define SPY_OWN_TIME_H

#include <stdint.h>

/*
 * The next `ticks` of the recorded call that is under way, from where it begins as far as is known
 * by now, were ours: a record says so ahead of that of the call. A quarter of a microsecond or so
 * of one call is left out, which would double the records of a program whose every launch is of a
 * new class.
 */
void own_time(uint64_t ticks);

/*
 * The `ticks` behind a call that returned at `end` were ours, and its record is in the ring: the
 * same, where there is room. A microsecond or so is left out: there is such time behind every call
 * that waits.
 */
void own_time_behind(uint64_t end, uint64_t ticks);

#endif
