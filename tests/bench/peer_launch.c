/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/work.h"

/*
 * The launch under a peer. Built three times: with a pair of LTTng-UST tracepoints around the call
 * (BENCH_LTTNG), with a call of mcount() at the function's entry for uftrace (-pg), and plain, for
 * the process that has no peer.
 */
#ifdef BENCH_LTTNG
#define TRACEPOINT_DEFINE
#define TRACEPOINT_CREATE_PROBES
#include "tests/bench/tracepoints.h"
#define ENTRY(f, gx, bx, s) tracepoint(cudaspy_bench, launch_entry, f, gx, 1, 1, bx, 1, 1, 0, s)
#define EXIT(rc)            tracepoint(cudaspy_bench, launch_exit, (int)(rc))
#else
#define ENTRY(f, gx, bx, s) ((void)0)
#define EXIT(rc)            ((void)0)
#endif

/* Not inlined, not a tail call: what -pg makes of it is an entry and a return. */
static CUresult __attribute__((noinline)) traced_launch(unsigned gx, unsigned bx)
{
	ENTRY(calls.function, gx, bx, calls.stream);
	CUresult rc = calls.launch(calls.function, gx, 1, 1, bx, 1, 1, 0, calls.stream, NULL, NULL);
	EXIT(rc);
	__asm__ volatile("" ::: "memory");
	return rc;
}

void __attribute__((no_instrument_function)) burst_peer_launch(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		traced_launch(64, 256);
}
