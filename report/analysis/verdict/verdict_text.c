/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/analysis/verdict/verdict.h"

static const char longer[] = "run it for longer";

/* Pieces of work. A graph's launch is as many as it has nodes, in the mean over the run's launches:
 * which graphs a loop launches is not known. */
static double work_of(const struct model *m)
{
	const struct model_in_graphs *in = &m->in_graphs;
	double nodes = (double)in->kernels + (double)in->copies + (double)in->sets,
	       each = in->launches ? fmax(1, nodes / (double)in->launches) : 1;

	return (double)m->totals.launches + (double)m->totals.copies + (double)m->totals.sets +
	       each * (double)m->totals.graph_launches;
}

/* Share of the pieces of work whose time on the GPU is not known. */
static double unknown_work(const struct model *m)
{
	const struct model_gpu_busy *b = &m->gpu.busy;

	return b->work > 0 ? b->unknown / b->work : 1;
}

/* A process that was killed when its calls had reached over too little; NULL = there is none. */
static const struct model_process *killed_early(const struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].state == PROCESS_KILLED &&
		    !(m->processes[i].window >= VERDICT_KILLED_EARLY))
			return &m->processes[i];
	return NULL;
}

static bool is_damaged(const struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].damage)
			return true;
	return false;
}

static char *too_little(const struct model *m, const struct verdict_input *in)
{
	const struct model_process *killed = killed_early(m);
	char window[UNIT_BYTES];
	double work = work_of(m);

	if (is_damaged(m))
		return alloc_format("the recording is damaged");
	if (killed)
		return alloc_format("killed, and its CUDA calls span %s: within the first second "
		                    "the program may not yet have been in its steady state; let it "
		                    "run for longer",
		                    unit_time_apart(window, killed->window));
	if (!m->has_host)
		return alloc_format("which thread gave the GPU its work, and when, is not known");
	if (in->window < VERDICT_LEAST_WINDOW)
		return alloc_format("too short: %s %s, and at least 50 ms are needed; "
		                    "%s",
		                    unit_time_apart(window, in->window),
		                    m->phase ? "in this phase" : "after start-up", longer);
	if (work < VERDICT_LEAST_WORK)
		return alloc_format("too little: %.0f pieces of work, and at least %d are "
		                    "needed; %s",
		                    work, VERDICT_LEAST_WORK, longer);
	return NULL;
}

char *verdict_abstains(const struct model *m, const struct verdict_input *in)
{
	char share[UNIT_BYTES];
	char *why = too_little(m, in);

	if (why)
		return why;
	if (m->lost_share > WHATIF_MOST_LOST)
		return alloc_format("%s %% of the records are lost, and at most %.0f %% may be; "
		                    "record with a larger CUDASPY_RING",
		                    unit_percent(share, m->lost_share, 1), 100 * WHATIF_MOST_LOST);
	return NULL;
}

static bool any_killed(const struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].state == PROCESS_KILLED)
			return true;
	return false;
}

/* What tells more GPU time. CUPTI hands its records over by a thread of its own: late, or never
 * where the program is killed or another tool takes it. */
static const char *ask_again(const struct model *m)
{
	if (m->gpu.mode == TF_GPU_OFF)
		return "record with CUDASPY_GPU=sample or cupti";
	if (m->gpu.mode != TF_GPU_CUPTI)
		return "run it for longer, or with CUDASPY_GPU=cupti";
	return m->gpu.partial  ? "another tool took CUPTI: run it without that, or with "
	                         "CUDASPY_GPU=sample"
	       : any_killed(m) ? "CUPTI may not have told of it before the program was killed: let "
	                         "it end by itself, or run it with CUDASPY_GPU=sample"
	                       : "CUPTI told of it too late or not at all: run it with less beside "
	                         "it, or with CUDASPY_GPU=sample";
}

char *verdict_unknown_work(const struct model *m)
{
	char share[UNIT_BYTES];

	if (unknown_work(m) <= WHATIF_MOST_UNKNOWN)
		return NULL;
	return alloc_format("the GPU time of %s %% of the work is not known, which would change "
	                    "the verdict; %s",
	                    unit_percent(share, unknown_work(m), 1), ask_again(m));
}

/* What the program is slow because of, the host's part of it, and what the change is. */
static const struct words {
	const char *because, *part, *change;
} words[VERDICT_CLASSES] = {
        [VERDICT_GPU] = {"the GPU has work nearly all the time", "waiting for it", "no change"},
        [VERDICT_LAUNCH] = {"the GPU idles while the host launches", "launching",
                            "a graph or fewer launches"},
        [VERDICT_SYNC] = {"the host waits for the GPU, and only then gives it more work", "waiting",
                          "fewer or later waits"},
        [VERDICT_COPY] = {"copies hold up the kernels", "in copy calls",
                          "pinned or overlapped copies"},
        [VERDICT_ALLOC] = {"the host allocates, frees, loads code or makes graphs",
                           "allocating, loading or making graphs", "doing that once"},
        [VERDICT_HOST] = {"the host does other work than feed the GPU",
                          "outside CUDA or in other calls", "less of that work"},
        [VERDICT_COMM] = {"the GPU communicates and computes nothing meanwhile",
                          "GPU communicating", "overlapping that"},
};

static double part_of(const struct verdict_input *in, enum verdict_class cls)
{
	const double parts[VERDICT_CLASSES] = {
	        [VERDICT_GPU] = in->sync,    [VERDICT_LAUNCH] = in->launch,
	        [VERDICT_SYNC] = in->sync,   [VERDICT_COPY] = in->copy,
	        [VERDICT_ALLOC] = in->alloc, [VERDICT_HOST] = in->outside,
	        [VERDICT_COMM] = in->comm,
	};

	return parts[cls];
}

/* "GPU busy 23.1 % (estimated 22.0 to 24.2 %)" (free it) */
static char *busy_text(const struct model *m, const struct verdict_input *in)
{
	char busy[UNIT_BYTES], low[UNIT_BYTES], high[UNIT_BYTES];

	unit_percent(busy, in->busy, in->window);
	if (!m->gpu.estimated)
		return alloc_format("GPU busy %s %%", busy);
	return alloc_format("GPU busy %s %% (estimated %s to %s %%)", busy,
	                    unit_percent(low, in->busy_low, in->window),
	                    unit_percent(high, in->busy_high, in->window));
}

static const char *startup_text(const struct model *m, const struct verdict_input *in)
{
	if (m->phase)
		return m->phase->kind == PHASE_LOOP    ? "loop"
		       : m->phase->kind == PHASE_START ? "start-up"
		                                       : "the end";
	return in->startup > 0 ? "window after start-up" : "window";
}

static const char *change_of(const struct verdict_input *in, enum verdict_class cls)
{
	if (cls != VERDICT_COPY)
		return words[cls].change;
	if (in->copies_within)
		return "fewer copies within the GPU";
	return in->copy_way == COPY_WAY_PINNED   ? "pinned copies"
	       : in->copy_way == COPY_WAY_BESIDE ? "overlapped copies"
	                                         : words[cls].change;
}

/* Where else the time of a class is. */
static char *elsewhere(const struct verdict *v, const struct verdict_input *in,
                       enum verdict_class cls)
{
	char between[UNIT_BYTES];

	if (cls == VERDICT_SYNC && v->waits_outside)
		return alloc_string(" in CUDA, else until another thread has read a result");
	if (cls != VERDICT_LAUNCH || !(in->between > in->launch))
		return alloc_string("");
	/* By a replay of recent calls: of all that is judged it is no more than what is outside. */
	return alloc_format(", outside CUDA between launches %s %%",
	                    unit_percent(between, fmin(in->between, in->outside), in->window));
}

/* "launching 83.0 %, and a graph or fewer launches would save about 70.1 %" (free it) */
static char *change_text(const struct verdict *v, const struct verdict_input *in,
                         enum verdict_class cls, double gain)
{
	char part[UNIT_BYTES], saved[UNIT_BYTES];
	char *more = elsewhere(v, in, cls);
	char *text = alloc_format("%s %s %%%s, and %s would save about %s %%", words[cls].part,
	                          unit_percent(part, part_of(in, cls), in->window), more,
	                          change_of(in, cls), unit_percent(saved, gain, 1));

	free(more);
	return text;
}

/* Named where it would save something. */
static char *runner_up(const struct verdict *v)
{
	char saved[UNIT_BYTES];

	if (v->cls == VERDICT_MIXED || v->second == VERDICT_NONE || !(v->second_gain >= 0.005))
		return alloc_string("");
	return alloc_format(" Runner-up: %s (about %s %%).", verdict_names[v->second],
	                    unit_percent(saved, v->second_gain, 1));
}

/* ", between kernels that wait for one another 40.0 %" where that is why it is gpu-bound (free it)
 */
static char *gaps_text(const struct verdict_input *in)
{
	char share[UNIT_BYTES];

	if (in->busy >= VERDICT_BUSY * in->window)
		return alloc_string("");
	return alloc_format(", between pieces of work that wait for one another %s %%",
	                    unit_percent(share, in->gaps, in->window));
}

static char *body(const struct model *m, const struct verdict *v, const struct verdict_input *in,
                  const char *busy)
{
	char window[UNIT_BYTES], part[UNIT_BYTES];
	char *one, *two, *text;

	unit_time_apart(window, in->window);
	switch (v->cls) {
	case VERDICT_NONE:
		return alloc_format("%s of %s of %s, and no single change would save %.0f %%.",
		                    busy, window, startup_text(m, in), 100 * VERDICT_LEAST_GAIN);
	case VERDICT_GPU:
		one = gaps_text(in);
		text = alloc_format("%s: %s%s, host %s %s %%, and no change of the host would save "
		                    "%.0f %% of %s of %s.",
		                    words[VERDICT_GPU].because, busy, one, words[VERDICT_GPU].part,
		                    unit_percent(part, in->sync, in->window),
		                    100 * VERDICT_LEAST_GAIN, window, startup_text(m, in));
		break;
	case VERDICT_MIXED:
		one = change_text(v, in, v->first, v->gain);
		two = change_text(v, in, v->second, v->second_gain);
		text = alloc_format("%s and %s nearly alike: %s; %s; %s of %s of %s.",
		                    verdict_names[v->first], verdict_names[v->second], busy, one,
		                    two, window, startup_text(m, in));
		free(two);
		break;
	default:
		one = change_text(v, in, v->first, v->gain);
		text = alloc_format("%s: %s, %s of %s of %s.", words[v->first].because, busy, one,
		                    window, startup_text(m, in));
	}
	free(one);
	return text;
}

char *verdict_reason(const struct model *m, const struct verdict *v, const struct verdict_input *in)
{
	char *busy = busy_text(m, in), *text = body(m, v, in, busy), *second = runner_up(v);
	char *whole = alloc_format("%s%s", text, second);

	free(busy);
	free(text);
	free(second);
	return whole;
}

char *verdict_host_reason(const struct model *m, const struct verdict *v,
                          const struct verdict_input *in)
{
	static const char known[] = "GPU time is not known in this recording";
	const char *todo = ask_again(m);
	char part[UNIT_BYTES], most[UNIT_BYTES];

	if (v->confidence == CONFIDENCE_MEDIUM) /* by what the host did while the GPU had none */
		return alloc_format(
		        "%s: %s, but it had work for at most %s %% of the steady window; "
		        "%s while it had none took %s %%, and %s would save that.",
		        words[v->first].because, known, unit_percent(most, in->had_work, 1),
		        words[v->first].part, unit_percent(part, v->gain, 1),
		        words[v->first].change);
	if (v->first == VERDICT_NONE)
		return alloc_format("%s; %s", known, todo);
	return alloc_format("%s (%s); of the host's time most is %s, %s %%", known, todo,
	                    words[v->first].part,
	                    unit_percent(part, part_of(in, v->first), in->window));
}
