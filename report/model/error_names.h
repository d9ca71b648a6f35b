/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the result codes of CUDA calls. For the outputs.
 */
#ifndef REPORT_ERROR_NAMES_H
#define REPORT_ERROR_NAMES_H

#include <stdint.h>

/* The name of a driver (CUresult) or runtime (cudaError_t) code; NULL where it is not in the list.
 */
const char *error_name(uint8_t level, int32_t code);

#endif
