/*
 * Whether the process of a recording has ended, was killed, or still runs. For the model.
 */
#ifndef REPORT_STATE_H
#define REPORT_STATE_H

#include "report/model.h"

enum process_state state_of(const struct recording *r);
/* CLOCK_MONOTONIC, in ns. */
double state_now(void);

#endif
