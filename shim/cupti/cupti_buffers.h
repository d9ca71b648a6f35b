/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that CUPTI writes its records into, ours from beginning to end: asked for on the
 * program's threads, given back by them or by CUPTI's own, read by the collector alone. For
 * shim/cupti*.c.
 */
#ifndef SPY_CUPTI_BUFFERS_H
#define SPY_CUPTI_BUFFERS_H

#include <stdbool.h>
#include "shim/cupti/cupti_api.h"

/* CUPTI keeps one buffer a thread and may hand over full ones alone (cupti_may_ask()): what is in
 * the others is lost when the program is killed. So they are small, of 150 kernels or 580 launches
 * of graphs, and many: 64 MiB in all. */
#define CUPTI_BUFFER_BYTES (32u << 10)
#define CUPTI_BUFFERS_MOST 2048u
#define CUPTI_BUFFERS_MANY 512u /* full ones that should be read soon */

struct cupti_buffer { /* ahead of its data */
	struct cupti_buffer *next;
	size_t valid; /* bytes that CUPTI filled */
};
#define CUPTI_BUFFER_HEAD 64u
_Static_assert(sizeof(struct cupti_buffer) <= CUPTI_BUFFER_HEAD, "the head of a buffer");

static inline uint8_t *cupti_buffer_data(struct cupti_buffer *b)
{
	return (uint8_t *)b + CUPTI_BUFFER_HEAD;
}

/* CUPTI's callbacks. They take a lock of a few instructions, and call nothing of CUPTI. */
void cupti_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records);
void cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid);

/* `must_give`: this CUPTI takes no refusal. */
void cupti_buffers_start(bool must_give);

/* Takes all full buffers, oldest first. */
struct cupti_buffer *cupti_buffers_take(void);

/* Gives one back, to be written anew. */
void cupti_buffer_recycle(struct cupti_buffer *b);

/* How many full ones wait to be taken. */
unsigned cupti_buffers_waiting(void);

/* Bytes of records that were given up unread since the last call, because the reader fell behind.
 */
uint64_t cupti_buffers_lost(void);

#endif
