/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that makes the loader put the shim into a command. For `run` and `bench`.
 */
#ifndef REPORT_RUN_PRELOAD_H
#define REPORT_RUN_PRELOAD_H

#include <stdbool.h>

#include "report/cli/target.h"
#include "shim/core/options/options.h"

/* libcudaspy.so: as $CUDASPY_LIB says, beside this program, or in the lib folder beside its folder
 * (free it). NULL when one line was written, which names the command `by`. */
char *preload_library(const char *by);
/* Sets LD_PRELOAD, and where NVTX looks for a tool. */
void preload_set(const char *library, const struct target *t);
/* One id for all processes that the command starts; `anew`: another one than it may have. */
void preload_run_id(bool anew);
/* A variable with a value that is none, of which the shim would say so only when the program runs;
 * or NULL. */
const struct spy_option *preload_wrong_variable(void);
void preload_variable(const char *name, const char *value);
/* Says why a command does not start; the exit status that shells and env give that. */
int preload_cannot_execute(const char *by, const char *command, int why);

#endif
