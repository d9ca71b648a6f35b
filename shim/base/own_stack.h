/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack for work of ours that needs more than the program's may have left: threads with 16 KiB
 * of it call CUDA too. For the shim's rare steps: start, exit, messages, look-ups.
 */
#ifndef SPY_OWN_STACK_H
#define SPY_OWN_STACK_H

/* As much as a first thread has by default: drivers and tools run on it too. Only what is used
 * takes memory. */
#define OWN_STACK_BYTES (8u << 20)

/* Calls f(argument) on a stack that is mapped for it; on the caller's own where there is no memory,
 * or where the caller is on such a stack already. */
void own_stack_call(void (*f)(void *argument), void *argument);

#endif
