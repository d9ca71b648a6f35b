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

void verdict_replay(struct whatifs *whatifs, struct verdict_input *in)
{
	struct verdict_gain gain[VERDICT_CLASSES] = {{0}};

	in->replayed = false;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct whatif_result r;
		if (!whatif_predict(whatifs, changes[i].what, NULL, 1, &r) ||
		    r.error > ERROR_MOST || !(r.coverage >= COVERAGE_LEAST))
			return;
		struct verdict_gain *g = &gain[changes[i].cls];
		if (share(r.predicted, r.window) < g->mean)
			continue;
		*g = (struct verdict_gain){share(r.predicted, r.window), share(r.high, r.window),
		                           share(r.low, r.window)};
	}
	/* What a graph saves of a program that issues copies is the copies' time. */
	if (in->copy > in->launch) {
		if (gain[VERDICT_LAUNCH].mean > gain[VERDICT_COPY].mean)
			gain[VERDICT_COPY] = gain[VERDICT_LAUNCH];
		gain[VERDICT_LAUNCH] = (struct verdict_gain){0};
	}
	for (int c = 0; c < VERDICT_CLASSES; c++)
		in->replay[c] = gain[c];
	in->replayed = true;
}
