/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges and steps, from the records as the drain hands them over: figures of NVTX ranges, rows of
 * steps, and steps found where the program names none. Shared by the shim's collector and the
 * reporter, which runs it on what a killed process left in its rings.
 *
 * Found steps. The work that a thread gives to the GPU, and its waits, are a sequence of symbols: a
 * kernel, a graph, a copy of some direction, a wait. A step is what lies between two occurrences of
 * one symbol, the marker; the marker is chosen such that what lies between is most alike from one
 * occurrence to the next, and, of those that are about as good, such that steps are shortest. What
 * is compared is which symbols occur how often, not their order or the launches' shapes, so that
 * dynamic shapes, a logged value now and then or an evaluation in between do not break it. Where a
 * step so found holds many waits, or none is found where there are many, it may be that an
 * iteration does all things twice: an event together with the one before it is then a symbol as
 * well.
 */
#ifndef SPY_STEPS_H
#define SPY_STEPS_H

#include "shim/core/format/trace_map.h"

/* One TF_CALL_RANGE record. */
void steps_range(struct tf_map *map, uint32_t thread, const struct tf_record *r);

/* A row of table `steps`; where the table is full, every second row of the sources with most rows
 * goes. `rows` and `stride` are its source's. */
void steps_row(struct tf_map *map, const struct tf_step *row, uint32_t *rows, uint32_t *stride);

void steps_add_counts(struct tf_counts *to, const struct tf_counts *more);

/* Takes all rows of a loop out. */
void steps_forget(struct tf_map *map, uint32_t loop);

/* ---- steps found ---- */

struct steps;

/* NULL where there is no memory. Takes its memory from the system directly, never from malloc. */
struct steps *steps_new(void);
void steps_free(struct steps *s);

/* 0 = none. The coarse one says which kernel, graph, kind of copy, or wait; the fine one also the
 * launch's shape or the copy's size. */
struct steps_symbols {
	uint32_t coarse, fine;
};

/* What a record, of a call of this class, is among the events; of a launch with its arguments the
 * first three of these say it. */
struct steps_symbols steps_symbols_of(const struct tf_record *r, unsigned cls);

/* One record of an outermost call of thread `thread`, in the order of its calls. */
void steps_call(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                unsigned cls);

/* Launches of that thread, one after the other, that succeeded, with their arguments, outermost and
 * not captured; what each is. */
void steps_launches(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                    const struct steps_symbols *const *symbols, unsigned n);

/* A TF_CALL_OWN record of that thread: what is ours is no pause of the program's. */
void steps_own(struct steps *s, uint32_t thread, const struct tf_record *r);

/* No record comes any more: decides for threads that are not decided yet, and ends last steps. */
void steps_finish(struct steps *s, struct tf_map *map);

#endif
