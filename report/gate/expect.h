/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that a user expects to have run: libraries fall back silently, and the slower kernel that
 * runs in place of the one meant shows nowhere. For report and check, and the outputs of report.
 */
#ifndef REPORT_EXPECT_H
#define REPORT_EXPECT_H

#include "report/model/model.h"
#include "report/base/pattern.h"

struct expect_rule {
	const char *pattern; /* POSIX extended, on the whole demangled name; not owned */
	struct pattern_regex compiled;
};

/* Whether it names no kernel, as a variable that was not set; then one line was written. */
bool expect_is_empty(const char *command, const char *pattern);
/* False when one line was written, beginning with the command's name: it is empty, or no regular
 * expression. */
bool expect_compile(struct expect_rule *e, const char *command, const char *pattern);
void expect_free(struct expect_rule *e);

#define EXPECT_SHOWN 5

struct expect_found {                /* what became of it */
	bool known;                  /* whether it ran can be told: counts are known */
	bool ran;                    /* a kernel of that name is there */
	uint64_t launches, captured; /* of all kernels that match */
	double gpu, gpu_share;       /* ns, and of all GPU time; NaN = not known */
	size_t match_count;
	const struct model_kernel *matches[EXPECT_SHOWN]; /* the first ones */
	/* Where it did not run: what did, by GPU time or, where that is not known, by launches. */
	size_t other_count;
	const struct model_kernel *others[EXPECT_SHOWN];
	char *note; /* what leaves a doubt; NULL = nothing does */
};

void expect_find(const struct model *m, const struct expect_rule *e, struct expect_found *to);
void expect_found_free(struct expect_found *x);

/* A kernel's launches over the run's steps; NaN where there are none. */
double expect_per_step(const struct model *m, const struct model_kernel *k);

#endif
