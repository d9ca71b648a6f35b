/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line an instruction of a Python function is of, by the line table of its code object as
 * that version of CPython has it. For the model's call sites.
 */
#ifndef REPORT_PYTHON_LINES_H
#define REPORT_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* `version`: major << 8 | minor; `at`: byte of the instruction. 0: of no line, or the table is of a
 * version that is not known. */
uint32_t python_line(uint32_t version, const uint8_t *table, size_t bytes, uint32_t first_line,
                     uint32_t at);

#endif
