/* SPDX-License-Identifier: Apache-2.0 */
/* Setting CUPTI up and switching it off again. For shim/cupti/cupti.c. */
#ifndef SPY_CUPTI_SETUP_H
#define SPY_CUPTI_SETUP_H

#include <stdbool.h>
#include "shim/cupti/cupti_api.h"

#define CUPTI_HAND_OVER_MS 100u

/*
 * Finds libcupti, fills `cupti`, subscribes and has it record, into the buffers of cupti_buffers.h;
 * `on_call` then comes at the entry of each driver call that gives work, with a struct cp_call, in
 * the calling thread. NULL: done; else why not, in words, and in `code` CUPTI's own answer, 0 where
 * it was not asked. Ahead of cuInit; opens libraries.
 */
const char *cupti_set_up(struct cp_functions *cupti, cp_callback_t on_call, int *code);

/*
 * Whether CUPTI may be asked for its records while the program runs: not where it records launches
 * of graphs. It then hands over full buffers by itself, every CUPTI_HAND_OVER_MS. (CUPTI 13.0,
 * asked ten times a second, made launches of XLA's graphs fail: CUDA_ERROR_LAUNCH_FAILED.)
 */
bool cupti_may_ask(void);

/* Has it record nothing any more, and no longer be subscribed to. What it holds stays. */
void cupti_disable_all(const struct cp_functions *cupti);

#endif
