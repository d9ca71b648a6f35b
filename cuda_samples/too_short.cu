/* SPDX-License-Identifier: Apache-2.0 */
/*
 * too_short: a few launches, and the program is done before there is anything to judge.
 *
 * A correct report counts ITERATIONS launches of chain, says inconclusive, and how to get an
 * answer: a longer run.
 *
 *     too_short [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 10);
	unsigned *value = chain_start();

	for (unsigned i = 0; i < iterations; i++)
		chain_launch(value, CHAIN_US(10), 0);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(10)));
	sample_expect("verdict=inconclusive");
	return sample_finish();
}
