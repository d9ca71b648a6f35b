/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that are measured, on the driver that does nothing, as a program makes them: through
 * pointers from cuGetProcAddress. For the benchmark's working processes.
 */
#ifndef TESTS_BENCH_WORK_H
#define TESTS_BENCH_WORK_H

#include <cuda.h>
#include <stdint.h>

struct calls {
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	                   unsigned, CUstream, void **, void **);
	CUresult (*copy)(CUdeviceptr, const void *, size_t, CUstream);
	CUresult (*synchronize)(CUstream);
	CUresult (*allocate)(CUdeviceptr *, size_t, CUstream);
	CUresult (*release)(CUdeviceptr, CUstream);
	CUfunction function;
	CUstream stream;
	CUdeviceptr device;
	void *pinned;
};

extern struct calls calls;

/* A burst of `n` calls of one kind. */
void burst_floor(uint64_t n); /* what no recorder can go below: two clock reads and one 64-byte
                                 store for each */
void burst_launch(uint64_t n);
void burst_passed_on_launch(uint64_t n); /* through a function that only calls the real one */
void burst_copy(uint64_t n);
void burst_synchronize(uint64_t n);
void burst_allocate(uint64_t n); /* and free: half of the calls each */
void burst_runtime_launch(uint64_t n);
void burst_peer_launch(
        uint64_t n); /* the launch as the peer this process was built for traces it */

/* Answers requests "BURST CALLS BURSTS PAUSE_US" on stdin with the median ns of a call on stdout,
 * until stdin ends. */
int work(void);

#endif
