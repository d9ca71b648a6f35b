/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs come to call us: the exported dlsym, and the wrapper for each of the driver's
 * functions. For the life cycle and the hand-written wrappers of
 * cuGetProcAddress.
 */
#ifndef SPY_LOOKUP_H
#define SPY_LOOKUP_H

#include <stdint.h>

/* The wrapper for a function of the driver, NULL where there is none. */
void *lookup_wrapper(void *real);

/*
 * What a program gets in place of `pointer`, which the driver returned for `symbol`: our wrapper,
 * or the pointer itself. Entries that matter and are not known are noted as gaps. `arguments` of
 * the cuGetProcAddress asked: 4 or 5.
 */
void *lookup_substitute(const char *symbol, void *pointer, int version, int arguments);

/* Addresses inside the libraries that asked for the driver's look-up, as many as fit; returns how
 * many. */
unsigned lookup_callers(const void **to, unsigned most);

#endif
