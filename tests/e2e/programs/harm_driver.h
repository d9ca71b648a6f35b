/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver of the harm_* programs can do beside the simulated one: see harm_driver.c. */
#pragma once

enum harm_place {
	HARM_NOWHERE,
	HARM_INIT,
	HARM_INIT_LEFT, /* the last that cuInit does */
	HARM_LAUNCH,
	HARM_ALLOC,
	HARM_PLACES
};

/* From now on the driver calls `function` inside each such call, on the thread that made it, before
 * the call does its work. NULL: no more. */
void harm_inside(enum harm_place place, void (*function)(void));

/* For a child made by _Fork() or a raw clone(), before it has a second thread: tells the driver,
 * which after a fork() knows by itself. No call of CUDA. */
void harm_forked(void);
