/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user asked of check: its options, and the rules that follow from them and from settings
 * files. For check.
 */
#ifndef REPORT_CHECK_REQUEST_H
#define REPORT_CHECK_REQUEST_H

#include "report/gate/config.h"
#include "report/output/out_check.h"

struct check_request {
	struct config config;
	char **names; /* of recordings */
	size_t count;
	char **limits; /* of the command line */
	size_t limit_count;
	size_t expected; /* kernels: rules of `config` that the command line has beside limits */
	const char *baseline, *config_file, *save, *output, *explain;
	bool list;
	void (*write)(const struct out_check *, const struct out_options *);
};

enum check_asked { CHECK_JUDGE, CHECK_HELP, CHECK_WRONG };

/* Every option; CHECK_WRONG when one line was written. To be freed in any case. */
enum check_asked check_request_read(struct check_request *r, int count, char **args);
/* Reads the rules: of the file named, of ./cudaspy.toml where nothing is said, and of --limit. -1
 * when the error was written. */
int check_request_rules(struct check_request *r);
int check_request_help(void);
void check_request_free(struct check_request *r);

#endif
