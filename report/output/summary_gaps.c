/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/summary.h"

#include <stdarg.h>
#include <stddef.h>

#include "report/base/alloc.h"
#include "report/base/units.h"

/* Share of the pieces of work: of fewer it does not matter that their time is not known. */
#define UNKNOWN_LEAST 0.01
/* Share of GPU time in graphs from which on it matters that their kernels have none. */
#define GRAPHS_LEAST 0.05

static void __attribute__((format(printf, 3, 4)))
gap(struct summary *s, const char *how, const char *format, ...)
{
	va_list args;

	if (s->gap_count == SUMMARY_GAPS)
		return;
	va_start(args, format);
	s->gaps[s->gap_count++] =
	        (struct summary_gap){.what = alloc_vformat(format, args), .how = how};
	va_end(args);
}

static void gaps_of_recordings(struct summary *s, const struct model *m)
{
	char share[UNIT_BYTES];
	size_t damaged = 0, never = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		damaged += m->processes[i].damage != NULL;
		never += m->processes[i].never_opened;
	}
	if (damaged)
		gap(s, "record it again", "what is missing of %s",
		    m->process_count > 1 ? "damaged recordings" : "the damaged recording");
	if (never)
		gap(s, "CUDASPY_RANGE=all", "anything: the range of CUDASPY_RANGE never opened");
	if (m->lost_calls)
		gap(s, "a writable folder with room (CUDASPY_OUT)", "%llu calls that were lost",
		    (unsigned long long)m->lost_calls);
	if (m->lost)
		gap(s, "a larger CUDASPY_RING",
		    "times of %s %% of the calls, whose records are lost",
		    unit_percent(share, (double)m->lost, (double)m->written));
}

static void gaps_of_gpu(struct summary *s, const struct model *m)
{
	const struct model_gpu *gpu = &m->gpu;
	char share[UNIT_BYTES], off[UNIT_BYTES];
	double unknown = gpu->all.sum.pieces > 0 ? gpu->untimed_pieces / gpu->all.sum.pieces : 0;

	if (!gpu->measured) {
		if (gpu->mode == TF_GPU_OFF)
			gap(s, "CUDASPY_GPU=sample", "GPU time");
		else if (gpu->mode == TF_GPU_CUPTI)
			gap(s,
			    gpu->partial ? "no other tool that uses CUPTI"
			                 : "less beside it, or CUDASPY_GPU=sample",
			    "GPU time: CUPTI told of it too late, or not at all");
		else
			gap(s, "run it for longer, or with CUDASPY_GPU=cupti",
			    "GPU time: no sample was taken");
		return;
	}
	if (gpu->partial)
		gap(s, "no other tool that uses CUPTI", "GPU times after another tool took CUPTI");
	if (unknown >= UNKNOWN_LEAST)
		gap(s,
		    gpu->mode == TF_GPU_CUPTI ? "less beside it, or CUDASPY_GPU=sample"
		                              : "run longer, or CUDASPY_GPU=cupti",
		    "GPU time of %s %% of the work, never %s", unit_percent(share, unknown, 1),
		    gpu->mode == TF_GPU_CUPTI ? "told by CUPTI in time" : "sampled");
	if (gpu->estimated && gpu->kind.null_kernel > 0 && gpu->kind.source == KIND_UNMEASURED)
		gap(s, "cudaspy calibrate", "short kernels' time to less than %s on this GPU",
		    unit_time_apart(off, gpu->kind.off));
	if (gpu->graphs.total >= GRAPHS_LEAST * gpu->all.total)
		gap(s, "a run without graphs", "kernels inside graphs one by one");
}

void summary_gaps(struct summary *s, const struct model *m)
{
	gaps_of_recordings(s, m);
	gaps_of_gpu(s, m);
	if (!m->has_host)
		gap(s, "CUDASPY_TRACE=1, or a larger CUDASPY_KEEP",
		    "which thread gave the GPU its work");
	if (!m->phases.loops && m->steps_from)
		gap(s, "a name of report --section nvtx",
		    "steps: no NVTX range \"%s\" among the %u outermost levels", m->steps_from,
		    MODEL_STEP_LEVELS);
	else if (!m->phases.loops)
		gap(s, "NVTX ranges around each step", "steps: no work that repeats was found");
	if (!m->sites.recorded)
		gap(s, "CUDASPY_SITES=on", "the lines of code that call");
	else if (m->sites.python_trouble)
		gap(s, "Python 3.9 to 3.15", "lines of Python: %s", m->sites.python_trouble);
	if (m->gap_count)
		gap(s, "report --section gaps names them", "calls past the recorder");
}
