/* SPDX-License-Identifier: Apache-2.0 */
/* One device's part of a training step: backward passes, and all-reduces that are kernels under
 * the name that NCCL gives its own.  Included by exposed_allreduce and its fixed twin. */
#pragma once
#include "cuda_samples/sample_chain.h"

#define LAYERS     8
#define MOST_RANKS 2

#define BACKWARD_ROUNDS CHAIN_US(60)
/* Of a layer: shorter than a backward pass by more than sampled times err, so that beside one it
 * costs nothing.  The last one in the order of the backward pass has little to send. */
#define ALLREDUCE_ROUNDS(layer) ((layer) < LAYERS - 1 ? CHAIN_US(40) : CHAIN_US(5))
/* As NCCL does, fewer threads for less, so that a report tells the two lengths apart. */
#define ALLREDUCE_THREADS(layer) ((layer) < LAYERS - 1 ? CHAIN_THREADS : CHAIN_THREADS / 2)

CHAIN_KERNEL(backward)
CHAIN_KERNEL(ncclDevKernel_AllReduce_Sum_f32_RING_LL)

struct rank {
	int device;
	cudaStream_t compute, comm;
	cudaEvent_t backward[LAYERS]; /* the gradients of a layer exist */
	cudaEvent_t reduced;
	unsigned *gradients[LAYERS];
};

/* Returns how many there are. */
static inline unsigned ranks_start(rank *ranks)
{
	int count;

	CHECK(cudaGetDeviceCount(&count));
	if (count > MOST_RANKS)
		count = MOST_RANKS;
	for (int i = 0; i < count; i++) {
		rank *r = &ranks[i];

		r->device = i;
		CHECK(cudaSetDevice(i));
		CHECK(cudaStreamCreateWithFlags(&r->compute, cudaStreamNonBlocking));
		CHECK(cudaStreamCreateWithFlags(&r->comm, cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&r->reduced, cudaEventDisableTiming));
		for (unsigned layer = 0; layer < LAYERS; layer++) {
			CHECK(cudaEventCreateWithFlags(&r->backward[layer],
			                               cudaEventDisableTiming));
			r->gradients[layer] = chain_start();
		}
	}
	return count;
}

static inline void rank_backward(rank *r, unsigned layer)
{
	CHECK(cudaSetDevice(r->device));
	LAUNCH(backward, 1, CHAIN_THREADS, 0, r->compute, r->gradients[layer], BACKWARD_ROUNDS);
	CHECK(cudaEventRecord(r->backward[layer], r->compute));
}

/* Of a layer whose backward pass has been launched: starts when that is done. */
static inline void rank_allreduce(rank *r, unsigned layer)
{
	CHECK(cudaSetDevice(r->device));
	CHECK(cudaStreamWaitEvent(r->comm, r->backward[layer], 0));
	LAUNCH(ncclDevKernel_AllReduce_Sum_f32_RING_LL, 1, ALLREDUCE_THREADS(layer), 0, r->comm,
	       r->gradients[layer], ALLREDUCE_ROUNDS(layer));
}

/* The next step's backward passes wait for this step's all-reduces. */
static inline void rank_join(rank *r)
{
	CHECK(cudaSetDevice(r->device));
	CHECK(cudaEventRecord(r->reduced, r->comm));
	CHECK(cudaStreamWaitEvent(r->compute, r->reduced, 0));
}

static inline void ranks_end(rank *ranks, unsigned count, unsigned iterations)
{
	for (unsigned i = 0; i < count; i++) {
		rank *r = &ranks[i];

		CHECK(cudaSetDevice(r->device));
		for (unsigned layer = 0; layer < LAYERS; layer++) {
			unsigned long rounds = BACKWARD_ROUNDS + ALLREDUCE_ROUNDS(layer);

			sample_answer(chain_end(r->gradients[layer]),
			              lcg_after(0, iterations * rounds));
			CHECK(cudaEventDestroy(r->backward[layer]));
		}
		CHECK(cudaEventDestroy(r->reduced));
		CHECK(cudaStreamDestroy(r->compute));
		CHECK(cudaStreamDestroy(r->comm));
	}
}
