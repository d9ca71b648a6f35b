/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the driver makes copies and sets: which travel with the command, which go through buffers of
 * its own (staged), and which hold the host.
 *
 * A copy is known by its direction, the memory of its host side, its bytes, and whether the call is
 * an asynchronous one, as struct tf_record has them.
 *
 * Source: tests/gpu/hold_facts.cu on an H200, driver 580 (facts hold:copy*, hold:set*, own_end:*,
 * read_at_call:*, takes:copy_async:*, takes:set_async:*).
 */
#ifndef SPY_COPIES_H
#define SPY_COPIES_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/core/format/classes.h"
#include "shim/core/format/trace_records.h"

struct cuda_copy {
	enum spy_direction direction;
	enum spy_memory memory; /* pageable where one side is, else pinned where one is, ...; of a
	                           set pinned or managed where its memory is */
	bool async;
	uint64_t bytes;
};

/* The copy or set of a call whose arguments are known. */
static inline struct cuda_copy cuda_copy_of(const struct tf_record *r)
{
	return (struct cuda_copy){
	        .direction = (enum spy_direction)r->copy.direction,
	        .memory = (enum spy_memory)r->copy.memory,
	        .async = r->copy.async,
	        .bytes = r->copy.bytes,
	};
}

/* A copy of pageable memory to the device up to this travels with the command: the call has read
 * the memory when it returns, whatever the stream does. */
#define CUDA_COPY_INLINE_BYTES 65536u
/*
 * A copy of pinned memory to the device up to this is done by the front end that reads the
 * commands, and not by a copy engine; it reads the memory when its turn comes, not with the
 * command. Queued, one of 4 bytes to 1 KiB took 3.4 to 3.6 us, one of 1.5 KiB to 8 KiB 8.8 to 9.4
 * (takes:copy_async:pinned_to_device:*).
 */
#define CUDA_COPY_FRONT_BYTES 1024u
/* A set of device memory up to this is done by the front end; from the second on it is a kernel,
 * between the two it may be either. */
#define CUDA_SET_FRONT_BYTES  4096u
#define CUDA_SET_KERNEL_BYTES 65536u

/* What a call takes at least for a staged copy (ns) beside its bytes, and how fast these go at most
 * (bytes a ns). On an H200 7 to 9 us and 14 to 8 bytes a ns. */
#define CUDA_STAGED_LEAST_NS  2000.0
#define CUDA_STAGED_RATE_MOST 20.0

static inline double cuda_staged_least_ns(double bytes)
{
	return CUDA_STAGED_LEAST_NS + bytes / CUDA_STAGED_RATE_MOST;
}

/*
 * Copies to the device beyond CUDA_COPY_INLINE_BYTES go through so many buffers of the context,
 * this large: an asynchronous call fills those that are free and returns, and waits for the others.
 * So one that needs more than there are waits for the work ahead of it on its stream. One of 2 MiB
 * does not, one of a byte more does; behind two copies of 96 KiB to 1 MiB that have not been made
 * the third call waits, on whatever stream.
 */
#define CUDA_STAGING_BUFFERS 2u
#define CUDA_STAGING_BYTES   1048576u

/* It travels with the command. */
bool cuda_copy_is_inline(struct cuda_copy c);
/* It goes through the driver's buffers: gpu_time/estimate_staged.h. */
bool cuda_copy_is_staged(struct cuda_copy c);
/* Buffers that it takes of CUDA_STAGING_BUFFERS; 0: it is none of these, or it needs more. Its call
 * waits until they are free, and for nothing else. */
unsigned cuda_copy_buffers(struct cuda_copy c);
/* Its call returns only when the work ahead of it on its stream has ended. It has ended itself by
 * then, but for the last buffer of one that is staged to the device. */
bool cuda_copy_holds(struct cuda_copy c);
/* The same of a set, whose memory alone counts: one of managed or pinned memory that is no
 * asynchronous one. hold:set:*, own_end:set:*. */
bool cuda_set_holds(struct cuda_copy set);

#endif
