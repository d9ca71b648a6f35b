/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/verdict/verdict.h"
#include "report/analysis/whatif/whatif.h"
#include "shim/core/cuda/communication.h"

/* A replay that is further off what was (as a share of it), or of less of the steady window, does
 * not decide. */
#define ERROR_MOST     0.25
#define COVERAGE_LEAST 0.05

static const struct {
	enum whatif what;
	enum verdict_class cls;
} changes[] = {
        {WHATIF_GRAPHS, VERDICT_LAUNCH},  {WHATIF_NO_SYNC, VERDICT_SYNC},
        {WHATIF_PINNED, VERDICT_COPY},    {WHATIF_OVERLAP, VERDICT_COPY},
        {WHATIF_NO_ALLOC, VERDICT_ALLOC}, {WHATIF_HOST, VERDICT_HOST},
};

enum verdict_class verdict_class_of(enum whatif what)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].what == what)
			return changes[i].cls;
	return VERDICT_CLASSES;
}

double verdict_sure_comm(const struct model *m, double comm)
{
	double total = 0, spread = 0;

	if (!m->gpu.estimated)
		return comm;
	for (size_t i = 0; i < m->gpu.class_count; i++) {
		const struct model_gpu_class *c = &m->gpu.classes[i];
		double all = c->mean * (double)c->count;
		if (c->kind != TF_WORK_KERNEL || !c->name || !cuda_communicates(c->name) ||
		    !(all > 0))
			continue;
		total += all;
		/* Else half of a 95 % interval of the mean is 1.96 deviations over sqrt(samples).
		 */
		spread += (double)c->count * (c->deviation > 0 ? c->deviation
		                                               : (c->high - c->low) / 2 / 1.96 *
		                                                         sqrt((double)c->samples));
	}
	if (!(total > 0) || comm >= total)
		return comm;
	/*
	 * The shortest share e of uniformly distributed times holds e^2 of their sum, and of equal
	 * ones e: the Lorenz curve, between the two by the relative deviation (uniform: 1/sqrt(3)).
	 */
	return total * pow(comm / total, fmin(2, 1 + sqrt(3) * spread / total));
}

static double share(double ns, double window)
{
	return fmax(0, 1 - ns / window);
}

static void limit(struct verdict_gain *g, double most)
{
	*g = (struct verdict_gain){fmin(g->mean, most), fmin(g->low, most), fmin(g->high, most)};
}

/* At best a graph of a whole step takes away more than launches: what the host does on its own, and
 * waits. That is not what makes a program launch-bound. */
static struct whatif_result launches_alone(const struct whatif_result *r)
{
	struct whatif_result alone = *r;

	if (r->form == WHATIF_WHOLE)
		alone.least = fmin(r->predicted, r->low_launches);
	return alone;
}

/* What part of the calls that are replayed and give work are copies; those within a device are
 * issued as kernels are. */
static double part_of_copies(const struct model *m)
{
	double copies = 0, all = 0;

	for (size_t p = 0; p < m->process_count; p++) {
		const struct call_log *h = &m->processes[p].call_log;
		for (size_t i = h->left_out ? h->count : call_log_steady(h); i < h->count; i++) {
			const struct call_event *e = &h->call_events[i];
			if (e->result || (e->kind != TF_WORK_KERNEL && e->kind != TF_WORK_COPY))
				continue;
			all++;
			copies += e->kind == TF_WORK_COPY && e->direction != SPY_DIR_DTOD;
		}
	}
	return all > 0 ? copies / all : 0;
}

/* Pinned memory alone, or copies beside kernels alone, where the other gains nothing or far less.
 */
static enum verdict_copy_way copy_way(struct whatifs *whatifs)
{
	struct whatif_result pinned, beside;

	if (!whatif_predict(whatifs, WHATIF_PINNED, NULL, 1, &pinned) ||
	    !whatif_predict(whatifs, WHATIF_OVERLAP, NULL, 1, &beside))
		return COPY_WAY_BOTH;
	double one = share(pinned.predicted, pinned.window),
	       other = share(beside.predicted, beside.window);
	double least = fmax(VERDICT_LEAST_GAIN, VERDICT_CLOSE * fmax(one, other));
	return (one >= least) == (other >= least) ? COPY_WAY_BOTH
	       : one >= least                     ? COPY_WAY_PINNED
	                                          : COPY_WAY_BESIDE;
}

void verdict_replay(struct whatifs *whatifs, struct verdict_input *in)
{
	struct verdict_gain gain[VERDICT_CLASSES] = {{0}};
	struct whatif_result graphs = {0}, host = {0};

	in->replayed = false;
	in->between = 0;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct whatif_result r;
		if (!whatif_predict(whatifs, changes[i].what, NULL, 1, &r) ||
		    r.error > ERROR_MOST || !(r.coverage >= COVERAGE_LEAST))
			return;
		if (changes[i].what == WHATIF_GRAPHS)
			r = graphs = launches_alone(&r);
		if (changes[i].what == WHATIF_HOST)
			host = r;
		struct verdict_gain *g = &gain[changes[i].cls];
		if (share(r.predicted, r.window) < g->mean)
			continue;
		*g = (struct verdict_gain){share(r.predicted, r.window), share(r.most, r.window),
		                           share(r.least, r.window)};
	}
	if (graphs.changed > 0)
		in->between = fmin(1, graphs.between / graphs.window) * in->window;
	limit(&gain[VERDICT_HOST], whatif_hosts_own(&graphs, &host));
	/* What a graph saves of a program that issues copies is the copies' time; of one that
	 * issues both alike, of both. What the host does between calls is theirs by their number.
	 */
	double copy = in->copy - in->issued, launch = in->launch + in->issued;
	double part = part_of_copies(whatif_model(whatifs));
	if (part > 0 && part < 1) {
		copy += in->between * part;
		launch += in->between * (1 - part);
	}
	if (copy > VERDICT_CLOSE * launch && gain[VERDICT_LAUNCH].mean > gain[VERDICT_COPY].mean)
		gain[VERDICT_COPY] = gain[VERDICT_LAUNCH];
	if (launch < VERDICT_CLOSE * copy)
		gain[VERDICT_LAUNCH] = (struct verdict_gain){0};
	for (int c = 0; c < VERDICT_CLASSES; c++)
		in->replay[c] = gain[c];
	in->copies_gain = in->copies_within || gain[VERDICT_COPY].mean >= VERDICT_LEAST_GAIN;
	in->copy_way = copy_way(whatifs);
	in->replayed = true;
}
