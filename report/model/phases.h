/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where start-up ends and tear-down begins, by the time slices of a process. For the recent calls,
 * which are cut there, and the verdict.
 */
#ifndef REPORT_PHASES_H
#define REPORT_PHASES_H

#include "report/model/model_gpu_types.h"

/*
 * Start-up: the time before the GPU is first given work where the host spends it in CUDA (making
 * the context), and the slices behind it, or at the window's start, in which the host mostly loads
 * code and allocates or the GPU does nearly nothing. Its end, ns since load, not before the
 * window's start. `p` has slices and a host.
 */
double phases_startup(const struct overview *p);
/* Tear-down: the slices at the window's end from one on in which the host mostly frees or unloads,
 * if the GPU does nearly nothing any more and is given nothing. */
size_t phases_teardown(const struct overview *p, size_t *first);

/* A loop's start without the slices, up to `most`, in which the host mostly loads code and
 * allocates: its first steps warm up. Where it does that all along, `start`. */
double phases_settled(const struct overview *p, double start, double most);

/* How long the device that works most does in a slice, ns. */
double phases_busy(const struct overview *p, size_t slice);
/* How much of a slice lies in [from, until), ns since load. */
double phases_part(const struct overview *p, size_t slice, double from, double until);
/* Of a slice's host time `from`, what `ns` left out of it take: what is none of its steady work
 * goes first. */
void phases_take(const double *from, double ns, double to[TF_HOSTS]);

#endif
