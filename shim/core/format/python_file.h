/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a file of Python code is, by its path. For the reporter, which calls a stack by the
 * program's own code, and for the shim, which compares stacks by it.
 */
#ifndef SPY_PYTHON_FILE_H
#define SPY_PYTHON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Code of the standard library, of an installed package, of the interpreter itself, or that
 * torch.compile or Triton made. NULL = not known, which is the interpreter's. */
static inline bool python_file_is_library(const char *file)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
	                                    "/lib64/python3",  "/torchinductor_", "/.triton/"};

	if (!file || !strncmp(file, "<frozen ", 8))
		return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

#endif
