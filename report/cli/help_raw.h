/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that --help of all commands says, in lines for programs: what manual pages and completions
 * are made of. For `help`.
 */
#ifndef REPORT_HELP_RAW_H
#define REPORT_HELP_RAW_H

#include "report/cli/commands.h"

/*
 * Lines of fields with tabs between: "command NAME ABOUT", "usage LINE...", "about TEXT", "option
 * NAME LETTER VALUE HELP", "word COMMAND OPTION WORD" (what the option's value may be). Exit
 * status.
 */
int help_raw(const struct command *all);

#endif
