/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided_copy: after each step a column of a matrix, 2 bytes of each of 131072 rows, is copied to
 * the host.  The bus carries it in pieces of 2 bytes, far slower than the whole matrix, which was
 * sent to the device in one piece.
 *
 * A correct report counts ITERATIONS launches of chain and as many pinned copies to the host, and
 * says that these reach a fraction of the best copy's bandwidth, and copy-bound.  Fixed:
 * strided_copy_fixed.
 *
 *     strided_copy [ITERATIONS]
 */
#include "cuda_samples/sample_matrix.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 600);
	unsigned *value = chain_start();
	cudaStream_t stream;
	matrix m;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	matrix_start(&m, stream);
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(value, CHAIN_US(400), stream);
		CHECK(cudaMemcpy2DAsync(m.out, COLUMN, m.rows, ROW, COLUMN, ROWS,
		                        cudaMemcpyDeviceToHost, stream));
		sample_count_copy(DTOH, PINNED, ROWS * COLUMN);
	}
	sample_sync_stream(stream);
	matrix_end(&m, iterations);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(400)));
	sample_expect("verdict=copy-bound");
	sample_expect("finding=low-bandwidth-copy");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
