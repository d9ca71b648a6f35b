/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided_copy_fixed: a kernel packs the column on the device, and the copy is of one piece.
 *
 * A correct report counts ITERATIONS launches of chain and of pack_column and as many pinned copies
 * to the host, and says gpu-bound.
 *
 *     strided_copy_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_matrix.h"

KERNEL(pack_column, "fixed:3000", (const unsigned short *rows, unsigned short *column))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	column[i] = rows[i * (ROW / COLUMN)];
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 600);
	unsigned *value = chain_start();
	unsigned char *column = sample_malloc<unsigned char>(ROWS * COLUMN);
	cudaStream_t stream;
	matrix m;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	matrix_start(&m, stream);
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(value, CHAIN_US(400), stream);
		LAUNCH(pack_column, ROWS / CHAIN_THREADS, CHAIN_THREADS, 0, stream,
		       (const unsigned short *)m.rows, (unsigned short *)column);
		sample_copy_async(m.out, column, ROWS * COLUMN, DTOH, PINNED, stream);
	}
	sample_sync_stream(stream);
	matrix_end(&m, iterations);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(400)));
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=low-bandwidth-copy");
	sample_free(column);
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
