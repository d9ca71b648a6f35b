/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pair of LTTng-UST tracepoints that the launch is compared under: a launch's arguments, then
 * its result. Read several times by LTTng's own headers.
 */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER cudaspy_bench

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "tests/bench/tracepoints.h"

#if !defined(TESTS_BENCH_TRACEPOINTS_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_BENCH_TRACEPOINTS_H

#include <lttng/tracepoint.h>

TRACEPOINT_EVENT(cudaspy_bench, launch_entry,
                 TP_ARGS(void *, function, unsigned, gx, unsigned, gy, unsigned, gz, unsigned, bx,
                         unsigned, by, unsigned, bz, unsigned, shared_bytes, void *, stream),
                 TP_FIELDS(ctf_integer_hex(unsigned long, function,
                                           (unsigned long)function) ctf_integer(unsigned, gx, gx)
                                   ctf_integer(unsigned, gy, gy) ctf_integer(unsigned, gz, gz)
                                           ctf_integer(unsigned, bx, bx) ctf_integer(
                                                   unsigned, by, by) ctf_integer(unsigned, bz, bz)
                                                   ctf_integer(unsigned, shared_bytes, shared_bytes)
                                                           ctf_integer_hex(unsigned long, stream,
                                                                           (unsigned long)stream)))

TRACEPOINT_EVENT(cudaspy_bench, launch_exit, TP_ARGS(int, result),
                 TP_FIELDS(ctf_integer(int, result, result)))

#endif

#include <lttng/tracepoint-event.h>
