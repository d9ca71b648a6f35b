/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of those samples whose subject is what happens around a kernel: a chain of integer
 * steps on one value, as long as one likes.  Included by them instead of sample.h. */
#pragma once
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"

/* One thread works.  A block of this size fills a multiprocessor of any GPU, so that occupancy is
 * not what a report of these samples is about. */
#define CHAIN_THREADS 256

/* Rounds that take so many microseconds: simulated at 2 ns each, which is what the four cycles of
 * a dependent multiply-add take at 2 GHz. */
#define CHAIN_US(us) ((us)*500u)

#define CHAIN_KERNEL(kernel)                                                                       \
	KERNEL(kernel, "arg:1:2", (unsigned *value, unsigned rounds))                              \
	{                                                                                          \
		if (threadIdx.x == 0)                                                              \
			*value = lcg_steps(*value, rounds);                                        \
	}

CHAIN_KERNEL(chain)

static inline void chain_launch(unsigned *value, unsigned rounds, cudaStream_t stream)
{
	LAUNCH(chain, 1, CHAIN_THREADS, 0, stream, value, rounds);
}

/* A value of the device that starts at 0. */
static inline unsigned *chain_start(void)
{
	unsigned *value = sample_malloc<unsigned>(1);

	sample_set(value, 0, sizeof(*value));
	sample_sync_device();
	return value;
}

/* Waits for all work, and reads and frees the value. */
static inline unsigned chain_end(unsigned *value)
{
	unsigned found = 0;

	sample_sync_device();
	sample_copy(&found, value, sizeof(found), DTOH, PAGEABLE);
	sample_free(value);
	return found;
}
