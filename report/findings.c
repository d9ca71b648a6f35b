#include "report/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/findings_parts.h"
#include "report/units.h"

const char *const finding_severities[] = {
        [SEVERITY_INFO] = "info",
        [SEVERITY_LOW] = "low",
        [SEVERITY_MEDIUM] = "medium",
        [SEVERITY_HIGH] = "high",
};

/* cuda_samples/README.md has a sample for each. */
static const struct known {
	const char *id;
	finder *find;
	const char *title, *cuda, *pytorch;
} known[] = {
        {"many-short-launches", find_many_short_launches,
         "The host launches short kernels for longer than they run",
         "capture the repeated launches once (cudaStreamBeginCapture) and replay them with "
         "cudaGraphLaunch; or fuse or batch them",
         "torch.compile(mode=\"reduce-overhead\") or torch.cuda.graph; fused optimizers "
         "(fused=True), larger batches"},
        {"launch-queue-full", find_launch_queue_full,
         "Launching waits for the GPU: the launch queue is full",
         "nothing on the host: these launches are no overhead. Make the kernels faster",
         "nothing on the host: look at the kernels"},
        {"launch-contention", find_launch_contention, "Launches wait for one another",
         "launch from one thread, or give each thread a graph to launch",
         "one Python thread (or process) a GPU; CUDA graphs"},
        {"sync-every-step", find_sync_every_step,
         "The host waits for the GPU at every step, and only then gives it more work",
         "wait once every few steps, or for an event of the step before (cudaEventSynchronize)",
         "no .item(), .cpu() or print of a tensor in the loop; add losses up on the device"},
};

bool finding_is(struct finding *f, enum finding_severity severity, double share, char *evidence)
{
	f->severity = severity;
	f->share = share;
	f->evidence = evidence;
	return true;
}

bool finding_tell(struct finding *f, double share, char *evidence)
{
	enum finding_severity severity = share >= FINDING_HIGH     ? SEVERITY_HIGH
	                                 : share >= FINDING_MEDIUM ? SEVERITY_MEDIUM
	                                                           : SEVERITY_LOW;

	finding_is(f, severity, share, evidence);
	return share >= FINDING_LEAST;
}

double scene_share(const struct scene *s, double ns)
{
	return s->held > 0 ? fmin(1, ns / s->held) : NAN;
}

char *scene_rate(const struct scene *s, double count)
{
	if (s->steps > 0)
		return alloc_format("%.3g a step", count / s->steps);
	return alloc_format("%.3g a second", s->held > 0 ? count / s->held * 1e9 : 0);
}

/* ---- the scene ---- */

static const struct process *busiest(const struct model *m)
{
	const struct process *best = NULL;

	for (size_t i = 0; i < m->process_count; i++)
		if (!best || m->processes[i].launches > best->launches)
			best = &m->processes[i];
	return best;
}

static void set(struct scene *s, const struct model *m)
{
	*s = (struct scene){.m = m, .process = busiest(m), .gpu_each = NAN, .steps = NAN};
	s->h = &s->process->history;
	size_t from = history_steady(s->h);
	s->count = s->h->count - from;
	s->acts = s->h->acts + from;
	s->window = m->verdict.window > 0 ? m->verdict.window : m->host_window;
	s->gpu_each = m->gpu.launched.mean;
	for (size_t i = 0; i < s->count; i++) {
		const struct act *a = &s->acts[i];
		struct tally *t = &s->classes[a->class];
		t->count++;
		t->failed += a->result != 0;
		t->ns += a->end - a->start;
	}
	if (s->count)
		s->held = s->h->upto - fmax(s->acts[0].start, s->h->steady);
	if (!(s->held > 0))
		s->held = 0;
	if (m->steps.source != STEPS_NONE && m->steps.duration.mean > 0)
		s->steps = s->held / m->steps.duration.mean;
}

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	double one = isnan(x->share) ? 0 : x->share, two = isnan(y->share) ? 0 : y->share;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return one < two ? 1 : one > two ? -1 : strcmp(x->id, y->id);
}

void model_finish_findings(struct model *m)
{
	struct scene scene;

	if (!m->process_count)
		return;
	set(&scene, m);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *k = &known[i];
		struct finding f = {.id = k->id,
		                    .title = k->title,
		                    .fix_cuda = k->cuda,
		                    .fix_pytorch = k->pytorch,
		                    .share = NAN,
		                    .speedup = NAN,
		                    .speedup_low = NAN,
		                    .speedup_high = NAN};
		if (!k->find(&scene, &f)) {
			free(f.evidence);
			continue;
		}
		ALLOC_ROOM(m->findings, m->finding_count);
		m->findings[m->finding_count++] = f;
	}
	if (m->finding_count)
		qsort(m->findings, m->finding_count, sizeof(*m->findings), by_severity);
}

void findings_free(struct model *m)
{
	for (size_t i = 0; i < m->finding_count; i++)
		free(m->findings[i].evidence);
	free(m->findings);
	m->findings = NULL;
	m->finding_count = 0;
}
