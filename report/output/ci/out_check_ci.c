/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/output/out_check.h"
#include "report/base/text.h"

static void put_xml(FILE *to, const char *text)
{
	char *safe = text_safe(text, strlen(text));

	for (const char *c = safe; *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		default:
			putc(*c, to);
		}
	}
	free(safe);
}

static void put_case(const struct judgement *j, FILE *to)
{
	const char *element = j->outcome == OUTCOME_FAIL ? "failure" : "error";
	char *sentence = out_check_sentence(j);

	fputs("    <testcase name=\"", to);
	put_xml(to, j->rule->text);
	fputs("\" classname=\"cudaspy.check\" time=\"0\"", to);
	if (j->outcome == OUTCOME_PASS) {
		fputs("/>\n", to);
	} else {
		fprintf(to, ">\n      <%s type=\"%s\" message=\"", element,
		        outcome_names[j->outcome]);
		put_xml(to, sentence);
		fputs("\">", to);
		put_xml(to, j->rule->text);
		fputs(": ", to);
		put_xml(to, sentence);
		fprintf(to, "</%s>\n    </testcase>\n", element);
	}
	free(sentence);
}

/* Ant's form: every attribute and element that the stricter of the schemas in use asks for. */
void out_check_junit(const struct out_check *c, const struct out_options *o)
{
	char date[32] = "1970-01-01T00:00:00", host[256] = "localhost";
	time_t now = time(NULL);
	struct tm tm;
	FILE *to = o->to;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
	      "name=\"cudaspy check\" package=\"cudaspy\" id=\"0\" hostname=\"",
	      to);
	put_xml(to, host);
	fprintf(to,
	        "\" timestamp=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"0\">\n"
	        "    <properties>\n      <property name=\"baseline\" value=\"",
	        date, c->count, c->outcomes[OUTCOME_FAIL], c->outcomes[OUTCOME_INCONCLUSIVE]);
	put_xml(to, c->baseline ? c->baseline : "none");
	char *steps = figure_steps_text(&c->after);
	fputs("\"/>\n      <property name=\"steps\" value=\"", to);
	put_xml(to, steps);
	free(steps);
	fputs("\"/>\n    </properties>\n", to);
	for (size_t i = 0; i < c->count; i++)
		put_case(&c->judgements[i], to);
	fputs("    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n", to);
}

/* Workflow commands end with the line and cut their properties at : and , */
static void put_escaped(FILE *to, const char *text, const char *also)
{
	char *safe = text_safe(text, strlen(text));

	for (const char *c = safe; *c; c++) {
		if (*c == '%' || strchr(also, *c))
			fprintf(to, "%%%02X", (unsigned char)*c);
		else
			putc(*c, to);
	}
	free(safe);
}

/* Behind `folder`, if the path lies in it. */
static const char *within(const char *path, const char *folder)
{
	size_t n = folder ? strlen(folder) : 0;

	while (n && folder[n - 1] == '/')
		n--;
	return n && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* As a repository names the file: GitHub attaches an annotation to no other. */
static char *path_in_workspace(const char *path)
{
	char here[4096];
	const char *in = within(path, getenv("GITHUB_WORKSPACE"));

	if (!in && getcwd(here, sizeof(here)))
		in = within(path, here);
	if (!in && !strncmp(path, "./", 2))
		in = path + 2;
	return alloc_string(in ? in : path);
}

/* The line of the program that the failure is about, or else the rule's. */
static void put_place(const struct judgement *j, FILE *to)
{
	const struct figures_site *s = j->site;
	const char *file = s && s->line ? s->local ? s->local : s->file : NULL;
	uint32_t line = file ? s->line : j->rule->line;

	file = file ? file : j->rule->file;
	if (!file)
		return;
	char *path = path_in_workspace(file);
	fputs("file=", to);
	put_escaped(to, path, ":,");
	fprintf(to, ",line=%u,", line);
	free(path);
}

void out_check_github(const struct out_check *c, const struct out_options *o)
{
	FILE *to = o->to;
	char *summary = out_check_summary(c);

	for (size_t i = 0; i < c->count; i++) {
		const struct judgement *j = &c->judgements[i];
		if (j->outcome == OUTCOME_PASS)
			continue;
		fprintf(to, "::%s ", j->outcome == OUTCOME_FAIL ? "error" : "warning");
		put_place(j, to);
		fputs("title=cudaspy check", to);
		char *sentence = out_check_sentence(j);
		fputs("::", to);
		put_escaped(to, j->rule->text, "");
		fputs(": ", to);
		put_escaped(to, sentence, "");
		putc('\n', to);
		free(sentence);
	}
	if (c->outcome == OUTCOME_PASS)
		fprintf(to, "::notice title=cudaspy check::%s\n", summary);
	else
		fprintf(to, "cudaspy check: %s\n", summary);
	free(summary);
}
