/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of integer steps, v = a v + c, that keeps a GPU as busy as one likes and whose end the
 * host knows at once.  Included by the samples that verify such a kernel, and by sample_chain.h. */
#pragma once

#define LCG_MULTIPLIER 1664525u
#define LCG_INCREMENT  1013904223u
#define LCG_STEP(v)    ((v)*LCG_MULTIPLIER + LCG_INCREMENT)

#ifdef __CUDACC__
#define LCG_ANYWHERE __host__ __device__
#else
#define LCG_ANYWHERE
#endif

/* A compiler that unrolls the steps below would make one of two: each is to take its time. */
#ifdef __CUDA_ARCH__
#define LCG_KEEP(v) asm volatile("" : "+r"(v))
#else
#define LCG_KEEP(v) ((void)0)
#endif

/* `rounds` steps, one after the other. */
LCG_ANYWHERE static inline unsigned lcg_steps(unsigned v, unsigned rounds)
{
	for (unsigned r = 0; r < rounds; r++) {
		v = LCG_STEP(v);
		LCG_KEEP(v);
	}
	return v;
}

/* What `rounds` steps make of v, by doubling the step. */
LCG_ANYWHERE static inline unsigned lcg_after(unsigned v, unsigned long rounds)
{
	unsigned multiplier = LCG_MULTIPLIER, increment = LCG_INCREMENT;

	for (; rounds; rounds >>= 1) {
		if (rounds & 1)
			v = v * multiplier + increment;
		increment = increment * multiplier + increment;
		multiplier *= multiplier;
	}
	return v;
}
