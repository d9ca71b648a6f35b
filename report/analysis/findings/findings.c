/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/advice.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/whatif/whatif.h"

const char *const finding_severities[] = {
        [SEVERITY_INFO] = "info",
        [SEVERITY_LOW] = "low",
        [SEVERITY_MEDIUM] = "medium",
        [SEVERITY_HIGH] = "high",
};

#define WAIT_CALLS   FINDING_KIND(SITE_WAIT)
#define LAUNCH_CALLS FINDING_KIND(SITE_LAUNCH)
#define COPY_CALLS   FINDING_KIND(SITE_COPY)
#define ALLOC_CALLS  FINDING_KIND(SITE_ALLOC)
#define MODULE_CALLS FINDING_KIND(SITE_MODULE)
#define GRAPH_CALLS  FINDING_KIND(SITE_GRAPH)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NO_GAIN      0.005 /* it would be told as 1.00 times as fast */
#define NO_LINE      LINE(0, BY_API, ALL_OF_THEM)
/* clang-format off */
#define LINE(kinds, measure, only) {kinds, measure, only}
/* clang-format on */

/* cuda_samples/README.md has a sample for each. */
static const struct known {
	const char *id;
	finder *find;
	const char *title;
	enum whatif change;         /* what predicts its gain; WHATIFS = nothing does */
	enum verdict_class cls;     /* see struct finding */
	struct finding_calls calls; /* that its line of code makes */
} known[] = {
        {"sync-too-early", detect_sync_too_early,
         "The host waits, then works outside CUDA, and only then gives the GPU more work",
         WHATIF_NO_SYNC, VERDICT_SYNC, LINE(WAIT_CALLS, BY_API, ALL_OF_THEM)},
        {"device-sync-for-stream", detect_device_sync,
         "cudaDeviceSynchronize waits for streams whose work is not needed yet", WHATIFS,
         VERDICT_SYNC, LINE(WAIT_CALLS, BY_API, THAT_WAIT_FOR_ALL)},
        {"implicit-sync", detect_implicit_sync, "Calls wait for the GPU that are not named so",
         WHATIF_NO_SYNC, VERDICT_SYNC,
         LINE(COPY_CALLS | ALLOC_CALLS | MODULE_CALLS, BY_API, ALL_OF_THEM)},
        {"legacy-stream-serializes", detect_legacy_stream,
         "Work in the legacy default stream makes other streams take turns", WHATIFS,
         VERDICT_CLASSES, NO_LINE},
        {"host-starves-gpu", detect_host_starves_gpu,
         "The host works outside CUDA while the GPU has nothing to do", WHATIF_HOST, VERDICT_HOST,
         NO_LINE},
        {"polling", detect_polling, "The host asks again and again whether work is done", WHATIFS,
         VERDICT_SYNC, NO_LINE},
        {"exposed-communication", detect_exposed_communication,
         "The GPU communicates and computes nothing meanwhile", WHATIFS, VERDICT_COMM,
         LINE(LAUNCH_CALLS, BY_GPU, THAT_COMMUNICATES)},
        {"low-occupancy", detect_low_occupancy,
         "A kernel that takes much of the GPU's time keeps few warps on it", WHATIFS,
         VERDICT_CLASSES, LINE(LAUNCH_CALLS, BY_GPU, OF_ITS_KERNEL)},
        {"dominant-kernel", detect_dominant_kernel, "One kernel takes most of the GPU's time",
         WHATIF_KERNEL, VERDICT_CLASSES, LINE(LAUNCH_CALLS, BY_GPU, OF_ITS_KERNEL)},
        {"failed-calls", detect_failed_calls, "CUDA calls fail", WHATIFS, VERDICT_CLASSES, NO_LINE},
        {"many-short-launches", detect_many_short_launches,
         "The host launches short kernels for longer than they run", WHATIF_GRAPHS, VERDICT_LAUNCH,
         LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"launch-queue-full", detect_launch_queue_full,
         "Launching waits for the GPU: the launch queue is full", WHATIFS, VERDICT_CLASSES,
         LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"launch-contention", detect_launch_contention, "Launches wait for one another", WHATIFS,
         VERDICT_LAUNCH, LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"host-starved-of-cpu", detect_host_starved_of_cpu,
         "Threads that give the GPU its work wait for a CPU to run on", WHATIF_CPU, VERDICT_HOST,
         NO_LINE},
        {"sync-every-step", detect_sync_every_step,
         "The host waits for the GPU at every step, and only then gives it more work",
         WHATIF_NO_SYNC, VERDICT_SYNC, LINE(WAIT_CALLS, BY_API, ALL_OF_THEM)},
        {"pageable-async-copy", detect_pageable_async_copy,
         "Asynchronous copies of pageable memory: the host stages them, and waits", WHATIF_PINNED,
         VERDICT_COPY, LINE(COPY_CALLS, BY_PAGEABLE, ALL_OF_THEM)},
        {"pageable-blocking-copy", detect_pageable_blocking_copy,
         "Blocking copies of pageable memory: the host stages them, and waits", WHATIF_PINNED,
         VERDICT_COPY, LINE(COPY_CALLS, BY_PAGEABLE, ALL_OF_THEM)},
        {"many-small-copies", detect_many_small_copies, "Many small copies, one after the other",
         WHATIFS, VERDICT_COPY, LINE(COPY_CALLS, BY_COUNT, ALL_OF_THEM)},
        {"copy-not-overlapped", detect_copy_not_overlapped,
         "Copies run alone that could run beside kernels or other copies", WHATIF_OVERLAP,
         VERDICT_COPY, LINE(COPY_CALLS, BY_GPU, ALL_OF_THEM)},
        {"low-bandwidth-copy", detect_low_bandwidth_copy,
         "Copies reach a fraction of the bandwidth", WHATIFS, VERDICT_COPY,
         LINE(COPY_CALLS, BY_API, ALL_OF_THEM)},
        {"copy-back-and-forth", detect_copy_back_and_forth,
         "The same memory goes to the host and back", WHATIFS, VERDICT_COPY,
         LINE(COPY_CALLS, BY_API, ALL_OF_THEM)},
        {"alloc-churn", detect_alloc_churn, "Memory is allocated and freed over and over",
         WHATIF_NO_ALLOC, VERDICT_ALLOC, LINE(ALLOC_CALLS, BY_API, THAT_ALLOCATE)},
        {"memory-growth", detect_memory_growth, "Device memory grows without end", WHATIFS,
         VERDICT_CLASSES, LINE(ALLOC_CALLS, BY_API, ALL_OF_THEM)},
        {"module-load-in-loop", detect_module_load_in_loop,
         "Code is loaded or compiled in the steady state", WHATIF_NO_ALLOC, VERDICT_ALLOC,
         LINE(MODULE_CALLS, BY_API, ALL_OF_THEM)},
        {"first-launch-cost", detect_first_launch_cost,
         "First launches of kernels load code in the steady state", WHATIFS, VERDICT_ALLOC,
         NO_LINE},
        {"graph-reinstantiated", detect_graph_reinstantiated,
         "Graphs are made or updated anew for each launch", WHATIF_NO_ALLOC, VERDICT_ALLOC,
         LINE(GRAPH_CALLS, BY_API, ALL_OF_THEM)},
        {"graph-instantiation-dominates", detect_graph_instantiation_dominates,
         "Making graphs takes the host longer than launching them", WHATIF_NO_ALLOC, VERDICT_ALLOC,
         LINE(GRAPH_CALLS, BY_API, ALL_OF_THEM)},
        {"graph-nodes-changed", detect_graph_nodes_changed,
         "Nodes of graphs are given other parameters again and again", WHATIF_KEPT, VERDICT_CLASSES,
         LINE(GRAPH_CALLS, BY_API, ALL_OF_THEM)},
        {"environment", detect_environment, "Something outside the program holds it up", WHATIFS,
         VERDICT_CLASSES, NO_LINE},
};

/* Of verdicts. */
static const struct finding_calls class_calls[VERDICT_CLASSES] = {
        [VERDICT_LAUNCH] = LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM),
        [VERDICT_SYNC] = LINE(WAIT_CALLS, BY_API, ALL_OF_THEM),
        [VERDICT_COPY] = LINE(COPY_CALLS, BY_BOTH, ALL_OF_THEM),
        [VERDICT_ALLOC] = LINE(ALLOC_CALLS, BY_API, THAT_ALLOCATE),
};
static const struct finding_calls reads = LINE(COPY_CALLS, BY_COUNT, THAT_BRING_BACK),
                                  blocking_reads = LINE(COPY_CALLS, BY_API, THAT_READ);

/* What of the window it would save, or is at stake. */
static double weight(const struct finding *f)
{
	return finding_known(isfinite(f->speedup) ? 1 - 1 / f->speedup : f->share);
}

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	double one = weight(x), two = weight(y);

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return one < two ? 1 : one > two ? -1 : strcmp(x->id, y->id);
}

/* Exactly this name, as a regular expression (free it). */
static char *exactly(const char *name)
{
	size_t n = strlen(name);
	char *pattern = alloc_zeroed(2 * n + 3, 1), *to = pattern;

	*to++ = '^';
	for (size_t i = 0; i < n; i++) {
		if (strchr("\\^$.[]|()*+?{}", name[i]))
			*to++ = '\\';
		*to++ = name[i];
	}
	*to = '$';
	return pattern;
}

/* Of the host's time outside CUDA only so much is its own (whatif_hosts_own()). */
static void limit(struct finding *f, double share)
{
	double most = share < 1 ? 1 / (1 - share) : INFINITY, cut = fmin(1, most / f->speedup);

	f->speedup *= cut;
	f->speedup_low *= cut; /* it is as little known as before */
	f->speedup_high *= cut;
}

static void predict(struct whatifs *whatifs, const struct finding_context *context,
                    const struct known *k, struct finding *f)
{
	struct whatif_result r;
	char *pattern = k->change == WHATIF_KERNEL && f->kernel ? exactly(f->kernel) : NULL;

	if (k->change != WHATIFS && (k->change != WHATIF_KERNEL || pattern) &&
	    whatif_predict(whatifs, k->change, pattern, FINDING_FASTER, &r)) {
		f->speedup = r.speedup;
		f->speedup_low = r.speedup_low;
		f->speedup_high = r.speedup_high;
		f->saved_most = 1 - r.least / r.window;
		if (k->change == WHATIF_HOST)
			limit(f, whatif_hosts_own(&context->graphs, &context->host));
		f->severity = finding_severity(f->speedup, NAN);
	}
	free(pattern);
}

/* Where the framework is not known PyTorch's words stand beside CUDA's, as most programs are its.
 */
static void advise(struct finding *f, enum framework framework)
{
	enum framework own = framework ? framework : FRAMEWORK_PYTORCH;
	const struct advice *cuda = advice_of(f->advice, FRAMEWORK_NONE);

	f->fix_cuda = cuda->fix;
	f->framework = framework_names[own];
	f->fix = advice_of(f->advice, own)->fix;
	f->brief = advice_of(f->advice, framework)->brief;
}

/* The evidence with the end that goes with what is predicted. */
static void end_evidence(struct finding *f)
{
	const char *end = isfinite(f->speedup) ? f->predicted : f->unpredicted;

	if (end && f->evidence)
		alloc_append(&f->evidence, "%s", end);
	free(f->predicted);
	free(f->unpredicted);
	f->predicted = f->unpredicted = NULL;
}

/* Calls that a finding has the line of. XLA waits outside CUDA: the copies that bring what it reads
 * are all there is. */
static const struct finding_calls *calls_of(const struct finding_context *s, const struct known *k,
                                            const struct finding *f)
{
	if (f->of_reads)
		return &blocking_reads;
	return k->cls == VERDICT_SYNC && s->verdict->waits_outside ? &reads : &k->calls;
}

/* Adds it where it is there: then true. */
static bool look(struct findings *to, const struct known *k, const struct finding_context *context,
                 struct whatifs *whatifs)
{
	struct finding f = {.id = k->id,
	                    .title = k->title,
	                    .advice = k->id,
	                    .direction = SPY_DIR_COUNT,
	                    .cls = k->cls,
	                    .change = k->change,
	                    .share = NAN,
	                    .place_share = NAN,
	                    .speedup = NAN,
	                    .speedup_low = NAN,
	                    .speedup_high = NAN,
	                    .saved_most = NAN};
	bool found = k->find(context, &f);
	if (found)
		predict(whatifs, context, k, &f);
	/* What gains nothing is no change to tell, as of waits that are another finding's frees;
	 * but what the figures of a host that waited for its CPUs are worth is. */
	if (!found || (f.speedup < 1 + NO_GAIN && k->change != WHATIF_CPU)) {
		free(f.evidence);
		free(f.predicted);
		free(f.unpredicted);
		return false;
	}
	advise(&f, context->framework);
	end_evidence(&f);
	if (!f.place)
		finding_find_site(context, calls_of(context, k, &f), &f);
	ALLOC_ROOM(to->items, to->count);
	to->items[to->count++] = f;
	return true;
}

/* What the verdict names is found as well: of a class that has no finding one whose gain is
 * predicted is looked for by the verdict's word. */
static void look_for(struct findings *to, enum verdict_class cls, struct finding_context *context,
                     struct whatifs *whatifs)
{
	for (size_t i = 0; i < to->count; i++)
		if (to->items[i].cls == cls)
			return;
	context->blamed = cls;
	bool found = false;
	for (size_t i = 0; i < COUNT(known) && !found; i++)
		found = known[i].cls == cls && known[i].change != WHATIFS &&
		        look(to, &known[i], context, whatifs);
	context->blamed = VERDICT_CLASSES;
}

void findings_make(struct findings *to, const struct model *m, const struct verdict *verdict,
                   struct whatifs *whatifs)
{
	struct finding_context context;

	*to = (struct findings){0};
	if (!m->process_count)
		return;
	finding_set(&context, m, verdict);
	whatif_predict(whatifs, WHATIF_GRAPHS, NULL, 1, &context.graphs);
	whatif_predict(whatifs, WHATIF_HOST, NULL, 1, &context.host);
	whatif_predict(whatifs, WHATIF_FUSED, NULL, 1, &context.fused);
	whatif_predict(whatifs, WHATIF_PINNED, NULL, 1, &context.pinned);
	for (size_t i = 0; i < COUNT(known); i++)
		look(to, &known[i], &context, whatifs);
	bool mixed = verdict->cls == VERDICT_MIXED;
	if (mixed || verdict->cls == verdict->first)
		look_for(to, verdict->first, &context, whatifs);
	if (mixed)
		look_for(to, verdict->second, &context, whatifs);
	to->of_class = alloc_zeroed(VERDICT_CLASSES, sizeof(*to->of_class));
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		to->of_class[i].id = verdict_names[i];
		to->of_class[i].direction = SPY_DIR_COUNT;
		bool read = i == VERDICT_SYNC && !verdict->waits_outside &&
		            finding_reads_wait(&context);
		finding_find_site(&context, read ? &blocking_reads : &class_calls[i],
		                  &to->of_class[i]);
	}
	if (!to->of_class[VERDICT_SYNC].place)
		finding_find_site(&context, &reads, &to->of_class[VERDICT_SYNC]);
	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), by_severity);
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].evidence);
	free(f->items);
	free(f->of_class);
	*f = (struct findings){0};
}
