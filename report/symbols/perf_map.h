/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a program made while it ran: what JIT compilers write to /tmp/perf-PID.map
 * (Julia, Java, V8, CPython's -X perf). Anybody can write anything there: a file of another user
 * is left alone, and what is no line of such a file is skipped. For the model's call sites.
 */
#ifndef REPORT_PERF_MAP_H
#define REPORT_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map;

/* NULL: there is none, or it is older than `since` (ns since 1970). */
struct perf_map *perf_map_read(const char *path, double since);
void perf_map_free(struct perf_map *map);

/* What lies at the address; NULL = nothing that is known. Lives as long as the map. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif
