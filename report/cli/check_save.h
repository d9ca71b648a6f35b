/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other half of check: making the baseline that later runs are judged by. For check.
 */
#ifndef REPORT_CHECK_SAVE_H
#define REPORT_CHECK_SAVE_H

#include "report/gate/config.h"

/* Writes the baseline of these recordings to a file; the exit status. */
int check_save(char *const *names, size_t count, const struct config *config, const char *path);

#endif
