/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/pattern.h"
#include "report/gate/rules_internal.h"

bool rule_wrong(struct rule_parser *p, const char *where, const char *format, ...)
{
	va_list args;

	p->error->column = (size_t)(where - p->text) + 1;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return false;
}

bool rule_is_word(const char *at, size_t bytes, const char *word)
{
	return strlen(word) == bytes && !memcmp(at, word, bytes);
}

static void skip_blanks(struct rule_parser *p)
{
	p->at += strspn(p->at, " \t");
}

static size_t word_here(const struct rule_parser *p)
{
	return strspn(p->at, RULE_LETTERS RULE_DIGITS);
}

/* "PATTERN", with \" for a quote, then perhaps a colon. */
static bool parse_pattern(struct rule_parser *p, const char *what)
{
	const char *start = p->at;
	char why[PATTERN_ERROR_BYTES];

	if (*p->at != '"')
		return rule_wrong(p, p->at, "expected the name of a %s in quotes: %s \"...\"", what,
		                  what);
	char *to = p->rule->pattern = alloc_zeroed(strlen(p->at) + 1, 1);
	for (p->at++; *p->at && *p->at != '"'; p->at++) {
		if (p->at[0] == '\\' && p->at[1] == '"')
			p->at++;
		*to++ = *p->at;
	}
	if (*p->at != '"')
		return rule_wrong(p, start, "this quote is not closed");
	p->at++;
	if (!*p->rule->pattern)
		return rule_wrong(p, start, "an empty name; \".*\" means every %s", what);
	if (pattern_compile(&p->rule->compiled, p->rule->pattern, why))
		return rule_wrong(p, start, "no regular expression: %s", why);
	p->rule->select = !strcmp(what, "kernel") ? SELECT_KERNEL : SELECT_RANGE;
	skip_blanks(p);
	p->at += *p->at == ':';
	return true;
}

static bool parse_selector(struct rule_parser *p)
{
	static const char *const selectors[] = {"kernel", "range"};
	size_t bytes = word_here(p);

	for (size_t i = 0; i < 2; i++)
		if (rule_is_word(p->at, bytes, selectors[i])) {
			p->at += bytes;
			skip_blanks(p);
			return parse_pattern(p, selectors[i]);
		}
	return true;
}

static bool unknown_metric(struct rule_parser *p, const char *at, size_t bytes)
{
	char *name = alloc_copy(at, bytes);
	const char *meant = suggest(name, metric_names());

	if (meant)
		rule_wrong(p, at, "unknown metric %s; did you mean %s?", name, meant);
	else
		rule_wrong(p, at, "unknown metric %s; cudaspy check --metrics lists them", name);
	free(name);
	return false;
}

/* "loop.launches": what of the loop is asked for, per step. */
static bool parse_loop(struct rule_parser *p)
{
	static const char *const names[] = {
	        "steps",           "step_ns",    "launches", "graph_launches", "syncs", "copies",
	        "pageable_copies", "copy_bytes", "sets",     "allocs",         NULL};
	const char *start = p->at + sizeof("loop.") - 1;
	size_t bytes = strspn(start, RULE_LETTERS RULE_DIGITS);
	struct rule *r = p->rule;

	if (r->select != SELECT_RUN)
		return rule_wrong(p, p->at, "loop. is of the run, not of a kernel or range");
	r->metric = metric_of_loop(start, bytes, &r->per_step);
	if (!r->metric) {
		char *name = alloc_copy(start, bytes);
		const char *meant = suggest(name, names);
		rule_wrong(p, start, "unknown figure of a loop %s; did you mean loop.%s?", name,
		           meant ? meant : names[0]);
		free(name);
		return false;
	}
	r->loop = true;
	p->at = start + bytes;
	return true;
}

static bool parse_metric(struct rule_parser *p)
{
	static const char per_step[] = "_per_step";
	const size_t tail = sizeof(per_step) - 1;
	const char *start = p->at;
	size_t bytes = word_here(p);
	struct rule *r = p->rule;

	if (rule_is_word(start, bytes, "loop") && start[bytes] == '.')
		return parse_loop(p);
	if (!bytes)
		return rule_wrong(p, start, "expected a metric, such as launches");
	r->metric = metric_find(start, bytes);
	if (!r->metric && bytes > tail && !memcmp(start + bytes - tail, per_step, tail)) {
		r->per_step = true;
		r->metric = metric_find(start, bytes - tail);
		if (!r->metric)
			return unknown_metric(p, start, bytes - tail);
		if (!metric_is_count(r->metric))
			return rule_wrong(p, start + bytes - tail,
			                  "%s is no count: it has no value per step",
			                  r->metric->name);
	}
	if (!r->metric)
		return unknown_metric(p, start, bytes);
	if (r->select == SELECT_KERNEL && !(r->metric->flags & METRIC_KERNELS))
		return rule_wrong(p, start, "%s is not known of single kernels; launches is",
		                  r->metric->name);
	if (r->select == SELECT_RANGE && metric_work(r->metric) < 0)
		return rule_wrong(p, start, "%s is not known of NVTX ranges; launches is",
		                  r->metric->name);
	p->at += bytes;
	return true;
}

static bool parse(struct rule_parser *p)
{
	skip_blanks(p);
	if (!parse_selector(p))
		return false;
	skip_blanks(p);
	if (!parse_metric(p))
		return false;
	skip_blanks(p);
	if (!rule_parse_op(p))
		return false;
	skip_blanks(p);
	if (!rule_parse_limit(p))
		return false;
	skip_blanks(p);
	return *p->at ? rule_wrong(p, p->at, "this is too much: the rule ended before it") : true;
}

bool rule_parse(struct rule *r, const char *text, struct rule_error *error)
{
	struct rule_parser p = {.rule = r, .text = text, .at = text, .error = error};

	*r = (struct rule){.text = alloc_string(text)};
	if (parse(&p))
		return true;
	rule_free(r);
	return false;
}

bool rule_expect(struct rule *r, const char *pattern, struct rule_error *error)
{
	char why[PATTERN_ERROR_BYTES];

	*r = (struct rule){
	        .metric = &metrics[METRIC_LAUNCHES], .op = OP_GE, .value = 1, .expected = true};
	error->column = 1;
	if (pattern_compile(&r->compiled, pattern, why)) {
		snprintf(error->text, sizeof(error->text), "%s", why);
		return false;
	}
	r->select = SELECT_KERNEL;
	r->pattern = alloc_string(pattern);
	r->text = alloc_format("expect-kernel %s", pattern);
	return true;
}

void rule_free(struct rule *r)
{
	pattern_free(&r->compiled);
	free(r->text);
	free(r->pattern);
	free(r->word);
	*r = (struct rule){0};
}
