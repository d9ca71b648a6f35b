/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shim says to the user: lines on stderr. For the shim's cold paths.
 */
#ifndef SPY_MESSAGES_H
#define SPY_MESSAGES_H

/* One line, "cudaspy: ..."; at most 20 in a process's life. Leaves errno alone. */
void spy_say(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Looks at what stderr is now: nothing is written once it is something else. */
void messages_first_look(void);

void messages_after_fork(void);

#endif
