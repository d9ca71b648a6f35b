/* SPDX-License-Identifier: Apache-2.0 */
/* Work of the host outside CUDA that takes the same time on every machine, as the simulated GPU's
 * kernels do.  Included by the samples in which the host has something of its own to do. */
#pragma once
#include <chrono>

/* What reading, decoding or shuffling a batch would be. */
static inline void sample_host_work(unsigned microseconds)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);

	while (std::chrono::steady_clock::now() < end)
		;
}
