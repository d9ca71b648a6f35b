/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of Python that the calling thread is in, read without the GIL and without calling into
 * CPython but for PyGILState_GetThisThreadState(). While a thread is inside a call of CUDA, its own
 * chain of frames cannot change. For sites.c.
 *
 * The process' first thread reads by plain loads. Other threads may be daemons, whose frames a
 * Python that is ending takes away under them: there the kernel reads (peek.h).
 */
#ifndef SPY_PYTHON_H
#define SPY_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "shim/core/format/trace_sites.h"

/* What objects.c found of CPython in the process. */
struct python_symbols {
	const uint8_t *runtime; /* _PyRuntime */
	void *(*this_thread)(void);
	const void *code_type, *text_type, *bytes_type;
	uint32_t version; /* major << 8 | minor; 0 = one that is not known */
};

/* By the collector. Only the first one counts. */
void python_found(const struct python_symbols *symbols);
void python_refuse(enum tf_python why);
enum tf_python python_state(void);
uint32_t python_version(void);
void python_after_fork(void);

/* A frame as it was found. `identity`: of its code object, different from any that stood there
 * before. */
struct python_frame {
	uintptr_t code;
	uint64_t identity;
	uint32_t at; /* byte of the instruction */
};

/* Tells the frames, innermost first, at most `most`, until `tell` says no; whether there are more
 * of them: `*cut`. False: they could not all be read. Changes errno. */
typedef bool python_tell(void *context, const struct python_frame *frame);
bool python_walk(unsigned most, python_tell *tell, void *context, bool *cut);

/*
 * The calling thread gives the GPU work: where it is, another one that runs no Python may ask,
 * which works for it. Its frames may change while they are read, by the kernel: what is found is
 * code of Python's all the same. False: it could not all be read, there is no such thread, or
 * another one of Python gave work within the last second.
 */
void python_gives(void);
bool python_walk_giver(unsigned most, python_tell *tell, void *context, bool *cut);

/* Whether the first stack is still to be checked, and the calling thread may have it. Asks less and
 * less often. */
bool python_wants_check(void);

/* Whether stacks are read, once the first one was checked. In a cold path, ahead of the first walk
 * in it. */
bool python_ready(void);

/* Copies of a code object's texts into the recording; false: it is none, or there is no room. */
bool python_describe(uintptr_t code, struct tf_code *to);

#define PYTHON_FRAMES_MOST 128u

#endif
