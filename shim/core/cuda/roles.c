/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/cuda/roles.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct row {
	const char *name;
	uint8_t cls, role;
};

#define ROW(name, cls, role)             {#name, SPY_CLASS_##cls, CUDA_ROLE_##role},
#define CALL(name, cls, role, ...)       ROW(name, cls, role)
#define ARGS(name, cls, what, role, ...) ROW(name, cls, role)
#define WRAP(name, cls, what, role, ...) ROW(name, cls, role)
#define HAND(name, cls, role)            ROW(name, cls, role)
#define RT(name, cls, role)              ROW(name, cls, role)
#define RT12(name, cls, role)            ROW(name, cls, role)
#define PASS(name)

static const struct row rows[] = {
#include "shim/core/format/calls.def"
};

/* A row's name, or its form for per-thread default streams. */
static bool is_name(const char *name, const char *of_row)
{
	while (*of_row && *name == *of_row)
		name++, of_row++;
	return !*of_row && (!*name || !strcmp(name, "_ptsz") || !strcmp(name, "_ptds"));
}

enum cuda_role cuda_role_of(const char *name, unsigned cls)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].cls == cls && is_name(name, rows[i].name))
			return (enum cuda_role)rows[i].role;
	return CUDA_ROLE_NONE;
}
