/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of communication libraries (NCCL, NVSHMEM), by their names, mangled or not. Such a kernel
 * waits on the GPU for its peers: its time is no work of its own, and nothing may hold it up while
 * a peer waits for it.
 *
 * Source: the libraries' own names. NCCL's kernels were ncclKernel_... and are ncclDevKernel_... in
 * its newer releases (so in recordings of PyTorch programs); NVSHMEM's bear its name.
 */
#ifndef SPY_COMMUNICATION_H
#define SPY_COMMUNICATION_H

#include <stdbool.h>

/* A kernel that communicates: its time counts as communication. */
bool cuda_communicates(const char *kernel);

/* Whether a kernel may communicate: anything that bears the library's name. For the sampler, which
 * holds none of these up: one left alone for no need costs nothing. */
bool cuda_may_communicate(const char *kernel);

#endif
