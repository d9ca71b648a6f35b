/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the files of patterns work together: what a pattern is compiled to. For these alone.
 */
#ifndef REPORT_PATTERN_INTERNAL_H
#define REPORT_PATTERN_INTERNAL_H

#include "report/base/pattern.h"

enum pattern_node_kind {
	NODE_BYTE, /* one of `bytes` */
	NODE_FORK, /* goes on at `next` and at `other` */
	NODE_SEAM, /* goes on where `seam` holds */
	NODE_FOUND
};

enum pattern_seam { /* between two characters */
	            SEAM_START,
	            SEAM_END,
	            SEAM_WORD_START,
	            SEAM_WORD_END,
	            SEAM_WORD,   /* either */
	            SEAM_NO_WORD /* neither */
};

/* Where it goes on is said by how many nodes that is away: a piece of a pattern can be copied. */
struct pattern_node {
	enum pattern_node_kind kind;
	enum pattern_seam seam;
	int32_t next, other;
	uint64_t bytes[4]; /* a bit each */
};

struct pattern_scratch *pattern_scratch(const struct pattern_regex *p);

bool pattern_is_word(unsigned char c);

void pattern_set_byte(uint64_t set[4], unsigned char c);
void pattern_set_class(uint64_t set[4], int (*is)(int));
void pattern_set_inverse(uint64_t set[4]); /* but for the end of the text */
/* "a-z[:digit:]]", behind the bracket that opens; NULL, or what is wrong. */
const char *pattern_read_set(const char **at, uint64_t set[4]);

#endif
