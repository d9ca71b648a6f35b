/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel names: demangled, and shortened for tables. The names come from the recorded program, so
 * time and output of the demangler are bounded. For the model and the outputs.
 */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stddef.h>

#define NAME_MANGLED_MOST   4096u
#define NAME_DEMANGLED_MOST 8192u

/* The full name as its programmer wrote it (free it); the name as it is where it is no C++ name. */
char *name_demangle(const char *mangled, size_t bytes);
/* Without return type, parameters and template arguments: "at::native::reduce_kernel<...>" (free
 * it). */
char *name_short(const char *full);

#endif
