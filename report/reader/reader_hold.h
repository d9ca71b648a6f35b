/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running process changes is held as it is now: the reader's mapping shows a page as its
 * process writes it until the reader has written to it. Figures that are read one after the other
 * then belong together. Records are not held. For the reader alone.
 */
#ifndef REPORT_READER_HOLD_H
#define REPORT_READER_HOLD_H

#include <stdbool.h>

#include "shim/core/format/trace_map.h"

/* Holds slices and the header, as far as they are there; the header need not be checked yet.
 * Changes no byte. */
void reader_hold_header(const struct tf_map *map);

/* Holds threads, tables, areas and distributions, of a recording whose tables and threads were
 * checked. */
void reader_hold(const struct tf_map *map);

/* Whether the collector has put none of it elsewhere meanwhile (struct tf_slices, `rearranged`).
 * `fd`: the file. */
bool reader_is_held(const struct tf_map *map, int fd);

#endif
