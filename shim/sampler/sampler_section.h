/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: the moments in which a thread gives work of ours to streams, or asks about it. None
 * while a capture is under way in the process; what begins a capture, or destroys a context, waits
 * for them to end. For the sampler's files.
 */
#ifndef SPY_SAMPLER_SECTION_H
#define SPY_SAMPLER_SECTION_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"

/*
 * Between enter and leave the thread is in relaxed capture mode, so that no call of ours breaks a
 * capture that we do not know of. Enter: false while a capture is under way; then nothing is to be
 * left. `mode` keeps the thread's own mode.
 */
bool section_enter(CUstreamCaptureMode *mode);
void section_leave(CUstreamCaptureMode *mode);

/* Whether no capture is under way; asked before each call of ours that touches a stream. */
bool section_clear(void);

/* Waits until no thread is in a section, at most a millisecond. */
void section_wait(void);

void section_after_fork(void);

#endif
