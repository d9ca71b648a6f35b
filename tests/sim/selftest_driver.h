/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the simulated driver's own test share: its set-up and its clock.
 * Included by selftest_driver*.c. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include "tests/sim/truth.h"

#define QUEUE 8 /* SIM_QUEUE of this test */

#define MS 1000000ull

#define ok(call)          assert_int_equal(call, CUDA_SUCCESS)
#define fails(code, call) assert_int_equal(call, code)

struct fixture {
	CUcontext ctx;
	CUmodule module;
	CUfunction none, ms20, ms300, scaled; /* 0 ns, 20 ms, 300 ms, 1 ms times argument 1 */
	CUstream a, b;                        /* blocking */
	CUstream free;                        /* non-blocking */
	const struct truth_file *truth;
};

extern struct fixture fix;

uint64_t now_ns(void);
/* One block of one thread. */
CUresult launch(CUfunction f, CUstream s);
/* The sum over threads of a counter of struct truth_totals, by its offset. */
uint64_t truth_sum(size_t offset);
#define TRUTH(field) truth_sum(offsetof(struct truth_totals, field))

extern const struct CMUnitTest memory_tests[], time_tests[], graph_tests[];
extern const size_t memory_count, time_count, graph_count;
