/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a generated wrapper needs: NVIDIA's types, the span, the arguments. Included by the
 * generated wrappers and by the few written by hand, nothing else.
 */
#ifndef SPY_WRAPPER_H
#define SPY_WRAPPER_H

#include "shim/real/real.h"
#include "shim/record/span.h"
#include "shim/args/args.h"
#include "shim/sampler/sampler.h"

#define SPY_EXPORT __attribute__((visibility("default")))

#endif
