/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the user: one line on stderr each, whatever is in their arguments. For every file of
 * report/.
 */
#ifndef REPORT_COMPLAIN_H
#define REPORT_COMPLAIN_H

#define EXIT_DONE         0
#define EXIT_UNEXPECTED   1 /* what was asked for is not so: a rule, an expected kernel */
#define EXIT_TROUBLE      2 /* usage, input or output */
#define EXIT_INCONCLUSIVE 3 /* whether it is so cannot be told */

/* "cudaspy: ...", made safe for a terminal. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The one of `names` that `word` may have been meant to be, or NULL. The list ends with NULL. */
const char *suggest(const char *word, const char *const *names);

#endif
