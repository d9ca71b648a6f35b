/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate/headline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"

#define STEPS_LEAST 10 /* so many, and as many on both sides: the same loop */
#define COUNTS_TOLD 2

const char *const headline_of_names[] = {
        [HEADLINE_NONE] = NULL,
        [HEADLINE_STEP] = "step",
        [HEADLINE_WINDOW] = "window",
        [HEADLINE_WALL] = "wall",
};

static const struct compare_total *total_of(const struct compare_result *c, enum metric_id id,
                                            bool per_step)
{
	for (size_t i = 0; i < c->total_count; i++)
		if (c->totals[i].metric == &metrics[id] && c->totals[i].per_step == per_step)
			return &c->totals[i];
	return NULL;
}

static bool alike(double a, double b)
{
	return isfinite(a) && isfinite(b) && fabs(a - b) <= STEPS_ALIKE * fmax(fabs(a), fabs(b));
}

static bool as_many_steps(const struct compare_result *c)
{
	const struct compare_total *t = total_of(c, METRIC_LOOP_STEPS, false);

	return t && t->before.middle >= STEPS_LEAST && alike(t->before.middle, t->after.middle);
}

/* Steps that were found in the work may be other pieces of it than before: a loop without its waits
 * is divided by something else. As many of them, or of the same kind and with as many launches, are
 * the same. NULL: they compare (else free it). */
static char *steps_apart(const struct compare_result *c)
{
	const struct figures_step_set *a = &c->before.runs[0].steps, *b = &c->after.runs[0].steps;
	const struct compare_total *launches = total_of(c, METRIC_LAUNCHES, true);

	if (a->source == STEPS_NONE || b->source == STEPS_NONE)
		return alloc_format("no steps were found in %s", a->source == b->source ? "either"
		                                                 : a->source == STEPS_NONE
		                                                         ? "what was before"
		                                                         : "what is after");
	if (a->unsure || b->unsure)
		return alloc_string("steps were found with low confidence");
	bool same = a->source == b->source && a->name && b->name && !strcmp(a->name, b->name);
	if (same && (a->source == STEPS_NVTX || as_many_steps(c) ||
	             (launches && alike(launches->before.middle, launches->after.middle))))
		return NULL;
	if (as_many_steps(c))
		return NULL;
	char *is = figure_steps_name(b), *was = figure_steps_name(a);
	char *text = strcmp(is, was) != 0
	                     ? alloc_format("they are told apart by other work than before (by %s, "
	                                    "before by %s)",
	                                    is, was)
	                     : alloc_format("they hold other work than before (told apart by %s in "
	                                    "both)",
	                                    is);
	free(is);
	free(was);
	return text;
}

static bool spans_overlap(const struct compare_span *a, const struct compare_span *b)
{
	return !(a->low > b->high || b->low > a->high);
}

/* Of all recordings of a side: where the period of their steps lies. False: not known. */
static bool period_interval(const struct run_set *s, struct compare_span *to)
{
	*to = (struct compare_span){NAN, NAN, NAN};
	for (size_t i = 0; i < s->count; i++) {
		const struct figures_step_set *x = &s->runs[i].steps;
		if (!isfinite(x->period_low) || !isfinite(x->period_high))
			return false;
		to->low = fmin(to->low, x->period_low);
		to->high = fmax(to->high, x->period_high);
	}
	return s->count > 0;
}

/* With too few recordings to be judged: what is far enough apart to be said. */
static int moved_unjudged(const struct headline *h, const struct compare_result *c)
{
	double ratio = h->time.after.middle / h->time.before.middle, least = HEADLINE_WINDOW_LEAST;
	struct compare_span before = h->time.before, after = h->time.after;

	if (h->of == HEADLINE_STEP && period_interval(&c->before, &before) &&
	    period_interval(&c->after, &after))
		least = HEADLINE_STEP_LEAST;
	if (!(ratio >= least || ratio <= 1 / least) || spans_overlap(&before, &after))
		return 0;
	return ratio > 1 ? 1 : -1;
}

static void choose_time(struct headline *h, const struct compare_result *c,
                        const struct compare_timing *wall)
{
	const struct compare_total *step = total_of(c, METRIC_STEP_PERIOD_NS, false),
	                           *window = total_of(c, METRIC_WINDOW_NS, false);

	h->time = (struct compare_timing){.before = {NAN, NAN, NAN}, .after = {NAN, NAN, NAN}};
	h->steps_apart = steps_apart(c);
	h->other_steps = h->steps_apart && (c->before.runs[0].steps.source != STEPS_NONE ||
	                                    c->after.runs[0].steps.source != STEPS_NONE);
	if (c->differs)
		return;
	if (!h->steps_apart && step) {
		h->of = HEADLINE_STEP;
		h->time = step->time;
	} else if (wall) {
		h->of = HEADLINE_WALL;
		h->time = *wall;
	} else if (window) {
		h->of = HEADLINE_WINDOW;
		h->time = window->time;
	}
	if (!(h->time.before.middle > 0 && h->time.after.middle > 0)) {
		h->of = HEADLINE_NONE;
		return;
	}
	h->judged = h->time.judged;
	h->moved = h->judged ? timing_moved(&h->time, true) : moved_unjudged(h, c);
}

/* "84.1 -> 43.0 ms" */
static void put_times(char **text, const struct headline *h)
{
	char before[UNIT_BYTES], after[UNIT_BYTES];

	unit_time_apart(before, h->time.before.middle);
	unit_time_apart(after, h->time.after.middle);
	char *unit = strchr(before, ' '), *other = strchr(after, ' ');
	if (unit && other && !strcmp(unit, other))
		*unit = '\0';
	alloc_append(text, "%s -> %s%s", before, after,
	             h->of == HEADLINE_STEP   ? " per step"
	             : h->of == HEADLINE_WALL ? " from start to end"
	                                      : " from the first CUDA call to the last");
}

/* "1.96x" */
static void put_factor(char **text, double factor)
{
	alloc_append(text, factor < 9.995 ? "%.2fx" : factor < 99.95 ? "%.1fx" : "%.0fx", factor);
}

static void put_bounds(char **text, const struct headline *h)
{
	const struct bounds *b = &h->time.bounds;
	bool faster = h->moved < 0;

	if (!h->judged || b->tied)
		return;
	alloc_append(text, " (");
	if (h->moved) {
		put_factor(text, faster ? 1 / b->upper : b->lower);
		alloc_append(text, " to ");
		put_factor(text, faster ? 1 / b->lower : b->upper);
	} else {
		alloc_append(text, "%+.1f to %+.1f %%", 100 * (b->lower - 1), 100 * (b->upper - 1));
	}
	alloc_append(text, ", each bound with 99 %%)");
}

static void put_few(char **text, const struct compare_result *c)
{
	size_t least = c->before.count < c->after.count ? c->before.count : c->after.count;

	alloc_append(text, "as far as %s recording%s a side tell%s", least == 1 ? "one" : "two",
	             least == 1 ? "" : "s", least == 1 ? "s" : "");
}

/* Whose steps are others does something else, and so may one of which none are known: faster it
 * cannot be. */
static void put_other_steps(struct headline *h, const struct compare_result *c, const char *before,
                            const char *after)
{
	const bool was = c->before.runs[0].steps.source != STEPS_NONE,
	           is = c->after.runs[0].steps.source != STEPS_NONE;

	alloc_append(&h->text, h->moved < 0 ? " less time, " : " more time, ");
	if (was && is)
		alloc_append(&h->text, "but its steps hold other work");
	else
		alloc_append(&h->text, "and only %s has steps", was ? before : after);
}

static void put_time(struct headline *h, const struct compare_result *c, const char *before,
                     const char *after)
{
	double ratio = h->time.after.middle / h->time.before.middle;

	if (h->moved) {
		/* Of several recordings the middle of all pairs, in whose bounds it lies. */
		if (h->judged)
			ratio = h->time.bounds.estimate;
		bool others = h->of == HEADLINE_WINDOW && h->other_steps;
		alloc_append(&h->text, others ? "%s took " : "%s is ", after);
		put_factor(&h->text, h->moved < 0 ? 1 / ratio : ratio);
		if (others)
			put_other_steps(h, c, before, after);
		else
			alloc_append(&h->text, h->moved < 0 ? " faster" : " slower");
	} else {
		alloc_append(&h->text, "no difference that can be told");
	}
	if (!h->judged) {
		alloc_append(&h->text, ", ");
		put_few(&h->text, c);
	}
	alloc_append(&h->text, ": ");
	put_times(&h->text, h);
	put_bounds(&h->text, h);
}

/* Counts that every recording of one side has more of than every one of the other. */
struct count_told {
	const struct compare_total *total;
	double change;
};

static int by_change(const void *a, const void *b)
{
	double x = ((const struct count_told *)a)->change,
	       y = ((const struct count_told *)b)->change;

	return x > y ? -1 : x < y;
}

static const char *word_of(const struct metric *m)
{
	static const char *const words[METRICS] = {
	        [METRIC_LAUNCHES] = "launches",
	        [METRIC_GRAPH_LAUNCHES] = "graph launches",
	        [METRIC_SYNCS] = "waits",
	        [METRIC_COPIES] = "copies",
	        [METRIC_PAGEABLE_COPIES] = "pageable copies",
	        [METRIC_SETS] = "memsets",
	        [METRIC_ALLOC_CALLS] = "allocations and frees",
	        [METRIC_FAILED_CALLS] = "failed calls",
	};

	return words[m - metrics];
}

static void put_count(char **text, double v)
{
	char number[METRIC_NUMBER_BYTES];
	size_t digits;

	metric_number(number, fabs(v - rint(v)) < 0.005 ? rint(v) : v, false);
	if (fabs(v - rint(v)) >= 0.005 && v < 1000)
		snprintf(number, sizeof(number), "%.3g", v);
	digits = strspn(number, "0123456789");
	for (size_t i = 0; number[i]; i++)
		alloc_append(text, "%s%c", i && i < digits && (digits - i) % 3 == 0 ? "," : "",
		             number[i]);
}

/* Whether both would be told as the same number. */
static bool reads_alike(double before, double after)
{
	char *a = NULL, *b = NULL;

	put_count(&a, before);
	put_count(&b, after);
	bool alike = !strcmp(a, b);
	free(a);
	free(b);
	return alike;
}

static bool lacks_counts(const struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->runs[i].missing)
			return true;
	return false;
}

static void put_counts(struct headline *h, const struct compare_result *c, const char *before,
                       const char *after)
{
	struct count_told told[2 * METRICS];
	bool varies = false;
	size_t n = 0;

	if (lacks_counts(&c->before) || lacks_counts(&c->after)) {
		bool both = lacks_counts(&c->before) && lacks_counts(&c->after);
		alloc_append(&h->text, "; the counts of %s%s%s are not known",
		             lacks_counts(&c->before) ? before : after, both ? " and " : "",
		             both ? after : "");
		return;
	}
	/* Of a step, where the runs had not the same number of them. */
	bool per_step = h->of == HEADLINE_STEP && !as_many_steps(c);

	for (size_t i = 0; i < c->total_count && n < 2 * METRICS; i++) {
		const struct compare_total *t = &c->totals[i];
		if (!metric_is_count(t->metric) || t->per_step != per_step || !word_of(t->metric) ||
		    !span_differs(&t->before, &t->after))
			continue;
		bool overlap = spans_overlap(&t->before, &t->after);
		varies |= overlap;
		if (overlap || reads_alike(t->before.middle, t->after.middle))
			continue;
		told[n++] = (struct count_told){t, fabs(t->after.middle - t->before.middle)};
	}
	qsort(told, n, sizeof(*told), by_change);
	for (size_t i = 0; i < n && i < COUNTS_TOLD; i++) {
		alloc_append(&h->text, "%s %s ",
		             i         ? ","
		             : h->text ? ";"
		                       : "",
		             word_of(told[i].total->metric));
		put_count(&h->text, told[i].total->before.middle);
		alloc_append(&h->text, " -> ");
		put_count(&h->text, told[i].total->after.middle);
		alloc_append(&h->text, per_step ? " per step" : "");
	}
	if (!n)
		alloc_append(&h->text,
		             varies ? "; counts vary from run to run, and none changed for certain"
		             : per_step ? "; the counts of a step are the same"
		                        : "; the counts are the same");
}

void headline_make(struct headline *h, const struct compare_result *c,
                   const struct compare_timing *wall, const char *before, const char *after)
{
	*h = (struct headline){0};
	choose_time(h, c, wall);
	if (h->of != HEADLINE_NONE)
		put_time(h, c, before, after);
	else if (c->differs)
		alloc_append(&h->text, "times of %s and %s do not compare (%s)", before, after,
		             c->differs);
	else
		alloc_append(&h->text, "no time of %s and %s is known", before, after);
	put_counts(h, c, before, after);
}

void headline_free(struct headline *h)
{
	free(h->text);
	free(h->steps_apart);
	*h = (struct headline){0};
}
