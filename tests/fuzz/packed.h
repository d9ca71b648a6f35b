/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings without their zeros, so that a fuzzer's mutations hit what counts: the areas are a MiB
 * of mostly nothing. A packed one starts with PACKED; then follow pieces, each a struct
 * packed_piece and its bytes. For the fuzzer and its seeds.
 */
#ifndef TESTS_FUZZ_PACKED_H
#define TESTS_FUZZ_PACKED_H

#include <stdint.h>

#define PACKED       "PACKED\n"
#define PACKED_MAGIC 8u         /* with its NUL */
#define PACKED_MOST  (2u << 20) /* bytes that a packed recording may unfold to */
#define PACKED_GAP   64u        /* zeros that are worth a new piece */

struct packed_piece {
	uint32_t zeros; /* in front of the bytes */
	uint32_t bytes;
};

#endif
