/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/model/model_names.h"

/* Share of what is judged: a change that saves less is none. */
#define CHANGE_LEAST 0.01
/* A change found covers the verdict's where it may save this much of what that does. */
#define CHANGE_COVERS 0.5
#define ALIKE         1e-9 /* of two predictions: they are the same one */

/* Share of a loop: a warming up that takes less is not told. */
#define WARM_TOLD 0.04
/* Share of the run: less between start-up and the loop is not told. */
#define BEFORE_TOLD 0.04

/* Of the number of alike parts in a step: so far it may be below a whole one, and that of it below
 * or above. */
#define PARTS_BELOW      0.05
#define PARTS_BELOW_EACH 0.0025
#define PARTS_ABOVE_EACH 0.002

#define BESIDES_MOST 0.5  /* pieces of work of a step besides its parts, for each of these */
#define EVENTS_OFF   1e-6 /* means of whole numbers are off by less */

static const char *const sentences[VERDICT_CLASSES] = {
        [VERDICT_GPU] = "the GPU has work nearly all the time, so only its own work can gain",
        [VERDICT_LAUNCH] = "the GPU idles while the host issues many short launches one by one",
        [VERDICT_SYNC] = "the host waits for the GPU, and only then gives it more work",
        [VERDICT_COPY] = "copies between host and GPU hold up the kernels",
        [VERDICT_ALLOC] = "the host allocates, frees, loads code or makes graphs all the time",
        [VERDICT_HOST] = "the host does other work, and feeds the GPU too rarely",
        [VERDICT_COMM] = "the GPU communicates and computes nothing meanwhile",
};

/* Of copies that are made within a device. */
static bool is_within(const struct verdict *v, enum verdict_class cls)
{
	return cls == VERDICT_COPY && v->copies_within;
}

/* Of waits that no call of CUDA makes. */
static bool is_outside(const struct verdict *v, enum verdict_class cls)
{
	return cls == VERDICT_SYNC && v->waits_outside;
}

static const char *sentence_of(const struct verdict *v, enum verdict_class cls)
{
	return is_within(v, cls)    ? "copies within the GPU's memory take most of its time"
	       : is_outside(v, cls) ? "the host waits outside CUDA until another thread has read a "
	                              "result, and only then gives the GPU more work"
	                            : sentences[cls];
}

/* NULL: nothing of the host's would help. */
static const char *change_of(const struct summary *s, const struct verdict *v,
                             enum verdict_class cls)
{
	if (is_within(v, cls))
		return "fewer copies within the GPU: in place, views, donation";
	return cls == VERDICT_COPY ? advice_of_copies(v->copy_way, s->framework)
	                           : advice_of_class(cls, s->framework);
}

/* ---- ranges ---- */

/* "15.1 to 36.8 %", with the unit of both but once; where they are one figure, "about 2.99 ms". */
static char *range(const char *low, const char *high)
{
	size_t digits = strcspn(low, " ");

	if (!strcmp(low, high))
		return alloc_format("about %s", high);
	if (!strcmp(low + digits, high + strcspn(high, " ")))
		return alloc_format("%.*s to %s", (int)digits, low, high);
	return alloc_format("%s to %s", low, high);
}

/* Where the least is nothing, the middle, which else nobody would guess: "2.10, up to 27.5 ms". */
static char *range_from_nothing(double mean, const char *high)
{
	char middle[UNIT_BYTES];

	if (!(mean > 0))
		return alloc_format("up to %s", high);
	unit_time_apart(middle, mean);
	if (!strcmp(middle, high))
		return alloc_format("up to %s", high);
	size_t digits = strcspn(middle, " ");
	bool one_unit = !strcmp(middle + digits, high + strcspn(high, " "));
	return alloc_format("%.*s, up to %s", one_unit ? (int)digits : UNIT_BYTES, middle, high);
}

char *summary_range(double mean, double low, double high)
{
	char from[UNIT_BYTES], to[UNIT_BYTES];

	unit_time_apart(to, high);
	if (!isfinite(high))
		return alloc_string("n/a");
	if (isnan(low))
		return alloc_format("about %s", to);
	if (low <= 0)
		return range_from_nothing(mean, to);
	return range(unit_time_apart(from, low), to);
}

char *summary_range_percent(double low, double high)
{
	char from[UNIT_BYTES], to[UNIT_BYTES];

	unit_percent(from, low, 1);
	unit_percent(to, high, 1);
	char *a = alloc_format("%s %%", from), *b = alloc_format("%s %%", to);
	char *text = !isfinite(high) ? alloc_string("n/a")
	             : low >= 0      ? range(a, b)
	                             : alloc_format("about %s", b);

	free(a);
	free(b);
	return text;
}

/* ---- the verdict ---- */

static char *sentence_of_two(const struct verdict *v, const char *judged)
{
	char gain[UNIT_BYTES], second[UNIT_BYTES];
	char *size = v->gain > 0 ? alloc_format(" Without the one, %s could be about %s %% "
	                                        "shorter, without the other %s %%.",
	                                        judged, unit_percent(gain, v->gain, 1),
	                                        unit_percent(second, v->second_gain, 1))
	                         : alloc_string("");
	char *text = alloc_format("%s and %s alike (mixed), %s confidence: %s; and %s.%s",
	                          verdict_names[v->first], verdict_names[v->second],
	                          verdict_confidences[v->confidence], sentence_of(v, v->first),
	                          sentence_of(v, v->second), size);

	free(size);
	return text;
}

static char *sentence(const struct verdict *v, const char *judged)
{
	char gain[UNIT_BYTES];

	if (v->cls == VERDICT_NONE)
		return alloc_format("inconclusive: %s", v->reason ? v->reason : "nothing is known");
	const char *confidence = verdict_confidences[v->confidence];
	if (v->cls == VERDICT_MIXED && v->first < VERDICT_CLASSES && v->second < VERDICT_CLASSES)
		return sentence_of_two(v, judged);
	if (v->cls >= VERDICT_CLASSES)
		return alloc_format("%s, %s confidence.", verdict_names[v->cls], confidence);
	if (v->cls == VERDICT_GPU || !(v->gain > 0))
		return alloc_format("%s, %s confidence: %s.", verdict_names[v->cls], confidence,
		                    sentence_of(v, v->cls));
	return alloc_format("%s, %s confidence: %s. Without that, %s could be about %s %% "
	                    "shorter.",
	                    verdict_names[v->cls], confidence, sentence_of(v, v->cls), judged,
	                    unit_percent(gain, v->gain, 1));
}

/* ---- changes ---- */

static double saved_by(double speedup)
{
	return speedup > 0 ? fmax(0, 1 - 1 / speedup) : NAN;
}

static double weight(const struct summary_change *c)
{
	return isfinite(c->mean) ? c->mean : 0;
}

/* Into its place, by what it saves; the last one falls off the end. */
static void put(struct summary *s, struct summary_change c)
{
	size_t at = s->change_count;

	while (at && weight(&s->changes[at - 1]) < weight(&c))
		at--;
	if (at == SUMMARY_CHANGES)
		return;
	if (s->change_count < SUMMARY_CHANGES)
		s->change_count++;
	memmove(s->changes + at + 1, s->changes + at,
	        (s->change_count - 1 - at) * sizeof(*s->changes));
	s->changes[at] = c;
}

/* Several findings may have one way out, of which the what-if says the same. Of another way it may
 * say the same by chance, as where both leave nothing but the GPU's work. */
static bool is_told(const struct findings *all, size_t i)
{
	const struct finding *f = &all->items[i];

	for (size_t k = 0; k < i; k++) {
		const struct finding *other = &all->items[k];
		if (f->change == other->change && isfinite(f->speedup) &&
		    isfinite(other->speedup) && fabs(f->speedup - other->speedup) < ALIKE &&
		    fabs(f->speedup_low - other->speedup_low) < ALIKE)
			return true;
	}
	return false;
}

/* Of findings of one way out, without a prediction of their own, the verdict's is theirs. Of copies
 * there are several ways; and what the host does itself stays where it need not wait for a CPU. */
static bool may_have(const struct finding *f, enum verdict_class cls)
{
	return cls != VERDICT_COPY && f->cls == cls && f->change != WHATIF_CPU &&
	       !isfinite(f->speedup) && f->severity >= SEVERITY_MEDIUM;
}

/* The range of what the change of a class saves: that of its best prediction, as far as the verdict
 * takes it for the class's own. None predicts fewer copies within a device. */
static void range_of(struct summary_change *c, const struct analysis *a, enum verdict_class cls)
{
	struct whatif_result best = {.speedup = 1}, r;

	if (!a->whatifs || is_within(&a->verdict, cls))
		return;
	for (enum whatif what = 0; what < WHATIFS; what++)
		if (verdict_class_of(what) == cls &&
		    whatif_predict(a->whatifs, what, NULL, 1, &r) && r.speedup > best.speedup)
			best = r;
	double part = fmin(1, c->mean / saved_by(best.speedup));
	if (!(best.speedup > 1) || !isfinite(best.speedup_low) || !isfinite(best.speedup_high))
		return;
	c->low = fmin(c->mean, part * saved_by(best.speedup_low));
	double most = fmin(saved_by(best.speedup_high), 1 - best.least / best.window);
	c->high = fmax(c->mean, part * most);
}

/* A gain may be larger where the host was slower without the change. Of this run's time it is no
 * more than the change takes away, and nothing of the host's takes away what the GPU is surely busy
 * for. `most`: a share; NaN = not known. */
static void bound(struct summary_change *c, const struct verdict *v, enum verdict_class cls,
                  double most)
{
	bool hosts = cls == VERDICT_LAUNCH || cls == VERDICT_SYNC || cls == VERDICT_ALLOC ||
	             cls == VERDICT_HOST;

	if (hosts && v->busy_low > 0)
		most = fmin(most, 1 - v->busy_low); /* of a NaN the other */
	if (isfinite(c->high))
		c->high = fmax(c->mean, fmin(c->high, most));
}

/* What the verdict says that would help, where no finding does. */
static void put_verdict(struct summary *s, const struct analysis *a, enum verdict_class cls,
                        double gain)
{
	const struct findings *all = &a->findings;
	const struct finding *f = NULL;

	if (cls >= VERDICT_CLASSES || !change_of(s, &a->verdict, cls) || !(gain >= CHANGE_LEAST))
		return;
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].cls == cls &&
		    saved_by(all->items[i].speedup_high) >= CHANGE_COVERS * gain)
			return;
	for (size_t i = 0; i < all->count && !f; i++)
		f = may_have(&all->items[i], cls) ? &all->items[i] : NULL;
	struct summary_change c = {
	        .finding = f,
	        .line = f               ? f
	                : all->of_class ? &all->of_class[cls]
	                                : NULL,
	        .what = f ? f->brief : change_of(s, &a->verdict, cls),
	        .mean = gain,
	        .low = NAN,
	        .high = gain,
	        .of_verdict = true,
	};
	range_of(&c, a, cls);
	bound(&c, &a->verdict, cls, NAN);
	put(s, c);
}

/* What nobody can predict is told where much is at stake; but how a kernel, mostly a library's,
 * uses the GPU is no change that helps most. */
static void changes(struct summary *s, const struct analysis *a)
{
	const struct findings *all = &a->findings;
	const struct verdict *v = &a->verdict;

	if (v->cls != VERDICT_NONE && v->cls != VERDICT_GPU) {
		put_verdict(s, a, v->first, v->gain);
		if (v->cls == VERDICT_MIXED)
			put_verdict(s, a, v->second, v->second_gain);
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->items[i];
		struct summary_change c = {.finding = f,
		                           .line = f,
		                           .what = f->brief,
		                           .mean = saved_by(f->speedup),
		                           .low = saved_by(f->speedup_low),
		                           .high = saved_by(f->speedup_high)};
		bool there = false;
		bound(&c, v, f->cls, f->saved_most);
		for (size_t k = 0; k < s->change_count; k++)
			there |= s->changes[k].finding == f;
		if (!there && (isfinite(c.high) ? c.mean >= CHANGE_LEAST && !is_told(all, i)
		                                : f->severity >= SEVERITY_MEDIUM &&
		                                          strcmp(f->id, "low-occupancy")))
			put(s, c);
	}
}

/* ---- */

double summary_step(const struct model_phase *loop)
{
	if (loop->threads > 1 && isfinite(loop->mean))
		return loop->mean;
	return loop->steps ? loop->time / (double)loop->steps : NAN;
}

double summary_step_judged(const struct analysis *a, const struct model_phase *loop)
{
	if (a->of->phase != loop || loop->threads > 1 || !(a->of->phase_steps >= 1))
		return summary_step(loop);
	return a->of->host_window / a->of->phase_steps;
}

char *summary_warm(const struct analysis *a, const struct model_phase *loop)
{
	char time[UNIT_BYTES];
	double parts = (double)loop->part_count, warm = (loop->time - a->of->host_window) / parts,
	       steps = ((double)loop->steps - a->of->phase_steps) / parts;

	if (a->of->phase != loop || !(warm > WARM_TOLD * loop->time / parts) || !(steps >= 1))
		return alloc_string("");
	unit_time_apart(time, warm);
	return steps < 1.5 ? alloc_format(" (the first, %s, left out)", time)
	                   : alloc_format(" (the first %.0f, %s, left out)", steps, time);
}

/* Whether it is so near to a whole number: below, as where a few of many steps lack one, or above.
 */
static bool is_whole(double n)
{
	return n - rint(n) >= -(PARTS_BELOW + PARTS_BELOW_EACH * n) &&
	       n - rint(n) <= PARTS_ABOVE_EACH * n;
}

/*
 * What a step has besides its parts, as a read behind the last of them, is in some of the parts
 * that were looked at, or by chance in fewer than its share: one such more or less explains how far
 * the number is from a whole one.
 */
static bool is_explained(double n, const struct model_level *part, double step_events)
{
	double besides = step_events - rint(n) * floor(part->events + EVENTS_OFF);

	return part->seen > 0 && besides > 0 && besides <= BESIDES_MOST * rint(n) &&
	       fabs(n - rint(n)) <= rint(n) * besides / (part->seen * part->events);
}

/* How many times a step that ends with a wait or a copy holds what repeats within it, by kernels or
 * graphs; 0 = no whole number of times. */
static double parts_of(const struct model_loop *l)
{
	const struct model_level *step = &l->levels[l->step_level];

	if (step->cls != SPY_CLASS_SYNC && step->cls != SPY_CLASS_COPY)
		return 0;
	double parts = 0, nearest = INFINITY;
	for (unsigned i = 0; i < l->step_level; i++) {
		const struct model_level *v = &l->levels[i];
		double n = step->events / v->events, off = fabs(n - rint(n));
		bool work = v->cls == SPY_CLASS_LAUNCH || v->cls == SPY_CLASS_GRAPH_LAUNCH;
		if (!work || !(n > 1.5) || off >= nearest ||
		    !(is_whole(n) || is_explained(n, v, step->events)))
			continue;
		nearest = off;
		parts = rint(n);
	}
	return parts;
}

char *summary_parts(const struct model *m, const struct model_phase *loop, double step)
{
	double parts = loop->found && loop->threads <= 1 ? parts_of(&m->loops[loop->source]) : 0;
	char time[UNIT_BYTES];

	if (!(parts > 1) || !(step > 0))
		return alloc_string("");
	return alloc_format(", each of %.0f alike parts of %s", parts,
	                    unit_time_apart(time, step / parts));
}

/* Other loops and what lies between them, ahead of this one. */
static char *before_loop(const struct model *m, const struct model_phase *loop)
{
	size_t start = model_phase_find(m, 0);
	char time[UNIT_BYTES];

	if (!loop || start == PHASE_NONE || m->process_count > 1)
		return alloc_string("");
	double before = loop->start - m->phases.rows[start].end;
	if (!(before > BEFORE_TOLD * m->wall))
		return alloc_string("");
	return alloc_format(", then %s before this loop", unit_time_apart(time, before));
}

void summary_make(struct summary *s, const struct model *m, const struct analysis *a)
{
	size_t shown = a->phase < m->phases.count ? a->phase : m->phases.main;
	const struct model_phase *p = shown < m->phases.count ? &m->phases.rows[shown] : NULL;

	*s = (struct summary){.framework = framework_of(m),
	                      .startup = model_phase_startup(m),
	                      .step = NAN,
	                      .judged_ns = a->verdict.window,
	                      .loop = p && p->kind == PHASE_LOOP ? p : NULL};
	s->judged = a->phase < m->phases.count ? model_phase_words[p->kind]
	                                       : "the window after start-up";
	if (a->phase < m->phases.count) {
		s->judged_ns = p->time / (double)p->part_count;
		if (s->loop)
			s->step = summary_step_judged(a, p);
	}
	s->sentence = sentence(&a->verdict, s->judged);
	s->before = before_loop(m, s->loop);
	changes(s, a);
	summary_gaps(s, m);
}

void summary_free(struct summary *s)
{
	free(s->sentence);
	free(s->before);
	for (size_t i = 0; i < s->gap_count; i++)
		free(s->gaps[i].what);
	*s = (struct summary){0};
}
