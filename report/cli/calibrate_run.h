/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This program as a child of itself under the shim, whose recording is then read. For `calibrate`.
 */
#ifndef REPORT_CALIBRATE_RUN_H
#define REPORT_CALIBRATE_RUN_H

#include "report/calibrate/calibrate.h"

struct calibrate_place {
	char *folder;  /* of recordings; empty, and this program's own */
	char *library; /* the shim */
};

/* Makes the folder, and sets what all children have in their environment. -1 and one line. */
int calibrate_place_make(struct calibrate_place *p);
/* With all that is in it. A signal that came meanwhile ends this program here. */
void calibrate_place_remove(struct calibrate_place *p);

struct calibrate_child {
	struct calibrate_run run;
	uint32_t clock_khz;
};
/* One of them on a device. `machine`, unless NULL, gets what there is. -1 and one line. */
int calibrate_run_child(const struct calibrate_place *p, int device, bool exact,
                        struct calibrate_child *c, struct kernel_times_machine *machine);

#endif
