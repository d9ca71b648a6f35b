/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the tables `sites` and `codes`: found by the keys of stacks, made where they are new. For
 * sites.c, whose stacks make calls, and giver.c, whose stacks say where one that makes none is.
 */
#ifndef SPY_SITES_ROWS_H
#define SPY_SITES_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/sites/python.h"
#include "shim/sites/sites_internal.h"

/* Room for the keys, made once; false: there is none. */
bool rows_start(void);
void rows_after_fork(void);

/* ---- a stack's key, a hash of all that is behind it ---- */

static inline uint64_t rows_stir(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xff51afd7ed558ccdu;
	return h ^ h >> 29;
}

struct keying {
	uint64_t key;
	bool python; /* there are frames of it */
};

/* A python_tell: `context` is a struct keying. */
bool rows_add_to_key(void *context, const struct python_frame *frame);

/* The row of a stack, index + 1; 0: none has that key. Any thread. */
uint32_t rows_find(uint64_t key);

/* ---- a row that is new: under the shim's lock ---- */

#define FRAMES_MOST (PYTHON_FRAMES_MOST + NATIVE_MOST)
struct stack {
	uint64_t frames[FRAMES_MOST];
	uint32_t count;
	uint32_t site; /* its row, index + 1; 0 = none yet */
	bool whole;    /* all of it was read, and has a place in the tables */
};

/* Index of the code object in table `codes`, made if need be; -1 = no room, or it is none. */
int64_t rows_code(struct tf_sites *area, const struct python_frame *frame);

/* The same, where it is there already. */
int64_t rows_find_code(const struct python_frame *frame);

/* A python_tell: `context` is a struct stack. */
bool rows_keep_frame(void *context, const struct python_frame *frame);

/* A row for a stack of the function `call`; NULL: there is no room. It is seen once it is published
 * under its key. */
struct tf_site *rows_add(struct tf_sites *area, const struct stack *s, uint16_t call, bool cut);
void rows_publish(struct tf_sites *area, struct stack *s, uint64_t key);

/* ---- what that may take ---- */

/* Whether a stack that is new may be looked at closely at `now` (ticks): within the budget of the
 * process, and what a program may need at its start. In a cold path, which says what it took. */
bool rows_may_make(const struct tf_sites *area, uint64_t now);
void rows_took(uint64_t ticks);

#endif
