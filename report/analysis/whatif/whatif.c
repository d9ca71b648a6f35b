/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/progress.h"
#include "report/model/model.h"
#include "report/base/pattern.h"
#include "report/analysis/whatif/whatif_change.h"

/* What the model is off at best, as a share (the simulator's samples and their fixed twins: up to
 * 2.4 %): the range is never narrower. */
#define LEAST_ERROR 0.03
/* The same of what is saved. (Nine changes on two H200s, against what their fixed twins saved: most
 * were off by up to 5 % of it.) */
#define SAVED_ERROR 0.05
/* But no more than this of what is left, where nearly all is saved. */
#define LEFT_ERROR 0.25

struct whatifs {
	const struct model *model;
	bool done;
	struct whatif_result results[WHATIF_KERNEL];
};

static bool gives_work(const struct model *m, size_t process)
{
	for (size_t i = 0; i < m->thread_count; i++)
		if (m->threads[i].process == process && m->threads[i].issues)
			return true;
	return false;
}

/*
 * The GPU's part of the time at its least: its work takes less than in the mean, or the host was
 * slower without the change, so that the GPU had less of that time. They are independent.
 */
static double bound_least(const struct whatif_outcome *o, double bound, double least)
{
	double slower = o->bound_at_speed[1] / bound;

	return slower > 0 && slower < 1 ? bound * exp(-hypot(log(bound / least), log(slower)))
	                                : least;
}

/* What a process would take, by what its recent calls say. */
static void add_process(struct whatif_result *to, const struct model_process *p,
                        const struct whatif_outcome *o)
{
	double window = p->call_log.judged, ratio = o->time[REPLAY_MEAN];
	double error = o->changed > 0 ? fmax(LEAST_ERROR, o->error) : 0, low = ratio, high = ratio;

	for (int i = 0; i < REPLAY_LEVELS; i++) {
		low = fmin(low, o->time[i]);
		high = fmax(high, o->time[i]);
	}
	/* No change makes it longer, and none shorter than the GPU is busy. */
	double bound = o->bound[REPLAY_MEAN], least = fmin(bound, o->bound[REPLAY_LOW]);
	ratio = fmin(1, fmax(ratio, bound));
	double saved = o->changed > 0 ? fmin(SAVED_ERROR * (1 - ratio), LEFT_ERROR * ratio) : 0;
	to->window += window;
	to->predicted += window * ratio;
	for (int i = 0; i < 2; i++)
		to->at_speed[i] +=
		        window * fmin(1, fmax(o->at_speed[i], fmin(1, o->bound_at_speed[i])));
	/* The GPU's work stays as it is where launches and what is between them go. */
	bool stays =
	        to->what == WHATIF_GRAPHS || to->what == WHATIF_STEP || to->what == WHATIF_HOST;
	double least_left = stays ? least * (1 - error) : 0;
	/* A faster kernel takes no more away than it took. */
	if (o->removed > 0)
		least_left = fmax(least_left, 1 - o->removed);
	low = fmax(least_left, fmax(fmax(low, least) * (1 - error) - saved, LEFT_ERROR * low));
	to->low += window * fmin(ratio, low);
	to->high += window * fmin(1, fmax(ratio, high) * (1 + error) + saved);
	to->bound += window * bound;
	to->bound_least += window * bound_least(o, bound, least);
	low = fmax(least_left, fmax(o->strict, least) * (1 - error) - saved);
	to->low_launches += window * fmin(ratio, low);
	to->stays += window * o->stays;
	to->outside += window * o->outside;
	to->between += window * o->between;
	to->steps += o->steps;
	to->repeated += o->repeated;
	to->spread = fmax(to->spread, whatif_spread(o));
	to->error = fmax(to->error, o->error);
	to->changed += o->changed;
	to->coverage += window * p->call_log.coverage;
}

static void finish(struct whatif_result *to, const struct whatif_outcome *o)
{
	to->known =
	        !to->why[0] && to->window > 0 && to->predicted > 0 && isfinite(to->low + to->high);
	if (to->why[0])
		return;
	if (!to->known) {
		whatif_fails(to, "the steady window is not known");
		return;
	}
	whatif_widen(to);
	to->coverage /= to->window;
	to->saved = to->window - to->predicted;
	to->speedup = to->window / to->predicted;
	to->speedup_low = to->window / to->high;
	to->speedup_high = to->low > 0 ? to->window / to->low : NAN;
	if (to->changed > 0)
		whatif_assume(to, o);
}

static void unknown(struct whatif_result *to)
{
	to->known = false;
	to->window = to->predicted = to->low = to->high = to->saved = to->bound = NAN;
	to->speedup = to->speedup_low = to->speedup_high = to->coverage = to->error = NAN;
	to->low_launches = to->stays = to->outside = to->between = NAN;
	to->least = to->most = NAN;
}

/* Results of the changes asked for. */
static void predict(const struct model *m, const struct whatif_asked *a,
                    struct whatif_result *results)
{
	struct whatif_outcome last[WHATIFS] = {0};
	bool can = true, any = false;
	size_t count = a->to - a->from;

	for (size_t i = 0; i < count; i++)
		results[i] = (struct whatif_result){.what = a->from + (enum whatif)i};
	for (size_t i = 0; i < m->process_count && can; i++) {
		const struct model_process *p = &m->processes[i];
		struct whatif_outcome o[WHATIFS] = {0};
		if (!gives_work(m, i) || p->call_log.left_out)
			continue;
		any = true;
		progress_part_begin(i, i + 1, m->process_count);
		can = whatif_try(m, p, a, o, &results[0]);
		progress_part_end();
		for (size_t k = 0; k < count && can; k++)
			if (results[k].what == WHATIF_CPU && isnan(p->call_log.cpu_wait))
				whatif_fails(&results[k],
				             "what threads waited for a CPU is not known");
			else
				add_process(&results[k], p, &o[k]);
		memcpy(last, o, sizeof(last));
	}
	if (!any)
		whatif_fails(&results[0], "no process gave work to a GPU");
	for (size_t i = 0; i < count; i++) {
		if (can && any)
			finish(&results[i], &last[i]);
		else if (i)
			memcpy(results[i].why, results[0].why, WHATIF_TEXT);
		if (!results[i].known)
			unknown(&results[i]);
	}
}

/* The best case of the form that is not chosen is one of what can be done as well. */
static void take_best_case(struct whatif_result *to, const struct whatif_result *other)
{
	if (!to->known || !other->known || !(other->low < to->low))
		return;
	to->low = other->low;
	to->least = fmin(to->least, other->least);
	to->speedup_high = other->speedup_high;
}

/* Of two forms that are as good as one another whole steps are told: the one launch is simpler, and
 * what stands in its way is named. By less than this a replay does not tell them apart from run to
 * run. */
#define AS_GOOD 0.005

/* Whether whole steps are the better form by those that are alike: what the others would gain, as
 * graphs of their own, is no reason. */
static bool steps_win(const struct whatif_result *runs, const struct whatif_result *step)
{
	double alike = step->steps > 0 ? step->repeated / step->steps : 1,
	       most = (1 + AS_GOOD) * alike;

	return step->known && (!runs->known || step->predicted < most * runs->predicted);
}

/* The better form of graphs; what stands in the way of the other is told in any case. */
static void choose_form(struct whatif_result *results)
{
	struct whatif_result *runs = &results[WHATIF_GRAPHS], *step = &results[WHATIF_STEP];

	take_best_case(runs, step);
	take_best_case(step, runs);
	if (steps_win(runs, step)) {
		*runs = *step;
		runs->what = WHATIF_GRAPHS;
		runs->form = WHATIF_WHOLE;
		return;
	}
	runs->steps = step->steps;
	runs->repeated = step->repeated;
	memcpy(runs->blocked, step->blocked, sizeof(runs->blocked));
	runs->blocked_count = step->blocked_count;
	runs->blocked_steps = step->blocked_steps;
}

/* All that have no argument cost hardly more than one of them: the replay is prepared once. */
static void predict_all(struct whatifs *w, enum whatif what, struct whatif_result *to)
{
	const struct whatif_asked all = {.to = WHATIF_KERNEL, .factor = 1};

	if (!w->done)
		predict(w->model, &all, w->results);
	if (!w->done)
		choose_form(w->results);
	w->done = true;
	*to = w->results[what];
}

static void predict_kernel(const struct model *m, const char *kernel, double factor,
                           struct whatif_result *to)
{
	char why[PATTERN_ERROR_BYTES];
	struct pattern_regex pattern;

	*to = (struct whatif_result){.what = WHATIF_KERNEL};
	if (!kernel || !(factor > 0) || pattern_compile(&pattern, kernel, why)) {
		whatif_fails(to, "no regular expression, or no factor");
		unknown(to);
		return;
	}
	const struct whatif_asked asked = {WHATIF_KERNEL, WHATIFS, &pattern, factor};
	predict(m, &asked, to);
	pattern_free(&pattern);
	if (to->known && !(to->changed > 0)) {
		whatif_fails(to, "no such kernel among the calls that were kept");
		unknown(to);
	}
}

bool whatif_predict(struct whatifs *w, enum whatif what, const char *kernel, double factor,
                    struct whatif_result *to)
{
	if (what < WHATIF_KERNEL)
		predict_all(w, what, to);
	else
		predict_kernel(w->model, kernel, factor, to);
	return to->known;
}

const struct model *whatif_model(const struct whatifs *w)
{
	return w->model;
}

struct whatifs *whatif_start(const struct model *m)
{
	struct whatifs *w = alloc_zeroed(1, sizeof(*w));

	w->model = m;
	return w;
}

void whatif_end(struct whatifs *w)
{
	free(w);
}

double whatif_hosts_own(const struct whatif_result *graphs, const struct whatif_result *host)
{
	bool more = host->known && host->predicted < graphs->predicted;

	return graphs->known && graphs->changed > 0 && !more
	               ? fmin(1, graphs->outside / graphs->window)
	               : 1;
}
