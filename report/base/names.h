/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel names: demangled, and shortened for tables. The names come from the recorded program, so
 * time and output of the demangler are bounded. For the model and the outputs.
 */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stddef.h>

#define NAME_MANGLED_MOST   4096u
#define NAME_DEMANGLED_MOST 16384u /* 1,600 mangled bytes of CUTLASS' are 10,000 */

/* The full name as its programmer wrote it (free it); the name as it is where it is no C++ name. */
char *name_demangle(const char *mangled, size_t bytes);
/*
 * Without return type, parameters and template arguments (free it), but for what the kernel does,
 * where they tell: a functor, an operation, the function that a lambda stands in, or the only
 * argument. "at::native::vectorized_elementwise_kernel<CUDAFunctor_add<float>>", else
 * "ns::kernel<...>".
 */
char *name_short(const char *full);
/*
 * The same for the names of one table, all different: where short ones would be the same, with the
 * template arguments that differ, else in full. Names that are no C++ stay as they are. `brief`
 * gets them (free each).
 */
void name_short_all(const char *const *full, char **brief, size_t count);

/* A call as programs have it: nvcc makes <<<>>> a call of __cudaLaunchKernel, which headers and
 * manuals call cudaLaunchKernel. */
const char *name_call(const char *symbol);

#endif
