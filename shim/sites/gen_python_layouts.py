#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python_layouts.h: a row for each CPython whose headers are given.

usage: gen_python_layouts.py FOLDER... > python_layouts.h

A FOLDER has Python.h and internal/ (as `include/python3.11`). A C program is compiled against them that prints the
offsets: nothing is copied out of the headers but numbers. Run by hand when a version is added.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap

PROGRAM = r'''
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "internal/pycore_runtime.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#include "internal/pycore_code.h"
#else
#include "frameobject.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#include "internal/pycore_runtime_structs.h"
#include "internal/pycore_interp_structs.h"
#include "internal/pycore_debug_offsets.h"
#endif
#if PY_VERSION_HEX < 0x030a0000
#define LINES co_lnotab
#else
#define LINES co_linetable
#endif
#define NONE 0xffff
#define ROW(name, value) printf("\t .%s = %llu,\n", #name, (unsigned long long)(value))

static unsigned bits_of(int which)
{
	PyASCIIObject text;
	unsigned bits;
	memset(&text, 0, sizeof(text));
	if (which == 0)
		text.state.compact = 1;
	else if (which == 1)
		text.state.ascii = 1;
	else
		text.state.kind = 7;
	memcpy(&bits, &text.state, sizeof(bits));
	return bits;
}

/* Words of what this version says of itself at the beginning of _PyRuntime. */
static void describe(void)
{
#if PY_VERSION_HEX >= 0x030d0000
#define WORD(name, field) printf("\t  .%s = %zu,\n", #name, offsetof(_Py_DebugOffsets, field) / 8)
	printf("\t .words = {\n");
	WORD(free_threaded, free_threaded);
	WORD(finalizing, runtime_state.finalizing);
	WORD(interpreters, runtime_state.interpreters_head);
	WORD(interpreter_next, interpreter_state.next);
	WORD(thread_interpreter, thread_state.interp);
	WORD(thread_frame, thread_state.current_frame);
	WORD(frame_back, interpreter_frame.previous);
	WORD(frame_code, interpreter_frame.executable);
	WORD(frame_at, interpreter_frame.instr_ptr);
	WORD(frame_bytes, interpreter_frame.localsplus);
	WORD(frame_owner, interpreter_frame.owner);
	WORD(code_file, code_object.filename);
	WORD(code_name, code_object.qualname);
	WORD(code_lines, code_object.linetable);
	WORD(code_first_line, code_object.firstlineno);
	WORD(code_units, code_object.co_code_adaptive);
	printf("\t },\n");
#endif
}

int main(void)
{
	printf("\t{.version = 0x%x,\n", PY_VERSION_HEX >> 16);
	describe();
	ROW(finalizing, offsetof(_PyRuntimeState, _finalizing));
	ROW(interpreters, offsetof(_PyRuntimeState, interpreters.head));
	ROW(interpreter_next, offsetof(PyInterpreterState, next));
	ROW(thread_interpreter, offsetof(PyThreadState, interp));
#if PY_VERSION_HEX >= 0x030d0000
	ROW(thread_frame, offsetof(PyThreadState, current_frame));
	ROW(cframe_frame, NONE);
#elif PY_VERSION_HEX >= 0x030b0000
	ROW(thread_frame, offsetof(PyThreadState, cframe));
	ROW(cframe_frame, offsetof(_PyCFrame, current_frame));
#else
	ROW(thread_frame, offsetof(PyThreadState, frame));
	ROW(cframe_frame, NONE);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	ROW(frame_back, offsetof(_PyInterpreterFrame, previous));
#if PY_VERSION_HEX >= 0x030d0000
	ROW(frame_code, offsetof(_PyInterpreterFrame, f_executable));
	ROW(frame_at, offsetof(_PyInterpreterFrame, instr_ptr));
#else
	ROW(frame_code, offsetof(_PyInterpreterFrame, f_code));
	ROW(frame_at, offsetof(_PyInterpreterFrame, prev_instr));
#endif
	ROW(frame_owner, offsetof(_PyInterpreterFrame, owner));
#if PY_VERSION_HEX >= 0x030c0000
	ROW(frame_function, offsetof(_PyInterpreterFrame, f_funcobj));
#else
	ROW(frame_function, offsetof(_PyInterpreterFrame, f_func));
#endif
	ROW(code_tag, PY_VERSION_HEX >= 0x030e0000 ? 3 : 0);
	ROW(frame_bytes, offsetof(_PyInterpreterFrame, localsplus));
	printf("\t .at = PYTHON_AT_POINTER,\n");
	ROW(code_name, offsetof(PyCodeObject, co_qualname));
	ROW(code_units, offsetof(PyCodeObject, co_code_adaptive));
	ROW(code_bytes, offsetof(PyCodeObject, co_code_adaptive));
	ROW(code_begins, offsetof(PyCodeObject, _co_firsttraceable));
#else
	ROW(frame_back, offsetof(PyFrameObject, f_back));
	ROW(frame_code, offsetof(PyFrameObject, f_code));
	ROW(frame_at, offsetof(PyFrameObject, f_lasti));
	ROW(frame_owner, NONE);
	ROW(frame_function, NONE);
	ROW(code_tag, 0);
	ROW(frame_bytes, offsetof(PyFrameObject, f_lasti) + sizeof(int));
	printf("\t .at = %s,\n", PY_VERSION_HEX >= 0x030a0000 ? "PYTHON_AT_UNIT" : "PYTHON_AT_BYTE");
	ROW(code_name, offsetof(PyCodeObject, co_name));
	ROW(code_units, NONE);
	ROW(code_bytes, offsetof(PyCodeObject, LINES) + sizeof(PyObject *));
	ROW(code_begins, NONE);
#endif
	ROW(code_file, offsetof(PyCodeObject, co_filename));
	ROW(code_lines, offsetof(PyCodeObject, LINES));
	ROW(code_first_line, offsetof(PyCodeObject, co_firstlineno));
	ROW(object_type, offsetof(PyObject, ob_type));
	ROW(object_size, offsetof(PyVarObject, ob_size));
	ROW(bytes_data, offsetof(PyBytesObject, ob_sval));
	ROW(text_length, offsetof(PyASCIIObject, length));
	ROW(text_state, offsetof(PyASCIIObject, state));
	ROW(text_ascii, sizeof(PyASCIIObject));
	ROW(text_compact, sizeof(PyCompactUnicodeObject));
	ROW(text_is_compact, bits_of(0));
	ROW(text_is_ascii, bits_of(1));
	printf("\t .text_kind = %u},\n", bits_of(2));
	return 0;
}
'''

HEAD = '''/* SPDX-License-Identifier: Apache-2.0 */
/* Made by gen_python_layouts.py: do not edit. */
#ifndef SPY_PYTHON_LAYOUTS_H
#define SPY_PYTHON_LAYOUTS_H

#include "shim/sites/python_layout.h"

/* clang-format off */
static const struct python_layout python_layouts[] = {
'''
TAIL = '''};
/* clang-format on */

#endif
'''


def row(folder):
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, 'a.c'), os.path.join(work, 'a')
        with open(source, 'w', encoding='utf-8') as out:
            out.write(PROGRAM)
        subprocess.run(['cc', '-w', '-I', folder, '-I', os.path.join(folder, 'internal'), '-I', os.path.dirname(folder), source, '-o', program],
                       check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def version_of(text):
    return int(re.search(r'version = (0x[0-9a-f]+)', text).group(1), 16)


def filled(text):
    """A row in as few lines as it needs: a version is a paragraph, and not a page."""
    words = ' '.join(text.split()).replace(' = ', '=')  # a name stays with its value
    lines = textwrap.fill(words, width=72, initial_indent='\t', subsequent_indent='\t ', break_long_words=False)
    return lines.replace('=', ' = ') + '\n'


def main():
    rows = sorted((row(folder) for folder in sys.argv[1:]), key=version_of)
    sys.stdout.write(HEAD + ''.join(map(filled, rows)) + TAIL)


if __name__ == '__main__':
    main()
