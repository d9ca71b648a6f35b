#include <math.h>

#include "report/verdict.h"
#include "report/whatif.h"

/* A replay that is further off what was (as a share of it), or of less of the steady window, does
 * not decide. */
#define ERROR_MOST     0.25
#define COVERAGE_LEAST 0.05

static const struct {
	enum whatif what;
	enum verdict_class class;
} changes[] = {
        {WHATIF_GRAPHS, VERDICT_LAUNCH},  {WHATIF_NO_SYNC, VERDICT_SYNC},
        {WHATIF_PINNED, VERDICT_COPY},    {WHATIF_OVERLAP, VERDICT_COPY},
        {WHATIF_NO_ALLOC, VERDICT_ALLOC}, {WHATIF_HOST, VERDICT_HOST},
};

static double share(double ns, double window)
{
	return fmax(0, 1 - ns / window);
}

void verdict_replay(const struct model *m, struct verdict_input *in)
{
	struct verdict_gain gain[VERDICT_CLASSES] = {{0}};

	in->replayed = false;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct whatif_result r;
		if (!whatif_predict(m, changes[i].what, NULL, 1, &r) || r.error > ERROR_MOST ||
		    !(r.coverage >= COVERAGE_LEAST))
			return;
		struct verdict_gain *g = &gain[changes[i].class];
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
