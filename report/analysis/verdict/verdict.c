/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/analysis/verdict/verdict.h"

/* Of the launches' time, what graph replay leaves. */
#define REPLAY_LEFT 0.1

const char *const verdict_names[] = {
        [VERDICT_GPU] = "gpu-bound",     [VERDICT_LAUNCH] = "launch-bound",
        [VERDICT_SYNC] = "sync-bound",   [VERDICT_COPY] = "copy-bound",
        [VERDICT_ALLOC] = "alloc-bound", [VERDICT_HOST] = "host-bound",
        [VERDICT_COMM] = "comm-bound",   [VERDICT_MIXED] = "mixed",
        [VERDICT_NONE] = "inconclusive", NULL};

const char *const verdict_confidences[] = {
        [CONFIDENCE_LOW] = "low",
        [CONFIDENCE_MEDIUM] = "medium",
        [CONFIDENCE_HIGH] = "high",
};

/* Were the GPU busy for so long, each part of it takes so many times as long. */
static double scale_of(const struct verdict_input *in, double busy)
{
	return in->busy > 0 ? busy / in->busy : 1;
}

/* What of `busy` the GPU copies with nothing beside it. */
static double exposed_of(const struct verdict_input *in, double busy)
{
	return fmax(0, busy - in->kernels * scale_of(in, busy));
}

/* Where copies and kernels would run beside one another without the waits, it is these that keep
 * them apart. */
static bool waits_part(const struct verdict_input *in, double exposed)
{
	double sync = in->replay[VERDICT_SYNC].mean, copy = in->replay[VERDICT_COPY].mean;

	return copy < VERDICT_CLOSE * sync && sync * in->window >= exposed;
}

/* Where a change of copies gains something, making fewer of them would as well, and saves all of
 * the time in which they run alone. */
static double copies_gain(const struct verdict_input *in, double exposed)
{
	double replayed = in->replay[VERDICT_COPY].mean;

	return in->copies_gain && !waits_part(in, exposed) ? fmax(replayed, exposed / in->window)
	                                                   : replayed;
}

/* The host no longer spends that time, and the GPU's work remains. */
void verdict_gains(const struct verdict_input *in, double busy, double gain[VERDICT_CLASSES])
{
	double exposed = exposed_of(in, busy), comm = fmin(in->comm * scale_of(in, busy), busy);
	double launch = fmin(in->launch, in->idle_launch) * (1 - REPLAY_LEFT);
	const struct {
		enum verdict_class cls;
		double saved, bound;
	} changes[] = {
	        {VERDICT_LAUNCH, launch, busy},
	        {VERDICT_SYNC, in->sync, busy},
	        {VERDICT_COPY, in->copy + exposed, busy - exposed},
	        {VERDICT_ALLOC, in->alloc, busy},
	        {VERDICT_HOST, fmin(in->outside, in->idle_outside), busy},
	        {VERDICT_COMM, comm, busy - comm},
	};

	memset(gain, 0, VERDICT_CLASSES * sizeof(*gain));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		gain[changes[i].cls] =
		        fmin(changes[i].saved, fmax(0, in->window - changes[i].bound)) / in->window;
	if (!in->replayed)
		return;
	for (int c = 0; c < VERDICT_CLASSES; c++)
		if (c != VERDICT_COMM && c != VERDICT_COPY)
			gain[c] = in->replay[c].mean;
	/* Less time between kernels that queue is no gain of the host's. */
	gain[VERDICT_LAUNCH] =
	        fmin(gain[VERDICT_LAUNCH], (in->idle_launch + in->idle_outside) / in->window);
	gain[VERDICT_COPY] = copies_gain(in, exposed);
}

/* The class with the largest gain but for `not`; the first of equals. */
static enum verdict_class largest(const double gain[VERDICT_CLASSES], enum verdict_class not )
{
	enum verdict_class best = VERDICT_NONE;

	for (int c = 0; c < VERDICT_CLASSES; c++)
		if (c != (int)not &&gain[c] > (best == VERDICT_NONE ? 0 : gain[best]))
			best = (enum verdict_class)c;
	return best;
}

static double gain_of(const double gain[VERDICT_CLASSES], enum verdict_class cls)
{
	return cls == VERDICT_NONE ? 0 : gain[cls];
}

bool verdict_is_close(double gain, double second)
{
	return second >= VERDICT_CLOSE * gain &&
	       (gain >= 1 ? second >= 1 : 1 - second <= VERDICT_CLOSE_SPEEDUP * (1 - gain));
}

static struct verdict judge_at(const struct verdict_input *in, double busy)
{
	double gain[VERDICT_CLASSES];
	struct verdict v = {.cls = VERDICT_NONE};

	verdict_gains(in, busy, gain);
	v.first = largest(gain, VERDICT_NONE);
	v.second = largest(gain, v.first);
	v.gain = gain_of(gain, v.first);
	v.second_gain = gain_of(gain, v.second);
	if (v.gain < VERDICT_LEAST_GAIN) {
		v.cls = fmin(in->window, busy + in->gaps) >= VERDICT_BUSY * in->window
		                ? VERDICT_GPU
		                : VERDICT_NONE;
		v.second = v.first;
		v.second_gain = v.gain;
		v.first = v.cls;
		v.gain = 0;
	} else {
		v.cls = verdict_is_close(v.gain, v.second_gain) ? VERDICT_MIXED : v.first;
	}
	return v;
}

/* Two mixed verdicts agree when they name the same pair. */
static bool agree(const struct verdict *a, const struct verdict *b)
{
	if (a->cls != b->cls)
		return false;
	return a->cls != VERDICT_MIXED || (a->first == b->first && a->second == b->second) ||
	       (a->first == b->second && a->second == b->first);
}

/*
 * The host waits for the GPU nearly all the time, and the GPU has work then: it is busy, however
 * little its kernels' times are known.
 */
static bool waits_prove(const struct model *m, const struct verdict_input *in)
{
	double waits = m->host.sync_useful + m->host.back_pressure;

	return waits >= VERDICT_BUSY * in->window && in->busy >= VERDICT_BUSY * in->window;
}

bool verdict_is_told_apart(const struct verdict *v, const struct verdict_input *in)
{
	double alone = exposed_of(in, in->busy_high);
	double beside = v->first == VERDICT_SYNC && waits_part(in, alone) ? alone : 0;
	double left = fmax(0, in->window - in->busy_high + beside) / in->window;

	if (v->cls == VERDICT_GPU || v->cls == VERDICT_MIXED || v->first == VERDICT_COMM ||
	    v->first == VERDICT_COPY)
		return true;
	return v->second_gain < VERDICT_CLOSE * fmin(v->gain, left);
}

/* What is not sure speaks against the verdict as far as it goes. */
static struct verdict_input doubted(const struct verdict_input *in, enum verdict_class first)
{
	struct verdict_input d = *in;

	d.comm = first == VERDICT_COMM ? in->comm : in->comm_most;
	for (int c = 0; c < VERDICT_CLASSES; c++)
		d.replay[c].mean = c == (int)first ? in->replay[c].low : in->replay[c].high;
	return d;
}

/* The most that the verdict's confidence may be for what is left open. */
static enum verdict_confidence sure(const struct verdict *v, const struct verdict_input *in)
{
	struct verdict_input d = doubted(in, v->first);
	struct verdict worst = judge_at(&d, d.busy);

	if (agree(v, &worst))
		return CONFIDENCE_HIGH;
	if (v->cls == VERDICT_GPU)
		return worst.gain < VERDICT_CLEAR * VERDICT_LEAST_GAIN ? CONFIDENCE_MEDIUM
		                                                       : CONFIDENCE_LOW;
	bool named =
	        worst.cls == VERDICT_MIXED && (worst.first == v->first || worst.second == v->first);
	return named || v->cls == VERDICT_MIXED ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static enum verdict_confidence confidence(const struct model *m, const struct verdict *v,
                                          const struct verdict_input *in)
{
	struct verdict low = judge_at(in, in->busy_low), high = judge_at(in, in->busy_high);
	enum verdict_confidence most = sure(v, in);
	bool clear = v->cls == VERDICT_GPU ||
	             (v->cls != VERDICT_MIXED &&
	              v->gain >= VERDICT_CLEAR * fmax(v->second_gain, VERDICT_LEAST_GAIN));

	if (v->cls == VERDICT_GPU && waits_prove(m, in) && agree(v, &high))
		return agree(v, &low) && most == CONFIDENCE_HIGH ? CONFIDENCE_HIGH
		                                                 : CONFIDENCE_MEDIUM;
	if (v->cls == VERDICT_NONE || !agree(v, &low) || !agree(v, &high))
		return CONFIDENCE_LOW;
	if (!verdict_is_told_apart(v, in) && most > CONFIDENCE_LOW)
		most--;
	if (!clear || m->gpu.partial || in->window < VERDICT_SURE_WINDOW)
		return most < CONFIDENCE_MEDIUM ? most : CONFIDENCE_MEDIUM;
	return most;
}

/* By what the host did while the GPU cannot have had work; false where that does not decide. */
static bool judge_pending(const struct model *m, struct verdict_input *in, struct verdict *v)
{
	struct verdict_gain gain[VERDICT_CLASSES];
	double least[VERDICT_CLASSES], most[VERDICT_CLASSES];

	in->had_work = verdict_pending(m, gain);
	if (isnan(in->had_work) || in->window < VERDICT_SURE_WINDOW)
		return false;
	for (int c = 0; c < VERDICT_CLASSES; c++) {
		least[c] = gain[c].low;
		most[c] = gain[c].high;
	}
	v->first = largest(least, VERDICT_NONE);
	v->second = largest(most, v->first);
	v->gain = gain_of(least, v->first);
	v->second_gain = gain_of(most, v->second);
	if (v->gain < VERDICT_LEAST_GAIN || v->second_gain >= VERDICT_CLOSE * v->gain)
		return false;
	v->cls = v->first;
	v->confidence = CONFIDENCE_MEDIUM;
	return true;
}

/* What the host's side alone says: one part of its time is nearly all of it. */
static struct verdict judge_host(const struct verdict_input *in)
{
	const double share[VERDICT_CLASSES] = {
	        [VERDICT_LAUNCH] = in->launch / in->window,
	        [VERDICT_SYNC] = in->sync / in->window,
	        [VERDICT_COPY] = in->copy / in->window,
	        [VERDICT_ALLOC] = in->alloc / in->window,
	        [VERDICT_HOST] = in->outside / in->window,
	};
	struct verdict v = {.first = largest(share, VERDICT_NONE)};

	v.gain = gain_of(share, v.first);
	v.second = largest(share, v.first);
	v.second_gain = gain_of(share, v.second);
	/* Long launches may wait for a full queue and long waits be those for a busy GPU. */
	bool tells =
	        v.first != VERDICT_LAUNCH && v.first != VERDICT_SYNC && v.gain > VERDICT_HOST_ALONE;
	v.cls = tells ? v.first : VERDICT_NONE;
	return v;
}

static void tell_busy(struct verdict *v, const struct model *m, const struct verdict_input *in)
{
	bool known = m->gpu.has_busy && in->window > 0;

	v->busy = known ? in->busy / in->window : NAN;
	v->busy_low = known ? in->busy_low / in->window : NAN;
	v->busy_high = known ? in->busy_high / in->window : NAN;
}

/* Of the window: calls that wait take less; and of what fewer waits would save, these and copies.
 */
#define NO_WAITS      0.01
#define WAITS_OUTSIDE 0.25

bool verdict_waits_outside(const struct verdict *v, const struct verdict_input *in)
{
	double gain = v->first == VERDICT_SYNC    ? v->gain
	              : v->second == VERDICT_SYNC ? v->second_gain
	                                          : 0;

	return in->replayed && in->sync < NO_WAITS * in->window &&
	       in->sync + in->copy < WAITS_OUTSIDE * gain * in->window;
}

static double told(const struct verdict_input *in, enum verdict_class cls, double gain)
{
	bool predicted = in->replayed && cls < VERDICT_CLASSES && cls != VERDICT_COMM &&
	                 !(cls == VERDICT_COPY && in->copies_within);

	return predicted && in->replay[cls].mean > 0 ? in->replay[cls].mean : gain;
}

void verdict_tell(struct verdict *v, const struct verdict_input *in)
{
	v->gain = told(in, v->first, v->gain);
	if (v->cls != VERDICT_GPU)
		v->second_gain = told(in, v->second, v->second_gain);
}

void verdict_make(struct verdict *v, const struct model *m, struct whatifs *whatifs)
{
	struct verdict_input in = verdict_take(m);

	*v = (struct verdict){.cls = VERDICT_NONE, .first = VERDICT_NONE, .second = VERDICT_NONE};
	char *why = verdict_abstains(m, &in);
	if (why) {
		v->reason = why;
		v->gain = v->second_gain = NAN;
		v->window = in.window > 0 ? in.window : NAN;
		v->startup = m->phase ? in.startup : NAN;
		tell_busy(v, m, &in);
		return;
	}
	if (m->gpu.has_busy) {
		verdict_replay(whatifs, &in);
		*v = judge_at(&in, in.busy);
		v->confidence = confidence(m, v, &in);
		verdict_tell(v, &in);
		v->waits_outside = verdict_waits_outside(v, &in);
		/* A replay is not made where too much is not known. */
		why = v->confidence == CONFIDENCE_LOW && !in.replayed ? verdict_unknown_work(m)
		                                                      : NULL;
		if (why)
			v->cls = VERDICT_NONE;
		v->reason = why ? why : verdict_reason(m, v, &in);
	} else {
		if (!judge_pending(m, &in, v))
			*v = judge_host(&in);
		v->reason = verdict_host_reason(m, v, &in);
		if (v->cls == VERDICT_NONE) /* shares of the host's time are no gains */
			v->gain = v->second_gain = NAN;
	}
	if (m->own_share > OWN_SHARE_BUDGET && v->confidence > CONFIDENCE_LOW)
		v->confidence--;
	/* Time slices do not tell stretches so short apart from what is between them. */
	if (m->phase && m->phase->coarse && v->confidence > CONFIDENCE_LOW)
		v->confidence--;
	tell_busy(v, m, &in);
	v->window = in.window;
	v->startup = in.startup;
	v->copies_within = in.copies_within;
	v->copy_way = in.copy_way;
	v->between = in.replayed && in.window > 0 ? in.between / in.window : 0;
}
