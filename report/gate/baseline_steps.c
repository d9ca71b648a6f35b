/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/baseline_internal.h"

#define ROUNDED 1e-6 /* share that figures may be off since they are written with few digits */

enum field { MEAN, MIN, MAX, ERROR, FREEDOM, FIELDS };
static const char *const field_names[FIELDS] = {"mean", "min", "max", "error", "freedom"};

struct step_key {
	unsigned figure;
	enum field field;
};

static double field_of(const struct figures *f, const void *what)
{
	const struct step_key *key = what;
	const struct figures_step *s = &f->steps.of[key->figure];
	const double v[FIELDS] = {s->mean, s->min, s->max, s->error, s->freedom};

	return v[key->field];
}

static double judged_of(const struct figures *f, const void *what)
{
	return (double)f->steps.judged;
}

static double count_of(const struct figures *f, const void *what)
{
	return (double)f->steps.count;
}

/* A number where no two steps of a recording differ, else how they do. */
static json_t *figure(const struct run_set *s, unsigned index)
{
	struct step_key key = {index, MEAN};
	bool varies = false;

	for (size_t i = 0; i < s->count; i++)
		varies |= s->runs[i].steps.of[index].error > 0;
	if (!varies)
		return baseline_values(s, field_of, &key);
	json_t *o = json_object();
	for (; key.field < FIELDS; key.field++)
		json_put(o, field_names[key.field], baseline_values(s, field_of, &key));
	return o;
}

/* Recordings of one program whose steps were found alike; else there are none to go by. */
static bool have_steps(const struct run_set *s)
{
	const struct figures_step_set *first = &s->runs[0].steps;

	for (size_t i = 0; i < s->count; i++) {
		const struct figures_step_set *x = &s->runs[i].steps;
		if (x->source == STEPS_NONE || x->unsure || x->source != first->source ||
		    !x->name != !first->name || (x->name && strcmp(x->name, first->name) != 0))
			return false;
	}
	return true;
}

void baseline_put_steps(json_t *root, const struct run_set *s)
{
	const struct figures_step_set *first = &s->runs[0].steps;
	json_t *o;

	if (!have_steps(s))
		return;
	o = json_object();
	json_put(o, "source", json_text(model_steps_source_names[first->source]));
	json_put(o, "name", json_text(first->name));
	json_put(o, "count", baseline_values(s, count_of, NULL));
	json_put(o, "judged", baseline_values(s, judged_of, NULL));
	for (size_t i = 0; i < METRICS; i++)
		if (metric_work(&metrics[i]) >= 0)
			json_put(o, metrics[i].name, figure(s, (unsigned)metric_work(&metrics[i])));
	json_put(root, "per_step", o);
}

static bool read_figure(struct figures_step *to, const json_t *value, size_t index, size_t count)
{
	double v[FIELDS];

	if (!json_is_object(value)) {
		*to = (struct figures_step){0};
		bool good = baseline_number(value, index, count, &to->mean);
		to->min = to->max = to->mean;
		return good;
	}
	for (int i = 0; i < FIELDS; i++)
		if (!baseline_number(json_object_get(value, field_names[i]), index, count, &v[i]))
			return false;
	*to = (struct figures_step){v[MEAN], v[MIN], v[MAX], v[ERROR], v[FREEDOM]};
	/* The mean lies between the least and the most, and its error is no more than they differ.
	 */
	double off = ROUNDED * fmax(fabs(v[MIN]), fabs(v[MAX]));
	return !(v[MEAN] < v[MIN] - off || v[MEAN] > v[MAX] + off || v[ERROR] < 0 ||
	         v[ERROR] > v[MAX] - v[MIN] + off || (v[ERROR] > 0 && v[FREEDOM] < 1));
}

const char *baseline_read_steps(struct figures_step_set *to, const json_t *root, size_t index,
                                size_t count)
{
	const json_t *o = json_object_get(root, "per_step");
	const char *source = json_string_value(json_object_get(o, "source"));
	double all, judged;

	to->period_low = to->period_high = NAN;
	if (!o)
		return NULL;
	for (int i = STEPS_NVTX; i <= STEPS_FOUND; i++)
		if (source && !strcmp(source, model_steps_source_names[i]))
			to->source = (enum model_steps_source)i;
	if (to->source == STEPS_NONE)
		return "source";
	if (!baseline_number(json_object_get(o, "count"), index, count, &all) || !(all < 1e15))
		return "count";
	if (!baseline_number(json_object_get(o, "judged"), index, count, &judged) ||
	    !(judged < 1e15))
		return "judged";
	to->name = baseline_text(json_object_get(o, "name"));
	to->count = (uint64_t)all;
	to->judged = (uint64_t)judged;
	for (size_t i = 0; i < METRICS; i++) {
		int work = metric_work(&metrics[i]);
		if (work >= 0 &&
		    !read_figure(&to->of[work], json_object_get(o, metrics[i].name), index, count))
			return metrics[i].name;
	}
	return NULL;
}
