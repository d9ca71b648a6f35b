/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"
#include "shim/core/cuda/communication.h"

/* ---- exposed-communication ---- */

/* What communication has alone is a difference of estimates: below this it may be none. */
#define EXPOSED_ESTIMATED 0.1
#define EXPOSED_EXACT     0.02
/* A rank whose kernels are so much longer than those of another (factor) waits for it in them. */
#define LATE_FACTOR 1.2

/* As the timeline knows them (shim/core/timeline/timeline_device.c). */
static bool communicates(const char *kernel)
{
	return kernel && cuda_communicates(kernel);
}

static const struct model_kernel *largest_collective(const struct model *m)
{
	const struct model_kernel *best = NULL;

	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		if (communicates(k->name) &&
		    (!best || finding_known(k->gpu.total) > finding_known(best->gpu.total)))
			best = k;
	}
	return best;
}

/* Mean GPU time of a kernel in the recent calls of one process; NaN = not known. */
static double mean_in(const struct model_process *p, const char *kernel)
{
	double sum = 0, call_events = 0;

	for (size_t i = 0; i < p->call_log.work_count; i++) {
		const struct call_log_work *w = &p->call_log.works[i];
		if (!w->kernel || strcmp(w->kernel, kernel) || !(w->mean >= 0))
			continue;
		sum += w->mean * (double)w->call_events;
		call_events += (double)w->call_events;
	}
	return call_events > 0 ? sum / call_events : NAN;
}

static char *rank_of(const struct model_process *p)
{
	return p->rank ? alloc_format("rank %s", p->rank)
	               : alloc_format("process %llu", (unsigned long long)p->pid);
}

/* " Rank 0 comes last ...": in a collective the others wait for it. Nothing to say: "". */
static char *late_rank(const struct model *m, const char *kernel)
{
	const struct model_process *last = NULL, *first = NULL;
	char shortest[UNIT_BYTES], longest[UNIT_BYTES];
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		double mean = mean_in(&m->processes[i], kernel);
		if (mean < least) {
			least = mean;
			last = &m->processes[i];
		}
		if (mean > most) {
			most = mean;
			first = &m->processes[i];
		}
	}
	if (!last || !first || !(most > LATE_FACTOR * least))
		return alloc_string("");
	char *late = rank_of(last), *early = rank_of(first);
	char *text = alloc_format(" It takes %s in %s and %s in %s, which waits in it: %s comes "
	                          "late.",
	                          unit_time_apart(shortest, least), late,
	                          unit_time_apart(longest, most), early, late);
	free(late);
	free(early);
	return text;
}

bool detect_exposed_communication(const struct finding_context *s, struct finding *f)
{
	const struct model *m = s->m;
	const struct model_gpu_busy *b = &m->gpu.busy;
	char alone[UNIT_BYTES], share[UNIT_BYTES], busy[UNIT_BYTES], mean[UNIT_BYTES];
	const struct model_kernel *k = largest_collective(m);

	if (!m->gpu.has_busy || !k || !(b->window > 0) || !(s->window > 0) ||
	    b->comm < (m->gpu.estimated ? EXPOSED_ESTIMATED : EXPOSED_EXACT) * b->window)
		return false;
	char *late = late_rank(m, k->name);
	char *text = alloc_format(
	        "Communication ran alone for %s%s, %s %% of %s and %s %% of the time that the GPU "
	        "was busy; most of it is %s, %llu launches of %s each.%s",
	        finding_estimated(s), unit_time_apart(alone, b->comm),
	        unit_percent(share, b->comm, b->window), finding_base(s),
	        unit_percent(busy, b->comm, b->busy), k->name, (unsigned long long)k->launches,
	        unit_time_apart(mean, k->gpu.mean), late);
	free(late);
	return finding_tell(f, b->comm / b->window, text);
}

/* ---- kernels ---- */

/* Of the GPU's busy time, what a kernel takes at least to matter. */
#define SHARE_MATTERS 0.1

/* What the kernel takes of the window, on all devices. */
static double share_of(const struct finding_context *s, const struct model_kernel *k)
{
	const struct model_gpu_busy *b = &s->m->gpu.busy;

	return s->m->gpu.has_busy && b->window > 0
	               ? fmin(1, finding_known(k->gpu.total) / b->window)
	               : NAN;
}

/* ---- low-occupancy ---- */

#define OCCUPANCY_LOW 0.6
/* A grid of fewer blocks leaves multiprocessors of a large GPU (132 to 160) with one or two of
 * them, whatever fits. */
#define GRID_LEAST 320.0

static double blocks_of(const struct model_shape *s)
{
	return (double)s->grid[0] * s->grid[1] * s->grid[2];
}

/* Products of matrices and convolutions of NVIDIA's libraries and CUTLASS, and attention: few warps
 * that hold much in registers are how these are made, and no block size of the program's is in
 * them. */
static bool is_made_so(const char *kernel)
{
	static const char *const parts[] = {
	        "xmma_",     "cutlass",   "cublas",        "cudnn",         "nvjet_",
	        "flash_fwd", "flash_bwd", "fmha_",         "volta_",        "turing_",
	        "ampere_",   "hopper_",   "gemvx::kernel", "gemv2T_kernel", "gemv2N_kernel"};

	for (size_t i = 0; kernel && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(kernel, parts[i]))
			return true;
	return false;
}

bool detect_low_occupancy(const struct finding_context *s, struct finding *f)
{
	const struct model_kernel *worst = NULL;
	char share[UNIT_BYTES], percent[UNIT_BYTES], shared[UNIT_BYTES];
	double most = SHARE_MATTERS;

	for (size_t i = 0; i < s->m->kernel_count; i++) {
		const struct model_kernel *k = &s->m->kernels[i];
		if (is_made_so(k->name) || !k->most.launches ||
		    !(shape_occupancy(&k->most) < OCCUPANCY_LOW) ||
		    blocks_of(&k->most) < GRID_LEAST || !(share_of(s, k) >= most))
			continue;
		worst = k;
		most = share_of(s, k);
	}
	if (!worst || !finding_is_long(s))
		return false;
	const struct model_shape *h = &worst->most;
	char *name = finding_kernel(worst->name);
	char *text = alloc_format(
	        "%s runs for %s%s %% of %s. Of its blocks (%u x %u x %u threads, %u registers a "
	        "thread, %s of shared memory) %u fit a multiprocessor: %s %% of its "
	        "%u warps.",
	        name, finding_estimated(s), unit_percent(share, most, 1), finding_base(s),
	        h->block[0], h->block[1], h->block[2], h->registers,
	        unit_bytes(shared, (double)h->shared_bytes + h->static_shared), h->blocks_per_sm,
	        unit_percent(percent, shape_occupancy(h), 1), h->warps_per_sm);
	free(name);
	return finding_is(f, most >= FINDING_HIGH ? SEVERITY_MEDIUM : SEVERITY_LOW, most, text);
}

/* ---- dominant-kernel ---- */

/* Of the GPU time of all kernels. */
#define DOMINANT_LEAST 0.5
/* With so much of it there is no other kernel to compare it with. */
#define DOMINANT_ALONE 0.95

/* The host's time in the window that is no waiting for the GPU: it does not shrink with a kernel.
 */
static double host_needs(const struct finding_context *s)
{
	const struct model_split *h = &s->m->host;
	double waits = finding_known(h->back_pressure) + finding_known(h->sync_useful);

	return fmax(0, s->m->host_window - waits);
}

/* What the second busiest stream needs, as a share of the window: wherever the kernel is, so much
 * remains. 0 where that is not known. */
static double beside(const struct model *m)
{
	double most = 0, second = 0;

	for (size_t i = 0; i < m->gpu.stream_count && m->process_count == 1; i++) {
		const struct model_stream *s = &m->gpu.streams[i];
		double ns = finding_known(s->kernel_ns) + finding_known(s->copy_ns);
		second = fmax(second, fmin(most, ns));
		most = fmax(most, ns);
	}
	return m->host_window > 0 ? fmin(1, second / m->host_window) : 0;
}

bool detect_dominant_kernel(const struct finding_context *s, struct finding *f)
{
	const struct model *m = s->m;
	char share[UNIT_BYTES], total[UNIT_BYTES], gain[UNIT_BYTES];
	const struct model_kernel *top = NULL;
	double all = finding_known(m->gpu.launched.total);

	for (size_t i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].gpu.total > (top ? top->gpu.total : 0))
			top = &m->kernels[i];
	if (!top || !(top->gpu.total >= DOMINANT_LEAST * all) || !m->has_host ||
	    !finding_is_long(s) || communicates(top->name))
		return false;
	/* Twice as fast: half of its time goes, but the host still needs its own. */
	double rest = fmin(1, host_needs(s) / fmax(1, m->host_window));
	double saved = fmin(share_of(s, top) / 2, 1 - fmax(rest, beside(m)));
	if (!(saved >= FINDING_MEDIUM))
		return false;
	bool alone = top->gpu.total >= DOMINANT_ALONE * all;
	if (alone && s->verdict->cls != VERDICT_GPU) /* what limits it says more */
		return false;
	char *name = finding_kernel(top->name);
	char *text =
	        alloc_format("%s takes %s%s%s%s, %s %% of the GPU's time in kernels and graphs.",
	                     name, finding_estimated(s), unit_time_apart(total, top->gpu.total),
	                     m->phase ? " of " : "", m->phase ? finding_base(s) : "",
	                     unit_percent(share, top->gpu.total, all));
	free(name);
	f->predicted = alloc_string(" The speed-up is that of this kernel twice as fast.");
	f->unpredicted = alloc_format(" Twice as fast, it would shorten %s by some %s %%.",
	                              finding_base(s), unit_percent(gain, saved, 1));
	f->kernel = top->name;
	if (alone)
		return finding_is(f, SEVERITY_INFO, saved, text);
	return finding_tell(f, saved, text);
}
