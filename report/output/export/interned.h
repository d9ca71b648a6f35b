/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that have numbers: texts that are written once and called by number. For the exports. */
#ifndef REPORT_INTERNED_H
#define REPORT_INTERNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interned { /* all zero: empty */
	struct interned_key *keys;
	uint64_t count;
};

/* The number of a key, from 1 on in the order in which they came; *new: it is the first time. */
uint64_t interned_number(struct interned *i, const void *key, size_t bytes, bool *new);
void interned_free(struct interned *i);

#endif
