/* SPDX-License-Identifier: Apache-2.0 */
/* Which loop stands for the run: the one that holds most of its time, if it holds enough. */
#include "report/model/model_phase_loops.h"

#include <math.h>

#define FOUND_MORE 10.0 /* times the work, a loop that was found stands before ranges */
#define TIME_HELD                                                                                  \
	0.25 /* of the time from the first to the last, by loops: else the run is judged */
#define FIRST_MOST    0.1 /* of a loop's time, in stretches before a long pause: its start */
#define PREPARES_MOST 4.0
#define FAR_LONGER    3.0 /* times the median step: what goes beyond it, on average, is left out */

/* Its time, without what single steps took that were far longer than most: code that is compiled,
 * data that is read. That makes no loop of a start-up in which some calls repeat. But where the
 * host runs ahead of the GPU, and waits for it in a few of the steps, the GPU's time is the loop's.
 */
static double usual_time(const struct model_phase *p)
{
	double most = fmax(FAR_LONGER * (double)p->steps * p->p50, p->busy);

	return most < p->time ? most : p->time;
}

/*
 * One that was over before the other began, gave next to none of its work and took no more than so
 * many times its time prepares it: data are read, sizes tried. It is not done again however long
 * the program runs, as the other is; a recording is seldom as long as the runs it stands for. Of
 * one that tries which kernels are fast that is known whatever it took, and though it may go on
 * when more is compiled.
 */
bool phase_loop_prepares(const struct model_phase *first, const struct model_phase *later)
{
	if (!first->found || !later->found)
		return false;
	if (first->tunes && !later->tunes)
		return first->start < later->start;
	return first->end <= later->start &&
	       usual_time(first) <= PREPARES_MOST * usual_time(later) &&
	       model_work_pieces(&later->work) > FOUND_MORE * model_work_pieces(&first->work);
}

static bool all_tune(const struct model_phases *of)
{
	for (size_t i = 0; i < of->count; i++)
		if (of->rows[i].kind == PHASE_LOOP && !of->rows[i].tunes)
			return false;
	return true;
}

/* The loop with most time, of found ones or of ranges; of ranges that were asked for, these. None
 * that tunes where there is another. */
static size_t longest_loop(const struct model *m, bool found, size_t range)
{
	const struct model_phases *of = &m->phases;
	bool tuning_too = all_tune(of);
	size_t best = PHASE_NONE;

	for (size_t i = 0; i < of->count; i++) {
		const struct model_phase *p = &of->rows[i];
		if (p->kind != PHASE_LOOP || p->found != found || (p->tunes && !tuning_too) ||
		    (m->steps_from && (found || p->source != range)))
			continue;
		if (best == PHASE_NONE || usual_time(p) > usual_time(&of->rows[best]) ||
		    phase_loop_prepares(&of->rows[best], p))
			best = i;
	}
	return best;
}

/* The program itself said what its ranges are; unless they hold next to nothing of its work. */
static size_t main_loop(const struct model *m, size_t range)
{
	size_t said = longest_loop(m, false, range), found = longest_loop(m, true, range);

	if (said == PHASE_NONE || found == PHASE_NONE)
		return said == PHASE_NONE ? found : said;
	return model_work_pieces(&m->phases.rows[found].work) >
	                       FOUND_MORE * model_work_pieces(&m->phases.rows[said].work)
	               ? found
	               : said;
}

/* Where a loop starts in earnest: some steps may be made long before, to warm up, and the rest when
 * another process is ready. */
static double start_in_earnest(const struct model_phase *p)
{
	const struct model_phase_part *part = &p->parts[0];
	double before = 0;

	for (size_t i = 0; p->part_count == 1 && i < part->stretch_count; i++) {
		before += part->stretches[i].end - part->stretches[i].start;
		if (before > FIRST_MOST * p->time)
			return p->start + part->stretches[i].start - part->start;
	}
	return p->start;
}

/*
 * Whether the loops hold the time from the start of the one that would be judged to the end of the
 * last one. Where each is short, and what is between them long, as where code is compiled for every
 * new shape, what is slow is in no loop.
 */
static bool loops_hold(const struct model_phases *of, size_t main)
{
	const struct model_phase *judged = &of->rows[main];
	double time = 0, start = start_in_earnest(judged), end = judged->end;

	for (size_t i = 0; i < of->count; i++) {
		const struct model_phase *p = &of->rows[i];
		if (p->kind != PHASE_LOOP || p->end <= start || (p->tunes && !judged->tunes))
			continue;
		time += p->time / (double)p->part_count;
		end = fmax(end, p->end);
	}
	return time >= TIME_HELD * (end - start);
}

size_t phase_loops_judged(const struct model *m, size_t range)
{
	size_t main = main_loop(m, range);

	if (main != PHASE_NONE && !m->steps_from && !loops_hold(&m->phases, main))
		main = PHASE_NONE;
	return main;
}
