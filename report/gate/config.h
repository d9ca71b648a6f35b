/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of check, as cudaspy.toml and the command line give them: rules with their origin,
 * and what they need. For check.
 */
#ifndef REPORT_CONFIG_H
#define REPORT_CONFIG_H

#include "report/gate/figures.h"
#include "report/gate/rules.h"

struct config {
	char *file;     /* NULL = none was read */
	char *baseline; /* NULL = none */
	unsigned baseline_line, baseline_column;
	bool steps_given; /* the command line says which steps: a file's settings of that are not
	                     taken */
	double steps;     /* 0 = not said */
	uint64_t skip_steps;
	char *steps_from;        /* NULL = not said */
	const char *source_root; /* where recorded source files lie here; not owned, or NULL */
	bool allow_killed;
	struct rule *rules;
	size_t rule_count;
};

/*
 * Reads a file: keys limits (a list of rules), baseline (a path from the file's folder), steps,
 * skip_steps, steps_from, allow_killed. What is set already stays. -1 when the error was written,
 * with line and column.
 */
int config_read(struct config *c, const char *path);
/* A rule of the command line. -1 when the error was written, with the place. */
int config_limit(struct config *c, const char *text);
/* --steps and what asks for recorded steps exclude each other: -1 when one line was written. */
int config_steps_agree(const struct config *c);
/* A kernel that is to have run. -1 when the error was written. */
int config_expect(struct config *c, const char *pattern);
/* Nothing was asked for: no total may rise. */
void config_default_rules(struct config *c);
/* Which steps recordings are read with. */
struct run_set_options config_run_set(const struct config *c, run_set_load_fn load);
void config_free(struct config *c);

#endif
