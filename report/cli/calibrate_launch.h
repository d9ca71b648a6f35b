/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that `cudaspy calibrate` records: `cudaspy calibrate --launch --device N`.
 */
#ifndef REPORT_CALIBRATE_LAUNCH_H
#define REPORT_CALIBRATE_LAUNCH_H

/* Launches each kind of kernel some thousand times on device N, and prints that device's clock. The
 * exit status; of trouble one line on stderr. */
int calibrate_launch(int device);

#endif
