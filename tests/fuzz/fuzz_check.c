/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads any bytes as what people and other programs hand to check: a rule, a settings file, a
 * baseline. None may make it crash or hang, what is written of them must be clean, and a baseline
 * that was read must be the same when it is written and read again. For libFuzzer.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/gate/baseline.h"
#include "report/output/out_diff.h"
#include "report/gate/config.h"
#include "report/output/out_check.h"
#include "report/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A file of these bytes; its path. The same one each time. */
static const char *file_of(const void *data, size_t bytes)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
		abort();
	return path;
}

static void must_be_clean(char *text)
{
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, "\n");
		if (!text_is_safe(s, n))
			abort();
		s += n + (s[n] != '\0');
	}
	free(text);
}

static FILE *writer(char **text, size_t *bytes)
{
	FILE *to = open_memstream(text, bytes);

	if (!to)
		abort();
	return to;
}

/* Judges a side by a rule, against itself, and writes what comes out in every form. */
static void judge(const struct run_set *s, const struct rule *rule)
{
	static void (*const forms[])(const struct out_check *, const struct out_options *) = {
	        out_check_text, out_check_json, out_check_markdown, out_check_junit,
	        out_check_github};
	struct judgement j;
	const struct judge by = {.before = s, .after = s};
	struct out_check c = {.before = *s, .after = *s, .judgements = &j, .count = 1};

	judge_rule(&j, rule, &by);
	c.outcome = j.outcome;
	c.outcomes[j.outcome]++;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *text;
		size_t bytes;
		struct out_options o = {.limit = 15, .width = 80, .to = writer(&text, &bytes)};
		forms[i](&c, &o);
		fclose(o.to);
		must_be_clean(text);
	}
	judgement_free(&j);
}

static void read_rule(const uint8_t *data, size_t bytes)
{
	char *text = strndup((const char *)data, bytes), *explained;
	struct figures run = {.name = (char *)"run"};
	const struct run_set s = {&run, 1};
	struct rule_error error;
	struct rule rule;
	size_t length;

	if (rule_parse(&rule, text, &error)) {
		FILE *to = writer(&explained, &length);
		rule_explain(&rule, to, 80);
		fclose(to);
		must_be_clean(explained);
		judge(&s, &rule);
		rule_free(&rule);
	} else if (error.column < 1 || error.column > strlen(text) + 1) {
		abort();
	}
	free(text);
}

static void read_settings(const uint8_t *data, size_t bytes)
{
	struct config c = {0};

	config_read(&c, file_of(data, bytes));
	config_free(&c);
}

static char *written(const struct run_set *s, size_t *bytes)
{
	char *text;
	FILE *to = writer(&text, bytes);

	baseline_write(s, to);
	fclose(to);
	return text;
}

static void read_baseline(const uint8_t *data, size_t bytes)
{
	static const char *const rules[] = {"launches <= +0",
	                                    "syncs_per_step <= +5%",
	                                    "launch_p50_ns <= +5%",
	                                    "kernel \".\" launches > 1",
	                                    "range \".\" launches <= +0",
	                                    "verdict != sync-bound",
	                                    "gpu_busy_share >= 5%"};
	struct compare_result c = {0};
	struct run_set s = {0}, again = {0};
	char *first, *second;
	size_t length, more;

	if (!baseline_load(&s, file_of(data, bytes)) && s.count < 100) {
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
			struct rule_error error;
			struct rule rule;
			if (!rule_parse(&rule, rules[i], &error))
				abort();
			judge(&s, &rule);
			rule_free(&rule);
		}
		first = written(&s, &length);
		if (baseline_load(&again, file_of(first, length)))
			abort();
		second = written(&again, &more);
		if (length != more || memcmp(first, second, length))
			abort();
		free(first);
		free(second);
		c.before = s;
		c.after = again;
		s = again = (struct run_set){0};
		compare(&c);
		char *text;
		struct out_options o = {.limit = 15, .width = 80, .to = writer(&text, &length)};
		struct headline h;
		headline_make(&h, &c, NULL, "before", "after");
		out_diff_text(&c, &h, &o);
		out_diff_json(&c, &h, &o);
		headline_free(&h);
		fclose(o.to);
		must_be_clean(text);
	}
	comparison_free(&c);
	run_set_free(&s);
	run_set_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!bytes)
		return 0;
	switch (data[0]) { /* what the seeds begin with */
	case 'R':
		read_rule(data + 1, bytes - 1);
		break;
	case 'T':
		read_settings(data + 1, bytes - 1);
		break;
	default:
		read_baseline(data + 1, bytes - 1);
	}
	return 0;
}
