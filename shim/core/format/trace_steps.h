/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges and steps, and the stores of kept records. A part of trace_format.h.
 */
#ifndef SPY_TRACE_STEPS_H
#define SPY_TRACE_STEPS_H

#include <stdint.h>
#include "shim/core/format/classes.h"

struct tf_counts { /* what a thread did meanwhile */
	uint64_t launches, graph_launches, syncs, copies, pageable_copies, sets, allocs;
	uint64_t copy_bytes;
	uint64_t launch_ticks; /* API time of launches and graph launches */
};

/*
 * Table `ranges`: NVTX ranges by name and by the range around them. A tree: an entry's parent comes
 * before it. Made by the shim; from `hist` on written by the drain. Entry 0 has the ranges for
 * which there was no room.
 */
struct tf_nvtx_range {
	uint64_t name;   /* struct tf_string, UTF-8 if the program keeps to it */
	uint64_t domain; /* struct tf_string, 0 = the default domain */
	uint32_t parent; /* index + 1, 0 = in no other */
	uint16_t level;  /* ranges around it */
	uint16_t flags;  /* TF_RANGE_PATTERN */

	uint64_t hist; /* struct tf_hist, durations; 0 = none */
	uint64_t count;
	uint64_t counted; /* of these: whose counts are known */
	uint64_t ticks, min_ticks, max_ticks;
	struct tf_counts counts;
	uint32_t rows;    /* in table `steps` */
	uint32_t stride;  /* one range in so many has a row; 0 = none */
	uint32_t pattern; /* by the shim: index + 1 of the entry for its name's pattern; 0 = none */
	uint32_t reserved;
};
#define TF_RANGES_MAX  16384u
#define TF_RANGE_OTHER 0u
#define TF_RANGE_PATTERN                                                                           \
	1u /* stands for many names that differ only in numbers, each shown as '#' */

struct tf_episode { /* a stretch of steps of a loop, one after the other */
	uint64_t start, end;
	uint64_t steps;
};
#define TF_EPISODES 32u

struct tf_level {        /* one way to divide a loop's work into pieces that are alike */
	uint64_t marker; /* as tf_loop's */
	uint8_t cls;
	uint8_t anchors; /* TF_ANCHOR_...: found in at least 0.9 of the pieces */
	uint8_t reserved[2];
	uint32_t seen;         /* pieces, of the events that were looked at */
	uint64_t events_x1000; /* pieces of work in one, on average */
};
#define TF_LEVELS        8u
#define TF_ANCHOR_WAIT   1u /* a call that waits for the GPU: copies to the host that do, too */
#define TF_ANCHOR_UPLOAD 2u /* a copy to the device */
#define TF_ANCHOR_GAP    4u /* a time without calls, long for this thread */

/*
 * Table `loops`: work that was found to repeat. A loop runs as long as its steps are alike; it may
 * end and come again (evaluation between epochs): each time is an episode. When there are more than
 * TF_EPISODES, the two with the shortest time between them are joined. Written by the drain.
 */
struct tf_loop {
	uint32_t thread; /* index in table `threads`; TF_LOOP_ALL: of all threads' calls together */
	uint8_t cls;     /* enum spy_class of the marker, which occurs once in each step */
	uint8_t anchors; /* TF_ANCHOR_...: why this level was taken for the step; 0 = it is the
	                    longest */
	uint8_t levels;  /* entries of `level`, shortest first */
	uint8_t step_level;   /* which of them is the step */
	uint64_t marker;      /* kernel, graph or call id; copy, set: TF_COPY_KIND() */
	uint64_t steps;       /* found, those without a row too */
	uint64_t events;      /* pieces of work in these */
	uint64_t alike_x1000; /* sum over steps of the similarity to the step before, in 1/1000 */
	uint64_t odd;         /* steps with a similarity below one half */
	uint32_t rows, stride;
	uint64_t given_up;       /* tick at which another loop took its place; 0 = not */
	uint64_t ticks;          /* sum of its steps' durations */
	uint64_t hist;           /* struct tf_hist of these; 0 = none */
	struct tf_counts counts; /* sums over its steps */
	uint32_t episodes;       /* entries of `episode`, by time */
	uint32_t merged;         /* episodes that became one with another */
	struct tf_episode episode[TF_EPISODES];
	struct tf_level level[TF_LEVELS];
};
#define TF_LOOPS_MAX 32u
#define TF_LOOP_ALL  UINT32_MAX

struct tf_step { /* table `steps`: one range of the outermost levels, or one step found */
	uint64_t start, end;
	uint32_t source; /* index in `ranges`, or with TF_STEP_FOUND in `loops` */
	uint32_t number; /* of this source's steps, from 0 */
	uint16_t thread;
	uint16_t flags;
	uint32_t reserved;
	struct tf_counts counts;
};
#define TF_STEPS_MAX      65536u
#define TF_STEP_FOUND     1u
#define TF_STEP_ODD       2u /* similarity to the steps around it below one half */
#define TF_STEP_NO_COUNTS 4u
#define TF_STEP_LEVELS    3u /* ranges of so many outermost levels have rows */

#define TF_STORE_PAGES 4096u
/* Kept records, in pages: the newest ones, oldest page overwritten first (`keep`), or all of them
 * (`trace`). */
struct tf_store {
	uint64_t page_records; /* records of a page */
	uint64_t pages_max;    /* <= TF_STORE_PAGES */
	uint64_t written;      /* records ever stored; release */
	uint64_t reserved[5];
	uint64_t pages[TF_STORE_PAGES];
	uint64_t digests[TF_STORE_PAGES]; /* seal_bytes() of each full page; of the one being filled
	                                     since the seal was made */
};

#endif
