/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that were seen, and the device that each is on: what a reset of the device takes with
 * it. For who records arguments, and for NVML.
 */
#ifndef SPY_CONTEXTS_H
#define SPY_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread's current context, asked of the driver; 0: none. */
uint64_t contexts_current(void);

/* A context is the primary one of a device. */
void contexts_learn_primary(uint64_t context, int device);

/* The primary context of a device, as far as it was seen; 0: not known. */
uint64_t contexts_primary(int device);

/* The device of a context that was seen; -1: not known. */
int contexts_device(uint64_t context);

/* Whether the program has, or had, a context on the device. */
bool contexts_use_device(int device);

/* Calls `f` for each context that was seen on the device. */
void contexts_of_device(int device, void (*f)(uint64_t context));

#endif
