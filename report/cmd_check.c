#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/alloc.h"
#include "report/check_save.h"
#include "report/commands.h"
#include "report/complain.h"
#include "report/config.h"
#include "report/options.h"
#include "report/out_check.h"
#include "report/page.h"

#define EXIT_REGRESSION 1

enum { BASELINE, CONFIG, LIMIT, STEPS, ALLOW_KILLED, SAVE, FORMAT, OUTPUT, EXPLAIN, LIST, HELP };

static const struct option_row rows[] = {
        [BASELINE] = {"baseline", 'b', "FILE", "compare with this recording, folder or baseline"},
        [CONFIG] = {"config", 'c', "FILE", "read rules from FILE (default: ./cudaspy.toml)"},
        [LIMIT] = {"limit", 'l', "RULE", "judge by RULE; may be given several times"},
        [STEPS] = {"steps", 0, "N", "a run has N steps: for rules on ..._per_step"},
        [ALLOW_KILLED] = {"allow-killed", 0, NULL, "judge killed and running processes too"},
        [SAVE] = {"save-baseline", 0, "FILE", "judge nothing, write a baseline of the recordings"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, md, junit or github"},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [EXPLAIN] = {"explain", 0, "RULE", "say what RULE means, judge nothing"},
        [LIST] = {"metrics", 0, NULL, "list what rules can be about"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const char *const format_names[] = {"text", "json", "md", "junit", "github", NULL};
static void (*const formats[])(const struct check *, const struct out_options *) = {
        out_check_text, out_check_json, out_check_markdown, out_check_junit, out_check_github};

struct request {
	struct config config;
	char **names; /* of recordings */
	size_t count;
	char **limits; /* of the command line */
	size_t limit_count;
	const char *baseline, *config_file, *save, *output, *explain;
	bool list;
	void (*write)(const struct check *, const struct out_options *);
};

static int read_steps(struct request *r, const char *value)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || !n || n > 1000000000000ull) {
		complain("check: --steps %s: no whole number from 1 on", value);
		return -1;
	}
	r->config.steps = (double)n;
	return 0;
}

/* One option; -1 when the error was written. */
static int read_option(struct request *r, int option, const char *value)
{
	int choice;

	switch (option) {
	case BASELINE:
		r->baseline = value;
		return 0;
	case CONFIG:
		r->config_file = value;
		return 0;
	case LIMIT:
		r->limits[r->limit_count++] = (char *)value;
		return 0;
	case STEPS:
		return read_steps(r, value);
	case ALLOW_KILLED:
		r->config.allow_killed = true;
		return 0;
	case SAVE:
		r->save = value;
		return 0;
	case FORMAT:
		choice = option_choice("check", "format", value, format_names);
		r->write = choice < 0 ? NULL : formats[choice];
		return choice < 0 ? -1 : 0;
	case OUTPUT:
		r->output = value;
		return 0;
	case EXPLAIN:
		r->explain = value;
		return 0;
	case LIST:
		r->list = true;
		return 0;
	}
	return -1;
}

/* Every option; OPTION_END, or HELP, or OPTION_WRONG. */
static int read_options(struct request *r, int count, char **args)
{
	struct option_reader reader = {
	        .command = "check", .rows = rows, .args = args, .count = count};
	const char *value;
	int option;

	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND)
			r->names[r->count++] = (char *)value;
		else if (option == HELP)
			return HELP;
		else if (option == OPTION_WRONG || read_option(r, option, value))
			return OPTION_WRONG;
	}
	return OPTION_END;
}

static int list_metrics(void)
{
	static const struct column columns[] = {{"metric", true}, {"kind", true}, {"what", true}};
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "count", [METRIC_BYTES] = "bytes", [METRIC_TIME] = "time",
	        [METRIC_SHARE] = "share", [METRIC_WORD] = "word",
	};
	struct page page = {.to = stdout, .width = 400};
	struct table t;

	table_start(&t, columns, 3);
	for (size_t i = 0; i < METRICS; i++) {
		table_cell(&t, "%s", metrics[i].name);
		table_cell(&t, "%s", kinds[metrics[i].kind]);
		table_cell(&t, "%s", metrics[i].about);
	}
	table_print(&t, &page);
	puts("\nCounts and bytes also with _per_step. Of kernels: launches.");
	return report_close(stdout, "standard output");
}

static int explain(const char *text)
{
	struct config c = {0};
	int status = EXIT_TROUBLE;

	if (!config_limit(&c, text)) {
		rule_explain(&c.rules[0], stdout);
		status = report_close(stdout, "standard output");
	}
	config_free(&c);
	return status;
}

/* A rule against the baseline, and no baseline. */
static int has_baseline(const struct request *r)
{
	for (size_t i = 0; i < r->config.rule_count; i++) {
		const struct rule *rule = &r->config.rules[i];
		if (!rule->relative || r->baseline)
			continue;
		if (rule->file)
			complain("%s:%u:%u: %s is against a baseline, and there is none",
			         rule->file, rule->line, rule->column, rule->text);
		else
			complain("check: %s is against a baseline: --baseline FILE", rule->text);
		return -1;
	}
	return 0;
}

/* The rules: of the file named, of ./cudaspy.toml where nothing is said, and of --limit. */
static int read_rules(struct request *r)
{
	const char *file = r->config_file;

	if (!file && !r->limit_count && !access("cudaspy.toml", F_OK)) {
		file = "cudaspy.toml";
		complain("rules are those of cudaspy.toml in this folder");
	}
	if (file && config_read(&r->config, file))
		return -1;
	for (size_t i = 0; i < r->limit_count; i++)
		if (config_limit(&r->config, r->limits[i]))
			return -1;
	if (!r->baseline && r->config.baseline) {
		r->baseline = r->config.baseline;
		if (access(r->baseline, R_OK)) {
			complain("%s:%u:%u: baseline %s: %s", file, r->config.baseline_line,
			         r->config.baseline_column, r->baseline, strerror(errno));
			return -1;
		}
	}
	if (!r->config.rule_count) {
		if (!r->baseline) {
			complain("check: neither a rule nor a baseline: see cudaspy check --help");
			return -1;
		}
		config_default_rules(&r->config);
	}
	return has_baseline(r);
}

static void judge_all(struct check *c, const struct config *config)
{
	struct judge judge = {.before = &c->before,
	                      .after = &c->after,
	                      .steps = config->steps,
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

static void check_free(struct check *c)
{
	for (size_t i = 0; i < c->count; i++)
		judgement_free(&c->judgements[i]);
	free(c->judgements);
	side_free(&c->before);
	side_free(&c->after);
}

static int check(const struct request *r)
{
	static const int statuses[] = {
	        [OUTCOME_PASS] = EXIT_DONE,
	        [OUTCOME_FAIL] = EXIT_REGRESSION,
	        [OUTCOME_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
	};
	struct check c = {.baseline = r->baseline};
	struct report_request look;
	int status = EXIT_TROUBLE;

	report_defaults(&look);
	/* One line a rule in a log; wrapped for who looks at a terminal. */
	if (r->output || !(isatty(STDOUT_FILENO) || getenv("COLUMNS")))
		look.out.width = 100000;
	look.out.colour &= !r->output;
	if (!(r->baseline && side_add(&c.before, r->baseline)) &&
	    !side_add_all(&c.after, r->names, r->count)) {
		char *text = NULL;
		size_t bytes;
		judge_all(&c, &r->config);
		look.out.to = open_memstream(&text, &bytes);
		if (!look.out.to)
			alloc_failed();
		r->write(&c, &look.out);
		if (fclose(look.out.to))
			alloc_failed();
		status = report_put(text, bytes, r->output);
		status = status == EXIT_DONE ? statuses[c.outcome] : status;
		free(text);
	}
	check_free(&c);
	return status;
}

static int run(struct request *r)
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
	return read_rules(r) ? EXIT_TROUBLE : check(r);
}

int cmd_check(int count, char **args)
{
	struct request r = {.write = out_check_text,
	                    .names = alloc_zeroed((size_t)count + 1, sizeof(*r.names)),
	                    .limits = alloc_zeroed((size_t)count + 1, sizeof(*r.limits))};
	int status = EXIT_TROUBLE;

	signal(SIGPIPE, SIG_IGN);
	switch (read_options(&r, count, args)) {
	case OPTION_END:
		status = run(&r);
		break;
	case HELP:
		option_help(
		        "cudaspy check [--baseline FILE] [--config FILE] [--limit RULE]... "
		        "FILE...\n"
		        "       cudaspy check --save-baseline FILE RECORDING...",
		        "Judges recordings by rules, such as 'launches <= +0' (against the "
		        "baseline),\n'pageable_copies = 0' or 'launch_p50_ns <= +15%'. Without a "
		        "rule no count may\nrise. Several FILEs are repeats; a folder is one run. "
		        "Exit status: 0 all rules\npassed, 1 one failed, 2 wrong usage or input, 3 "
		        "none failed but one has no answer.",
		        rows);
		status = report_close(stdout, "standard output");
		break;
	}
	config_free(&r.config);
	free(r.names);
	free(r.limits);
	return status;
}
