/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: where a call was made, as a stack of Python's frames and the return address of the
 * wrapper, with those of the functions around it as far as these keep frame pointers. Taken after
 * calls that took long anyway, and after those around which the sampler's events stood (SPAN_SITE):
 * what is not wanted costs nothing. For the life cycle.
 *
 * sites.c (a stack becomes the number of a site), python.c (frames, read without the GIL),
 * python_code.c (what is copied of code objects), native.c (return addresses), objects.c (what is
 * mapped, and where CPython is).
 */
#ifndef SPY_SITES_H
#define SPY_SITES_H

#include <stdint.h>
#include "shim/base/gate.h"
#include "shim/core/format/trace_sites.h"

/* Makes the area in a recording that is new. */
void sites_start(void);

/* By the collector, now and then, and at exit: looks at what is mapped, if that was asked for or
 * `all`; tells how long a call must be. */
void sites_beat(bool all);

/* The site of the calling thread's call, whose record is complete but for it; the ticks that it
 * took to find out. */
uint64_t sites_call(struct tf_record *r, struct spy_caller caller);

void sites_after_fork(void);

#endif
