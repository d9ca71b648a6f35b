#include <math.h>
#include <string.h>

#include "report/verdict.h"

/* Of the launches' time, what graph replay leaves. */
#define REPLAY_LEFT 0.1
/* The GPU's busy share of a slice below which its work has not begun. */
#define STARTED 0.05
/* The share of the copies whose time must be known for their sum to bound it. */
#define COPIES_KNOWN 0.95
/* Blocking copies to the host up to this size (bytes) are waits for a result, not transfers. */
#define SMALL_COPY 65536.0

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

/* Whether in a slice the host mostly loads code and allocates, or the GPU does nearly nothing. */
static bool starting(const struct picture *p, size_t slice)
{
	double sum = 0, busy = 0;
	double loading = p->host[slice][TF_HOST_MODULE] + p->host[slice][TF_HOST_ALLOC];

	for (int k = 0; k < TF_HOSTS; k++)
		sum += p->host[slice][k];
	for (size_t d = 0; d < p->device_count; d++)
		busy = fmax(busy, p->devices[d].busy[slice]);
	return loading > 0.5 * sum || (p->device_count && busy < STARTED * p->width);
}

/* A program that is like that for half of its window has no other state: nothing is left out. */
size_t verdict_startup(const struct picture *p, size_t *first)
{
	size_t i = 0, from;

	while (i < p->count && p->origin + (double)(i + 1) * p->width <= p->window)
		i++;
	*first = from = i;
	while (i < p->count && starting(p, i))
		i++;
	return i - from <= (p->count - from) / 2 ? i - from : 0;
}

static void take_startup(struct verdict_input *in, const struct picture *p)
{
	size_t first, count;

	if (!p->count || !p->host)
		return;
	count = verdict_startup(p, &first);
	for (size_t i = first; i < first + count; i++) {
		const double *h = p->host[i];
		for (int k = 0; k < TF_HOSTS; k++)
			in->startup += h[k];
		in->launch -= h[TF_HOST_LAUNCH] + h[TF_HOST_CONTENTION];
		in->sync -= h[TF_HOST_SYNC_USEFUL] + h[TF_HOST_SYNC_WASTED];
		in->copy -= h[TF_HOST_COPY];
		in->alloc -= h[TF_HOST_ALLOC] + h[TF_HOST_MODULE];
		in->outside -= h[TF_HOST_OTHER] + h[TF_HOST_OUTSIDE];
		for (size_t d = 0; d < p->device_count; d++) {
			double busy = p->devices[d].busy[i] / (double)p->device_count;
			in->busy -= busy;
			in->kernels -= busy;
		}
	}
}

/* The share of the copy calls' time that small blocking copies to the host take. */
static double waiting_copies(const struct model *m)
{
	double all = 0, waits = 0;

	for (size_t i = 0; i < m->copy_count; i++) {
		const struct copy *c = &m->copies[i];
		all += c->total;
		if (c->direction == SPY_DIR_DTOH && c->count &&
		    (!c->async || c->memory == SPY_MEM_PAGEABLE) &&
		    (double)c->bytes / (double)c->count <= SMALL_COPY)
			waits += c->total;
	}
	return all > 0 && waits > 0 ? fmin(1, waits / all) : 0;
}

static void cut(double *ns, double most)
{
	*ns = *ns > 0 ? fmin(*ns, most) : 0; /* a NaN too */
}

/* Several devices count as one that is busy as they are on average. */
static void take_busy(struct verdict_input *in, const struct model *m)
{
	const struct gpu_busy *b = &m->gpu.busy;
	double scale = b->window > 0 ? m->host_window / b->window : NAN;

	in->busy = b->busy * scale;
	in->kernels = b->kernels * scale;
	/* The host may see late that a copy has ended: alone they ran no longer than they take. */
	double sets = m->gpu.sets.high > 0 ? m->gpu.sets.high : 0;
	if (m->gpu.copies.known >= COPIES_KNOWN && m->gpu.copies.high > 0)
		in->kernels = fmax(in->kernels, in->busy - m->gpu.copies.high - sets);
	in->comm_most = b->comm * scale;
	in->comm = verdict_sure_comm(m, b->comm) * scale;
	in->idle_launch = b->by[TF_IDLE_LAUNCH] * scale;
	in->idle_outside = b->by[TF_IDLE_OUTSIDE] * scale;
}

static struct verdict_input take(const struct model *m)
{
	const struct split *h = &m->host;
	const struct gpu_busy *b = &m->gpu.busy;
	bool divided = isfinite(h->launch + h->contention);
	struct verdict_input in = {
	        .window = m->host_window,
	        .launch = divided ? h->launch + h->contention : h->launch_api,
	        .sync = h->sync,
	        .copy = h->copy,
	        .alloc = h->alloc + h->module,
	        .outside = h->other + h->outside,
	        .sampling = h->sampling,
	};

	take_busy(&in, m);
	for (size_t i = 0; i < m->process_count; i++)
		take_startup(&in, &m->processes[i].picture);
	cut(&in.window, INFINITY);
	if (!isfinite(in.window))
		in.window = 0;
	/* Without sampling the host would not have been away. */
	cut(&in.sampling, in.idle_outside);
	cut(&in.sampling, in.window);
	in.window -= in.sampling;
	in.idle_outside -= in.sampling;
	double waits = in.copy * waiting_copies(m);
	in.copy -= waits;
	in.sync += waits;
	cut(&in.startup, in.window);
	in.window -= in.startup;
	double *parts[] = {&in.busy,   &in.comm, &in.comm_most, &in.idle_launch, &in.idle_outside,
	                   &in.launch, &in.sync, &in.copy,      &in.alloc,       &in.outside};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		cut(parts[i], in.window);
	cut(&in.kernels, in.busy);
	in.busy_low = b->busy > 0 ? in.busy * (b->low / b->busy) : 0;
	in.busy_high = b->busy > 0 ? in.busy * (b->high / b->busy) : 0;
	cut(&in.busy_low, in.busy);
	cut(&in.busy_high, in.window);
	in.busy_high = fmax(in.busy_high, in.busy);
	return in;
}

/*
 * The window after each change, as a share of it saved: the host no longer spends that time, and
 * the GPU's work remains. `busy` is the GPU's time, at which the rule is tried.
 */
static void gains_at(const struct verdict_input *in, double busy, double gain[VERDICT_CLASSES])
{
	double scale = in->busy > 0 ? busy / in->busy : 1;
	double exposed = fmax(0, busy - in->kernels * scale), comm = fmin(in->comm * scale, busy);
	double launch = fmin(in->launch, in->idle_launch) * (1 - REPLAY_LEFT);
	const struct {
		enum verdict_class class;
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
		gain[changes[i].class] =
		        fmin(changes[i].saved, fmax(0, in->window - changes[i].bound)) / in->window;
	if (!in->replayed)
		return;
	for (int c = 0; c < VERDICT_CLASSES; c++)
		if (c != VERDICT_COMM && c != VERDICT_COPY)
			gain[c] = in->replay[c].mean;
	/* The replay keeps the order of copies and kernels that use the same memory. */
	gain[VERDICT_COPY] = fmax(in->replay[VERDICT_COPY].mean, exposed / in->window);
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

static double gain_of(const double gain[VERDICT_CLASSES], enum verdict_class class)
{
	return class == VERDICT_NONE ? 0 : gain[class];
}

static struct verdict judge_at(const struct verdict_input *in, double busy)
{
	double gain[VERDICT_CLASSES];
	struct verdict v = {.class = VERDICT_NONE};

	gains_at(in, busy, gain);
	v.first = largest(gain, VERDICT_NONE);
	v.second = largest(gain, v.first);
	v.gain = gain_of(gain, v.first);
	v.second_gain = gain_of(gain, v.second);
	if (v.gain < VERDICT_LEAST_GAIN) {
		v.class = busy >= VERDICT_BUSY * in->window ? VERDICT_GPU : VERDICT_NONE;
		v.second = v.first;
		v.second_gain = v.gain;
		v.first = v.class;
		v.gain = 0;
	} else {
		v.class = v.second_gain >= VERDICT_CLOSE * v.gain ? VERDICT_MIXED : v.first;
	}
	return v;
}

/* Two mixed verdicts agree when they name the same pair. */
static bool agree(const struct verdict *a, const struct verdict *b)
{
	if (a->class != b->class)
		return false;
	return a->class != VERDICT_MIXED || a->first + a->second == b->first + b->second;
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
	if (v->class == VERDICT_GPU)
		return worst.gain < VERDICT_CLEAR * VERDICT_LEAST_GAIN ? CONFIDENCE_MEDIUM
		                                                       : CONFIDENCE_LOW;
	bool named = worst.class == VERDICT_MIXED &&
	             (worst.first == v->first || worst.second == v->first);
	return named || v->class == VERDICT_MIXED ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static enum verdict_confidence confidence(const struct model *m, const struct verdict *v,
                                          const struct verdict_input *in)
{
	struct verdict low = judge_at(in, in->busy_low), high = judge_at(in, in->busy_high);
	enum verdict_confidence most = sure(v, in);
	bool clear = v->class == VERDICT_GPU ||
	             (v->class != VERDICT_MIXED &&
	              v->gain >= VERDICT_CLEAR * fmax(v->second_gain, VERDICT_LEAST_GAIN));

	if (v->class == VERDICT_NONE || !agree(v, &low) || !agree(v, &high))
		return CONFIDENCE_LOW;
	if (!clear || m->gpu.partial || in->window < VERDICT_SURE_WINDOW)
		return most < CONFIDENCE_MEDIUM ? most : CONFIDENCE_MEDIUM;
	return most;
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
	v.class = tells ? v.first : VERDICT_NONE;
	return v;
}

void model_finish_verdict(struct model *m)
{
	struct verdict_input in = take(m);
	struct verdict *v = &m->verdict;

	*v = (struct verdict){.class = VERDICT_NONE, .first = VERDICT_NONE, .second = VERDICT_NONE};
	char *why = verdict_abstains(m, &in);
	if (why) {
		v->reason = why;
		v->window = in.window;
		return;
	}
	if (m->gpu.has_busy) {
		verdict_replay(m, &in);
		*v = judge_at(&in, in.busy);
		v->confidence = confidence(m, v, &in);
		why = v->confidence == CONFIDENCE_LOW ? verdict_unknown_work(m) : NULL;
		if (why)
			v->class = VERDICT_NONE;
		v->reason = why ? why : verdict_reason(m, v, &in);
	} else {
		*v = judge_host(&in);
		v->reason = verdict_host_reason(m, v, &in);
	}
	v->window = in.window;
	v->startup = in.startup;
}
