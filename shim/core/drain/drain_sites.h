/* SPDX-License-Identifier: Apache-2.0 */
/* What calls from one site add up to. For the drain. */
#ifndef SPY_DRAIN_SITES_H
#define SPY_DRAIN_SITES_H

#include "shim/core/format/trace_map.h"

/* A call that has a site, of class `cls`; `work`: the class of what it gave to the GPU, NULL = none
 * known. */
void drain_site(struct tf_map *map, const struct tf_record *r, unsigned cls,
                const struct tf_work *work);

#endif
