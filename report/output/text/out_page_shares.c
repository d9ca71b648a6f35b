/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/text/out_page_shares.h"

#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/units.h"

/* Beside more figures, so that the longest rows fit 80 columns. */
#define BAR_SHORT 8

static const struct {
	const char *share, *time;
} heads[] = {
        [PHASE_START] = {"%start", "start"},
        [PHASE_LOOP] = {"%loop", "loop"},
        [PHASE_END] = {"%end", "end"},
};

void out_shares_start(struct out_shares *s, const struct model *m, const struct analysis *a,
                      double window, double judged)
{
	*s = (struct out_shares){
	        .window = window, .several = m->phases.loops > 1, .processes = m->process_count};
	if (!a->of->phase || !(judged > 0))
		return;
	s->phase = a->of->phase;
	s->judged = judged;
	s->timed = a->phase != m->phases.main;
}

char *out_shares_judged(const struct out_shares *s)
{
	return s->phase->kind == PHASE_LOOP && s->several
	               ? alloc_format("loop %u", s->phase->number)
	               : alloc_string(out_page_judged(s->phase));
}

char *out_shares_base(const struct out_shares *s)
{
	char time[UNIT_BYTES];

	if (!s->phase)
		return alloc_string("");
	char *which = out_shares_judged(s);
	char *text = alloc_format("; %s: %% of the %s of %s that are judged%s",
	                          heads[s->phase->kind].share, unit_time(time, s->judged), which,
	                          s->processes > 1 ? ", added up as well" : "");
	free(which);
	return text;
}

void out_shares_table(struct out_shares *s, const char *last, struct text_layout_table *t)
{
	size_t n = 0;

	s->columns[n++] = (struct text_layout_column){"time", false};
	s->columns[n++] = (struct text_layout_column){"%win", false};
	if (s->phase && s->timed)
		s->columns[n++] = (struct text_layout_column){heads[s->phase->kind].time, false};
	if (s->phase)
		s->columns[n++] = (struct text_layout_column){heads[s->phase->kind].share, false};
	s->columns[n++] = (struct text_layout_column){"", true};
	s->columns[n++] = (struct text_layout_column){last, true};
	table_start(t, s->columns, n);
}

void out_shares_row(const struct out_shares *s, struct text_layout_table *t, double ns,
                    double judged, const char *what)
{
	out_page_time(t, ns);
	out_page_percent(t, ns, s->window);
	if (s->phase && s->timed)
		out_page_time(t, judged);
	if (s->phase)
		out_page_percent(t, judged, s->judged);
	char *bar = s->phase ? out_page_bar(judged, s->judged, BAR_SHORT)
	                     : out_page_bar(ns, s->window, OUT_BAR);
	table_cell(t, "%s", bar);
	table_cell(t, "%s", what);
	free(bar);
}
