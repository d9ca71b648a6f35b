/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps what a stack is read from: offsets in bytes, of one minor version each. The
 * rows are made by gen_python_layouts.py out of CPython's own headers.
 */
#ifndef SPY_PYTHON_LAYOUT_H
#define SPY_PYTHON_LAYOUT_H

#include <stdint.h>

#define PYTHON_NONE 0xffffu /* there is no such thing in this version */

/* What a frame says of its place in the code. */
enum python_at {
	PYTHON_AT_BYTE,   /* int: bytes from the first instruction */
	PYTHON_AT_UNIT,   /* int: instructions of two bytes */
	PYTHON_AT_POINTER /* an address inside the code object */
};

/* 3.13 and newer say at the beginning of _PyRuntime where they have things; in which word what. */
struct python_words {
	uint8_t free_threaded, finalizing, interpreters, interpreter_next, thread_interpreter,
	        thread_frame, frame_back, frame_code, frame_at, frame_bytes, frame_owner, code_file,
	        code_name, code_lines, code_first_line, code_units;
};

struct python_layout {
	uint32_t version; /* major << 8 | minor */
	struct python_words words;
	uint32_t finalizing,
	        interpreters; /* in _PyRuntime: the thread that ends it; newest first */
	uint32_t interpreter_next;
	uint16_t thread_interpreter, thread_frame;
	uint16_t cframe_frame; /* `thread_frame` leads to a structure that has the frame here */
	uint16_t frame_back, frame_code, frame_at, frame_owner, frame_bytes;
	uint16_t frame_function; /* the function that it runs, another one than its code's last one
	                          */
	uint16_t code_tag; /* bits of a frame's pointer to its code that are none of the address */
	uint16_t at;       /* enum python_at */
	uint16_t code_file, code_name, code_lines, code_first_line, code_units, code_bytes;
	uint16_t code_begins; /* how many instructions come before the function itself */
	uint16_t object_type, object_size; /* of any object; of one with a variable length */
	uint16_t bytes_data;
	uint16_t text_length, text_state, text_ascii, text_compact;
	uint32_t text_is_compact, text_is_ascii, text_kind; /* bits of `text_state` */
};

#endif
