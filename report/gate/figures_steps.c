/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/stats.h"
#include "report/base/text.h"
#include "report/gate/bounds.h"
#include "report/gate/figures.h"

/* Groups of consecutive steps of which the mean's error is found: steps that depend on their
 * neighbours (an epoch's long ones, every tenth that logs) fall into one group and scatter less. */
#define GROUPS 10u

#define STEPS_NAME_WIDE 48 /* columns: kernels of cuBLAS have names of 120 */

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Values in the order of the steps. The error is that of means of groups. */
static struct figures_step figure_of(const double *v, size_t n)
{
	struct figures_step f = {.mean = NAN, .min = NAN, .max = NAN, .error = NAN, .freedom = NAN};
	size_t groups = n < GROUPS ? n : GROUPS;
	double squares = 0;

	if (!n)
		return f;
	f = (struct figures_step){.mean = mean_of(v, n), .min = v[0], .max = v[0]};
	for (size_t i = 0; i < n; i++) {
		f.min = fmin(f.min, v[i]);
		f.max = fmax(f.max, v[i]);
	}
	if (f.min == f.max) {
		f.mean = f.min;
		return f;
	}
	for (size_t g = 0; g < groups; g++) {
		size_t from = g * n / groups, to = (g + 1) * n / groups;
		double d = mean_of(v + from, to - from) - f.mean;
		squares += d * d;
	}
	f.freedom = (double)(groups - 1);
	f.error = sqrt(squares / f.freedom / (double)groups);
	return f;
}

/* Steps of a process that has so many are judged without the first and the last, if they were
 * found: where these begin and end is not known, and start-up may be in them. */
#define EDGES_LEAST 5u

static bool at_edge(const struct model *m, size_t i)
{
	const struct model_step *rows = m->steps.rows;
	size_t first = i, last = i;

	if (m->steps.source != STEPS_FOUND)
		return false;
	if (i && rows[i - 1].process == rows[i].process && i + 1 < m->steps.judged &&
	    rows[i + 1].process == rows[i].process)
		return false;
	while (first && rows[first - 1].process == rows[i].process)
		first--;
	while (last + 1 < m->steps.judged && rows[last + 1].process == rows[i].process)
		last++;
	return last - first + 1 >= EDGES_LEAST;
}

/* From each judged step to the next one of the same thread; how many. */
static size_t periods_of(const struct model *m, double *v)
{
	const struct model_step *rows = m->steps.rows;
	double stride = m->steps.stride ? (double)m->steps.stride : 1;
	size_t n = 0;

	for (size_t i = 0; i + 1 < m->steps.judged; i++) {
		const struct model_step *a = &rows[i], *b = &rows[i + 1];
		double period = (b->start - a->start) / stride;
		if (a->process == b->process && a->tid == b->tid && !at_edge(m, i) && period > 0)
			v[n++] = period;
	}
	return n;
}

double figure_step_period(const struct model *m, double *low, double *high)
{
	double *v = alloc_zeroed((size_t)m->steps.judged + 1, sizeof(*v)), means[GROUPS], period;
	size_t n = periods_of(m, v), groups = n < GROUPS ? n : GROUPS;

	for (size_t g = 0; g < groups; g++) {
		size_t from = g * n / groups, to = (g + 1) * n / groups;
		means[g] = mean_of(v + from, to - from);
	}
	free(v);
	stats_sort(means, groups);
	period = stats_median(means, groups);
	bounds_of_median(low, high, means, groups);
	return period;
}

void figures_take_steps(struct figures_step_set *to, const struct model *m)
{
	const struct model_steps_figures *s = &m->steps;
	double *v = alloc_zeroed((size_t)s->judged + 1, sizeof(*v));

	*to = (struct figures_step_set){.source = s->source,
	                                .name = alloc_string(s->name),
	                                .unsure = s->confidence && !strcmp(s->confidence, "low"),
	                                .count = s->count,
	                                .skipped = s->skipped,
	                                .odd = s->odd};
	for (unsigned f = 0; f < WORK_FIGURES; f++) {
		size_t n = 0;
		for (size_t i = 0; i < s->judged; i++)
			if (m->steps.rows[i].counted && !at_edge(m, i))
				v[n++] = model_work_figure(&m->steps.rows[i].work, f);
		to->of[f] = figure_of(v, n);
		to->judged = n;
	}
	figure_step_period(m, &to->period_low, &to->period_high);
	free(v);
}

void figures_take_ranges(struct figures_ranges *to, const struct model *m)
{
	*to = (struct figures_ranges){.items = alloc_zeroed(m->range_count, sizeof(*to->items)),
	                              .count = m->range_count,
	                              .lost = m->ranges_lost > 0};
	for (size_t i = 0; i < m->range_count; i++) {
		const struct model_range *r = &m->ranges[i];
		struct figures_range *p = &to->items[i];
		p->name = alloc_string(r->name ? r->name : "");
		p->domain = alloc_string(r->domain);
		p->parent = r->parent;
		p->count = (double)r->count;
		p->counted = (double)r->counted;
		for (unsigned f = 0; f < WORK_FIGURES; f++)
			p->of[f] = model_work_figure(&r->work, f);
	}
}

void figures_free_ranges(struct figures_ranges *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->items[i].name);
		free(r->items[i].domain);
	}
	free(r->items);
	*r = (struct figures_ranges){0};
}

char *range_path(const struct figures_ranges *r, size_t index)
{
	const struct figures_range *p = &r->items[index];
	char *path = p->domain ? alloc_format("%s:%s", p->domain, p->name) : alloc_string(p->name);

	/* A parent comes before: this ends. Deep trees are cut: it is a name to read. */
	for (unsigned level = 0; p->parent != RANGE_NONE && level < 8; level++) {
		p = &r->items[p->parent];
		char *longer = alloc_format("%s%s%s/%s", p->domain ? p->domain : "",
		                            p->domain ? ":" : "", p->name, path);
		free(path);
		path = longer;
	}
	return path;
}

double figure_steps(const struct figures *f, double said)
{
	if (said > 0)
		return f->steps_said > 0 ? f->steps_said : said;
	return f->steps.source != STEPS_NONE && f->steps.count ? (double)f->steps.count
	       : f->steps_said > 0                             ? f->steps_said
	                                                       : NAN;
}

struct figures_step figure_per_step(const struct figures *f, const struct metric *m, double said)
{
	int index = metric_work(m);

	if (!(said > 0) && f->steps.source != STEPS_NONE && index >= 0)
		return f->steps.of[index];
	double v = f->values[m - metrics] / figure_steps(f, said);
	return (struct figures_step){.mean = v, .min = v, .max = v};
}

char *figure_steps_name(const struct figures_step_set *s)
{
	if (!s->name)
		return alloc_string("(unknown)");
	char *name = s->source == STEPS_FOUND && strchr(s->name, '(') ? name_short(s->name)
	                                                              : alloc_string(s->name);
	char *fit = text_fit(name, STEPS_NAME_WIDE);
	free(name);
	return fit;
}

char *figure_steps_text(const struct run_set *s)
{
	const struct figures_step_set *first = s->count ? &s->runs[0].steps : NULL;
	double least = NAN, most = NAN, low = NAN, high = NAN;

	if (!first || first->source == STEPS_NONE)
		return alloc_format("n/a");
	for (size_t i = 0; i < s->count; i++) {
		const struct figures_step_set *x = &s->runs[i].steps;
		least = fmin(least, (double)x->count);
		most = fmax(most, (double)x->count);
		low = fmin(low, (double)x->judged);
		high = fmax(high, (double)x->judged);
	}
	char *all = metric_text(METRIC_COUNT, least, most),
	     *judged = metric_text(METRIC_COUNT, low, high);
	char *name = figure_steps_name(first);
	char *text = alloc_format(first->source == STEPS_NVTX ? "%s NVTX ranges %s, %s judged"
	                                                      : "%s found by %s, %s judged%s",
	                          all, name, judged, first->unsure ? ", low confidence" : "");
	free(name);
	free(all);
	free(judged);
	return text;
}
