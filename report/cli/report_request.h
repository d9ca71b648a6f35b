/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report is asked for: as nothing asks for it, and what the values of options make of it.
 * For the commands that report.
 */
#ifndef REPORT_REPORT_REQUEST_H
#define REPORT_REPORT_REQUEST_H

#include "report/cli/options.h"
#include "report/pipeline.h"

/* What a report looks like when nothing is asked for. */
void report_defaults(struct report_request *request);
/* As a page for a browser, with all predictions unless some were asked for. */
void report_as_page(struct report_request *request);
void report_forget(struct report_request *request);

/* An option's value; -1 when one line was written. */
int report_read_limit(struct report_request *request, const char *option, const char *value);
int report_read_skip(struct report_request *request, const char *value);
/* "all", "start", "loop 2": its number is the argument behind it, or stands in the same one. */
int report_read_phase(struct report_request *request, struct option_reader *reader,
                      const char *value);
int report_read_unit(struct report_request *request, const char *value);
int report_read_expectation(struct report_request *request, const char *value);
/* "all" of them: but for kernels, where it is not said which. */
int report_read_whatif(struct report_request *request, const char *value);
int report_read_section(struct report_request *request, const char *value);

#endif
