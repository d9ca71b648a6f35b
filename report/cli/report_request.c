/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/report_request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/terminal.h"

void report_defaults(struct report_request *request)
{
	*request = (struct report_request){
	        .out = {.limit = 15,
	                .width = terminal_width(STDOUT_FILENO),
	                .colour = terminal_has_colours(STDOUT_FILENO)},
	        .write = out_screen,
	        .sort = SORT_GPU,
	};
}

int report_read_limit(struct report_request *request, const char *option, const char *value)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	request->out.limit_given = true;
	request->out.limit = SIZE_MAX;
	if (!strcmp(value, "all"))
		return 0;
	if (*value < '0' || *value > '9' || *end) {
		complain("report: --%s %s: neither a number nor all", option, value);
		return -1;
	}
	request->out.limit = n;
	return 0;
}

int report_read_skip(struct report_request *request, const char *value)
{
	char *end;

	errno = 0;
	request->skip_steps = strtoull(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno)
		return 0;
	complain("report: --skip-steps %s: not a number", value);
	return -1;
}

int report_read_phase(struct report_request *request, struct option_reader *reader,
                      const char *value)
{
	static const char *const names[] = {"all", "start", "loop", NULL};
	const char *number = NULL;
	char *end;

	if (!strncmp(value, "loop", 4) && value[4]) {
		number = value + 4 + strspn(value + 4, " :");
	} else {
		if (*value >= '0' && *value <= '9') {
			complain("report: --phase %s: unknown; a loop is --phase loop %s", value,
			         value);
			return -1;
		}
		int choice = option_choice("report", "phase", value, names);
		if (choice < 0)
			return -1;
		request->phase.what = choice == 0   ? PHASE_ASKED_ALL
		                      : choice == 1 ? PHASE_ASKED_START
		                                    : PHASE_ASKED_LOOP;
		if (choice < 2)
			return 0;
		if (reader->at < reader->count)
			number = reader->args[reader->at++];
	}
	request->phase.what = PHASE_ASKED_LOOP;
	errno = 0;
	unsigned long n =
	        number && *number >= '0' && *number <= '9' ? strtoul(number, &end, 10) : 0;
	if (n && !*end && !errno && n <= UINT_MAX) {
		request->phase.number = (unsigned)n;
		return 0;
	}
	complain("report: --phase loop: a number from 1 is to follow%s%s", number ? ", not " : "",
	         number ? number : "");
	return -1;
}

int report_read_unit(struct report_request *request, const char *value)
{
	char *end;

	request->out.unit_per_step = strtod(value, &end);
	if (end != value && !*end && request->out.unit_per_step > 0 &&
	    request->out.unit_per_step < 1e18)
		return 0;
	complain("report: --unit-per-step %s: not a positive number", value);
	return -1;
}

int report_read_expectation(struct report_request *request, const char *value)
{
	ALLOC_ROOM(request->expectations, request->expectation_count);
	if (!expect_compile(&request->expectations[request->expectation_count], "report", value))
		return -1;
	request->expectation_count++;
	return 0;
}

static int add_whatif(struct report_request *request, const char *text)
{
	char error[WHATIF_TEXT];
	struct whatif_question question;

	if (whatif_parse(&question, text, error)) {
		complain("report: --what-if %s", error);
		return -1;
	}
	ALLOC_ROOM(request->whatifs, request->out.whatif_count);
	request->whatifs[request->out.whatif_count++] = question;
	request->out.whatifs = request->whatifs;
	return 0;
}

int report_read_whatif(struct report_request *request, const char *value)
{
	int status = 0;

	if (strcmp(value, "all") != 0)
		return add_whatif(request, value);
	for (enum whatif i = 0; i < WHATIF_STEP; i++)
		status |= add_whatif(request, whatif_names[i]);
	return status;
}

void report_as_page(struct report_request *request)
{
	request->write = out_html;
	if (!request->out.whatif_count)
		report_read_whatif(request, "all");
}

void report_forget(struct report_request *request)
{
	for (size_t i = 0; i < request->expectation_count; i++)
		expect_free(&request->expectations[i]);
	free(request->expectations);
	for (size_t i = 0; i < request->out.whatif_count; i++)
		free(request->whatifs[i].kernel);
	free(request->whatifs);
}

int report_read_section(struct report_request *request, const char *value)
{
	int choice = option_choice("report", "section", value, out_section_names);

	if (choice >= 0)
		request->out.sections |= UINT64_C(1) << choice;
	return choice < 0 ? -1 : 0;
}
