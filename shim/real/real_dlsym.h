/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dlsym that our exported one stands before. For who asks it for a symbol: it can be called at
 * any time, also inside an allocator that is starting up.
 */
#ifndef SPY_REAL_DLSYM_H
#define SPY_REAL_DLSYM_H

#include <stdbool.h>

typedef void *(*spy_dlsym_t)(void *, const char *);

/* Used by the exported dlsym in assembler (dlsym.S): tail jump target, and what finds it. */
extern __attribute__((visibility("hidden"))) spy_dlsym_t spy_real_dlsym;
__attribute__((visibility("hidden"))) void spy_find_dlsym(void);

/* What a library that goes around us has. */
extern __attribute__((visibility("hidden"))) spy_dlsym_t spy_libc_dlsym;

/* Finds them, where nobody has yet. */
void real_dlsym_init(void);

/* Whether an address is inside this library: then it is never "the real function". */
bool real_is_ours(const void *p);

#endif
