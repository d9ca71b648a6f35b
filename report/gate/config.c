/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/gate/config.h"
#include "report/gate/expect.h"
#include "report/base/file.h"
#include "report/base/text.h"
#include "report/gate/toml.h"

#define FILE_MOST  (1u << 20)
#define SHOWN_MOST 160u /* characters of a line that is wrong */

struct source { /* a file while it is read */
	const char *path, *text;
	size_t bytes;
};

/* The line, and below it a mark at the column. Of a long one, what is around that. */
static void show(const char *line, size_t bytes, size_t column)
{
	size_t from = column > SHOWN_MOST / 2 ? column - SHOWN_MOST / 2 : 0;

	if (from < bytes) {
		line += from;
		bytes -= from;
		column -= from;
	}
	bytes = bytes < SHOWN_MOST ? bytes : SHOWN_MOST;
	char *plain = alloc_copy(line, bytes);

	for (size_t i = 0; i < bytes; i++)
		plain[i] = plain[i] == '\t' ? ' ' : plain[i];
	char *left = text_safe(plain, column - 1 < bytes ? column - 1 : bytes);
	char *all = text_safe(plain, bytes);
	fprintf(stderr, "  %s\n  %*s^\n", all, (int)text_width(left), "");
	free(plain);
	free(left);
	free(all);
}

static const char *line_of(const struct source *s, unsigned line, size_t *bytes)
{
	const char *at = s->text, *end = s->text + s->bytes;

	while (--line && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	*bytes = (size_t)((stop ? stop : end) - at);
	return at;
}

static int wrong(const struct source *s, unsigned line, unsigned column, const char *what)
{
	size_t bytes;
	const char *at = line_of(s, line, &bytes);

	complain("%s:%u:%u: %s", s->path, line, column, what);
	show(at, bytes, column);
	return -1;
}

static int wrong_kind(const struct source *s, const struct toml_entry *e, const char *wanted)
{
	char *what = alloc_format("%s%smust be %s", e->key ? e->key : "", e->key ? " " : "a limit ",
	                          wanted);
	int rc = wrong(s, e->line, e->column, what);

	free(what);
	return rc;
}

/* The column of a text's first character: behind the quote, where the text stands as it is. */
static unsigned text_column(const struct source *s, const struct toml_entry *e)
{
	size_t bytes, length = strlen(e->text);
	const char *line = line_of(s, e->line, &bytes);

	return e->column < bytes && length <= bytes - e->column &&
	                       !memcmp(line + e->column, e->text, length)
	               ? e->column + 1
	               : 0;
}

static struct rule *room(struct config *c)
{
	ALLOC_ROOM(c->rules, c->rule_count);
	return &c->rules[c->rule_count];
}

static int read_limit(struct config *c, const struct source *s, const struct toml_entry *e)
{
	struct rule_error error;
	struct rule *r = room(c);

	if (e->kind != TOML_TEXT)
		return wrong_kind(s, e, "a text, such as \"launches <= +0\"");
	if (!rule_parse(r, e->text, &error)) {
		unsigned column = text_column(s, e);
		return wrong(s, e->line, column ? column + (unsigned)error.column - 1 : e->column,
		             error.text);
	}
	c->rule_count++;
	r->file = c->file;
	r->line = e->line;
	r->column = e->column;
	return 0;
}

static char *beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	return path[0] == '/' || !slash ? alloc_string(path)
	                                : alloc_format("%.*s/%s", (int)(slash - file), file, path);
}

/* Which steps are judged. */
static int read_steps(struct config *c, const struct source *s, const struct toml_entry *e)
{
	bool name = !strcmp(e->key, "steps_from"), skip = !strcmp(e->key, "skip_steps");

	if (name && (e->kind != TOML_TEXT || !*e->text))
		return wrong_kind(s, e, "the name of NVTX ranges");
	if (!name && (e->kind != TOML_INTEGER || e->integer < (skip ? 0 : 1)))
		return wrong_kind(s, e, skip ? "a whole number" : "a whole number from 1 on");
	if (c->steps_given)
		return 0;
	if (name)
		c->steps_from = alloc_string(e->text);
	else if (skip)
		c->skip_steps = (uint64_t)e->integer;
	else
		c->steps = (double)e->integer;
	if (c->steps > 0 && (c->skip_steps || c->steps_from))
		return wrong(
		        s, e->key_line, e->key_column,
		        "steps divides whole runs: not together with skip_steps or steps_from");
	return 0;
}

static int read_entry(struct config *c, const struct source *s, const struct toml_entry *e)
{
	static const char *const keys[] = {"allow_killed", "baseline",   "limits", "skip_steps",
	                                   "steps",        "steps_from", NULL};

	if (!strcmp(e->key, "limits")) {
		if (e->kind != TOML_LIST)
			return wrong_kind(s, e, "a list of texts");
		for (size_t i = 0; i < e->item_count; i++)
			if (read_limit(c, s, &e->items[i]))
				return -1;
	} else if (!strcmp(e->key, "baseline")) {
		if (e->kind != TOML_TEXT)
			return wrong_kind(s, e, "the path of a file");
		c->baseline = beside(c->file, e->text);
		c->baseline_line = e->line;
		c->baseline_column = e->column;
	} else if (!strcmp(e->key, "steps") || !strcmp(e->key, "skip_steps") ||
	           !strcmp(e->key, "steps_from")) {
		return read_steps(c, s, e);
	} else if (!strcmp(e->key, "allow_killed")) {
		if (e->kind != TOML_SWITCH)
			return wrong_kind(s, e, "true or false");
		c->allow_killed |= e->integer != 0;
	} else {
		const char *meant = suggest(e->key, keys);
		char *what = alloc_format("unknown key %s%s%s%s", e->key,
		                          meant ? "; did you mean " : "", meant ? meant : "",
		                          meant ? "?"
		                                : "; known are allow_killed, baseline, "
		                                  "limits, skip_steps, steps and "
		                                  "steps_from");
		wrong(s, e->key_line, e->key_column, what);
		free(what);
		return -1;
	}
	return 0;
}

int config_read(struct config *c, const char *path)
{
	struct source s = {.path = path};
	struct toml_file file;
	char *text = file_read(path, FILE_MOST, &s.bytes);
	int rc = 0;

	if (!text)
		return -1;
	s.text = text;
	c->file = alloc_string(path);
	if (!toml_supported()) {
		complain("%s: this build cannot read TOML: it was made without toml++ "
		         "(libtomlplusplus-dev)",
		         path);
		free(text);
		return -1;
	}
	if (!toml_parse(&file, text, s.bytes))
		rc = wrong(&s, file.error_line, file.error_column, file.error);
	for (size_t i = 0; i < file.count && !rc; i++)
		rc = read_entry(c, &s, &file.entries[i]);
	toml_free(&file);
	free(text);
	return rc;
}

int config_limit(struct config *c, const char *text)
{
	struct rule_error error;

	if (rule_parse(room(c), text, &error)) {
		c->rule_count++;
		return 0;
	}
	complain("check: --limit: column %zu: %s", error.column, error.text);
	show(text, strlen(text), error.column);
	return -1;
}

struct run_set_options config_run_set(const struct config *c, run_set_load_fn load)
{
	return (struct run_set_options){.skip_steps = c->skip_steps,
	                                .steps_from = c->steps_from,
	                                .source_root = c->source_root,
	                                .load = load};
}

int config_steps_agree(const struct config *c)
{
	if (!(c->steps > 0) || (!c->skip_steps && !c->steps_from))
		return 0;
	complain("check: --steps divides whole runs: not together with --skip-steps or "
	         "--steps-from");
	return -1;
}

int config_expect(struct config *c, const char *pattern)
{
	struct rule_error error;

	if (expect_is_empty("check", pattern))
		return -1;
	if (rule_expect(room(c), pattern, &error)) {
		c->rule_count++;
		return 0;
	}
	complain("check: --expect-kernel %s: no regular expression: %s", pattern, error.text);
	return -1;
}

void config_default_rules(struct config *c)
{
	struct rule_error error;

	for (size_t i = 0; i < METRICS; i++) {
		if (!(metrics[i].flags & METRIC_GATED))
			continue;
		char *text = alloc_format("%s <= +0", metrics[i].name);
		if (rule_parse(room(c), text, &error))
			c->rule_count++;
		free(text);
	}
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < c->rule_count; i++)
		rule_free(&c->rules[i]);
	free(c->rules);
	free(c->file);
	free(c->baseline);
	free(c->steps_from);
	*c = (struct config){0};
}
