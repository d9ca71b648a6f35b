/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one sentence that says what changed from some recordings to others: faster, slower, or no
 * difference that can be told, and the counts that changed most. For diff, bench and their outputs.
 */
#ifndef REPORT_HEADLINE_H
#define REPORT_HEADLINE_H

#include "report/gate/compare.h"

enum headline_of { HEADLINE_NONE, HEADLINE_STEP, HEADLINE_WINDOW, HEADLINE_WALL };
extern const char *const headline_of_names[]; /* NULL, "step", "window", "wall" */

/* With fewer recordings than are judged: what is nearer to the same than this is no difference. */
#define HEADLINE_STEP_LEAST   1.05 /* of steps, whose intervals are apart */
#define HEADLINE_WINDOW_LEAST 1.10 /* of whole runs */

struct headline {
	enum headline_of of;        /* the time it is about */
	struct compare_timing time; /* NaN where it is about none */
	int moved;         /* 1 = slower, -1 = faster, 0 = no difference that can be told */
	bool judged;       /* ... against what differs from run to run */
	char *steps_apart; /* why steps do not compare; NULL = they do */
	bool other_steps;  /* ... and a side has some */
	char *text;
};

/*
 * `wall`: the time of whole processes, where it was taken, which stands for the run where steps do
 * not compare; else NULL. `before` and `after`: how the sentence calls the sides.
 */
void headline_make(struct headline *h, const struct compare_result *c,
                   const struct compare_timing *wall, const char *before, const char *after);
void headline_free(struct headline *h);

#endif
