/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shim's modules lean on, for tests of one module at a time: a recording in plain memory,
 * the lock, what was said and counted. Included by the tests of shim/ alone.
 */
#ifndef TESTS_UNIT_SHIM_STUBS_H
#define TESTS_UNIT_SHIM_STUBS_H

#include "shim/base/gate.h"
#include "tests/unit/unit.h"

/* An empty recording of so many bytes as spy_map, its table of kernels ready; all counts at zero.
 */
void stub_start(uint64_t bytes);
void stub_end(void);

extern bool stub_recording; /* what spy_ask() says */
extern uint64_t stub_lost_calls;

/* As a thread is that was just born. */
void stub_forget_thread(void);

/* Opens or shuts the gate of span.h, in the present generation, and what spy_ask() says. */
void stub_gate(bool open);
extern uint64_t stub_room; /* bytes that may still be handed out */
extern uint64_t stub_anomalies[SPY_ANOMALY_COUNT];
extern uint32_t stub_locks;  /* how often the shim's lock was taken */
extern char stub_said[1024]; /* the last line of spy_say() */
extern unsigned stub_lines;  /* how many there were */

/* A fast generator of numbers, the same in every run. */
uint64_t stub_random(void);

#endif
