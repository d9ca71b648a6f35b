/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's kernels, generated from sampler.ptx by gen_image.py. For the sampler's contexts. */
#ifndef SPY_SAMPLER_IMAGE_H
#define SPY_SAMPLER_IMAGE_H

extern const unsigned char sampler_ptx[];  /* text, ends with a NUL */
extern const unsigned char sampler_code[]; /* fat binary */
extern const unsigned sampler_code_bytes;  /* 0: built without an assembler, there is none */

#endif
