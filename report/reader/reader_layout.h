/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where everything lies in a recording, while it is looked at: extents that are led to, and what is
 * wrong on the way. For reader_layout*.c alone.
 */
#ifndef REPORT_READER_LAYOUT_H
#define REPORT_READER_LAYOUT_H

#include "report/reader/reader.h"

/* What stands somewhere in a recording. */
enum layout_kind {
	HEADER,
	TABLE_PAGE,
	THREAD,
	RING,
	KERNEL_PAGE,
	TEXT,
	KERNEL_NAME,
	HISTOGRAM,
	AREA,
	RECORDS,
	KINDS
};

struct reader_extent {
	uint64_t from, until;
	enum layout_kind kind;
};

struct reader_layout {
	struct recording *recording;
	const struct tf_map *map;
	uint64_t end; /* of what may be pointed at */
	struct reader_extent *extents;
	size_t count;
	uint64_t wrong[KINDS];   /* lead to no place, or to nonsense */
	uint64_t missing[KINDS]; /* ought to be there */
	uint64_t walked;         /* bytes of threads and rings that were gone through */
};

#define LAYOUT_UNIT 64u /* everything in a recording begins at a multiple of it */

/* What stands there; NULL, and counted, where that cannot be. */
const void *layout_place(struct reader_layout *l, enum layout_kind kind, uint64_t at,
                         uint64_t bytes);
/*
 * Whether what stands at a place may be gone through, too: all that is there once, and no more.
 * What is led to again and again would otherwise take any time. Counted as wrong if not.
 */
bool layout_may_walk(struct reader_layout *l, enum layout_kind kind, uint64_t bytes);
/* A thread's slot and all that it leads to. */
void layout_thread(struct reader_layout *l, uint64_t at, uint32_t index);
/* A chain of rings. `thread`: whose they are; NO_THREAD = CUPTI's. */
#define NO_THREAD UINT32_MAX
void layout_rings(struct reader_layout *l, uint64_t at, uint32_t thread);
/* What the header, the tables and the areas lead to. */
void layout_all(struct reader_layout *l);

#endif
