/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a loaded library exports, read from its dynamic symbol table in memory.
 * For programs under tests/ that compare pointers with exports. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct export
{
	uintptr_t address;
	const char *name; /* lies in the library */
};

/* Lists the exported functions whose name starts with `prefix`, sorted by address. Returns their
 * number, or -1; *exports is the caller's to free(). */
long exports_of(void *handle, const char *prefix, struct export **exports);

/* The first of the exports at this address, or NULL; others at the same address follow it. */
const struct export *exports_find(const struct export *exports, long count, uintptr_t address);
