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
 * is left out, which would double the records of a program whose every launch is of a new class.
 */
void own_time(uint64_t ticks);

#endif
