/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Return addresses by frame pointers, where the program's functions keep them. Where they do not,
 * the register holds anything: each step is checked, and what is read lies in the part of the
 * thread's own stack above us, which was seen to be there and stays while the thread lives.
 */
#include "shim/sites/sites_internal.h"

#include <string.h>
#include <sys/auxv.h>
#include "shim/base/gate.h"
#include "shim/base/sys.h"
#include "shim/record/span.h"
#include "shim/sites/peek.h"

#define PAGE      4096u
#define PAGES     512u       /* of a stack, at most, that are looked at */
#define AT_A_TIME 64u        /* pages */
#define STEP_MOST (1u << 20) /* bytes of one function's frame */
#define KNOWN     8192u      /* return addresses that are remembered */

/* The part of this thread's stack that may be read; `until` 0 = not looked at yet. */
static __thread struct {
	uintptr_t from, until;
} stack __attribute__((tls_model(SPY_TLS_MODEL)));

/* By address: itself << 1, 1 = a return address; of others the version of the table of objects, in
 * the bits above. Relaxed: each entry stands for itself. */
static uint64_t known[KNOWN];

void native_after_fork(void)
{
	memset(known, 0, sizeof(known));
}

/* ---- the stack ---- */

/* Its upper end: of the first thread what the kernel put there, of others the C library. */
static uintptr_t upper_end(void)
{
	uintptr_t self;

	if (spy_tls.thread->tid == tf_header(&spy_map)->pid)
		return getauxval(AT_RANDOM) & ~(uintptr_t)15;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(self));
#else
	self = (uintptr_t)__builtin_thread_pointer();
#endif
	return self & ~(uintptr_t)15;
}

/* Whether all pages of [from, until) can be read. */
static bool are_there(uintptr_t from, uintptr_t until)
{
	const uint64_t pid = tf_header(&spy_map)->pid;
	struct iovec remote[AT_A_TIME];
	uint8_t bytes[AT_A_TIME];

	while (from < until) {
		unsigned n = 0;
		for (; n < AT_A_TIME && from < until; n++, from += PAGE)
			remote[n] = (struct iovec){(void *)from, 1};
		const struct iovec local = {bytes, n};
		if (syscall(SYS_process_vm_readv, pid, &local, 1ul, remote, (unsigned long)n,
		            0ul) != (long)n)
			return false;
	}
	return true;
}

/* Whether the frame is on the thread's own stack: memory from it to the end may be read. */
static bool __attribute__((cold, noinline)) look_at_stack(uintptr_t frame)
{
	uintptr_t from = frame / PAGE * PAGE;

	if (!stack.until)
		stack.until = stack.from = upper_end();
	if (frame >= stack.until || (stack.until - from) / PAGE > PAGES ||
	    !are_there(from, stack.from))
		return false;
	stack.from = from;
	return true;
}

static inline bool may_read(uintptr_t frame)
{
	return likely(frame >= stack.from && frame < stack.until) || look_at_stack(frame);
}

/* ---- return addresses ---- */

/* A call ends there: only of x86-64, whose calls can be told backwards. */
static bool is_behind_call(uintptr_t at)
{
#if defined(__x86_64__)
	uint8_t b[8];

	if (!peek(tf_header(&spy_map)->pid, at - sizeof(b), b, sizeof(b)))
		return false;
	if (b[3] == 0xe8) /* call rel32 */
		return true;
	for (unsigned i = 1; i <= 6; i++) /* call by register or memory: ff /2 */
		if (b[i] == 0xff && (b[i + 1] >> 3 & 7) == 2)
			return true;
	return false;
#else
	(void)at;
	return true;
#endif
}

static bool __attribute__((cold, noinline))
learn(uintptr_t at, uint64_t *entry, uint64_t yes, uint64_t no)
{
	bool good = objects_have_code(at) && is_behind_call(at);

	__atomic_store_n(entry, good ? yes : no, __ATOMIC_RELAXED);
	return good;
}

static inline bool is_return_address(uintptr_t at)
{
	uint64_t *entry = &known[(at >> 4 ^ at >> 17 ^ at) % KNOWN];
	uint64_t yes = (uint64_t)at << 1 | 1, no = (uint64_t)at << 1 | (uint64_t)objects_version()
	                                                                       << 48;
	uint64_t there = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (at < PAGE || at >> 47)
		return false;
	return there == yes || (there != no && learn(at, entry, yes, no));
}

/* Whether it can be the frame of a function that called the one with frame `last`. */
static inline bool is_above(uintptr_t frame, uintptr_t last)
{
	return frame > last && frame % 16 == 0 && frame - last <= STEP_MOST;
}

void native_walk(struct spy_caller caller, struct native_stack *to)
{
	uintptr_t last = (uintptr_t)__builtin_frame_address(0), frame = (uintptr_t)caller.frame;

	to->at[0] = (uintptr_t)caller.at;
	to->count = 1;
	to->cut = false;
	if (!is_above(frame, last) || !may_read(last))
		return;
	if (frame < stack.until && (uintptr_t)caller.frame[1] == to->at[0]) { /* the wrapper's */
		last = frame;
		frame = (uintptr_t)caller.frame[0];
	}
	while (is_above(frame, last) && frame < stack.until) {
		const uintptr_t *words = (const uintptr_t *)frame;
		if (!is_return_address(words[1]))
			return;
		if (to->count == NATIVE_MOST) {
			to->cut = true;
			return;
		}
		to->at[to->count++] = words[1];
		last = frame;
		frame = words[0];
	}
}
