/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding to the tables of the recording while the program runs. For the shim's cold paths; each
 * function says who may call it.
 */
#ifndef SPY_RECORDING_TABLES_H
#define SPY_RECORDING_TABLES_H

#include <stdint.h>

/* Stores a string; its offset, 0 = no room (or empty). Takes no lock of the shim. */
uint64_t recording_text(const char *text, uint64_t bytes);

/* Notes something that could not be intercepted (enum tf_gap_kind), once per kind and name,
 * counting the rest. Takes the shim's lock. */
void recording_uncovered(uint32_t kind, const char *name, uint32_t version);

#endif
