/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_small_copies_fixed: the same rows, packed by the host into one of two pinned buffers and
 * sent as one copy of 64 KiB.
 *
 * A correct report counts for each iteration one pinned copy to the device, one launch of chain and
 * one event sync, which waits until the buffer may be filled again.
 *
 *     many_small_copies_fixed [ITERATIONS]
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
	char *buffers = sample_malloc_pinned<char>(2 * ROWS * ROW);
	char *packed = sample_malloc<char>(ROWS * ROW);
	unsigned char last[ROWS * ROW];
	cudaEvent_t sent[2]; /* An event never recorded counts as done. */
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (cudaEvent_t &event : sent)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned r = 0; r < ROWS; r++)
		memset(rows + r * APART, r, ROW);
	for (unsigned i = 0; i < iterations; i++) {
		char *buffer = buffers + i % 2 * (ROWS * ROW);

		sample_sync_event(sent[i % 2]);
		for (unsigned r = 0; r < ROWS; r++)
			memcpy(buffer + r * ROW, rows + r * APART, ROW);
		sample_copy_async(packed, buffer, ROWS * ROW, HTOD, PINNED, stream);
		CHECK(cudaEventRecord(sent[i % 2], stream));
		chain_launch(value, CHAIN_US(20), stream);
	}
	sample_sync_stream(stream);
	sample_copy(last, packed, sizeof(last), DTOH, PAGEABLE);
	for (unsigned char byte : last)
		sum += byte;
	sample_verify(!iterations || sum == ROW * ROWS * (ROWS - 1) / 2);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(20)));
	sample_expect("no-finding=many-small-copies");
	for (cudaEvent_t event : sent)
		CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(rows);
	sample_free_pinned(buffers);
	sample_free(packed);
	return sample_finish();
}
