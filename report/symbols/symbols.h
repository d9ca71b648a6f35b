/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands at an address of a program or library, by its symbols and debug information. Needs
 * elfutils (libdw) on the machine that reports; without it nothing is found. Nothing is fetched
 * from a network. For the model's call sites.
 */
#ifndef REPORT_SYMBOLS_H
#define REPORT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols; /* the files that were opened */

struct symbol {         /* free the texts; NULL or 0 = not known */
	char *function; /* demangled */
	char *file;
	uint32_t line;
};

struct symbols *symbols_new(void);
void symbols_free(struct symbols *s);

/*
 * What stands at an address: functions that were inlined there, innermost first, and the one that
 * they are part of; how many.
 *
 * `address`: as the file has it. The file counts only if its build id is the one given: `bytes` 0 =
 * the program had none, and nothing is said.
 */
#define SYMBOLS_MOST 16
size_t symbols_find(struct symbols *s, const char *path, const uint8_t *build_id, size_t bytes,
                    uint64_t address, struct symbol found[SYMBOLS_MOST]);

#endif
