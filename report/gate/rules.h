/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: what a run must keep to. `launches <= +0`, `pageable_copies = 0`, `gpu_busy_share >= 60%`,
 * `kernel "flash.*" launches >= 1`: an optional selector, a metric (also with _per_step), a
 * comparison, a limit. For check.
 */
#ifndef REPORT_RULES_H
#define REPORT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/gate/metrics.h"
#include "report/base/pattern.h"

enum rule_select { SELECT_RUN, SELECT_KERNEL, SELECT_RANGE };
enum rule_op { OP_LE, OP_GE, OP_EQ, OP_NE, OP_LT, OP_GT };

struct rule {
	char *text;
	const char *file; /* where it stands; NULL = the command line. Not owned. */
	unsigned line, column;

	enum rule_select select;
	char *pattern; /* of a kernel or range: an extended regular expression */
	struct pattern_regex compiled;
	const struct metric *metric;
	bool per_step;
	bool loop; /* of the loop alone, whatever number of steps was said, and of all its records
	            */
	enum rule_op op;
	bool relative; /* to the baseline: the limit had a sign */
	bool percent;  /* of the baseline; of a share: points */
	double value;  /* ns, bytes, a count, a share, or per cent where `percent` says so */
	char *word;    /* of a verdict */
	bool expected; /* of --expect-kernel: launched directly or inside a graph */
};

struct rule_error {
	size_t column; /* from 1: where in the rule's text */
	char text[256];
};

/* False when the text is no rule: `error` says why; there is nothing to free. */
bool rule_parse(struct rule *r, const char *text, struct rule_error *error);
/* `kernel "PATTERN" launches >= 1`, by the pattern alone. */
bool rule_expect(struct rule *r, const char *pattern, struct rule_error *error);
void rule_free(struct rule *r);
/* Whether every run keeps to it; of a whole run: no count, time or share is less than 0, no share
 * more than 1. */
bool rule_holds_always(const struct rule *r);
/* What the rule asks, in sentences. */
void rule_explain(const struct rule *r, FILE *to, size_t width);

#endif
