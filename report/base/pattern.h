/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions that users give: POSIX extended ones, with \w \s \b \< and the like, without
 * back references. Found anywhere in a text, byte by byte, in time proportional to the text and to
 * the size of the pattern, which is limited. (The C library's take minutes for some patterns.) For
 * rules and options.
 */
#ifndef REPORT_PATTERN_H
#define REPORT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_ERROR_BYTES 128

struct pattern_regex {
	struct pattern_node *nodes; /* where a match begins: the first one */
	size_t count;
	struct pattern_scratch *scratch;
};

/* 0 when `to` was compiled (free it); else -1 and why not. */
int pattern_compile(struct pattern_regex *to, const char *text, char why[PATTERN_ERROR_BYTES]);
void pattern_free(struct pattern_regex *p);

bool pattern_finds(const struct pattern_regex *p, const char *text);

#endif
