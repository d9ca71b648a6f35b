/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/out_check.h"
#include "report/base/text_table.h"

static const char *const words[] = {
        [OUTCOME_PASS] = "pass",
        [OUTCOME_FAIL] = "FAIL",
        [OUTCOME_INCONCLUSIVE] = "unsure",
};

/* The values of a judgement as texts. */
struct shown {
	char *before, *after, *limit, *change, *steps, *site;
};

static struct shown show(const struct judgement *j)
{
	const char *word = j->after_word ? j->after_word : "n/a";
	bool is_word = j->rule->metric->kind == METRIC_WORD;

	return (struct shown){
	        .before = isfinite(j->before_low) ? metric_text(j->rule->metric->kind,
	                                                        j->before_low, j->before_high)
	                                          : NULL,
	        .after = is_word ? alloc_string(word)
	                         : metric_text(j->rule->metric->kind, j->after_low, j->after_high),
	        .limit = judgement_limit(j),
	        .change = judgement_change(j),
	        .steps = judgement_steps(j),
	        .site = judgement_site(j),
	};
}

static void shown_free(struct shown *s)
{
	free(s->before);
	free(s->after);
	free(s->limit);
	free(s->change);
	free(s->steps);
	free(s->site);
}

char *out_check_sentence(const struct judgement *j)
{
	char *text = NULL;
	size_t bytes;

	if (j->outcome == OUTCOME_INCONCLUSIVE)
		return alloc_string(j->reason);
	struct shown s = show(j);
	FILE *to = open_memstream(&text, &bytes);
	if (!to)
		alloc_failed();
	if (s.before)
		fprintf(to, "before %s, after ", s.before);
	fputs(s.after, to);
	if (isfinite(j->estimate_low)) {
		char *interval =
		        metric_text(j->rule->metric->kind, j->estimate_low, j->estimate_high);
		fprintf(to, " (estimated, %s)", interval);
		free(interval);
	}
	if (s.change)
		fprintf(to, " (%s)", s.change);
	if (j->outcome == OUTCOME_FAIL)
		fprintf(to, ", limit %s", s.limit);
	if (j->where)
		fprintf(to, "; %s", j->where);
	if (s.site)
		fprintf(to, "; %s", s.site);
	if (s.steps)
		fprintf(to, "; %s", s.steps);
	if (j->note)
		fprintf(to, "; %s", j->note);
	if (fclose(to))
		alloc_failed();
	shown_free(&s);
	return text;
}

char *out_check_summary(const struct out_check *c)
{
	size_t failed = c->outcomes[OUTCOME_FAIL], unsure = c->outcomes[OUTCOME_INCONCLUSIVE];
	const char *rules = c->count == 1 ? "rule" : "rules";

	if (failed)
		return alloc_format("%zu of %zu %s failed, %zu inconclusive, %zu passed", failed,
		                    c->count, rules, unsure, c->outcomes[OUTCOME_PASS]);
	if (unsure)
		return alloc_format("%zu of %zu %s inconclusive, none failed, %zu passed", unsure,
		                    c->count, rules, c->outcomes[OUTCOME_PASS]);
	return alloc_format("%zu %s passed", c->count, rules);
}

static void put_machine(const struct figures_machine *m, struct text_layout *page,
                        const char *label)
{
	text_layout_fact(page, label, "%s, driver %s, CUDASPY_GPU=%s",
	                 m->gpus ? m->gpus : "GPU unknown", m->driver ? m->driver : "unknown",
	                 m->mode ? m->mode : "unknown");
}

static void put_top(const struct out_check *c, struct text_layout *page)
{
	const struct run_set *after = &c->after;
	char *differs = machine_difference(&c->before, after);

	if (after->count > 1)
		text_layout_fact(page, "recordings", "%s and %zu more, taken as repeats",
		                 after->runs[0].name, after->count - 1);
	else
		text_layout_fact(page, "recording", "%s", after->runs[0].name);
	if (c->baseline)
		text_layout_fact(page, "baseline", "%s (%zu recording%s)", c->baseline,
		                 c->before.count, c->before.count == 1 ? "" : "s");
	char *steps = figure_steps_text(after);
	text_layout_fact(page, "steps", "%s", steps);
	free(steps);
	put_machine(&after->runs[0].machine, page, "machine");
	if (differs)
		text_layout_fact(page, "not alike", "%s: counts are judged, times are not",
		                 differs);
	free(differs);
}

static void put_rules(const struct out_check *c, struct text_layout *page)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct judgement *j = &c->judgements[i];
		char *text = out_check_sentence(j);
		(j->outcome == OUTCOME_FAIL ? text_layout_alarm : text_layout_fact)(
		        page, words[j->outcome], "%s: %s", j->rule->text, text);
		free(text);
	}
}

void out_check_text(const struct out_check *c, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .colour = o->colour, .width = o->width};
	char *summary = out_check_summary(c);

	put_top(c, &page);
	text_layout_blank(&page);
	put_rules(c, &page);
	text_layout_blank(&page);
	text_layout_plain(&page, summary);
	free(summary);
}

static void put_table(const struct out_check *c, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"result", true}, {"rule", true},   {"before", false},
	        {"after", false}, {"limit", false}, {"what", true},
	};
	struct text_layout_table t;

	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->count; i++) {
		const struct judgement *j = &c->judgements[i];
		struct shown s = show(j);
		const char *what[] = {s.change, j->where, s.site, s.steps, j->note, j->reason};
		char *all = alloc_string("");
		for (size_t k = 0; k < sizeof(what) / sizeof(what[0]); k++)
			if (what[k])
				alloc_append(&all, "%s%s", *all ? "; " : "", what[k]);
		table_cell(&t, "%s", words[j->outcome]);
		table_cell(&t, "%s", j->rule->text);
		table_cell(&t, "%s", s.before ? s.before : "");
		table_cell(&t, "%s", s.after);
		table_cell(&t, "%s", s.limit);
		table_cell(&t, "%s", all);
		free(all);
		shown_free(&s);
	}
	table_print(&t, page);
}

void out_check_markdown(const struct out_check *c, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .markdown = true, .width = o->width};
	char *summary = out_check_summary(c);

	fprintf(o->to, "### cudaspy check: %s\n\n", summary);
	put_table(c, &page);
	put_top(c, &page);
	free(summary);
}
