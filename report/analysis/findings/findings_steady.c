/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* Share of the steady state: what is held of it stands for all. */
#define NEARLY_ALL 0.95

/* `ns` of the devices' windows without start-up, as a share of these; start-up is idle. */
static double share_of(const struct finding_context *s, double ns)
{
	const struct model_gpu_busy *b = &s->m->gpu.busy;
	double scale = b->window > 0 ? s->m->host_window / b->window : NAN;

	return s->m->gpu.has_busy && s->window > 0 ? fmin(1, ns * scale / s->window) : NAN;
}

double steady_busy(const struct finding_context *s)
{
	return share_of(s, s->m->gpu.busy.busy);
}

double steady_kernels(const struct finding_context *s)
{
	return share_of(s, s->m->gpu.busy.kernels);
}

static const char *const whose[] = {[PHASE_START] = "time in start-up",
                                    [PHASE_LOOP] = "time in the loop",
                                    [PHASE_END] = "time at the end"};

const char *finding_base(const struct finding_context *s)
{
	return s->m->phase ? model_phase_words[s->m->phase->kind] : "the window";
}

const char *steady_base(const struct finding_context *s)
{
	return s->m->phase ? model_phase_words[s->m->phase->kind] : "the steady time";
}

const char *steady_whose(const struct finding_context *s)
{
	return s->m->phase ? whose[s->m->phase->kind] : "steady time";
}

double steady_stake(double share, double used)
{
	return used >= 0 ? fmax(0, fmin(share, 1 - used)) : share;
}

const char *steady_span(const struct finding_context *s, char to[SPAN_BYTES])
{
	char time[UNIT_BYTES];

	to[0] = '\0';
	if (!(s->h->coverage >= NEARLY_ALL))
		snprintf(to, SPAN_BYTES, " in the last %s", unit_time_apart(time, s->held));
	else if (s->h->lost)
		snprintf(to, SPAN_BYTES, " at least (records were lost)");
	return to;
}

double call_event_ns(const struct call_event *a)
{
	return a->end - a->start;
}

bool call_event_late(const struct finding_context *s, const struct call_event *a)
{
	return a->start > s->h->until - s->held / 2;
}

bool call_event_is_host_copy(const struct call_event *a)
{
	return a->kind == TF_WORK_COPY &&
	       (a->direction == SPY_DIR_HTOD || a->direction == SPY_DIR_DTOH);
}
