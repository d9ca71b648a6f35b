/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/cli/check_request.h"
#include "report/cli/check_save.h"
#include "report/cli/commands.h"
#include "report/cli/help_text.h"
#include "report/cli/report_request.h"
#include "report/cli/terminal.h"
#include "report/base/complain.h"

static int list_metrics(void)
{
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "count", [METRIC_BYTES] = "bytes", [METRIC_TIME] = "time",
	        [METRIC_SHARE] = "share", [METRIC_WORD] = "word",
	};
	help_entry("metric              kind", 29, "what");
	for (size_t i = 0; i < METRICS; i++) {
		char *what = alloc_format("%-18s  %s", metrics[i].name, kinds[metrics[i].kind]);
		help_entry(what, 29, metrics[i].about);
		free(what);
	}
	puts("");
	help_lines("Counts and bytes also with _per_step. Of kernels: launches.\n"
	           "Of a step of the loop: loop.launches and so on, loop.allocs, loop.step_ns; its "
	           "loop.steps.",
	           2);
	return out_close(stdout, "standard output");
}

static int explain(const char *text)
{
	struct config c = {0};
	int status = EXIT_TROUBLE;

	if (!config_limit(&c, text)) {
		rule_explain(&c.rules[0], stdout, terminal_width(STDOUT_FILENO));
		status = out_close(stdout, "standard output");
	}
	config_free(&c);
	return status;
}

static void judge_all(struct out_check *c, const struct config *config)
{
	struct judge judge = {.before = &c->before,
	                      .after = &c->after,
	                      .steps = config->steps,
	                      .steps_from = config->steps_from,
	                      .allow_killed = config->allow_killed};

	c->count = config->rule_count;
	c->judgements = alloc_zeroed(c->count, sizeof(*c->judgements));
	for (size_t i = 0; i < c->count; i++) {
		judge_rule(&c->judgements[i], &config->rules[i], &judge);
		c->outcomes[c->judgements[i].outcome]++;
	}
	c->outcome = c->outcomes[OUTCOME_FAIL]           ? OUTCOME_FAIL
	             : c->outcomes[OUTCOME_INCONCLUSIVE] ? OUTCOME_INCONCLUSIVE
	                                                 : OUTCOME_PASS;
}

static void check_free(struct out_check *c)
{
	for (size_t i = 0; i < c->count; i++)
		judgement_free(&c->judgements[i]);
	free(c->judgements);
	run_set_free(&c->before);
	run_set_free(&c->after);
}

static int check(const struct check_request *r)
{
	static const int statuses[] = {
	        [OUTCOME_PASS] = EXIT_DONE,
	        [OUTCOME_FAIL] = EXIT_UNEXPECTED,
	        [OUTCOME_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
	};
	struct out_check c = {.baseline = r->baseline};
	const struct run_set_options steps = config_run_set(&r->config, pipeline_figures);
	struct report_request look;
	int status = EXIT_TROUBLE;

	report_defaults(&look);
	/* One line a rule in a log; wrapped for who looks at a terminal. */
	if (r->output || !(isatty(STDOUT_FILENO) || getenv("COLUMNS")))
		look.out.width = 100000;
	look.out.colour &= !r->output;
	if (!(r->baseline && run_set_add(&c.before, r->baseline, &steps)) &&
	    !run_set_add_all(&c.after, r->names, r->count, &steps)) {
		struct out_file file;
		run_sets_say_if_apart(&c.before, &c.after);
		judge_all(&c, &r->config);
		look.out.to = out_begin(&file);
		r->write(&c, &look.out);
		status = out_end(&file, r->output);
		status = status == EXIT_DONE ? statuses[c.outcome] : status;
	}
	check_free(&c);
	return status;
}

static int run(struct check_request *r)
{
	if (r->list)
		return list_metrics();
	if (r->explain)
		return explain(r->explain);
	if (!r->count) {
		complain("check: no recording named; see cudaspy check --help");
		return EXIT_TROUBLE;
	}
	if (r->save)
		return check_save(r->names, r->count, &r->config, r->save);
	return check_request_rules(r) ? EXIT_TROUBLE : check(r);
}

int cmd_check(int count, char **args)
{
	struct check_request r;
	int status = EXIT_TROUBLE;

	signal(SIGPIPE, SIG_IGN);
	switch (check_request_read(&r, count, args)) {
	case CHECK_JUDGE:
		status = run(&r);
		break;
	case CHECK_HELP:
		status = check_request_help();
		break;
	case CHECK_WRONG:
		break;
	}
	check_request_free(&r);
	return status;
}
