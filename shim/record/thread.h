/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's place in the recording: its slot, its rings, its tables of kernels. For the span and
 * shim/args.
 */
#ifndef SPY_THREAD_H
#define SPY_THREAD_H

#include <stdbool.h>
#include "shim/record/span.h"

/* Whether the calling thread, which is attached, may write into the recording. One that was closed
 * is open again from here on: its seal is broken. False in a process that is not the recording's,
 * and where the recording was cut short. */
bool spy_still_open(void);

/* The first call of all, of class `cls`, returned in the calling thread: `ticks` long, at `now`. */
void spy_window_begins(unsigned call, unsigned cls, uint64_t ticks, uint64_t now);

/* Gives the calling thread a slot, or finds the one it had. False: none to be had; the call is
 * counted as lost. There is a recording of this process. */
bool thread_attach(void);

/* Goes on in a larger ring. False: the ring is as large as it may be, or there is no room. */
bool thread_grow_ring(struct spy_tls *t);

/* This thread's statistics of a kernel; NULL where there is no room (then they go to "(other)", or
 * nowhere). */
struct tf_kernel_stat *thread_kernel_slow(struct tf_thread *th, uint32_t kernel)
        __attribute__((cold));

/* Offsets in a thread's own slot are the shim's own: nothing to check. */
static inline struct tf_kernel_stat *thread_kernel_page(uint32_t page)
{
	return (struct tf_kernel_stat *)(spy_map.base + (uint64_t)page * 64);
}

static inline struct tf_kernel_stat *thread_kernel(struct tf_thread *th, uint32_t kernel)
{
	uint32_t page = th->kernel_pages[kernel / TF_KERNEL_PAGE];

	if (unlikely(!page))
		return thread_kernel_slow(th, kernel);
	return thread_kernel_page(page) + kernel % TF_KERNEL_PAGE;
}

/*
 * What a wrapper adds to a call, ticks in 1/1024, measured on a slot and a ring of the caller's:
 * each call between two readings of the clock, with the wrapper and without. (Calls in a row would
 * take half as long, as the CPU begins the next before one has ended.) Arguments, what they are of
 * and cold caches are not in it. Changes nothing of the thread's.
 */
uint64_t span_cost_x1024(struct tf_thread *scratch, struct tf_ring *ring);

/* A ring of so many records, a power of two, for another producer than a thread; its offset, 0 = no
 * room. */
uint64_t thread_make_ring(uint64_t records);

/* Makes the key whose destructor notes a thread's death; once per process. */
void thread_init(void);

/* In a forked child, before anything is attached. */
void thread_after_fork(void);

#endif
