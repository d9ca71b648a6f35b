/* SPDX-License-Identifier: Apache-2.0 */
/* 32 kernels that do the same, as a library has one for each shape of its input.  Included by
 * first_launches and its fixed twin. */
#pragma once
#include "cuda_samples/sample_chain.h"

typedef void shape_launcher(unsigned *value, unsigned rounds, cudaStream_t stream);

#define SHAPE(number)                                                                              \
	CHAIN_KERNEL(shape_##number)                                                               \
	static void launch_##number(unsigned *value, unsigned rounds, cudaStream_t stream)         \
	{                                                                                          \
		LAUNCH(shape_##number, 1, CHAIN_THREADS, 0, stream, value, rounds);                \
	}
#define SHAPES(row)                                                                                \
	row(00) row(01) row(02) row(03) row(04) row(05) row(06) row(07) row(08) row(09) row(10)    \
	        row(11) row(12) row(13) row(14) row(15) row(16) row(17) row(18) row(19) row(20)    \
	                row(21) row(22) row(23) row(24) row(25) row(26) row(27) row(28) row(29)    \
	                        row(30) row(31)

SHAPES(SHAPE)

#define SHAPE_ROW(number) launch_##number,
static shape_launcher *const launch_shape[] = {SHAPES(SHAPE_ROW)};
#define SHAPE_COUNT (sizeof(launch_shape) / sizeof(*launch_shape))

/* The shape of a request: a new one comes up at even distances. */
static inline unsigned shape_of(unsigned request, unsigned requests)
{
	return (unsigned long)request * SHAPE_COUNT / requests;
}
