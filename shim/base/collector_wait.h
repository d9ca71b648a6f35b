/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's sleep between two rounds: how long, and how it ends early. Few wake-ups while
 * there is nothing to do, many records at a time while there is, and no ring that fills up
 * meanwhile.
 */
#ifndef SPY_COLLECTOR_WAIT_H
#define SPY_COLLECTOR_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define COLLECTOR_WAIT_SHORT_NS 2000000ull  /* at least */
#define COLLECTOR_WAIT_BUSY_NS  16000000ull /* at most, while there are records */
/* While there are none: how far a killed process's last sign of life may lag. */
#define COLLECTOR_WAIT_LONG_NS 1000000000ull

/*
 * The sleep after one of `ns`: the round after it took `taken` records, and found the fullest ring
 * filled to `fullest` 64ths. `called`: collector_wait_end() cut it short, at half. What it costs to
 * wake up is shared by the records of a round: the aim is a fullest ring filled to a third.
 */
static inline uint64_t collector_wait_next(uint64_t ns, uint64_t taken, uint32_t fullest,
                                           bool called)
{
	if (!taken && !called)
		return ns * 2 < COLLECTOR_WAIT_LONG_NS ? ns * 2 : COLLECTOR_WAIT_LONG_NS;
	if (ns > COLLECTOR_WAIT_BUSY_NS)
		ns = COLLECTOR_WAIT_BUSY_NS;
	if (fullest > 48)
		return COLLECTOR_WAIT_SHORT_NS;
	if (called || fullest > 28)
		ns /= 2;
	else if (fullest < 12)
		ns *= 2;
	return ns < COLLECTOR_WAIT_SHORT_NS  ? COLLECTOR_WAIT_SHORT_NS
	       : ns < COLLECTOR_WAIT_BUSY_NS ? ns
	                                     : COLLECTOR_WAIT_BUSY_NS;
}

/* Sleeps so long; true where collector_wait_end() ended it. */
bool collector_wait(uint64_t ns);

/* A thread's ring is half full: ends the collector's sleep, if it is a long one. At most one system
 * call for each of these; keeps errno. */
void collector_wait_end(void);

void collector_wait_after_fork(void);

#endif
