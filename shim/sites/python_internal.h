/* SPDX-License-Identifier: Apache-2.0 */
/* How python.c and python_code.c hang together. */
#ifndef SPY_PYTHON_INTERNAL_H
#define SPY_PYTHON_INTERNAL_H

#include "shim/sites/python.h"
#include "shim/sites/python_layout.h"

#define PYTHON_FRAME_BYTES 128u /* as much of a frame, and of a code object, as is read */
#define PYTHON_CODE_BYTES  256u

/* The CPython of this process. Written once, before `state` says that it is there. */
struct python_here {
	uint32_t state; /* enum tf_python */
	struct python_symbols symbols;
	struct python_layout layout;
	uintptr_t interpreter; /* the only one */
	uint64_t pid;          /* of this process */
};
extern struct python_here python_here;

/* NULL: not a version that is known. */
const struct python_layout *python_layout_of(uint32_t version);

/* Whether a code object is there, with a file's name, and instruction `at` in it. */
bool python_is_code(uintptr_t code, uint32_t at);

#endif
