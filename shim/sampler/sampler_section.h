/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: a thread is in one while it launches work of the sampler or queries its events. There
 * is none while a capture is under way in the process; a call that begins a capture, or destroys a
 * context, waits until all have ended. For the sampler's files.
 */
#ifndef SPY_SAMPLER_SECTION_H
#define SPY_SAMPLER_SECTION_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"

/*
 * Between enter and leave the thread is in relaxed capture mode, so that no call of ours
 * invalidates a capture that we do not know of. Enter: false while a capture is under way; then
 * leave is not to be called. `mode` keeps the thread's own mode.
 */
bool section_enter(CUstreamCaptureMode *mode);
void section_leave(CUstreamCaptureMode *mode);

/* Whether no capture is under way; asked before each call of ours that touches a stream. */
bool section_clear(void);

/* Waits until no thread is in a section, at most a millisecond. */
void section_wait(void);

void section_after_fork(void);

#endif
