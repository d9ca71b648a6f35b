/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command run as a child, as if it were run directly: signals reach it, its status is ours. For
 * `run --report`.
 */
#ifndef REPORT_CHILD_H
#define REPORT_CHILD_H

/* Runs the command to its end. 0 and its exit status (128 + signal when one killed it), or the
 * errno of exec. */
int child_run(char **command, int *status);

#endif
