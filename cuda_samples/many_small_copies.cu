/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_small_copies: 64 rows of 1 KiB that lie apart in pinned memory, sent to the device one by
 * one in each step.
 *
 * A correct report counts for each iteration 64 pinned copies to the device and one launch of
 * chain, and says that the copies are many and small.  Fixed: many_small_copies_fixed.
 *
 *     many_small_copies [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define ROWS  64
#define ROW   1024 /* bytes */
#define APART 4096

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 5000);
	unsigned *value = chain_start(), sum = 0;
	char *rows = sample_malloc_pinned<char>(ROWS * APART);
	char *packed = sample_malloc<char>(ROWS * ROW);
	unsigned char last[ROWS * ROW];
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned r = 0; r < ROWS; r++)
		memset(rows + r * APART, r, ROW);
	for (unsigned i = 0; i < iterations; i++) {
		for (unsigned r = 0; r < ROWS; r++)
			sample_copy_async(packed + r * ROW, rows + r * APART, ROW, HTOD, PINNED,
			                  stream);
		chain_launch(value, CHAIN_US(20), stream);
	}
	sample_sync_stream(stream);
	sample_copy(last, packed, sizeof(last), DTOH, PAGEABLE);
	for (unsigned char byte : last)
		sum += byte;
	sample_verify(!iterations || sum == ROW * ROWS * (ROWS - 1) / 2);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(20)));
	sample_expect("finding=many-small-copies");
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(rows);
	sample_free(packed);
	return sample_finish();
}
