/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix whose first column strided_copy and its fixed twin copy to the host. */
#pragma once
#include "cuda_samples/sample_chain.h"

/* What a row costs the bus hardly depends on how narrow it is: 1.3 ns where it has 16 bytes (H200),
 * so that the column takes some 170 us, and 5 us in one piece. */
#define ROWS   131072u
#define ROW    256u /* bytes */
#define COLUMN 2u   /* bytes */

struct matrix {
	unsigned char *in, *rows, *out; /* pinned; the device's; the column, pinned */
};

static inline void matrix_start(matrix *m, cudaStream_t stream)
{
	m->in = sample_malloc_pinned<unsigned char>(ROWS * ROW);
	m->out = sample_malloc_pinned<unsigned char>(ROWS * COLUMN);
	m->rows = sample_malloc<unsigned char>(ROWS * ROW);
	for (unsigned i = 0; i < ROWS * ROW; i++)
		m->in[i] = i / ROW + i % ROW;
	sample_copy_async(m->rows, m->in, ROWS * ROW, HTOD, PINNED, stream);
}

/* When the column has been copied, if it was. */
static inline void matrix_end(matrix *m, unsigned iterations)
{
	for (unsigned i = 0; i < ROWS * COLUMN && iterations; i++)
		sample_verify(m->out[i] == (unsigned char)(i / COLUMN + i % COLUMN));
	sample_free_pinned(m->in);
	sample_free_pinned(m->out);
	sample_free(m->rows);
}
